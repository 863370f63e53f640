"""Test problems with bounds, validity and known minima; pure, shared by the simulated machine and the bench.

Symbols: X (n, d) settings in rows; every function returns (n,) values and is to be MINIMISED.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tuner.basics.text import listed, nearest, shown
from tuner.errors import TunerError

Array = NDArray[np.float64]


class UnknownProblemError(TunerError):
    """No problem has this name."""


@dataclass(frozen=True)
class Problem:
    """A function to minimise on a box.

    Attributes:
        function: The true cost; coordinates that are whole numbers are rounded first.
        minimum: The least valid cost, before any drift.
        minimisers: Where it is reached, before any drift.
        validity: Says where the machine makes a part at all; None: everywhere.
        integers: Which coordinates are whole numbers.
        noise: Standard deviation of a part's cost around the true one: two parts of one setting differ.
        drift: How far the optimum moves from one trial to the next, in the box's units; None: it stays.
    """

    name: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    function: Callable[[Array], Array]
    minimum: float
    minimisers: tuple[tuple[float, ...], ...]
    validity: Callable[[Array], NDArray[np.bool_]] | None = None
    integers: tuple[int, ...] = ()
    noise: float = 0.0
    drift: tuple[float, ...] | None = None

    @property
    def d(self) -> int:
        """Number of variables."""
        return len(self.low)

    @property
    def bounds(self) -> Array:
        """The box, shape (d, 2)."""
        return np.column_stack([self.low, self.high])

    def evaluate(self, X: Array) -> Array:  # noqa: N803 - matrix of settings
        """The objective in every row, also where it is not valid."""
        return self.function(self._rows(X))

    def is_valid(self, X: Array) -> NDArray[np.bool_]:  # noqa: N803 - matrix of settings
        """Whether each row is valid."""
        rows = self._rows(X)
        return np.ones(len(rows), dtype=np.bool_) if self.validity is None else self.validity(rows)

    def part_costs(self, X: Array, rng: np.random.Generator) -> Array:  # noqa: N803 - matrix of settings
        """The cost of one part made with each row: the true one with the machine's noise."""
        return self.evaluate(X) + self.noise * rng.standard_normal(np.asarray(X).reshape(-1, self.d).shape[0])

    def variable(self, place: int, value: float | int | str, choices: Sequence[str] = ()) -> float:
        """The variable at a place of a row, for a parameter's value; choices stand for evenly spaced values of it."""
        if not choices:
            return float(value)
        low, high = self.bounds[place]
        return float(low + choices.index(str(value)) / (len(choices) - 1) * (high - low))

    def at_trial(self, number: int) -> "Problem":
        """The problem as it is at this trial, from 0 on: function, limit and optimum have moved with the drift.

        The optimum goes to and fro, so that it never leaves the box.
        """
        if self.drift is None or number == 0:
            return self
        path = np.array(self.minimisers[0]) + _swing(number * np.array(self.drift), self)
        shift = path - np.array(self.minimisers[0])
        function, validity = self.function, self.validity
        return replace(
            self,
            function=lambda x: function(x - shift),
            validity=None if validity is None else lambda x: validity(x - shift),
            minimisers=(tuple(path.tolist()),),
            drift=None,
        )

    def _rows(self, X: Array) -> Array:  # noqa: N803 - matrix of settings
        rows = np.array(X, dtype=np.float64).reshape(-1, self.d)
        rows[:, list(self.integers)] = np.rint(rows[:, list(self.integers)])
        return rows


def _swing(distance: Array, problem: Problem) -> Array:
    """Return the way from the optimum after this distance, turned back at a tenth of the box's width."""
    reach = 0.1 * np.ptp(problem.bounds, axis=1)
    return np.asarray(reach - np.abs((distance + reach) % (4 * reach) - 2 * reach))


def get_problem(name: str) -> Problem:
    """The problem of this name."""
    every = {**PROBLEMS, **VARIANTS}
    if name not in every:
        raise UnknownProblemError(
            f"no problem is called {shown(name)}{nearest(name, every) or ','} known: {listed(every)}"
        )
    return every[name]


def _sasena(x: Array) -> Array:
    x1, x2 = x.T
    bowl = 0.01 * (x2 - x1**2) ** 2 + (1 - x1) ** 2 + 2 * (2 - x2) ** 2
    return np.asarray(2 + bowl + 7 * np.sin(0.5 * x1) * np.sin(0.7 * x1 * x2))


