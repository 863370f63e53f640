from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.lab.paper.records import by_task, made_up, race
from tuner.lab.paper import claims as judge
from tuner.lab.paper.compare import LEAST_PAIRS, duel, mean_curve, of, smaller, together
from tuner.lab.paper.examples import PRINTED_VARIANCE, Step, figure3, figure6, section4
from tuner.lab.paper.tasks import ACQUISITIONS, FUNCTIONS, MIXED_ACQUISITIONS


def verdicts(claims, *words):
    return [claim.verdict for claim in claims if all(word in claim.paper for word in words)]


@pytest.fixture(scope="module")
def exact():
    return section4(3000, 27)


def test_section_4_is_reproduced_with_the_variance_50_and_not_with_the_printed_one(exact):
    claims = judge.section4_claims(exact, section4(500, 27, variance=PRINTED_VARIANCE))
    assert [claim.verdict for claim in claims] == ["disagrees", "agrees", "agrees", "agrees"]
    assert f"{exact.marginals[0].skewness:.2f}" in claims[1].measured
    assert f"{exact.marginals[1].mean['gpl']:.2f}" in claims[2].measured


def test_section_4s_verdicts_follow_the_results(exact):
    def swapped(marginal):
        return replace(
            marginal,
            mean={"gpl": marginal.mean["skewgp"], "skewgp": marginal.mean["gpl"]},
            width={"gpl": marginal.width["skewgp"], "skewgp": marginal.width["gpl"]},
            skewness=0.0,
        )

    other = replace(exact, marginals=tuple(swapped(marginal) for marginal in exact.marginals))
    assert [claim.verdict for claim in judge.section4_claims(other, exact)] == ["agrees", *["disagrees"] * 3]


def test_laplace_has_no_skewness_and_the_exact_posterior_of_a_difference_has_a_strong_one():
    first = figure3(3000, 53, iterations=1)[0]
    assert np.abs(first.bands["gpl"].skewness).max() < 1e-9
    # measured independently: -1.03 after the seven duels
    assert first.bands["skewgp"].skewest == pytest.approx(-1.05, abs=0.15)


def test_figure_3_goes_on_from_the_point_that_wins_and_queries_gpls_bound():
    steps = figure3(300, 27, iterations=3)
    for before, after in pairwise(steps):
        assert before.best["gpl"] in after.queried
        assert after.reference in (before.reference, before.best["gpl"])


def steps_at(gpl, skewgp, skewness):
    step = figure3(50, 9, iterations=1)[0]
    band = replace(step.bands["skewgp"], skewness=np.full(9, skewness), deviation=np.ones(9))
    bands = {"gpl": step.bands["gpl"], "skewgp": band}
    return [Step(step.grid, (), 0.18, bands, {"gpl": a, "skewgp": b}) for a, b in zip(gpl, skewgp, strict=True)]


def test_figure_3s_verdicts_follow_the_results():
    as_printed = judge.figure3_claims(steps_at((1.0, 2.6, -2.6, 2.6), (1.05, 0.0, 0.05, -0.02), -1.3))
    assert {claim.verdict for claim in as_printed} == {"agrees"}
    otherwise = judge.figure3_claims(steps_at((1.0, 0.0, 0.0, 0.0), (2.0, 0.2, 0.2, 0.2), 0.1))
    assert {claim.verdict for claim in otherwise} == {"disagrees"}


def test_figure_6s_mean_is_negative_left_of_the_limit_and_the_verdict_follows_the_sign():
    found = figure6(2000, 53)
    assert [claim.verdict for claim in judge.figure6_claims(found)] == ["agrees"]
    assert all(-0.5 < x < 0.18 for x in found.changes_sign)
    turned = replace(found, band=replace(found.band, mean=-found.band.mean))
    assert [claim.verdict for claim in judge.figure6_claims(turned)] == ["disagrees"]


@pytest.mark.parametrize(("better", "worse", "verdict"), [("skewgp", "gpl", "agrees"), ("gpl", "skewgp", "disagrees")])
def test_figure_5s_verdicts_follow_the_runs(better, worse, verdict):
    runs = {}
    for name in ACQUISITIONS:
        factor = 0.1 if name == "thompson" else 1e-3
        runs |= race(5, f"{better}-{name}", f"{worse}-{name}", factor=factor)
    claims = judge.figure5_claims(runs)
    assert verdicts(claims, "outperforms GPL") == [verdict] * 4
    assert verdicts(claims, "converges faster") == [verdict]
    assert verdicts(claims, "smaller for Thompson") == ["agrees"]
    assert "10 of 10" in claims[0].measured or "0 of 10" in claims[0].measured


def test_figure_5s_thompson_is_not_the_closest_race_if_another_one_is_closer():
    runs = {}
    for name in ACQUISITIONS:
        runs |= race(5, f"skewgp-{name}", f"gpl-{name}", factor=0.5 if name == "ucb" else 1e-3)
    assert verdicts(judge.figure5_claims(runs), "smaller for Thompson") == ["disagrees"]


