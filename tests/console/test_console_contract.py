"""What the console, plain lines and the handover say under a scrap contract."""

import pytest

from tests.campaign.helpers import BEGIN
from tests.campaign.test_scrap_contract import WHY, held, scrapped
from tuner.console.campaign_text import contract_short, reason_text
from tuner.console.handover import _state
from tuner.console.language import LANGUAGES, Words
from tuner.console.lines import Lines
from tuner.daemon.views import campaign_view


def view_of(driver):
    return campaign_view(driver.state, BEGIN)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_main_line_says_what_is_left_and_of_how_many_planned_parts(language):
    said = contract_short(Words(language), view_of(scrapped(1, {"rate": 0.2}, trials=20)).contract)
    for number in ("1", "3", "20 %", "20"):
        assert number in said
    if language == "en":
        assert said == "scrap 1 of 3, 3 left (20 % of 20 planned)"


def test_the_handover_of_a_held_campaign_says_why_once_and_has_one_title():
    lines = _state(Words("en"), view_of(held(WHY["budget"]))).lines
    assert lines[0].startswith("Held: the scrap contract's budget of 2 is used up")
    assert "Held: h goes on" not in lines[0]
    assert [line for line in lines if "Scrap contract" in line] == [
        "Scrap contract: 1 of 3 parts were scrap; no more may be."
    ]


class _Told(Lines):
    def __init__(self):
        self.said, self._agreed, self._words = [], (), Words("en")

    @property
    def words(self):
        return self._words

    def say(self, text):
        self.said += [text] if text else []


def test_plain_lines_say_scrap_when_it_changes_and_everything_once_only_known_ground_is_left():
    lines = _Told()
    lines._contract(view_of(scrapped(0, {"rate": 0.1})))
    lines._contract(view_of(scrapped(0, {"rate": 0.1})))
    assert lines.said == ["press-1: scrap 0 of 2, 1 left (10 % of 10 planned)"]
    lines._contract(view_of(scrapped(2, {"rate": 0.1})))
    assert any("known ground only" in line for line in lines.said)
    lines._contract(view_of(held(WHY["no_setting"])))
    assert any("Tuning is held and makes no part" in line for line in lines.said)


def test_why_a_campaign_is_held_is_told_in_the_readers_language_and_nothing_while_it_tunes():
    assert "configuración" in reason_text(Words("es"), view_of(held(WHY["no_setting"])))
    assert reason_text(Words("es"), view_of(scrapped(0, {}))) == ""
