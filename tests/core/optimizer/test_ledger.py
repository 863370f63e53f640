from dataclasses import replace

import numpy as np
import pytest

from tuner import Continuous, Integer, Optimizer, Space
from tuner.core.optimizer.ledger import Ledger, TellError
from tuner.core.posterior.observations import Kind
from tuner.core.space.parameters import SpaceError

SPACE = Space([Continuous("x", 0, 1), Integer("k", 1, 5)])


def told(*outcomes):
    """A ledger of trials 1, 2, ... with these outcomes; None is pending."""
    ledger = Ledger(SPACE)
    for number, valid in enumerate(outcomes, 1):
        ledger.add({"x": number / 10, "k": 1})
        if valid is not None:
            ledger.outcome(number, valid)
    return ledger


BAD = [
    (lambda o: o.tell_outcome(9, True), "no trial 9"),
    (lambda o: o.tell_outcome(0, True), "no trial 0"),
    (lambda o: o.tell_outcome(True, True), "named by its number, not True"),
    (lambda o: o.tell_outcome("1", True), "named by its number, not '1'"),
    (lambda o: o.tell_outcome(1.0, True), "named by its number, not 1.0"),
    (lambda o: o.tell_outcome(None, True), "named by its number"),
    (lambda o: o.tell_outcome([1], True), "named by its number"),
    (lambda o: o.tell_outcome(5, 1), "True .valid. or False"),
    (lambda o: o.tell_outcome(5, "yes"), "True .valid. or False"),
    (lambda o: o.tell_outcome(5, True, reason=3), "a reason is a text"),
    (lambda o: o.tell_outcome(1, False), "trial 1 was valid before"),
    (lambda o: o.tell_outcome(4, True), "trial 4 was non-valid before"),
    (lambda o: o.tell_judgment(1, 9), "no trial 9"),
    (lambda o: o.tell_judgment(1, 4), "trial 4 is non-valid"),
    (lambda o: o.tell_judgment(5, 1), "trial 5 has no outcome yet"),
    (lambda o: o.tell_judgment(6, 1), "trial 6 is excluded"),
    (lambda o: o.tell_judgment(1, 1), "cannot be compared with itself"),
    (lambda o: o.tell_judgment(True, 2), "named by its number"),
    (lambda o: o.tell_judgment(2, 1, operator=7), "an operator is named by a text"),
    (lambda o: o.tell_tie(2, 4), "trial 4 is non-valid"),
    (lambda o: o.tell_tie(2, 2), "cannot be compared with itself"),
    (lambda o: o.retract(9), "no judgment 9"),
    (lambda o: o.retract(True), "a judgment is named by its number"),
    (lambda o: o.retract(2), "judgment 2 was retracted before"),
    (lambda o: o.exclude(6), "trial 6 was excluded before"),
    (lambda o: o.exclude(77), "no trial 77"),
    (lambda o: o.add({"x": 2, "k": 1}), "x: must lie between .* not 2"),
    (lambda o: o.add({"x": 0.5}), "k: the setting gives no value"),
    (lambda o: o.ask(0), "at least one"),
    (lambda o: o.ask(True), "must be a whole number"),
    (lambda o: o.ask(2.0), "must be a whole number"),
    (
        lambda o: o.warm_start([({"x": 0.5, "k": 1}, True), ({"x": 5, "k": 1}, True)]),
        "earlier trial 1: x: must lie",
    ),
    (lambda o: o.warm_start([({"x": 0.5, "k": 1}, "yes")]), "earlier trial 0: an outcome"),
    (lambda o: o.warm_start([({"x": 0.5, "k": 1}, True)], [(0, 1)]), "judgment 0: there is no earlier trial 1"),
    (lambda o: o.warm_start([({"x": 0.5, "k": 1}, False), ({"x": 0.6, "k": 1}, True)], [(1, 0)]), "non-valid"),
    (lambda o: o.warm_start([({"x": 0.5, "k": 1}, True)], discount=0.0), "a discount"),
    (lambda o: o.warm_start([({"x": 0.5, "k": 1}, True)], discount=2), "a discount"),
    (lambda o: o.tell_judgment(2, 1, clearly="very"), "clearly better"),
]


