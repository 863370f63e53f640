"""Trials and judgments of an earlier campaign: checked, known to the model at a discount, or the campaign's own."""

import json

import pytest

from tests.campaign.helpers import ANNA, ENGINEER, Driver, terms
from tuner.campaign import commands as c
from tuner.campaign.earlier import EarlierJudgment, EarlierTrial, ImportEarlier, pieces
from tuner.campaign.effects import ComputeNext, basis, wanted
from tuner.campaign.importing import MOST_KNOWN, import_of
from tuner.campaign.model_input import model_input, optimizer_state
from tuner.campaign.state import Stage
from tuner.compute.tasks import fallback, next_step
from tuner.core.optimizer.records import Memory, Proposal
from tuner.daemon.journal_thread import STATE


def brought(*settings, judgments=(), discount=0.5, **rest) -> ImportEarlier:
    trials = tuple(EarlierTrial(setting=dict(zip("xn", one, strict=True)), valid=True) for one in settings)
    given = tuple(EarlierJudgment(left=a, right=b, winner=a) for a, b in judgments)
    return ImportEarlier(source="old.json", trials=trials, judgments=given, discount=discount, **rest)


def tuned() -> Driver:
    """A campaign with scrap, a rejected proposal, a lot, a tie and two operators, ready for its next proposal."""
    campaign = Driver(terms(trials=12, policy={"approval": True, "looks_per_part": 1.0}))
    campaign.tell(c.ChangeLot(lot="L1"))
    campaign.tell(c.Start())
    for x, n, fate in (
        (5.0, 2, "made"),
        (1.0, 0, "lost"),
        (9.0, 4, "scrap"),
        (7.0, 2, "won"),
        (2.5, 3, "rejected"),
        (6.0, 3, "tie"),
    ):
        if campaign.state.trial is None:
            computed(campaign, x, n)
        number = campaign.state.trial.number
        if fate == "rejected":
            campaign.tell(c.Reject(trial=number, reason="too hot"))
            continue
        campaign.tell(c.Approve(trial=number))
        campaign.make(valid=fate != "scrap")
        if fate == "tie":
            campaign.tell(c.Tie(duel=campaign.state.duel.number), ENGINEER)
        elif fate in ("won", "lost"):
            campaign.judge(fate == "won", ANNA if fate == "won" else ENGINEER)
    assert isinstance(wanted(campaign.state), ComputeNext)
    return campaign


def computed(campaign, x, n) -> None:
    """The model's own step, but at a setting of the test's choice: the memory is a real one."""
    result = next_step(json.loads(json.dumps(model_input(campaign.state))))
    proposal = Proposal.from_json({**result["proposal"], "setting": {"x": x, "n": n}})
    campaign.tell(c.Propose(proposal=proposal, source="model", model=Memory.from_json(result["model"])))


def again(brought: ImportEarlier) -> ImportEarlier:
    """As it comes out of a request."""
    return ImportEarlier.model_validate_json(brought.model_dump_json())


@pytest.fixture(scope="module")
def earlier():
    return tuned()


def test_without_a_discount_the_next_step_is_the_one_the_other_campaign_would_take_bit_for_bit(earlier):
    copy = Driver(earlier.state.terms)
    copy.tell(again(import_of(earlier.state, discount=1.0)))
    copy.tell(c.Start())
    assert isinstance(wanted(copy.state), ComputeNext)
    assert (copy.state.champion, copy.state.spent, copy.state.scrap) == (4, 5, 1)
    assert [t.stage for t in copy.state.trials] == [t.stage for t in earlier.state.trials]
    ours, theirs = (next_step(model_input(one.state)) for one in (copy, earlier))
    assert ours == theirs
    # each of these words counts: without it the model says something else
    whole = import_of(earlier.state, discount=1.0)
    for less in (
        {"judgments": whole.judgments[:-2]},
        {"trials": (*whole.trials[:2], whole.trials[2].model_copy(update={"valid": True}), *whole.trials[3:])},
        {"discount": 0.5},
    ):
        other = Driver(earlier.state.terms)
        other.tell(whole.model_copy(update=less))
        assert next_step(model_input(other.state)) != theirs


def test_without_the_memory_it_is_what_the_other_campaign_would_say_when_fitted_anew(earlier):
    copy = Driver(earlier.state.terms)
    copy.tell(import_of(earlier.state, discount=1.0).model_copy(update={"model": None}))
    assert copy.state.memory == Memory(asks=earlier.state.memory.asks)
    cold = model_input(earlier.state)
    cold["state"] |= {"fits": {}, "leader": None, "doubted": False}
    assert next_step(model_input(copy.state))["proposal"] == next_step(cold)["proposal"]


