"""A campaign under a scrap contract: terms, hold before the part, what the journal keeps, and what screens say."""

import json
import re
from dataclasses import replace

import pytest

from tests.campaign.helpers import BEGIN, Driver, proposed, terms
from tuner.basics.sentences import from_json, listing, load, say, tell
from tuner.campaign.commands import ChangeTerms, KeepContract, Resume
from tuner.campaign.contract_words import told_why
from tuner.campaign.effects import ComputeNext, basis, wanted
from tuner.campaign.model_input import model_input
from tuner.campaign.state import Mode
from tuner.compute.tasks import fallback, next_step
from tuner.config.campaign import Budget, ScrapContract
from tuner.console.campaign_text import contract_lines
from tuner.console.language import LANGUAGES, Words
from tuner.console.language import load as screen_texts
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
    assert driver.state.mode is Mode.HELD
    assert driver.state.reason.startswith("no setting is known that keeps it. Raise rate in [campaign.scrap]")
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
    for number in ("10 %", "90 %", "40 %", "80 %", "30 %", "10"):
        assert number in said
    assert "safe" not in said.lower()
    assert campaign_line(made().state, BEGIN).contract == view.contract


def test_no_text_of_a_screen_has_the_bare_word_safe():
    for language in LANGUAGES:
        texts = [*load(language).values(), *screen_texts(language).values()]
        words = {word.strip('.,;:!?"').lower() for text in texts for word in text.split()}
        assert "safe" not in words


WHY = {
    "no_setting": say("contract.no_setting", rate=0.1, scrap=2, parts=9, allowed=2.5),
    "budget": say("contract.budget", budget=2, parts=9),
    "cannot_hold": say("contract.cannot_hold", rate=0.1, expected=12.0, chance=11.0),
    "no_ground": say("contract.no_ground"),
}


def scrapped(count, contract, trials=10):
    """A campaign with a part and then scrap, under a contract."""
    driver = Driver(agreed(**contract).model_copy(update={"budget": Budget(trials=trials)})).begun()
    for place in range(count + 1):
        command = proposed(driver.state, {"x": 1.0 + place, "n": 2})
        driver.tell(command.model_copy(update={"proposal": _assured(command.proposal)}))
        driver.make(valid=place == 0)
        if place == 0:
            driver.judge(new_wins=True)
    return driver


def held(why, **contract):
    driver = scrapped(1, contract)
    driver.tell(KeepContract(reason=why))
    return driver


def lines(state, language="en"):
    return contract_lines(Words(language), campaign_view(state, BEGIN))


def test_what_is_agreed_and_what_is_left_of_it_is_said_with_the_planned_parts():
    view = campaign_view(scrapped(1, {"rate": 0.2}, trials=20).state, BEGIN)
    assert lines(scrapped(1, {"rate": 0.2}, trials=20).state)[:2] == [
        "1 of 3 parts were scrap; 3 more may be.",
        "Agreed: at most 20 % of the 20 planned parts, which is 4.",
    ]
    assert (view.contract.planned, view.contract.most, view.contract.left) == (20, 4, 3)
    assert "one may be scrap" in lines(scrapped(0, {"rate": 0.05}).state)[1]


def test_a_budget_and_certainty_are_said():
    said = "\n".join(lines(scrapped(0, {"rate": 0.2, "budget": 2, "strictness": "certain"}, trials=20).state))
    assert "which is 4" in said
    assert "Tuning holds at 2 scrap parts (budget)." in said
    assert "95 % confidence (strictness: certain)" in said


def test_what_known_ground_may_risk_is_said_beside_what_new_ground_may():
    state = scrapped(0, {"rate": 0.2}, trials=20).state
    (said,) = [line for line in lines(state) if line.startswith("The next part may risk")]
    assert "on new ground" in said
    assert said.endswith("on known ground, close to good parts, up to 20 %.")


