import numpy as np
import pytest
from scipy.special import ndtr

from tuner.lab.judges.scripted import ExactJudge, FlippingJudge, ProbitJudge

COUNT = 20_000


def share(judge, new, champion):
    rng = np.random.default_rng(0)
    return np.mean([judge.prefers_new(new, champion, rng) for _ in range(COUNT)])


def test_an_exact_judge_prefers_the_lower_cost_and_keeps_the_champion_on_a_tie():
    rng = np.random.default_rng(0)
    assert ExactJudge().prefers_new(1.0, 2.0, rng)
    assert not ExactJudge().prefers_new(2.0, 1.0, rng)
    assert not ExactJudge().prefers_new(1.0, 1.0, rng)


@pytest.mark.parametrize("gap", [1e-9, 1e9])
def test_a_flipping_judge_is_wrong_equally_often_whatever_the_difference(gap):
    judge = FlippingJudge(0.1)
    assert share(judge, gap, 0.0) == pytest.approx(0.1, abs=0.01)
    assert share(judge, -gap, 0.0) == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("gap", [0.2, 1.0, 3.0])
def test_a_probit_judge_is_wrong_as_often_as_the_normal_distribution_says(gap):
    judge = ProbitJudge(2.0)
    assert share(judge, -gap, 0.0) == pytest.approx(ndtr(gap / 2.0), abs=0.015)
    assert share(judge, gap, 0.0) == pytest.approx(ndtr(-gap / 2.0), abs=0.015)


def test_a_judge_without_noise_is_exact():
    assert share(FlippingJudge(0.0), 1.0, 2.0) == share(ProbitJudge(0.0), 1.0, 2.0) == 1.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: FlippingJudge(1.1),
        lambda: FlippingJudge(-0.1),
        lambda: ProbitJudge(-1.0),
        lambda: ProbitJudge(float("nan")),
    ],
)
def test_a_judge_that_cannot_be_is_refused(make):
    with pytest.raises(ValueError, match=r"not"):
        make()