@pytest.mark.parametrize("case", range(len(BAD)), ids=[words for _, words in BAD])
def test_a_bad_call_says_what_is_wrong_and_changes_nothing(case):
    call, words = BAD[case]
    optimizer = Optimizer(SPACE)
    for number in range(1, 7):
        optimizer.add({"x": number / 10, "k": 1})
    for number, valid in ((1, True), (2, True), (3, True), (4, False), (6, True)):
        optimizer.tell_outcome(number, valid)
    optimizer.tell_judgment(2, 1)
    optimizer.tell_judgment(3, 2)
    optimizer.retract(2)
    optimizer.exclude(6)
    before = optimizer.state()
    with pytest.raises(ValueError, match=words):
        call(optimizer)
    assert optimizer.state() == before


def test_numbers_of_numpy_name_trials_and_judgments():
    ledger = told(True, True)
    number = ledger.judge(np.int64(2), np.int32(1))
    ledger.outcome(np.int64(1), np.bool_(True))
    assert ledger.champion == 2
    assert {type(v) for v in (ledger.judgments[number].winner, ledger.judgments[number].loser)} == {int}
    assert ledger.trials[1].valid is True
    ledger.retract(np.int64(number))
    ledger.exclude(np.int8(1))
    assert ledger.champion == 2


def test_settings_are_kept_as_plain_numbers():
    trial = told().add({"k": np.int64(3), "x": np.float32(0.5)})
    assert trial.setting == {"x": 0.5, "k": 3}
    assert [type(v) for v in trial.setting.values()] == [float, int]


def test_the_same_outcome_may_be_told_twice_and_a_reason_added():
    ledger = told(False)
    ledger.outcome(1, False, "short shot")
    ledger.outcome(1, False)
    assert ledger.trials[1].outcome_reason == "short shot"


def test_the_champion_is_the_first_valid_trial_until_another_beats_it():
    ledger = told(None, False, True, True, True)
    assert told(None, False).champion is None
    assert ledger.champion == 3
    ledger.outcome(1, True)
    assert ledger.champion == 1
    ledger.judge(4, 3)
    assert ledger.champion == 1
    ledger.judge(3, 1)
    assert ledger.champion == 4  # it beat 3 before
    ledger.judge(4, 5)
    assert ledger.champion == 4
    ledger.judge(5, 4)
    assert ledger.champion == 5  # the last of as many answers


def test_the_majority_of_answers_to_a_duel_decides_before_the_last_one():
    ledger = told(True, True)
    ledger.judge(2, 1)
    ledger.judge(2, 1)
    ledger.judge(1, 2)
    assert ledger.champion == 2


def test_judgments_in_a_circle_still_give_a_champion():
    ledger = told(True, True, True)
    ledger.judge(2, 1)
    ledger.judge(3, 2)
    ledger.judge(1, 3)
    assert ledger.champion == 3


def test_a_tie_leaves_the_champion():
    ledger = told(True, True)
    ledger.judge(2, 1, tie=True)
    assert ledger.champion == 1


def test_a_later_answer_to_the_same_duel_counts():
    ledger = told(True, True)
    ledger.judge(2, 1)
    assert ledger.champion == 2
    ledger.judge(1, 2)
    assert ledger.champion == 1
    ledger.judge(2, 1)
    assert ledger.champion == 2


def test_a_retracted_judgment_gives_the_crown_back():
    ledger = told(True, True, True)
    ledger.judge(2, 1)
    ledger.judge(3, 2)
    ledger.retract(2)
    assert ledger.champion == 2
    ledger.retract(1)
    assert ledger.champion == 1


def test_an_excluded_champion_is_followed_by_what_the_rest_says():
    ledger = told(True, True, True)
    ledger.judge(2, 1)
    ledger.judge(3, 2)
    ledger.exclude(3)
    assert ledger.champion == 2
    ledger.exclude(1)
    assert ledger.champion == 2
    ledger.exclude(2)
    assert ledger.champion is None


def test_excluded_trials_take_their_judgments_with_them():
    ledger = told(True, True, True)
    ledger.judge(2, 1)
    ledger.judge(3, 1)
    ledger.exclude(2)
    _, data = ledger.preferences()
    assert data.m == 1
    assert len(ledger.active) == 1