def _sasena_valid(x: Array) -> NDArray[np.bool_]:
    return np.asarray(-np.sin(x[:, 0] - x[:, 1] - np.pi / 8) <= 0)


def _waves(x: Array) -> Array:
    return np.asarray(-(np.cos(5 * x[:, 0]) + np.exp(-(x[:, 0] ** 2) / 2)))


def _forrester(x: Array) -> Array:
    return np.asarray((6 * x[:, 0] - 2) ** 2 * np.sin(12 * x[:, 0] - 4))


def _six_hump(x: Array) -> Array:
    x1, x2 = x.T
    return np.asarray((4 - 2.1 * x1**2 + x1**4 / 3) * x1**2 + x1 * x2 + (4 * x2**2 - 4) * x2**2)


def _goldstein_price(x: Array) -> Array:
    x1, x2 = x.T
    first = 1 + (x1 + x2 + 1) ** 2 * (19 - 14 * x1 + 3 * x1**2 - 14 * x2 + 6 * x1 * x2 + 3 * x2**2)
    second = 30 + (2 * x1 - 3 * x2) ** 2 * (18 - 32 * x1 + 12 * x1**2 + 48 * x2 - 36 * x1 * x2 + 27 * x2**2)
    return np.asarray(first * second)


def _levy(x: Array) -> Array:
    w = 1 + (x - 1) / 4
    inner = (w[:, :-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:, :-1] + 1) ** 2)
    last = (w[:, -1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[:, -1]) ** 2)
    return np.asarray(np.sin(np.pi * w[:, 0]) ** 2 + inner.sum(axis=1) + last)


def _rosenbrock(x: Array) -> Array:
    return np.asarray((100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2).sum(axis=1))


def _branin(x: Array) -> Array:
    x1, x2 = x.T
    valley = x2 - 5.1 / (4 * np.pi**2) * x1**2 + 5 / np.pi * x1 - 6
    return np.asarray(valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x1) + 10)


def _two_discs(x: Array) -> NDArray[np.bool_]:
    centres = np.array([[-2.5, 10.5], [8.5, 4.0]])
    return np.asarray((((x[:, None, :] - centres) ** 2).sum(axis=2) <= 9.0).any(axis=1))


def _gramacy(x: Array) -> Array:
    return np.asarray(x.sum(axis=1))


def _gramacy_valid(x: Array) -> NDArray[np.bool_]:
    x1, x2 = x.T
    wave = 1.5 - x1 - 2 * x2 - 0.5 * np.sin(2 * np.pi * (x1**2 - 2 * x2)) <= 0
    return np.asarray(wave & (x1**2 + x2**2 <= 1.5))


def _hartmann(x: Array, a: Array, p: Array) -> Array:
    weights = np.array([1.0, 1.2, 3.0, 3.2])
    return np.asarray(-(weights * np.exp(-(a * (x[:, None, :] - p) ** 2).sum(axis=2))).sum(axis=1))


def _hartmann3(x: Array) -> Array:
    a = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
    p = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
    return _hartmann(x, a, p)


def _hartmann6(x: Array) -> Array:
    a = np.array(
        [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
    )
    p = 1e-4 * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    )
    return _hartmann(x, a, p)


