"""What peers reach on the common protocol, and our goals there: data, for the table to stand beside.

The peers' numbers are the project's own earlier measurements of their public code on the same protocol (11 uniform
points, 10 duels each against the incumbent, then 40 duels; few seeds each, not ours). The goals are the project's.
"""

from dataclasses import dataclass
from typing import Literal

Statistic = Literal["median", "mean", "worst", "scrap"]

PEERS = ("BoTorch EUBO", "HB-EI", "GLISp", "Optuna", "paper UCB", "paper EIIG")

# regret: medians in the order of PEERS
_MEDIANS = {
    "six_hump": (1.5e-2, 1.2e-4, 8e-4, 1.2e-4, 5e-3, 7.5e-3),
    "levy2": (9.4e-2, 3.8e-4, 1.5e-3, 8.4e-4, 3.5e-2, 1.5e-2),
    "forrester": (1.1e-2, 1.8e-6, 1.3e-6, 1.3e-6, 1.3e-3, 1.3e-7),
    "goldstein_price": (7.4, 5.5e-3, 13.7, 0.065, 0.13, 0.08),
    "rosenbrock5": (29.0, 8.8, 15.0, 45.0, 504.0, 328.0),
    "hartmann6": (0.43, 0.094, 0.35, 0.096, 0.87, 1.07),
    # non-valid trials lose against every other (penalty); Optuna's from 3 seeds
    "sasena": (0.92, 0.068, 0.098, 0.029, 1.18, 1.66),
}
MEDIANS = {problem: dict(zip(PEERS, medians, strict=True)) for problem, medians in _MEDIANS.items()}
PROBLEMS = tuple(MEDIANS)

# seconds a proposal with 50 duels; there is one figure for both acquisitions of the paper
SECONDS = dict(zip(PEERS, (0.74, 2.6, 0.011, 1.04, 9.6, 9.6), strict=True))


@dataclass(frozen=True)
class Goal:
    """A statistic over the seeds and what it should not exceed; `because` says where the limit comes from."""

    statistic: Statistic
    limit: float
    because: str = "goal"


def goals_of(problem: str) -> tuple[Goal, ...]:
    """Return the goals of a problem: its own, and to be better than the best peer; none for problems without peers."""
    if problem not in MEDIANS:
        return ()
    peer, limit = min(MEDIANS[problem].items(), key=lambda item: item[1])
    return (*_GOALS[problem], Goal("median", limit, f"best peer, {peer}"))


_GOALS = {
    "six_hump": (Goal("median", 5e-6),),
    "levy2": (Goal("median", 5e-5),),
    "forrester": (Goal("median", 1.5e-7),),
    "goldstein_price": (Goal("median", 5e-3),),
    "rosenbrock5": (Goal("median", 5.0),),
    "hartmann6": (Goal("median", 0.08),),
    "sasena": (Goal("median", 0.03), Goal("mean", 0.3), Goal("worst", 2.0), Goal("scrap", 5.0)),
}
