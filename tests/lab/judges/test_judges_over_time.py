import numpy as np
import pytest

from tuner.lab.judges.scripted import ExactJudge, FlippingJudge, TiringJudge, TwoOperators

COUNT = 4000


def test_a_tiring_judge_is_wrong_more_often_the_more_answers_it_gave():
    rng = np.random.default_rng(0)
    wrong = np.zeros(200)
    for _ in range(300):
        judge = TiringJudge(0.05, 0.5, answers=40)
        wrong += [judge.prefers_new(2.0, 1.0, rng) for _ in range(200)]
    shares = wrong.reshape(4, 50).mean(axis=1) / 300
    assert (np.diff(shares) > 0.02).all()
    assert shares[0] < 0.25
    assert shares[-1] == pytest.approx(0.48, abs=0.03)


def test_a_tiring_judge_is_halfway_after_its_number_of_answers_and_fresh_after_a_pause():
    judge, rng = TiringJudge(0.0, 0.4, answers=10), np.random.default_rng(0)
    assert judge.probability == 0.0
    for _ in range(10):
        judge.prefers_new(1.0, 2.0, rng)
    assert judge.probability == pytest.approx(0.2)
    judge.pause()
    assert judge.probability == 0.0


def test_two_operators_share_the_duels_and_each_keeps_its_care():
    judge, rng = TwoOperators(FlippingJudge(0.0), FlippingJudge(0.3), share=0.75), np.random.default_rng(1)
    assert judge.operator is None
    answers = [(judge.prefers_new(1.0, 2.0, rng), judge.operator) for _ in range(COUNT)]
    careful = [right for right, who in answers if who == "careful"]
    careless = [right for right, who in answers if who == "careless"]
    assert len(careful) + len(careless) == COUNT
    assert len(careful) / COUNT == pytest.approx(0.75, abs=0.03)
    assert all(careful)
    assert np.mean(careless) == pytest.approx(0.7, abs=0.05)


def test_two_exact_operators_are_exact():
    judge, rng = TwoOperators(ExactJudge(), ExactJudge()), np.random.default_rng(1)
    assert [judge.prefers_new(*costs, rng) for costs in ((1, 2), (2, 1), (1, 1))] == [True, False, False]


@pytest.mark.parametrize(
    "make",
    [
        lambda: TiringJudge(0.3, 0.2),
        lambda: TiringJudge(-0.1, 0.2),
        lambda: TiringJudge(answers=0),
        lambda: TiringJudge(answers=float("nan")),
        lambda: TwoOperators(share=1.5),
    ],
)
def test_a_judge_that_cannot_be_is_refused(make):
    with pytest.raises(ValueError, match="not"):
        make()