_BRANIN_MINIMISERS = ((-3.1415926536, 12.275), (3.1415926536, 2.275), (9.4247779608, 2.475))
_ALL = (
    # the paper's Section 5.2; the minimiser lies on the border of the valid bands
    Problem("sasena", (0, 0), (5, 5), _sasena, -1.1742743289, ((2.74495108, 2.35225194),), _sasena_valid),
    # the paper's one-dimensional example, cos(5x) + exp(-x^2/2) to be maximised, everywhere valid or only right of -0.2
    Problem("waves", (-2.6,), (2.6,), _waves, -2.0, ((0.0,),)),
    Problem("waves_right", (-2.6,), (2.6,), _waves, -2.0, ((0.0,),), lambda x: np.asarray(x[:, 0] > -0.2)),
    Problem("forrester", (0,), (1,), _forrester, -6.0207400558, ((0.75724876,),)),
    Problem(
        "six_hump", (-2, -1), (2, 1), _six_hump, -1.0316284535, ((-0.08984201, 0.7126564), (0.08984201, -0.7126564))
    ),
    Problem("goldstein_price", (-2, -2), (2, 2), _goldstein_price, 3.0, ((0, -1),)),
    Problem("levy2", (-10, -10), (10, 10), _levy, 0.0, ((1, 1),)),
    Problem("rosenbrock5", (-3,) * 5, (3,) * 5, _rosenbrock, 0.0, ((1,) * 5,)),
    Problem("hartmann3", (0,) * 3, (1,) * 3, _hartmann3, -3.8627797873, ((0.11458886, 0.5556489, 0.85254698),)),
    Problem(
        "hartmann6",
        (0,) * 6,
        (1,) * 6,
        _hartmann6,
        -3.3223680114,
        ((0.20168951, 0.15001069, 0.47687397, 0.27533243, 0.31165162, 0.65730053),),
    ),
    Problem("branin", (-5, 0), (10, 15), _branin, 0.3978873577, _BRANIN_MINIMISERS),
    # each of the two discs holds one of Branin's three minimisers
    Problem(
        "branin_discs",
        (-5, 0),
        (10, 15),
        _branin,
        0.3978873577,
        (_BRANIN_MINIMISERS[0], _BRANIN_MINIMISERS[2]),
        _two_discs,
    ),
    Problem("gramacy", (0, 0), (1, 1), _gramacy, 0.5997880520, ((0.19512269, 0.40466537),), _gramacy_valid),
)
PROBLEMS = {problem.name: problem for problem in _ALL}


def _pressed(x: Array) -> Array:
    """A press with whole numbers of strokes and cavities: each count has its own best temperature and time."""
    strokes, cavities, temperature, time = x.T
    warm = temperature - 0.2 - 0.1 * strokes
    slow = time - 0.9 + 0.15 * cavities
    return np.asarray(8 * warm**2 + 5 * slow**2 + 0.3 * (strokes - 4) ** 2 + 0.5 * (cavities - 3) ** 2)


def _hartmann_among_20(x: Array) -> Array:
    """Hartmann's six coordinates at every third place; the other fourteen do nothing."""
    return _hartmann6(x[:, 1:18:3])


_HARTMANN6 = PROBLEMS["hartmann6"]
_AMONG_20 = tuple(_HARTMANN6.minimisers[0][i // 3] if i in range(1, 18, 3) else 0.5 for i in range(20))
_VARIANTS = (
    # two parts of one setting differ by about as much as the last steps to the optimum gain
    replace(PROBLEMS["six_hump"], name="six_hump_noisy", noise=0.1),
    replace(_HARTMANN6, name="hartmann6_noisy", noise=0.1),
    replace(PROBLEMS["sasena"], name="sasena_noisy", noise=0.2),
    # a tool that wears: the optimum moves a thousandth of the box at each trial
    replace(PROBLEMS["levy2"], name="levy2_drifting", drift=(0.02, 0.01)),
    replace(_HARTMANN6, name="hartmann6_drifting", drift=(0.001,) * 6),
    # whole numbers beside continuous ones; the rounded optimum of Rosenbrock is its own
    Problem("press_mixed", (1, 1, 0, 0), (8, 6, 1, 1), _pressed, 0.0, ((4, 3, 0.6, 0.45),), integers=(0, 1)),
    replace(PROBLEMS["rosenbrock5"], name="rosenbrock5_mixed", integers=(0, 3)),
    Problem("levy10", (-10,) * 10, (10,) * 10, _levy, 0.0, ((1,) * 10,)),
    Problem("levy20", (-10,) * 20, (10,) * 20, _levy, 0.0, ((1,) * 20,)),
    Problem("rosenbrock10", (-3,) * 10, (3,) * 10, _rosenbrock, 0.0, ((1,) * 10,)),
    Problem("rosenbrock20", (-3,) * 20, (3,) * 20, _rosenbrock, 0.0, ((1,) * 20,)),
    Problem("hartmann6_among_20", (0,) * 20, (1,) * 20, _hartmann_among_20, _HARTMANN6.minimum, (_AMONG_20,)),
)
VARIANTS = {problem.name: problem for problem in _VARIANTS}