def test_a_proposal_on_known_ground_above_the_allowed_risk_is_explained():
    driver = Driver(agreed(rate=0.2)).begun()
    command = proposed(driver.state, {"x": 1.0, "n": 2})
    own = replace(command.proposal, assured=replace(ASSURED, risk=0.18, allowed=0.05, stage="known ground"))
    driver.tell(command.model_copy(update={"proposal": own}))
    assert any("its risk of 18 % is above the 5 % of new ground" in line for line in lines(driver.state))
    assert campaign_view(driver.state, BEGIN).contract.risk == 0.18


def test_beyond_the_count_it_is_said_that_tuning_goes_on_and_what_would_hold_it():
    said = lines(scrapped(2, {"rate": 0.1}).state)
    assert said[0] == "2 of 4 parts were scrap, 1 more than agreed."
    assert any("goes on with known ground only" in one and "set budget in [campaign.scrap]" in one for one in said)
    assert not any(one.startswith("The next part may risk") for one in said)
    with_budget = lines(scrapped(2, {"rate": 0.1, "budget": 5}).state)
    assert not any("set budget" in one for one in with_budget)


def test_while_it_is_held_nothing_says_that_parts_are_made():
    said = lines(held(WHY["no_setting"]).state)
    assert any("Tuning is held and makes no part" in one for one in said)
    assert not any("known ground" in one for one in said)


@pytest.mark.parametrize("why", WHY)
def test_a_hold_names_the_key_its_table_and_the_command_that_goes_on(why):
    driver = held(WHY[why])
    assert driver.refold() == driver.state
    reason = driver.state.reason
    assert WHY[why] in reason
    assert "h in the console, or `tuner campaign resume press-1`" in reason
    key = {"budget": "budget in [campaign.scrap]", "no_ground": "`tuner campaign repeat press-1 1`"}
    assert key.get(why, "rate in [campaign.scrap]") in reason
    assert told_why(reason) == WHY[why]
    for language in LANGUAGES:
        told = tell(reason, language)
        assert tell(WHY[why], language) in told
        assert "`tuner campaign resume press-1`" in told


@pytest.mark.parametrize("scrap", [ScrapContract(rate=0.2), None])
def test_a_contract_that_was_changed_while_tuning_is_held_says_that_one_must_resume(scrap):
    driver = held(WHY["no_setting"])
    driver.tell(ChangeTerms(terms=terms().model_copy(update={"scrap": scrap})))
    assert driver.state.reason.startswith("the scrap contract was changed while tuning was held: go on with h in")
    assert driver.refold() == driver.state
    view = campaign_view(driver.state, BEGIN)
    assert "changed" in view.phase_text
    if scrap is not None:
        assert view.contract.held
        assert any("The contract was changed" in one for one in lines(driver.state))
    driver.tell(Resume())
    assert driver.state.mode is Mode.EXECUTE


def test_other_terms_that_change_leave_the_reason_of_a_hold():
    driver = held(WHY["no_setting"])
    reason = driver.state.reason
    driver.tell(ChangeTerms(terms=driver.state.terms.model_copy(update={"budget": Budget(trials=11)})))
    assert driver.state.reason == reason


def every_line(language):
    """All lines that a contract gives, joined as screens join them."""
    title = f"{Words(language)('contract.title')}: "
    states = [
        scrapped(0, {"rate": 0.05}).state,
        scrapped(1, {"rate": 0.2, "budget": 3, "strictness": "certain"}, trials=20).state,
        scrapped(2, {"rate": 0.1}).state,
        *(held(why).state for why in WHY.values()),
    ]
    changed = held(WHY["budget"])
    changed.tell(ChangeTerms(terms=agreed(rate=0.3)))
    for state in (*states, changed.state):
        view = campaign_view(state, BEGIN)
        yield title + " ".join(lines(state, language))
        yield Words(language).told(view.phase_text)
        yield tell(listing([*(view.contract.texts), state.reason or "x", say("phase.not_home", why="y")]), language)
    yield " ".join(f"{one}: {tell(why, language)}" for one, why in WHY.items())


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_line_of_a_contract_is_joined_badly(language):
    for line in every_line(language):
        assert not re.search(r"\.;|\.\.|。\uff1b|。。|,,|\.:|  ", line), line
        assert not re.search(r"\b(\w{3,}(?: \w+){0,2}):? \1\b", line, re.IGNORECASE), line
