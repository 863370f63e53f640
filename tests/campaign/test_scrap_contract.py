"""A campaign under a scrap contract: terms, hold before the part, what the journal keeps, and what screens say."""

import json
from dataclasses import replace

import pytest

from tests.campaign.helpers import BEGIN, Driver, proposed, terms
from tuner.basics.sentences import from_json
from tuner.campaign.commands import ChangeTerms, KeepContract, Resume
from tuner.campaign.effects import ComputeNext, basis, wanted
from tuner.campaign.model_input import model_input
from tuner.campaign.state import Mode
from tuner.compute.tasks import fallback, next_step
from tuner.config.campaign import ScrapContract
from tuner.console.campaign_text import contract_lines
from tuner.console.language import LANGUAGES, Words, load
from tuner.core.optimizer.records import Assured
from tuner.daemon.views import campaign_line, campaign_view

ASSURED = Assured(
    allowed=0.05,
    risk=0.03,
    low=0.9,
    sure=0.97,
    caution=1.6,
    base=0.004,
    parts=1,
    scrap=0,
    left=1,
    stage="grow",
    refused={"x": 9.0, "n": 3},
    refused_risk=0.4,
    refused_better=0.8,
    unreached=0.3,
)


def agreed(**contract):
    return terms().model_copy(update={"scrap": ScrapContract(**{"rate": 0.1, **contract})})


def made(valid=True):
    driver = Driver(agreed()).begun()
    command = proposed(driver.state, {"x": 1.0, "n": 2})
    driver.tell(command.model_copy(update={"proposal": _assured(command.proposal)}))
    driver.make(valid)
    return driver


def _assured(proposal):
    return replace(proposal, assured=ASSURED)


def test_the_account_and_what_was_known_of_a_proposal_are_in_the_journal_and_come_back_from_it():
    driver = made(valid=False)
    again = driver.refold()
    assert again == driver.state
    assert again.trials[1].assured == ASSURED
    assert (again.account.parts, again.account.scrap, again.account.known_ground) == (2, 1, True)


def test_where_no_setting_keeps_the_contract_tuning_holds_before_the_part_and_says_so():
    driver = made()
    driver.judge(new_wins=False)
    trials = len(driver.state.trials)
    assert isinstance(wanted(driver.state), ComputeNext)
    assert driver.tell(KeepContract(reason="no setting is known that keeps it")) == ["campaign_held"]
    assert (driver.state.mode, driver.state.reason) == (Mode.HELD, "no setting is known that keeps it")
    assert len(driver.state.trials) == trials
    view = campaign_view(driver.state, BEGIN)
    assert view.contract.held
    before = basis(driver.state)
    driver.tell(ChangeTerms(terms=agreed(rate=0.2)))
    driver.tell(Resume())
    assert not campaign_view(driver.state, BEGIN).contract.held
    assert wanted(driver.state) != ComputeNext(before)


def test_the_model_is_told_the_contract_and_without_one_nothing_is_new():
    told = model_input(made().state)["state"]
    assert (told["scrap_rate"], told["strictness"], told["confidence"]) == (0.1, "expected", 0.95)
    free = Driver().begun().state
    assert (model_input(free)["state"]["scrap_rate"], free.account) == (None, None)
    assert campaign_view(free, BEGIN).contract is None


def test_the_worker_says_why_it_holds_and_without_a_model_the_known_good_setting_is_made_again():
    driver = Driver(agreed(budget=1)).begun()
    driver.propose()
    driver.make(valid=False)
    payload = json.loads(json.dumps(model_input(driver.state)))
    answer = next_step(payload)
    assert answer["proposal"] is None
    assert "budget of 1 is used up" in from_json(answer["hold"])
    assert fallback(payload)["proposal"]["setting"] == {"x": 5.0, "n": 2}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_screen_says_scrap_so_far_what_is_left_the_next_part_and_what_is_not_tried(language):
    view = campaign_view(made().state, BEGIN)
    said = "\n".join(contract_lines(Words(language), view))
    for number in ("10 %", "90 %", "40 %", "80 %", "30 %"):
        assert number in said
    assert "safe" not in said.lower()
    assert campaign_line(made().state, BEGIN).contract == view.contract


def test_no_text_of_a_screen_has_the_bare_word_safe():
    for language in LANGUAGES:
        words = {word.strip('.,;:!?"').lower() for text in load(language).values() for word in text.split()}
        assert "safe" not in words