def test_at_a_discount_it_informs_the_model_and_counts_for_nothing_else(campaign):
    before = basis(campaign.state)
    assert campaign.tell(brought((1.0, 2), (6.0, 3), judgments=[(2, 1)])) == ["earlier_imported"]
    assert (campaign.state.spent, campaign.state.champion, len(campaign.state.judgments)) == (1, 1, 0)
    told = optimizer_state(campaign.state)
    assert [(t.number, t.earlier, t.discount) for t in told.trials] == [(1, False, 1.0), (2, True, 0.5), (3, True, 0.5)]
    assert [(j.number, j.winner, j.discount, j.operator) for j in told.judgments] == [(1, 3, 0.5, None)]
    assert basis(campaign.state) != before
    assert campaign.refold() == campaign.state
    assert STATE.validate_json(STATE.dump_json(campaign.state)) == campaign.state
    for task in (next_step, fallback):
        found = task(model_input(campaign.state))["proposal"]
        assert found["opponent"] == 1
    campaign.propose(x=2.0)
    campaign.make()
    campaign.judge(new_wins=True)
    assert [t.number for t in optimizer_state(campaign.state).trials if t.earlier] == [3, 4]
    assert [j.winner for j in optimizer_state(campaign.state).judgments] == [2, 4]


def test_trials_without_a_part_and_left_out_ones_come_along_and_are_not_learned_from(earlier):
    campaign = Driver(terms()).begun()
    campaign.tell(import_of(earlier.state))
    told = optimizer_state(campaign.state).trials[1:]
    assert [(t.valid, t.excluded) for t in told] == [
        (True, None), (True, None), (False, None), (True, None), (None, "left out"), (True, None)
    ]  # fmt: skip
    assert campaign.state.scrap == 0


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (brought((12.0, 2)), "earlier trial 1: x must lie between low (0.0) and high (10.0), not 12.0"),
        (brought((1.0, 2), (1.0, 9)), "earlier trial 2: n must lie between"),
        (
            ImportEarlier(source="f", trials=(EarlierTrial(setting={"x": 1.0, "speed": 3.0}, valid=True),)),
            'earlier trial 1 has values for "speed", "x", this campaign has the parameters "x", "n"',
        ),
        (ImportEarlier(source="f", trials=(EarlierTrial(setting={"x": "a", "n": 1}),)), "x must be a finite number"),
        (ImportEarlier(source="f", trials=(EarlierTrial(setting={"x": 1.0, "n": 1}),)), "it has no outcome"),
        (brought((1.0, 2), judgments=[(1, 2)]), "earlier judgment 1: there is no earlier trial 2"),
        (brought((1.0, 2), judgments=[(1, 1)]), "cannot be compared with itself"),
        (brought(*[(20.0, 1)] * 9), "and 4 more"),
    ],
)
@pytest.mark.parametrize("discount", [0.5, 1.0])
def test_what_does_not_fit_is_refused_in_a_sentence_and_nothing_is_imported(given, sentence, discount):
    campaign = Driver()
    refusal = campaign.refused(given.model_copy(update={"discount": discount}))
    assert refusal.text.startswith("nothing was imported: ")
    assert sentence in refusal.text


def test_an_unknown_choice_and_a_broken_constraint_are_refused():
    choice = [
        {"kind": "continuous", "name": "x", "low": 0.0, "high": 10.0, "start": 5.0},
        {"kind": "choice", "name": "n", "choices": ["edge", "fan"], "start": "fan"},
    ]
    campaign = Driver(terms(parameters=choice, constraints=["x <= 8"]))
    assert "n must be one of" in campaign.refused(brought((1.0, "fann"))).text
    assert "the constraint x <= 8 does not hold" in campaign.refused(brought((9.0, "fan"))).text


def test_a_value_finer_than_the_present_resolution_is_taken_at_its_nearest_multiple():
    given = [{"kind": "continuous", "name": "x", "low": 0.0, "high": 10.0, "start": 5.0, "resolution": 0.5},
             {"kind": "integer", "name": "n", "low": 0, "high": 4, "start": 2}]  # fmt: skip
    campaign = Driver(terms(parameters=given)).begun()
    campaign.tell(brought((3.3, 2)))
    assert optimizer_state(campaign.state).trials[1].setting == {"x": 3.5, "n": 2}
    next_step(model_input(campaign.state))


def test_the_same_is_not_imported_twice_and_a_campaign_under_way_takes_nothing_over(campaign):
    campaign.tell(brought((1.0, 2)))
    assert campaign.refused(brought((1.0, 2), discount=0.3)).code == "unchanged"
    refusal = campaign.refused(brought((2.0, 2), discount=1.0))
    assert "import them with a discount below 1" in refusal.text


def test_more_trials_than_the_budget_are_not_taken_over():
    campaign = Driver(terms(trials=2))
    refusal = campaign.refused(brought((1.0, 2), (2.0, 2), (3.0, 2), discount=1.0))
    assert "3 trials are more than the budget of 2" in refusal.text


