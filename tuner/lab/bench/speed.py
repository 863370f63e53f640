"""How fast the exact posterior is, in units of what any sampler must pay: plain Gaussian draws of the same covariance.

Everything is timed in one run, in turn, by processor time: a busy machine slows all alike, and ratios are taken within
a turn. The data are duels of a smooth function, each new setting against the best so far: of random settings in two
dimensions, and of whole campaigns, whose settings lie ever closer together.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

import numpy as np

from tuner.core.linalg import FloatArray, cholesky
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.optimizer.strategy import Strategy
from tuner.core.posterior.fitting import fit_hyper
from tuner.core.posterior.laplace import Laplace
from tuner.core.posterior.observations import Observations
from tuner.core.posterior.rows import Hyper
from tuner.core.posterior.skewgp import SkewGP
from tuner.core.posterior.truncated import sample_box
from tuner.core.space.parameters import Continuous
from tuner.core.space.space import Setting, Space
from tuner.lab.bench.effective import worst_share

T = TypeVar("T")

DRAWS = 2000
DIMENSIONS = (1, 2, 6)  # of whole campaigns
CONVERGED = (1, 2)  # of those whose data are measured like the random ones
MOST_TRUNCATED = 3.5
LEAST_EFFECTIVE = 0.6
MOST_PROPOSAL = {100: 15.0, 500: 10.0}
MOST_CAMPAIGN = 1.0

# the last duels are the optimiser's own proposals, so that its next fits are warm, also that of the judge it may doubt
_ASKED = 5
_BROUGHT = 2  # too few of them to have doubted the judge
_CYCLE = 4  # the hyper-parameters are fitted anew and the judge is doubted once in so many proposals
_TOLD = 3  # settings told before a campaign


@dataclass(frozen=True)
class SpeedMark:
    """A goal of a row and whether it is reached."""

    name: str
    sign: str
    limit: float
    value: float

    @property
    def reached(self) -> bool:
        """Whether the value is on the right side of the limit."""
        return self.value <= self.limit if self.sign == "<=" else self.value >= self.limit


@dataclass(frozen=True)
class SpeedRow:
    """Medians at one number of rows.

    Attributes:
        data: Which duels: of random settings or of a campaign, and in how many dimensions.
        m: Rows (duels).
        gaussian_s: Seconds of the plain Gaussian draws with their Cholesky factor.
        truncated: Truncated draws with their Cholesky factor, over that.
        effective: Worst effective sample size over the number of draws.
        proposal: A whole proposal, the mean of four in a row, over the Gaussian draws.
        slowest: The slowest of the four.
        first: The proposal that first doubts the judge of duels brought along, and fits that judge for the first time;
            none for a campaign, which has doubted when it knew a dozen duels.
        lin_ess: As many draws of the paper's sampler, over the Gaussian draws.
        lin_ess_effective: Their worst effective sample size over the number of draws.
        laplace: Laplace's posterior at fixed hyper-parameters, over the Gaussian draws.
    """

    data: str
    m: int
    gaussian_s: float
    truncated: float
    effective: float
    proposal: float
    slowest: float
    first: float | None
    lin_ess: float
    lin_ess_effective: float
    laplace: float

    @property
    def marks(self) -> list[SpeedMark]:
        """The goals that this row has."""
        found = [
            SpeedMark("truncated", "<=", MOST_TRUNCATED, self.truncated),
            SpeedMark("effective", ">=", LEAST_EFFECTIVE, self.effective),
        ]
        if self.m in MOST_PROPOSAL:
            found.append(SpeedMark("proposal", "<=", MOST_PROPOSAL[self.m], self.proposal))
            if self.first is not None:
                found.append(SpeedMark("first", "<=", MOST_PROPOSAL[self.m], self.first))
        return found


@dataclass(frozen=True)
class CampaignTime:
    """What all proposals of a campaign cost together.

    Attributes:
        dimensions: Of the space.
        duels: How many were proposed.
        seconds: Processor time of the proposals.
    """

    dimensions: int
    duels: int
    seconds: float


def quality(setting: Setting) -> float:
    """Return a smooth function of any number of parameters with its maximum inside the cube, to be maximised."""
    x = np.array([float(value) for value in setting.values()])
    return float(np.mean(np.sin(6 * x) / 3 + 2 * x - 3 * x * x))


@dataclass
class Campaign:
    """An optimiser and the exact judge of its duels with the champion."""

    optimizer: Optimizer
    values: dict[int, float] = field(default_factory=dict)

    @classmethod
    def begin(cls, dimensions: int, *, seed: int, budget: int) -> "Campaign":
        """Return one that knows nothing yet."""
        space = Space([Continuous(f"p{i}", 0.0, 1.0) for i in range(dimensions)])
        return cls(Optimizer(space, seed=seed, budget=budget))

    def tell(self, count: int) -> None:
        """Judge so many random settings."""
        names = self.optimizer.space.names
        for point in np.random.default_rng(self.optimizer.seed).random((count, len(names))).tolist():
            setting: Setting = dict(zip(names, point, strict=True))
            self._judge(self.optimizer.add(setting), setting)

    def ask(self) -> float:
        """Judge a proposal, and return the seconds it took to propose it."""
        seconds, proposal = _timed(self.optimizer.ask)
        self._judge(proposal.number, proposal.setting)
        return seconds

    def _judge(self, number: int, setting: Setting) -> None:
        champion = self.optimizer.champion
        self.values[number] = quality(setting)
        self.optimizer.tell_outcome(number, valid=True)
        if champion is not None:
            pair = (number, champion)
            self.optimizer.tell_judgment(*(pair if self.values[number] > self.values[champion] else pair[::-1]))

    def again(self) -> "Campaign":
        """Return a copy that goes on from here, with as many draws as are timed beside it."""
        state = self.optimizer.state()
        optimizer = Optimizer.from_state(self.optimizer.space, state, strategy=Strategy(draws=DRAWS))
        return Campaign(optimizer, dict(self.values))


def duelled(rows: int, seed: int, asked: int = _ASKED) -> Campaign:
    """Return a campaign in two dimensions that knows so many duels, nearly all of random settings."""
    if rows < 3:
        raise ValueError(f"at least 3 rows are needed, not {rows}")
    asked = min(asked, rows - 2)
    campaign = Campaign.begin(2, seed=seed, budget=rows)
    campaign.tell(rows + 1 - asked)
    for _ in range(asked):
        campaign.ask()
    return campaign


def converged(dimensions: int, duels: int, *, seed: int = 0) -> tuple[Campaign, CampaignTime]:
    """Return a campaign after so many proposals, each judged, and what they cost."""
    campaign = Campaign.begin(dimensions, seed=seed, budget=duels)
    campaign.tell(_TOLD)
    seconds = sum(campaign.ask() for _ in range(duels - _TOLD + 1))
    return campaign, CampaignTime(dimensions, duels, seconds)


def measure(
    campaign: Campaign, data_name: str, *, repeats: int, brought: Campaign | None = None, seed: int = 0
) -> SpeedRow:
    """Time everything on the duels of a campaign, and one proposal where as many duels were `brought` along."""
    optimizer = campaign.optimizer
    _, data = optimizer.ledger.preferences()
    fit = fit_hyper(data, prior=optimizer.strategy.preference)
    rng = np.random.default_rng(seed)
    effective, lin_ess_effective = [], []
    turns = []
    for turn in range(repeats + 1):
        model = SkewGP.from_hyper(data, fit.hyper, sites=fit.sites)
        gamma = model.covariance + np.eye(data.m)
        gaussian_s, _ = _timed(lambda gamma=gamma: _gaussian(gamma, rng))  # type: ignore[misc]
        truncated_s, exact = _timed(lambda model=model: model.draw(DRAWS, rng))  # type: ignore[misc]
        lin_ess_s, slices = _timed(
            lambda model=model, gamma=gamma: sample_box(  # type: ignore[misc]
                gamma, model.lower, model.upper, DRAWS, rng, method="lin-ess"
            )
        )
        laplace_s, _ = _timed(lambda: _laplace(data, fit.hyper))
        going_on = campaign.again()
        proposals_s = [going_on.ask() for _ in range(_CYCLE)]
        first_s = np.nan if brought is None else brought.again().ask()
        if not turn:
            continue  # the first turn pays for memory and caches
        effective.append(worst_share(exact))
        lin_ess_effective.append(worst_share(slices))
        mean_s, slowest_s = float(np.mean(proposals_s)), max(proposals_s)
        turns.append([gaussian_s, truncated_s, mean_s, slowest_s, first_s, lin_ess_s, laplace_s])
    seconds = np.array(turns)
    ratios = np.median(seconds[:, 1:] / seconds[:, :1], axis=0).tolist()
    truncated, proposal, slowest, first, lin_ess, laplace = ratios
    return SpeedRow(
        data=data_name,
        m=data.m,
        gaussian_s=float(np.median(seconds[:, 0])),
        truncated=truncated,
        effective=float(np.median(effective)),
        proposal=proposal,
        slowest=slowest,
        first=None if brought is None else first,
        lin_ess=lin_ess,
        lin_ess_effective=float(np.median(lin_ess_effective)),
        laplace=laplace,
    )


@dataclass(frozen=True)
class Speed:
    """All measurements of one run."""

    rows: list[SpeedRow]
    campaigns: list[CampaignTime]

    @property
    def mark(self) -> SpeedMark | None:
        """That a campaign in one dimension costs no more than in six."""
        seconds = {one.dimensions: one.seconds for one in self.campaigns}
        if not {1, 6} <= set(seconds):
            return None
        return SpeedMark("campaign", "<=", MOST_CAMPAIGN, seconds[1] / seconds[6])


def measure_all(rows: Sequence[int], duels: int, *, repeats: int, done: Callable[[], None]) -> Speed:
    """Time everything at each number of rows and on campaigns of so many duels, if any; `done` is called after each."""
    found, campaigns = [], []
    for m in rows:
        brought = duelled(m, 0, _BROUGHT)
        found.append(measure(duelled(m, 0), "random, 2-D", repeats=repeats, brought=brought))
        done()
    for dimensions in DIMENSIONS if duels else ():
        campaign, cost = converged(dimensions, duels)
        campaigns.append(cost)
        if dimensions in CONVERGED:
            found.append(measure(campaign, f"campaign, {dimensions}-D", repeats=repeats))
        done()
    return Speed(found, campaigns)


def speed_data(found: Speed, *, compiled: bool) -> dict[str, Any]:
    """Return the measurements as plain JSON data."""
    return {
        "draws": DRAWS,
        "compiled": compiled,
        "rows": [
            {**asdict(row), "goals": [{**asdict(mark), "reached": mark.reached} for mark in row.marks]}
            for row in found.rows
        ],
        "campaigns": [asdict(one) for one in found.campaigns],
        "goals": [] if found.mark is None else [{**asdict(found.mark), "reached": found.mark.reached}],
    }


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def _gaussian(gamma: FloatArray, rng: np.random.Generator) -> FloatArray:
    return rng.standard_normal((DRAWS, len(gamma))) @ cholesky(gamma).T


def _laplace(data: Observations, hyper: Hyper) -> tuple[FloatArray, FloatArray]:
    model = Laplace.from_hyper(data, hyper)
    return model.weights, model.half_precision
