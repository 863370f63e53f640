"""Manual parameters: a person is asked, nothing runs until it is confirmed, and what is not confirmed is not known."""

import asyncio
import json
import random

import pytest

from tests.campaign.helpers import ANNA, Driver, proposed, terms
from tests.daemon.lying import LyingMachine
from tuner.campaign import commands as c
from tuner.campaign.effects import ReturnHome, Run, Send, wanted
from tuner.campaign.state import Stage
from tuner.campaign.terms import Terms
from tuner.daemon.perform import Performer
from tuner.gate.whereabouts import Whereabouts

PARAMETERS = [
    {"kind": "continuous", "name": "x", "low": 0.0, "high": 10.0, "start": 5.0, "step_limit": 2.0},
    {"kind": "choice", "name": "gate", "choices": ["edge", "fan", "tunnel"], "start": "edge", "manual": True},
    {"kind": "integer", "name": "shims", "low": 0, "high": 4, "start": 2, "manual": True, "change_cost": 3.0},
]
HOME = {"x": 5.0, "gate": "edge", "shims": 2}


def manual_terms(**changes) -> Terms:
    given = json.loads(terms(parameters=PARAMETERS, constraints=["x + shims <= 12"], **changes).model_dump_json())
    given["adapter"]["by_hand"] = ["gate", "shims"]
    return Terms.model_validate_json(json.dumps(given))


class Hands(Driver):
    def __init__(self, **changes) -> None:
        super().__init__(manual_terms(**changes))
        self.tell(c.Start())

    def confirm(self):
        return self.tell(c.ConfirmChange(change=self.state.change.number), ANNA)

    def propose(self, x=1.0, gate="edge", shims=2):
        return self.tell(proposed(self.state, {"x": x, "gate": gate, "shims": shims}))

    def begun(self) -> "Hands":
        self.confirm()
        self.make()
        return self


def test_what_the_first_trial_needs_is_asked_for_in_one_go_and_nothing_is_sent_before():
    campaign = Hands()
    assert campaign.state.change.setting == {"gate": "edge", "shims": 2}
    assert wanted(campaign.state) is None
    assert campaign.confirm() == ["change_confirmed"]
    assert wanted(campaign.state) == Send(1)
    assert campaign.state.manual == {"gate": "edge", "shims": 2}


def test_only_what_differs_is_asked_for_and_nothing_where_nothing_does():
    campaign = Hands().begun()
    assert "change_asked" not in campaign.propose(x=2.0)
    campaign.make()
    campaign.tell(c.Tie(duel=1), ANNA)
    assert campaign.propose(gate="fan")[-1] == "change_asked"
    assert campaign.state.change.setting == {"gate": "fan"}
    assert campaign.state.manual == {"shims": 2}, "somebody may be at it: which gate is fitted is not known"


def test_a_change_waits_for_approval_like_everything_else():
    campaign = Hands(policy={"approval": True})
    assert campaign.state.change is None
    assert campaign.tell(c.Approve(trial=1)) == ["proposal_approved", "change_asked"]


def test_hold_keeps_the_question_and_a_change_that_was_made_counts_in_any_mode():
    campaign = Hands().begun()
    campaign.propose(gate="fan")
    campaign.tell(c.Hold(), ANNA)
    number = campaign.state.change.number
    assert campaign.confirm() == ["change_confirmed"]
    assert wanted(campaign.state) is None
    assert campaign.tell(c.Resume(), ANNA) == ["campaign_resumed"]
    assert wanted(campaign.state) == Send(2)
    assert campaign.refused(c.ConfirmChange(change=number), ANNA).code == "not_open"


def test_stop_sends_the_machine_home_at_once_and_asks_for_the_known_good_parts():
    campaign = Hands().begun()
    campaign.propose(gate="fan")
    old = campaign.state.change.number
    assert campaign.tell(c.Stop(), ANNA) == ["campaign_stopped", "trial_dropped", "change_asked"]
    assert isinstance(wanted(campaign.state), ReturnHome)
    assert (campaign.state.change.setting, campaign.state.change.trial) == ({"gate": "edge"}, None)
    assert (
        campaign.refused(c.ConfirmChange(change=old), ANNA).text
        == "change 2 is not asked for any more; look at change 3"
    )
    assert campaign.home() == ["home_answered"]
    assert wanted(campaign.state) is None
    assert campaign.state.change is not None, "it stays asked for"
    assert campaign.confirm() == ["change_confirmed"]
    assert campaign.state.change is None


def test_an_abort_asks_for_nothing_and_a_start_after_it_asks_for_everything_that_is_not_known():
    campaign = Hands().begun()
    campaign.propose(gate="fan")
    assert campaign.tell(c.Abort(), ANNA) == ["campaign_aborted", "trial_dropped"]
    assert campaign.state.change is None
    campaign.tell(c.Start(), ANNA)
    campaign.propose(gate="edge")
    assert campaign.state.change.setting == {"gate": "edge"}


def test_the_known_parts_outlive_a_restart_and_a_part_under_way_is_not_disturbed():
    campaign = Hands().begun()
    campaign.propose(gate="fan")
    campaign.confirm()
    campaign.send()
    assert wanted(campaign.state) == Run(2)
    assert campaign.tell(c.Interrupt(reason="the daemon was restarted")) == ["trial_interrupted"]
    assert wanted(campaign.state) == Send(2)
    assert campaign.refold() == campaign.state


def test_in_a_dry_run_people_do_everything_anyway():
    campaign = Hands(policy={"dry_run": True})
    assert campaign.state.change is None
    assert wanted(campaign.state) == Send(1)


def test_the_optimiser_is_told_what_a_change_costs():
    costs = [one.get("change_cost", 0.0) for one in manual_terms().space_json()["parameters"]]
    assert costs == [0.0, 1.0, 3.0]
    assert "change_cost" not in json.dumps(terms().space_json())


@pytest.mark.parametrize("home", [False, True])
def test_the_machine_is_told_only_of_its_own_parameters_and_its_steps_are_kept(home):
    given = manual_terms()
    own = terms(parameters=PARAMETERS[:1])
    now_s = 0.0
    machine = LyingMachine(own, lambda: now_s, random.Random(1))  # noqa: S311 - no secrets
    where = Whereabouts(lambda: now_s, {"x": 5.0, "gate": "fan", "shims": 4})
    told = []

    async def tell(command, effect):
        told.append(command)
        return True

    async def wait(seconds):
        nonlocal now_s
        now_s += seconds

    performer = Performer("press", machine, tell, None, wait, lambda *_: None, where=where)
    campaign = Driver(given)
    campaign.tell(c.Start())
    campaign.tell(c.ConfirmChange(change=1), ANNA)
    if home:
        machine.by_hand({"x": 8.0})
        where.believe({"x": 8.0, "gate": "fan", "shims": 4})
        asyncio.run(performer.do(ReturnHome("because"), campaign.state))
    else:
        setting = {"x": 9.0, "gate": "tunnel", "shims": 3}
        answer = asyncio.run(performer.through_gate(campaign.state, setting))
        assert (answer.result, answer.read_back) == ("applied", setting)
    assert machine.held == {"x": 5.0 if home else 9.0}
    assert machine.received == 2
    assert [one.result for one in told] == (["applied"] if home else [])


def test_stages_before_approval_ask_for_nothing():
    campaign = Hands(policy={"approval": True})
    assert campaign.state.trial.stage is Stage.PROPOSED
    assert wanted(campaign.state) is None
