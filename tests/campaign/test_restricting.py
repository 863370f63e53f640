"""Parameters kept or narrowed for a while: journalled, obeyed, lifted by people or by the calendar."""

from datetime import timedelta

import pytest

from tests.campaign.helpers import ANNA, BEGIN, ENGINEER, Driver, proposed, terms
from tests.campaign.test_by_hand import Hands
from tuner.campaign import commands as c
from tuner.campaign.effects import basis
from tuner.campaign.model_input import model_input
from tuner.campaign.restricting import next_end
from tuner.campaign.state import Stage

WORN = {"reason": "the other is worn"}


def begun(**changes) -> Driver:
    campaign = Driver(terms(**changes))
    campaign.tell(c.Start())
    campaign.make()
    return campaign


def test_a_parameter_is_kept_until_it_is_lifted_and_the_model_is_told():
    campaign = begun()
    before = basis(campaign.state), model_input(campaign.state)
    assert "within" not in before[1]
    assert campaign.tell(c.Freeze(parameter="n", value=3, **WORN)) == ["parameter_restricted"]
    restriction = campaign.state.restrictions[0]
    assert (restriction.low, restriction.high, restriction.by, restriction.until) == (3, 3, "ines", None)
    assert model_input(campaign.state)["within"] == {"n": [3, 3]}
    assert basis(campaign.state) != before[0]
    assert campaign.refold() == campaign.state
    assert campaign.tell(c.Free(parameter="n")) == ["restriction_lifted"]
    assert (basis(campaign.state), model_input(campaign.state)) == before
    assert campaign.refused(c.Free(parameter="n")).code == "unchanged"


def test_a_new_restriction_takes_the_place_of_the_old_one():
    campaign = begun()
    campaign.tell(c.Freeze(parameter="n", value="3", **WORN))
    campaign.tell(c.Narrow(parameter="n", high=2, **WORN))
    assert campaign.state.within == {"n": (0, 2)}
    assert campaign.refused(c.Narrow(parameter="n", high="2", **WORN)).code == "unchanged"


@pytest.mark.parametrize(
    ("until", "hours"), [("14:00", 6), ("07:30", 23.5), ("shift", 6), ("2026-03-02T12:00+02:00", 2), ("2026-03-03", 16)]
)
def test_it_ends_by_itself_at_its_time(until, hours):
    campaign = begun()
    campaign.tell(c.Narrow(parameter="x", low=2, high=4.5, until=until, **WORN))
    assert next_end(campaign.state) == BEGIN + timedelta(hours=hours)
    campaign.now = BEGIN + timedelta(hours=hours, seconds=-2)
    assert campaign.tell(c.Tick()) == []
    assert campaign.tell(c.Tick()) == ["restriction_lifted"]
    assert campaign.recorded[-1].actor == "tuner"
    assert campaign.recorded[-1].event.ended
    assert campaign.state.restrictions == ()


def test_shifts_and_times_are_those_of_the_campaigns_zone():
    campaign = begun(policy={"shifts": ["05:00", "17:00"], "questions": {"timezone": "Europe/Vienna"}})
    campaign.tell(c.Freeze(parameter="n", value=3, until="shift", **WORN))
    assert next_end(campaign.state) == BEGIN.replace(hour=16)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (c.Freeze(parameter="q", value=1, **WORN), "there is no parameter q; there are x, n"),
        (c.Freeze(parameter="n", value=9, **WORN), "n: must lie between low"),
        (c.Freeze(parameter="n", value="edge", **WORN), "n: must be a finite number"),
        (c.Narrow(parameter="x", low=6, high=4, **WORN), "the lowest value 6 is above"),
        (c.Narrow(parameter="x", **WORN), "a lowest and a highest value"),
        (c.Narrow(parameter="x", low=1, options=("a",), **WORN), "not both"),
        (c.Narrow(parameter="n", low=4, **WORN), "no setting satisfies"),
        (c.Freeze(parameter="n", value=1, until="25:00", **WORN), "is no time"),
        (c.Freeze(parameter="n", value=1, until="2020-01-01T00:00", **WORN), "is past"),
    ],
)
def test_a_contradiction_is_refused_and_changes_nothing(command, words):
    campaign = begun(constraints=["x + n >= 1", "x + 3*n <= 14"])
    campaign.tell(c.Narrow(parameter="x", low=3, high=5, **WORN))
    refusal = campaign.refused(command)
    assert words in refusal.text
    assert refusal.text.startswith("nothing was restricted: ")


