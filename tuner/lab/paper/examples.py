"""The paper's one-dimensional examples without a loop of many runs: Section 4, Figure 3 and Figure 6."""

from dataclasses import dataclass

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.core.posterior.kernels import Kernel
from tuner.core.posterior.model import Model
from tuner.core.posterior.observations import Observations
from tuner.core.posterior.rows import Hyper
from tuner.lab.paper.rivals import ModelName, posterior
from tuner.lab.paper.runs import LENGTHSCALE, VARIANCE
from tuner.problems import get_problem

ITERATIONS = 4
TOGETHER = 66  # points whose mixtures are held in memory at once
SECTION_4_DUELS = (
    (1.25, -1.8),
    (-1.23, 1.25),
    (0.18, -1.23),
    (0.18, -2.52),
    (-2.52, 2.18),
    (-1.8, -0.5),
    (-1.8, 0.67),
)
FIGURE_6_DUELS = ((0.18, 1.25), (2.18, 0.67), (0.18, 2.18), (1.25, 0.67), (0.18, 0.67))
VALID_ABOVE = -0.2
MARGINALS = (-0.51, 0.19)
PRINTED_VARIANCE = 0.02  # the paper's sigma^2, which cannot be the kernel's


@dataclass(frozen=True, eq=False)
class Band:
    """Marginals over a grid: means, ends of the 95 % interval of minimum width, skewness, standard deviations."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    skewness: FloatArray
    deviation: FloatArray

    @property
    def skewest(self) -> float:
        """The skewness of largest size over the grid, where f varies at all (f(x) - f(x_r) does not at x_r)."""
        skewness = np.where(self.deviation > 1e-3 * self.deviation.max(), self.skewness, 0.0)
        return float(skewness[np.argmax(np.abs(skewness))])


@dataclass(frozen=True, eq=False)
class Marginal:
    """The density of f at one point."""

    at: float
    values: FloatArray
    density: dict[str, FloatArray]
    mean: dict[str, float]
    width: dict[str, float]
    skewness: float


@dataclass(frozen=True, eq=False)
class Section4:
    """Both posteriors of f after the seven duels."""

    grid: FloatArray
    bands: dict[str, Band]
    marginals: tuple[Marginal, ...]


@dataclass(frozen=True, eq=False)
class Step:
    """One iteration of Figure 3: both posteriors of f(x) - f(x_r), and where each bound is largest."""

    grid: FloatArray
    queried: tuple[float, ...]
    reference: float
    bands: dict[str, Band]
    best: dict[str, float]


@dataclass(frozen=True, eq=False)
class Mixed:
    """The posterior of Figure 6, preferences and validity together."""

    grid: FloatArray
    band: Band
    valid: FloatArray
    labelled: tuple[float, ...]

    @property
    def right_sign(self) -> float:
        """The share of the grid where the mean's sign says whether x is valid."""
        return float(np.mean((self.band.mean > 0) == (self.grid > VALID_ABOVE)))

    @property
    def changes_sign(self) -> tuple[float, ...]:
        """Where the mean changes sign."""
        positive = self.band.mean > 0
        at = np.flatnonzero(positive[1:] != positive[:-1])
        return tuple(float(x) for x in 0.5 * (self.grid[at] + self.grid[at + 1]))


def g(x: FloatArray) -> FloatArray:
    """Return the function to be maximised, cos(5x) + exp(-x^2 / 2)."""
    return -get_problem("waves").evaluate(np.asarray(x, dtype=np.float64).reshape(-1, 1))


def grid_of(size: int) -> FloatArray:
    """Return the grid over the search space."""
    low, high = get_problem("waves").bounds[0]
    return np.linspace(low, high, size)


def hyper_of(variance: float = VARIANCE) -> Hyper:
    """Return the fixed hyper-parameters in units of x."""
    return Hyper(Kernel(np.array([LENGTHSCALE]), variance), np.ones(1), 0.5)


