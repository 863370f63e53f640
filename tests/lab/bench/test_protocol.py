import math
from dataclasses import replace

import numpy as np
import pytest

from tuner.lab.bench.protocol import Options, box_space, run_protocol
from tuner.problems import UnknownProblemError, get_problem

SHORT = Options(trials=5)


@pytest.fixture(scope="module")
def six_hump():
    return run_protocol("six_hump", 0, SHORT)


def test_a_run_is_the_same_for_the_same_seed_and_another_for_another():
    once, again, other = (run_protocol("forrester", seed, Options(trials=2)) for seed in (3, 3, 4))
    assert once == again
    assert once.regret != other.regret


def test_with_an_exact_judge_the_regret_never_rises_and_there_is_one_after_each_trial(six_hump):
    run = six_hump
    assert len(run.regret) == len(run.seconds) == 5
    assert all(later <= earlier for earlier, later in zip(run.regret, run.regret[1:], strict=False))
    assert min(run.regret) >= 0.0


def test_the_champion_after_the_start_is_the_best_of_the_uniform_settings(six_hump):
    problem = get_problem("six_hump")
    low, high = problem.bounds.T
    points = low + (high - low) * np.random.default_rng([0, 1]).random((11, 2))
    assert six_hump.regret[0] <= problem.evaluate(points).min() - problem.minimum


def test_options_change_the_judge_but_not_where_a_seed_starts():
    exact = run_protocol("levy2", 0, Options(trials=1))
    contrary = run_protocol("levy2", 0, Options(trials=1, flips=1.0))
    assert contrary.regret[0] > exact.regret[0]


def test_scrap_counts_the_asked_trials_only():
    run = run_protocol("sasena", 0, Options(trials=2))
    assert 0 <= run.scrap <= 2


def test_without_a_valid_trial_the_regret_is_infinite():
    run = run_protocol("branin_discs", 0, Options(start=0, trials=1))
    assert run.scrap in (0, 1)
    assert math.isinf(run.regret[0]) == (run.scrap == 1)


def test_the_space_of_a_problem_is_its_box():
    space = box_space(get_problem("rosenbrock5"))
    assert [(p.low, p.high) for p in space.parameters] == [(-3, 3)] * 5


def test_an_unknown_problem_is_named_with_its_nearest():
    with pytest.raises(UnknownProblemError, match='did you mean "levy2"'):
        run_protocol("levi2", 0, SHORT)


def test_options_that_contradict_each_other_are_refused():
    with pytest.raises(ValueError, match="either flips answers or has noise"):
        replace(SHORT, flips=0.1, noise=0.1)
    with pytest.raises(ValueError, match="counts"):
        replace(SHORT, trials=-1)


def test_a_trusting_run_never_doubts_what_a_doubting_one_does():
    flipped = Options(flips=0.3, trials=6)
    doubting, trusting = (run_protocol("forrester", 1, replace(flipped, trusting=how)) for how in (False, True))
    assert doubting.regret[-1] != trusting.regret[-1]
    short = replace(flipped, trials=1)  # too few answers to doubt
    assert run_protocol("forrester", 1, short) == run_protocol("forrester", 1, replace(short, trusting=True))