def test_not_every_parameter_can_be_kept_and_the_first_part_is_the_known_good_one():
    campaign = Driver()
    campaign.tell(c.Start())
    assert "known-good setting, which has n 2" in campaign.refused(c.Freeze(parameter="n", value=3, **WORN)).text
    campaign.tell(c.Freeze(parameter="n", value=2, **WORN))
    campaign.make()
    assert "hold the campaign" in campaign.refused(c.Freeze(parameter="x", value=5, **WORN)).text


def test_a_proposal_that_waits_outside_is_withdrawn_and_one_inside_is_not():
    campaign = Driver(terms(policy={"approval": True}))
    campaign.tell(c.Start())
    campaign.tell(c.Approve(trial=1))
    campaign.make()
    campaign.propose(x=1.0, n=2)
    assert campaign.tell(c.Freeze(parameter="n", value=2, **WORN)) == ["parameter_restricted"]
    assert campaign.tell(c.Freeze(parameter="n", value=3, **WORN)) == ["parameter_restricted", "trial_dropped"]
    assert campaign.state.trials[-1].stage is Stage.DROPPED
    assert "outside of what is allowed for now: n" in campaign.state.trials[-1].outcome_reason


def test_keep_this_gate_today_takes_back_the_swap_that_was_asked_for():
    campaign = Hands().begun()
    campaign.propose(gate="fan")
    assert campaign.state.change.setting == {"gate": "fan"}
    said = campaign.tell(c.Freeze(parameter="gate", value="edge", until="shift", **WORN))
    assert said == ["parameter_restricted", "trial_dropped"]
    assert campaign.state.change is None
    campaign.propose(gate="edge", x=2.0)
    assert campaign.state.change.setting == {"gate": "edge"}  # nobody knows how far the swap had come


def test_what_is_under_way_is_finished():
    campaign = begun()
    campaign.propose(x=1.0, n=1)
    campaign.send()
    assert campaign.tell(c.Freeze(parameter="n", value=3, **WORN)) == ["parameter_restricted"]
    assert campaign.state.trial.stage is Stage.RUNNING


def test_the_champion_outside_stays_champion_and_is_not_made_again():
    campaign = begun(policy={"remake_after_lot": True})
    campaign.tell(c.Freeze(parameter="n", value=3, **WORN))
    assert campaign.state.champion == 1
    assert "outside of what is allowed for now: n" in campaign.refused(c.Repeat(trial=1)).text
    campaign.tell(c.ChangeLot(lot="L2"))
    assert campaign.state.trial is None
    assert campaign.tell(c.Free(parameter="n"))[1:3] == ["proposal_made", "proposal_approved"]
    assert campaign.state.trial.source == "lot"


def test_a_part_to_be_made_again_waits_until_its_setting_is_allowed():
    campaign = begun()
    campaign.propose(x=1.0, n=3)
    campaign.make()
    campaign.tell(c.Repeat(trial=1))
    campaign.tell(c.Freeze(parameter="n", value=3, **WORN))
    campaign.judge(new_wins=False)
    assert campaign.state.trial is None
    campaign.tell(c.Free(parameter="n"))
    assert campaign.state.trial.repeats == 1


def test_operators_restrict_only_where_the_policy_lets_them_and_only_for_a_time():
    freeze = c.Freeze(parameter="n", value=2, until="shift", **WORN)
    assert begun().refused(freeze, ANNA).code == "denied"
    campaign = begun(policy={"operators_restrict": True})
    assert campaign.refused(freeze.model_copy(update={"until": None}), ANNA).code == "denied"
    campaign.tell(freeze, ANNA)
    campaign.tell(c.Free(parameter="n"), ANNA)
    campaign.tell(freeze, ENGINEER)
    assert "ask an engineer" in campaign.refused(c.Free(parameter="n"), ANNA).text
    assert "ask an engineer" in campaign.refused(freeze.model_copy(update={"value": 1}), ANNA).text


def test_a_proposal_computed_before_the_restriction_is_withdrawn_when_it_comes():
    campaign = begun()
    late = proposed(campaign.state, {"x": 1.0, "n": 2})
    campaign.tell(c.Freeze(parameter="n", value=3, **WORN))
    assert campaign.tell(late) == ["proposal_made", "trial_dropped"]