def test_what_is_taken_over_goes_on_with_its_parts_lots_and_repeats(earlier):
    campaign = Driver(terms(trials=20, policy={"remake_after_lot": True}))
    campaign.tell(import_of(earlier.state, discount=1.0))
    assert campaign.state.lot == "L1"
    assert [t.tag for t in campaign.state.trials] == [t.tag for t in earlier.state.trials]
    assert campaign.state.trials[4].stage is Stage.REJECTED
    assert campaign.refold() == campaign.state
    campaign.tell(c.Start())
    campaign.propose(x=3.0)
    campaign.make()
    assert campaign.state.duel.pair == {4, 7}


@pytest.mark.parametrize(
    "memory",
    [
        Memory(asks=-1),
        Memory(leader=3),
        Memory(fits={"taste": None}),
        Memory(fits={"preference": 7}),
        Memory(fits={"preference": {"lengthscales": [0.0], "variance": 1.0, "noise": [1.0]}}),
        Memory(fits={"preference": {"lengthscales": [0.3, "wide"], "variance": 1.0, "noise": [1.0]}}),
    ],
)
def test_a_memory_that_no_model_can_have_is_refused(memory):
    assert "leave it out" in Driver().refused(brought((1.0, 2), (2.0, 2), discount=1.0, model=memory)).text


def many(trials: int, discount=0.5) -> ImportEarlier:
    """Each trial lost to the first but the last one, which won; every fifth made no part."""
    rows = tuple(EarlierTrial(setting={"x": n % 100 / 10, "n": n % 5}, valid=n % 5 != 4) for n in range(trials))
    good = [number for number, row in enumerate(rows, 1) if row.valid]
    judgments = tuple(
        EarlierJudgment(left=1, right=number, winner=number if number == good[-1] else 1) for number in good[1:]
    )
    return ImportEarlier(source="old.csv", trials=rows, judgments=judgments, discount=discount)


def test_an_import_in_pieces_is_the_same_as_one_in_a_single_request():
    whole, in_pieces = Driver(terms(trials=200)), Driver(terms(trials=200))
    whole.tell(many(100, discount=1.0))
    parts = [again(one) for one in pieces(many(100, discount=1.0), 2000)]
    assert len(parts) > 3
    for part in parts[:-1]:
        in_pieces.tell(part)
        assert (in_pieces.state.imports, in_pieces.state.trials) == ((), ()), "nothing before the last one"
        assert STATE.validate_json(STATE.dump_json(in_pieces.state)) == in_pieces.state
    in_pieces.tell(parts[-1])
    assert in_pieces.refold() == in_pieces.state
    assert in_pieces.state.arriving is None
    assert [(t.setting, t.valid) for t in in_pieces.state.trials] == [(t.setting, t.valid) for t in whole.state.trials]
    assert optimizer_state(in_pieces.state) == optimizer_state(whole.state)


def test_a_piece_that_is_lost_or_another_s_is_noticed_and_the_first_one_begins_anew():
    campaign = Driver(terms(trials=200))
    parts = list(pieces(many(100), 2000))
    for wrong in (parts[1], parts[-1]):
        assert campaign.refused(wrong).code == "stale"
    campaign.tell(parts[0])
    assert campaign.refused(parts[2]).code == "stale"
    assert campaign.refused(parts[1].model_copy(update={"source": "another"})).code == "stale"
    campaign.tell(parts[0])
    for part in parts[1:]:
        campaign.tell(part)
    assert [len(one.trials) for one in campaign.state.imports] == [100]
    assert campaign.refused(many(100)).code == "unchanged"


def test_what_does_not_fit_in_a_later_piece_is_refused_with_its_number():
    campaign = Driver(terms(trials=200))
    first, *_ = pieces(many(100), 2000)
    campaign.tell(first)
    after = len(first.trials)
    bad = brought((99.0, 2)).model_copy(update={"source": "old.csv", "after": after})
    assert f"earlier trial {after + 1}: x must lie" in campaign.refused(bad).text
    beyond = EarlierJudgment(left=1, right=after + 1)
    wrong = bad.model_copy(update={"trials": (), "judgments": (beyond,)})
    assert f"there is no earlier trial {after + 1}" in campaign.refused(wrong).text


@pytest.mark.slow
def test_of_ten_thousand_trials_the_model_is_told_what_it_can_carry_the_newest_first():
    campaign = Driver()
    for piece in pieces(many(10_000), 150_000):
        campaign.tell(piece)
    told = optimizer_state(campaign.state)
    assert len(told.trials) == MOST_KNOWN
    assert {j.winner for j in told.judgments} == {1, MOST_KNOWN - 1}, "the last winner and whom it was compared with"
    assert sum(t.valid is False for t in told.trials) > 50
    assert told.trials[0].setting == {"x": 0.0, "n": 0}
    assert [len(one.trials) for one in campaign.state.imports] == [10_000]