def test_judges_are_numbered_from_this_campaign_s_first_and_earlier_ones_are_expected_noisier():
    ledger = Ledger(SPACE)
    earlier = [({"x": 0.1, "k": 1}, True), ({"x": 0.2, "k": 1}, True), ({"x": 0.3, "k": 1}, False)]
    ledger.warm_start(earlier, [(0, 1)], 0.25)
    assert ledger.judges == [(None, 1.0), (None, 0.25)]
    assert ledger.noise == (4.0,)
    for number in (4, 5, 6):
        ledger.add({"x": number / 10, "k": 2})
        ledger.outcome(number, True)
    ledger.judge(5, 4, operator="ann")
    ledger.judge(4, 6, operator="bob")
    assert ledger.judges == [("ann", 1.0), (None, 0.25), ("bob", 1.0)]
    _, data = ledger.preferences()
    assert data.judge.tolist() == [1, 0, 2]
    assert ledger.labels().judge.tolist() == [1, 1, 1, 0, 0, 0]


def test_a_rebuilt_ledger_takes_nothing_that_could_not_be_told():
    ledger = told(True, True, False)
    ledger.judge(2, 1)
    ledger.exclude(2)
    trials, (judgment,) = [*ledger.trials.values()], ledger.judgments.values()
    assert Ledger.rebuilt(SPACE, trials, [judgment]) == ledger
    for damaged, words in (
        (replace(judgment, left=3, winner=3), "trial 3 is non-valid"),
        (replace(judgment, right=8), "no trial 8"),
        (replace(judgment, number=5), "judgment 5 stands where judgment 1"),
        (replace(judgment, winner=3), "winner of judgment 1 is none of its trials"),
    ):
        with pytest.raises(TellError, match=words):
            Ledger.rebuilt(SPACE, trials, [damaged])
    with pytest.raises(TellError, match="trial 2 stands where trial 1"):
        Ledger.rebuilt(SPACE, trials[1:], [])
    with pytest.raises(SpaceError, match=r"trial 1: x: must lie between .* not 0\.1"):
        Ledger.rebuilt(Space([Continuous("x", 0.5, 1), Integer("k", 1, 5)]), trials, [judgment])


def test_grades_reach_the_model_and_a_state_and_tell_apart_who_was_never_asked():
    optimizer = Optimizer(SPACE)
    for number in (1, 2, 3, 4):
        optimizer.add({"x": number / 10, "k": 1})
        optimizer.tell_outcome(number, True)
    for number, clearly in ((2, None), (3, True), (4, False)):
        optimizer.tell_judgment(number, 1, clearly=clearly)
    optimizer.tell_tie(3, 2)
    kept = Optimizer.from_state(SPACE, optimizer.state()).ledger
    assert [judgment.clearly for judgment in kept.judgments.values()] == [None, True, False, None]
    assert list(kept.preferences()[1].kind) == [Kind.DUEL, Kind.CLEAR, Kind.SLIGHT, Kind.TIE]
    assert kept.judgments[2].better({3: "P3"}) == "P3, clearly"
    assert kept.judgments[3].better({4: "P4"}) == "P4"


def looked(*answers):
    """A ledger of three parts with looks at the duel of the first two: 1 or 2 wins, 0 is a tie."""
    ledger = told(True, True, True)
    for answer in answers:
        ledger.judge(*((2, 1) if answer == 2 else (1, 2)), tie=answer == 0)
    return ledger


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [((1,), 1), ((2, 1, 2), 2), ((1, 2), "draw"), ((0, 0, 1), 0), ((0, 2), "draw"), ((2, 2, 1, 1, 1), 1)],
)
def test_the_majority_of_the_looks_at_a_duel_is_the_one_judgment_that_counts(answers, verdict):
    ledger = looked(*answers)
    ledger.judge(3, 1)
    _, data = ledger.preferences()
    rows = [] if verdict == "draw" else [{1: (0, 1), 2: (1, 0), 0: (0, 1)}[verdict]]
    duels = [(2, 0)] if verdict == 0 else [*rows, (2, 0)]
    expected = duels + (rows if verdict == 0 else [])
    assert list(zip(data.plus.tolist(), data.minus.tolist(), strict=True)) == expected
    assert data.has_ties == (verdict == 0)


def test_a_verdict_is_clear_if_most_of_the_looks_were_that_saw_the_same():
    for grades, clear in (((True,), True), ((True, False), False), ((True, None, True, False), True), ((None,), None)):
        ledger = told(True, True)
        for grade in grades:
            ledger.judge(1, 2, clearly=grade)
        assert ledger.verdicts[0].clearly is clear


def test_a_look_that_is_taken_back_counts_no_more():
    ledger = looked(1, 2, 2)
    assert ledger.verdicts[0].winner == 2
    ledger.retract(3)
    assert ledger.verdicts == []
    ledger.retract(2)
    assert ledger.verdicts[0].winner == 1
