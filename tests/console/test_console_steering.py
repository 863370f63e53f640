"""Keeping a parameter for a while, alarms, circles, the side panel: at the console, against a real daemon."""

import pytest

from tests.console.helpers import LARGE, console
from tests.daemon.running import campaign_text, daemon
from tuner.console.pages.overview import OverviewPage
from tuner.console.screen import panel as panels
from tuner.console.screen.panel import Panel
from tuner.errors import TunerError

pytestmark = pytest.mark.asyncio
PRESS, OVEN = "press", "oven"


@pytest.fixture(scope="module")
def running():
    text = campaign_text(PRESS, trials=500) + campaign_text(OVEN, trials=500).replace(
        "approval = false", "approval = true"
    )
    with daemon(text) as one:
        yield one.start()


async def test_k_keeps_a_parameter_with_a_reason_and_lifts_it_again(running):
    async with console(running, PRESS, operator="ines") as hands:
        await hands.question()
        await hands.press("k")
        await hands.dialog("kept or narrowed")
        await hands.press("2")
        await hands.dialog("a value to keep")
        await hands.type("1..2,5")
        await hands.dialog("Until when?")
        await hands.press("s")
        await hands.dialog("Why?")
        await hands.press("f1")
        await hands.said("x2 1..2,5: kept for now")
        await hands.until(lambda: hands.view.restrictions, "the restriction")
        one = hands.view.restrictions[0]
        assert (one.parameter, one.low, one.high, one.reason, one.by) == ("x2", 1.0, 2.5, "worn tool", "ines")
        assert one.until is not None
        await hands.until(lambda: "x2 1.000 to 2.500" in hands.text() or "restricted: 1" in hands.text(), "it is shown")
        await hands.press("k")
        await hands.dialog("x2 1.000 to 2.500")
        await hands.press("2")
        await hands.dialog("lift the restriction")
        await hands.press("l")
        await hands.said("x2 is not restricted any more")
        await hands.until(lambda: not hands.view.restrictions, "that it is lifted")


async def test_what_contradicts_is_said_and_nothing_is_restricted(running):
    async with console(running, PRESS, operator="ines") as hands:
        await hands.question()
        await hands.press("k")
        await hands.dialog("kept or narrowed")
        await hands.press("1")
        await hands.dialog("a value to keep")
        await hands.type("9")
        await hands.dialog("9 is not between its limits")
        await hands.press("escape")
        assert not hands.view.restrictions


async def test_a_key_pressed_twice_opens_one_window_and_does_not_answer_it(running):
    async with console(running, OVEN, operator="ines", guard_s=3600.0) as hands:
        await hands.until(
            lambda: hands.view and hands.view.trial and hands.view.trial.stage == "proposed", "a proposal"
        )
        await hands.press("a", "a", "a")
        await hands.dialog("Send this setting")
        await hands.press("a", "a")
        await hands.pilot.pause()
        assert len(hands.app.screen_stack) == 3, "one window over the main screen"
        assert hands.view.trial.stage == "proposed"
        await hands.press("escape")


async def test_on_a_large_terminal_a_panel_shows_how_the_champion_came_about(running):
    async with console(running, PRESS, LARGE, operator="ines") as hands:
        await hands.question()
        panel = hands.app.screen.query_one(Panel)
        assert panel.display
        await hands.until(lambda: "How the champion came about" in hands.text(), "the panel")
        await hands.until(lambda: "★" in hands.text(), "the champion's mark")
        await hands.until(lambda: "What matters most:" in hands.text(), "what the model says")
        await hands.until(lambda: "Chance to win as a part: " in hands.text(), "the map")
        assert "█ 100 %" in hands.text()
    async with console(running, PRESS, operator="ines") as hands:
        await hands.question()
        assert not hands.app.screen.query_one(Panel).display


async def test_a_map_that_the_model_could_not_give_is_asked_for_again(running, monkeypatch):
    asked, fetch = [], OverviewPage.fetch_maps

    async def once_failing(page, client):
        asked.append(page.campaign)
        if len(asked) == 1:
            raise TunerError("too many questions to the model are open")
        await fetch(page, client)

    monkeypatch.setattr(OverviewPage, "fetch_maps", once_failing)
    monkeypatch.setattr(panels, "_AGAIN_S", 0.01)
    async with console(running, PRESS, LARGE, operator="ines") as hands:
        await hands.question()
        await hands.until(lambda: "█ 100 %" in hands.text(), "the map")
    assert len(asked) >= 2


async def test_w_in_the_history_has_a_comparison_asked_again(running):
    async with console(running, PRESS, operator="ines") as hands:
        await hands.question()
        await hands.press("1")
        await hands.said("taken")
        await hands.question()
        await hands.press("t")
        await hands.until(lambda: hands.app.screen.page.judgments, "a judgment")
        judged = {one.left for one in hands.app.screen.page.judgments if one.retracted is None}
        while hands.app.screen.chosen.number not in judged:
            await hands.press("down")
        await hands.press("w")
        await hands.until(lambda: "will be asked again" in hands.app.message()[0], "the acknowledgement")
    with running.client() as client:
        assert any(event.type == "look_wanted" for event in client.history(PRESS).events)
