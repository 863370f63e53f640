import math

import pytest

from tuner.lab.simulate.goals import Goal, GoalError

INF = math.inf


@pytest.mark.parametrize(
    ("text", "values", "met"),
    [
        ("regret<=0.1", [0.05, 0.1], True),
        ("regret<=0.1", [0.05, 0.2], False),
        ("regret<0.1", [0.1], False),
        ("regret <= 1e-1", [INF], False),
        ("median(regret)<0.05", [0.01, 0.04, 9.0], True),
        ("median(regret)<0.05", [0.01, 0.06, 9.0], False),
        ("mean(scrap)<=2", [0, 4], True),
        ("mean(regret)<=2", [0.0, INF], False),
        ("worst(scrap)<=8", [8, 9], False),
        ("best(regret)<0.1", [3.0, 0.05], True),
        ("trials>=6", [6, 7], True),
        ("trials>=6", [6, 5], False),
        ("trials==6", [6, 6], True),
        ("trials == 6", [6, 7], False),
        ("  recommended_regret  >  -1 ", [0.0], True),
    ],
)
def test_a_goal_holds_for_every_run_or_for_the_aggregate_it_names(text, values, met):
    assert Goal.parse(text).met(values) is met


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("regret", "is no goal"),
        ("", "is no goal"),
        ("regret<=", "is no goal"),
        ("regret<=0.1; import os", "is no goal"),
        ("__import__('os').system('true')<=1", "is no goal"),
        ("regert<=0.1", 'did you mean "regret"'),
        ("medain(regret)<=0.1", 'did you mean "median"'),
        ("regret<=small", "small is no number"),
        ("regret<=inf", "must be finite"),
        ("regret<=nan", "must be finite"),
        ("1<=regret", "there is no number 1"),
    ],
)
def test_what_is_no_goal_is_refused_with_the_reason(text, said):
    with pytest.raises(GoalError) as error:
        Goal.parse(text)
    assert said in str(error.value)


def test_the_sentence_names_the_value_that_decided():
    assert Goal.parse("regret<=0.1").sentence([0.05, 0.25]) == "MISSED: regret<=0.1 (regret of the worst run is 0.25)"
    assert Goal.parse("mean(scrap)<=3").sentence([2, 4]) == "met: mean(scrap)<=3 (mean(scrap) is 3)"