def everywhere(**exception):
    runs = {}
    for problem in FUNCTIONS:
        for name in ACQUISITIONS:
            if exception == {"problem": problem, "name": name}:
                runs |= race(4, f"gpl-{name}", f"skewgp-{name}", problem=problem)
            else:
                runs |= race(4, f"skewgp-{name}", f"gpl-{name}", problem=problem)
    return runs


def test_figure_4s_claim_holds_only_if_every_pair_agrees():
    whole = judge.figure4_claims(everywhere())
    assert verdicts(whole, "outperforms") == ["agrees"] * 7
    assert "clearly better in 24" in whole[0].measured
    but_one = judge.figure4_claims(everywhere(problem="levy2", name="thompson"))
    assert verdicts(but_one, "Consistently across") == ["disagrees"]
    assert verdicts(but_one, "outperforms", "levy2") == ["disagrees"]
    assert verdicts(but_one, "outperforms", "six_hump") == ["agrees"]
    assert "clearly better in 23, clearly worse in 1" in but_one[0].measured


def test_figure_4s_times_are_medians_per_100_proposals_and_decide_the_claim():
    runs = race(4, "skewgp-ucb", "gpl-ucb", seconds=3.0)
    slow = by_task(made_up(4, "gpl-thompson", seed, 0.1, seconds=9.0) for seed in range(10))
    assert judge.model_seconds(runs | slow, "forrester") == (pytest.approx(200.0), pytest.approx(100.0))
    claims = judge.figure4_claims(runs | slow)
    assert verdicts(claims, "burden", "forrester") == ["agrees"]
    assert verdicts(claims, "burden", "levy2") == ["not measured"]
    assert "100 s against 200 s" in next(c.measured for c in claims if "burden: forrester" in c.paper)


@pytest.mark.parametrize(
    ("better", "worse", "verdict"), [("mixed", "penalised", "agrees"), ("penalised", "mixed", "disagrees")]
)
def test_figure_7s_verdicts_follow_the_runs(better, worse, verdict):
    runs = {}
    for name in MIXED_ACQUISITIONS:
        runs |= race(7, f"{better}-{name}", f"{worse}-{name}")
    assert [claim.verdict for claim in judge.figure7_claims(runs)] == [verdict] * 4


def test_without_runs_nothing_is_measured_and_no_claim_is_made():
    claims = [*judge.figure4_claims({}), *judge.figure5_claims({}), *judge.figure7_claims({})]
    assert {claim.verdict for claim in claims} == {"not measured"}


def test_few_pairs_decide_nothing():
    few = race(5, "skewgp-ucb", "gpl-ucb", seeds=LEAST_PAIRS - 1)
    assert verdicts(judge.figure5_claims(few), "GPL: ucb") == ["undecided"]
    enough = race(5, "skewgp-ucb", "gpl-ucb", seeds=LEAST_PAIRS)
    assert verdicts(judge.figure5_claims(enough), "GPL: ucb") == ["agrees"]


def test_few_pairs_do_not_say_which_race_is_closest_either():
    runs = {}
    for name in ACQUISITIONS:
        seeds = 3 if name == "ucb" else 10
        runs |= race(5, f"skewgp-{name}", f"gpl-{name}", factor=0.1 if name == "thompson" else 1e-3, seeds=seeds)
    assert verdicts(judge.figure5_claims(runs), "smaller for Thompson") == ["undecided"]


def test_only_seeds_that_both_have_finished_are_paired():
    runs = race(5, "skewgp-ucb", "gpl-ucb", seeds=8)
    runs |= by_task([made_up(5, "skewgp-ucb", 50, 1e9)])
    found = judge.rival_duel(runs, 5, "ucb")
    assert (found.pairs, found.wins) == (8, 8)


def test_equal_methods_are_undecided():
    runs = [made_up(5, method, seed, 0.1) for seed in range(9) for method in ("gpl-ucb", "skewgp-ucb")]
    found = judge.rival_duel(by_task(runs), 5, "ucb")
    assert found.end.value == pytest.approx(1.0)
    assert smaller(found.end, found.pairs) == "undecided"


def test_one_part_that_disagrees_refutes_a_claim_and_one_not_measured_leaves_it_open():
    assert together(["agrees", "agrees"]) == "agrees"
    assert together(["agrees", "undecided", "disagrees"]) == "disagrees"
    assert together(["agrees", "not measured"]) == "undecided"
    assert together(["not measured"]) == "not measured"


def test_a_champion_in_the_penalised_region_or_none_counts_as_a_regret_of_100():
    lost = made_up(7, "penalised-ucb", 0, 1e8)
    none = made_up(7, "mixed-ucb", 0, float("inf"))
    assert mean_curve([lost])[-1] == mean_curve([none])[-1] == 100.0
    found = duel(of(by_task([lost]), 7, "penalised-ucb"), of(by_task([none]), 7, "mixed-ucb"))
    assert found.end.value == pytest.approx(1.0)


def test_figures_average_like_the_paper_but_take_the_median_where_penalties_are_huge():
    assert mean_curve([made_up(4, "auto", seed, last) for seed, last in enumerate((1, 2, 6))])[-1] == 3.0
    assert mean_curve([made_up(7, "auto", seed, last) for seed, last in enumerate((1, 2, 6))])[-1] == 2.0