def section4(draws: int, points: int, variance: float = VARIANCE) -> Section4:
    """Compare both posteriors of f after the paper's seven duels."""
    data, grid = _observed(SECTION_4_DUELS), grid_of(points)
    models: dict[str, Model] = {name: posterior(name, data, hyper_of(variance), draws=draws) for name in _MODELS}
    bands: dict[str, Band] = {}
    for name, model in models.items():
        bands[name] = _band(model, grid)
    marginals = []
    for at in MARGINALS:
        mixtures = {name: model.at(np.array([[at]])) for name, model in models.items()}
        ends = {name: [float(end[0]) for end in mixture.interval(0.95)] for name, mixture in mixtures.items()}
        spread = max(high - low for low, high in ends.values())
        middle = 0.5 * (min(e[0] for e in ends.values()) + max(e[1] for e in ends.values()))
        values = np.linspace(middle - spread, middle + spread, 241)
        density = {
            name: np.array([float(mixture.density(np.array([value]))[0]) for value in values])
            for name, mixture in mixtures.items()
        }
        mean = {name: float(mixture.mean[0]) for name, mixture in mixtures.items()}
        width = {name: high - low for name, (low, high) in ends.items()}
        marginals.append(Marginal(at, values, density, mean, width, float(mixtures["skewgp"].skewness[0])))
    return Section4(grid, bands, tuple(marginals))


def figure3(draws: int, points: int, variance: float = VARIANCE, iterations: int = ITERATIONS) -> tuple[Step, ...]:
    """Query where GPL's upper bound is largest, and compare both posteriors at each iteration."""
    duels, reference, grid = list(SECTION_4_DUELS), 0.18, grid_of(points)
    steps = []
    for _ in range(iterations):
        data = _observed(tuple(duels))
        bands: dict[str, Band] = {}
        best: dict[str, float] = {}
        for name in _MODELS:
            model = posterior(name, data, hyper_of(variance), draws=draws)
            bands[name] = _band(model, grid, reference)
            best[name] = float(grid[int(np.argmax(bands[name].high))])
        queried = tuple(dict.fromkeys(x for duel in duels for x in duel))
        steps.append(Step(grid, queried, reference, bands, best))
        new = best["gpl"]
        if float(g(np.array([new]))[0]) > float(g(np.array([reference]))[0]):
            duels.append((new, reference))
            reference = new
        else:
            duels.append((reference, new))
    return tuple(steps)


def figure6(draws: int, points: int, variance: float = VARIANCE) -> Mixed:
    """Return the mixed posterior: five duels, and the outcome at every point that Section 4 queried."""
    queried = tuple(dict.fromkeys(x for duel in SECTION_4_DUELS for x in duel))
    place = {x: i for i, x in enumerate(queried)}
    data = Observations(
        np.array(queried)[:, None],
        [(i, x > VALID_ABOVE) for i, x in enumerate(queried)],
        duels=[(place[a], place[b]) for a, b in FIGURE_6_DUELS],
    )
    grid = grid_of(points)
    model = posterior("skewgp", data, hyper_of(variance), draws=draws)
    return Mixed(grid, _band(model, grid), model.valid_probability(grid[:, None]), queried)


def _band(model: Model, grid: FloatArray, reference: float | None = None) -> Band:
    """Return the marginals of f(x), or of f(x) - f(reference)."""
    columns = []
    for part in np.array_split(grid[:, None], -(-len(grid) // TOGETHER)):
        found = model.at(part) if reference is None else model.difference(part, np.array([reference]))
        columns.append((found.mean, *found.interval(0.95), found.skewness, np.sqrt(found.variance)))
    return Band(*(np.concatenate(column) for column in zip(*columns, strict=True)))


_MODELS: tuple[ModelName, ...] = ("gpl", "skewgp")


def _observed(duels: tuple[tuple[float, float], ...]) -> Observations:
    points = list(dict.fromkeys(x for duel in duels for x in duel))
    return Observations(
        np.array(points)[:, None], duels=[(points.index(winner), points.index(loser)) for winner, loser in duels]
    )
