"""How fast the exact posterior is, in units of what any sampler must pay: plain Gaussian draws of the same covariance.

Everything is timed in one run, in turn, by processor time: a busy machine slows all alike, and ratios are taken within
a turn. The data are duels of a smooth function in two dimensions, each new setting against the best so far.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np

from tuner.bench.effective import worst_share
from tuner.core.fitting import fit_hyper
from tuner.core.laplace import Laplace
from tuner.core.linalg import FloatArray, cholesky
from tuner.core.observations import Observations
from tuner.core.optimizer import Optimizer
from tuner.core.parameters import Continuous
from tuner.core.rows import Hyper
from tuner.core.skewgp import SkewGP
from tuner.core.space import Setting, Space
from tuner.core.strategy import Strategy
from tuner.core.truncated import sample_box

T = TypeVar("T")

DRAWS = 2000
ROWS = (20, 50, 100, 200, 500)
MOST_TRUNCATED = 3.5
LEAST_EFFECTIVE = 0.6
MOST_PROPOSAL = {100: 15.0, 500: 10.0}

_SPACE = Space([Continuous("a", 0.0, 1.0), Continuous("b", 0.0, 1.0)])
_ASKED = 2  # the last duels are the optimiser's own proposals, so that its next fit is a warm one


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
        m: Rows (duels).
        gaussian_s: Seconds of the plain Gaussian draws with their Cholesky factor.
        truncated: Truncated draws with their Cholesky factor, over that.
        effective: Worst effective sample size over the number of draws.
        proposal: A whole proposal, over the Gaussian draws.
        lin_ess: As many draws of the paper's sampler, over the Gaussian draws.
        lin_ess_effective: Their worst effective sample size over the number of draws.
        laplace: Laplace's posterior at fixed hyper-parameters, over the Gaussian draws.
    """

    m: int
    gaussian_s: float
    truncated: float
    effective: float
    proposal: float
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
        return found


def quality(setting: Setting) -> float:
    """Return a smooth function of two parameters, to be maximised."""
    a, b = float(setting["a"]), float(setting["b"])
    return float(np.sin(6 * a) + 2 * (a + b) - 3 * (a * a + b * b))


def duelled(rows: int, seed: int) -> Optimizer:
    """Return an optimiser that knows so many duels and whose next proposal is of the kind `improve`."""
    if rows <= _ASKED:
        raise ValueError(f"at least {_ASKED + 1} rows are needed, not {rows}")
    rng = np.random.default_rng(seed)
    optimizer = Optimizer(_SPACE, seed=seed, budget=rows, strategy=Strategy(draws=DRAWS))
    values: dict[int, float] = {}
    for step in range(rows + 1):
        champion = optimizer.champion
        if step <= rows - _ASKED:
            a, b = rng.random(2).tolist()
            setting: Setting = {"a": a, "b": b}
            trial_id = optimizer.add(setting)
        else:
            proposal = optimizer.ask()
            trial_id, setting = proposal.trial_id, proposal.setting
        values[trial_id] = quality(setting)
        optimizer.tell_outcome(trial_id, valid=True)
        if champion is not None:
            pair = (trial_id, champion)
            optimizer.tell_judgment(*(pair if values[trial_id] > values[champion] else pair[::-1]))
    return optimizer


def measure(rows: int, *, repeats: int, seed: int = 0) -> SpeedRow:
    """Time everything at one number of rows."""
    optimizer = duelled(rows, seed)
    state = optimizer.state()
    _, data = optimizer.ledger.preferences()
    hyper = fit_hyper(data, prior=optimizer.strategy.preference).hyper
    model = SkewGP.from_hyper(data, hyper)
    gamma = model.covariance + np.eye(data.m)
    rng = np.random.default_rng(seed)
    effective, lin_ess_effective = [], []
    turns = []
    for turn in range(repeats + 1):
        asked = Optimizer.from_state(_SPACE, state, strategy=optimizer.strategy)
        gaussian_s, _ = _timed(lambda: _gaussian(gamma, rng))
        truncated_s, exact = _timed(lambda: sample_box(gamma, model.lower, model.upper, DRAWS, rng))
        lin_ess_s, slices = _timed(lambda: sample_box(gamma, model.lower, model.upper, DRAWS, rng, method="lin-ess"))
        laplace_s, _ = _timed(lambda: _laplace(data, hyper))
        proposal_s, _ = _timed(asked.ask)
        if not turn:
            continue  # the first turn pays for memory and caches
        effective.append(worst_share(exact))
        lin_ess_effective.append(worst_share(slices))
        turns.append([gaussian_s, truncated_s, proposal_s, lin_ess_s, laplace_s])
    seconds = np.array(turns)
    truncated, proposal, lin_ess, laplace = np.median(seconds[:, 1:] / seconds[:, :1], axis=0).tolist()
    return SpeedRow(
        m=rows,
        gaussian_s=float(np.median(seconds[:, 0])),
        truncated=truncated,
        effective=float(np.median(effective)),
        proposal=proposal,
        lin_ess=lin_ess,
        lin_ess_effective=float(np.median(lin_ess_effective)),
        laplace=laplace,
    )


def measure_all(rows: Sequence[int], *, repeats: int, done: Callable[[], None]) -> list[SpeedRow]:
    """Time everything at each number of rows; `done` is called after each."""
    found = []
    for m in rows:
        found.append(measure(m, repeats=repeats))
        done()
    return found


def speed_data(rows: Sequence[SpeedRow], *, compiled: bool) -> dict[str, Any]:
    """Return the measurements as plain JSON data."""
    return {
        "draws": DRAWS,
        "compiled": compiled,
        "rows": [
            {**asdict(row), "goals": [{**asdict(mark), "reached": mark.reached} for mark in row.marks]} for row in rows
        ],
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
