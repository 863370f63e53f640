import math

import numpy as np
import pytest

from tuner.lab.bench.suite.calibration import calibration, of_better, of_valid
from tuner.lab.bench.suite.runs import Forecast, Given, SuiteRun
from tuner.lab.bench.suite.statistics import LEAST, TARGETS, hit, paired, summary


def made_up(champion, recommended=None, **more):
    """A run whose user is given this after 40 parts."""
    given = Given(40, champion, champion if recommended is None else recommended, looks=44, scrap=2, **more)
    return SuiteRun((Given(20, 0.9, 0.9, 22, 1), given), (), 1.0)


def test_a_summary_tells_what_users_are_given():
    runs = [
        made_up(0.1, right=1, of=2),
        made_up(0.2, right=1, of=1),
        made_up(0.3),
        made_up(1.5, math.inf),
        made_up(0.4),
    ]
    found = summary(runs, 40)
    assert (found.runs, found.median, found.worst_quartile) == (5, 0.3, 0.4)
    assert (found.worse, found.recommended_worse, found.not_made) == (0.2, 0.2, 0.2)
    assert (found.looks, found.scrap) == (1.1, 2.0)
    assert (found.right, found.choices) == (2 / 3, 3)
    assert summary(runs, 20).median == 0.9
    assert summary([made_up(0.1)], 40).right is None


def test_a_run_that_ends_where_it_began_is_not_worse():
    assert summary([made_up(1.0)], 40).worse == 0.0
    assert summary([made_up(1.001)], 40).worse == 1.0


def test_the_share_of_targets_hit_grows_with_each_decade():
    assert hit(np.array([1.0])) == 0.0
    assert hit(np.array([1e-9])) == 1.0
    assert hit(np.array([1e-2])) == pytest.approx(np.mean(TARGETS >= 1e-2))
    assert hit(np.array([1.0, 1e-9])) == 0.5


def test_pairs_are_compared_in_decades_on_the_processes_that_both_have():
    ours = {seed: made_up(0.01) for seed in range(10)}
    theirs = {seed: made_up(0.1 if seed else 0.001) for seed in range(1, 12)} | {0: made_up(0.001)}
    found = paired(ours, theirs, 40)
    assert (found.pairs, found.ahead, found.behind) == (10, 9, 1)
    assert found.decades == pytest.approx((9 * -1 + 1) / 10)
    assert found.low < found.decades < found.high
    assert found.hit > 0
    assert paired(ours, {99: made_up(0.1)}, 40) is None


def test_a_few_pairs_decide_nothing():
    ours, theirs = ({seed: made_up(regret) for seed in range(6)} for regret in (0.01, 0.1))
    assert paired(ours, theirs, 40).verdict == "ahead"
    assert paired(theirs, ours, 40).verdict == "behind"
    assert paired({seed: ours[seed] for seed in range(5)}, theirs, 40).verdict == "undecided"
    assert paired(ours, ours, 40).verdict == "undecided"


def test_regrets_of_zero_and_of_parts_that_are_not_made_have_a_logarithm():
    found = paired({1: made_up(0.0)}, {1: made_up(math.inf)}, 40)
    assert found.decades == pytest.approx(math.log10(LEAST / 10))
    assert found.low is None


def test_chances_that_come_true_are_calibrated_and_others_are_not():
    truths = [True] * 70 + [False] * 30
    good = calibration([0.7] * 100, truths)
    assert good.reached
    assert (good.bins[0].cases, good.worst) == (100, pytest.approx(0.0))
    bad = calibration([0.95] * 100, truths)
    assert not bad.reached
    assert bad.bins[0].deviation == pytest.approx(-0.25)
    assert bad.brier == pytest.approx(0.7 * 0.05**2 + 0.3 * 0.95**2)


def test_a_bin_of_few_cases_decides_nothing():
    few = calibration([0.95] * 50, [False] * 50)
    assert few.reached is None
    assert few.worst is None
    assert few.bins[0].reached
    assert not calibration([0.95] * 51, [False] * 51).reached


def test_the_last_bin_has_certainty_and_the_first_impossibility():
    found = calibration([0.0, 1.0], [False, True])
    assert [(one.low, one.high) for one in found.bins] == [(0.0, 0.05), (0.95, 1.0)]


def test_parts_that_were_not_made_say_nothing_about_better():
    forecasts = [Forecast(0.9, True, 0.5, True), Forecast(0.9, False, 0.5, None), Forecast(0.9, True, None, None)]
    assert of_better(forecasts).cases == 1
    assert of_valid(forecasts).cases == 3
    assert of_valid([]).cases == 0
