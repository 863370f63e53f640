"""The search for the best setting of an acquisition: many candidates, a few climbs, always on the grid and feasible.

Glossary:
    U    (p, D) candidates        centres    (c, D) tried settings worth looking around
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.acquisition import Acquisition, screened
from tuner.core.optimizer.strategy import SEARCH, Search
from tuner.core.space.space import BoolArray, Space


@dataclass(frozen=True, eq=False)
class Kept:
    """What a search leaves as it is: the coordinates of `mask`, (D,), are those of `row`, (D,)."""

    mask: BoolArray
    row: FloatArray

    def put(self, U: FloatArray) -> FloatArray:
        """Return the rows with the kept coordinates."""
        return np.where(self.mask, self.row, U)

    def holds(self, U: FloatArray) -> BoolArray:
        """Say which rows have the kept coordinates."""
        return np.asarray(((self.row == U) | ~self.mask).all(axis=1))


def candidates(
    space: Space,
    centres: FloatArray,
    counts: list[int],
    lengthscales: FloatArray,
    uniform: int,
    rng: np.random.Generator,
    numbers: Search = SEARCH,
    kept: Kept | None = None,
) -> FloatArray:
    """Return feasible rows: uniform ones, and perturbations of each centre at all scales down to a thousandth.

    All of them, if the settings can be enumerated. None may be left where some coordinates are `kept`.
    """
    if space.every is not None and len(space.every):
        return space.every if kept is None else space.every[kept.holds(space.every)]
    U = [space.sample(uniform, rng, centres)]
    U += [
        around(space, centre, count, lengthscales, rng, numbers) for centre, count in zip(centres, counts, strict=True)
    ]
    rows = space.snap(np.concatenate(U))
    rows = rows if kept is None else kept.put(rows)
    return rows[space.feasible(rows)]


def around(
    space: Space, centre: FloatArray, count: int, lengthscales: FloatArray, rng: np.random.Generator, numbers: Search
) -> FloatArray:
    """Return perturbations of a row, anywhere: neither on the grid nor feasible."""
    scale = lengthscales * 10.0 ** rng.uniform(numbers.finest, 0.0, (count, 1))
    step = rng.standard_normal((count, space.dimension)) * np.minimum(scale, 1.0)
    if len(space.parameters) > 2:
        # half of them move only a few parameters
        few = rng.random((count, len(space.parameters))) < numbers.moved / len(space.parameters)
        few[np.arange(count), rng.integers(len(space.parameters), size=count)] = True
        few[: count // 2] = True
        step *= few[:, space.groups]
    return np.asarray(centre + step)


def maximise(
    acquisition: Acquisition,
    space: Space,
    U: FloatArray,
    tried: FloatArray,
    floor: Acquisition | None = None,
    numbers: Search = SEARCH,
    kept: Kept | None = None,
) -> tuple[FloatArray, float]:
    """Return the best row found and its value; never one of `tried` while another is known.

    The candidates have the `kept` coordinates already.

    While one is known where `floor`, a part of the acquisition, costs little, none where it costs more: there the
    rest may be so much less that the sum would not say so.
    """
    U = untried(U, tried)
    firm = np.zeros(0, dtype=bool) if floor is None else floor.values(U) >= numbers.floor
    U = U[firm] if firm.any() else U
    if len(U) > numbers.screened:
        U = U[np.argsort(-_finite(screened(acquisition, U)), kind="stable")[: numbers.screened]]
    values = _finite(acquisition.values(U))
    order = np.argsort(-values, kind="stable")
    best, best_value = U[order[0]], float(values[order[0]])
    for start in _apart(U[order[: numbers.starts]], numbers):
        row, value = _climb(acquisition, space, start, numbers, kept)
        if firm.any() and floor is not None and floor.values(row[None])[0] < numbers.floor:
            continue
        if value > best_value and not _repeats(row[None], tried)[0]:
            best, best_value = row, value
    return best, best_value


def _finite(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values), values, -np.inf)


def untried(U: FloatArray, tried: FloatArray) -> FloatArray:
    """Return the rows that are none of `tried`; all of them if there is no other."""
    fresh = ~_repeats(U, tried)
    return U[fresh] if fresh.any() else U


def _repeats(U: FloatArray, tried: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Say which rows are among `tried`, to nine decimals."""
    if not len(tried) or not len(U):
        return np.zeros(len(U), dtype=bool)
    known = set(_marks(tried))
    return np.array([mark in known for mark in _marks(U)], dtype=bool)


def _marks(U: FloatArray) -> list[bytes]:
    rounded = np.ascontiguousarray(np.rint(U * 1e9).astype(np.int64))
    marks: list[bytes] = rounded.view(f"V{rounded.itemsize * rounded.shape[1]}")[:, 0].tolist()
    return marks


def _apart(U: FloatArray, numbers: Search) -> list[FloatArray]:
    """Pick the first rows that are not next to one already picked."""
    picked: list[FloatArray] = []
    for u in U:
        if all(np.abs(u - other).max() > numbers.apart for other in picked):
            picked.append(u)
        if len(picked) == numbers.climbs:
            return picked
    return picked + list(U[: numbers.climbs - len(picked)])


def _climb(
    acquisition: Acquisition, space: Space, start: FloatArray, numbers: Search, kept: Kept | None
) -> tuple[FloatArray, float]:
    """Follow the gradient in the continuous coordinates, then single steps in the others, until neither helps."""
    row = start
    value = float(acquisition.values(row[None])[0])
    for _ in range(numbers.rounds):
        row, value = _follow(acquisition, space, row, value, numbers, kept)
        neighbours = space.neighbours(row)
        neighbours = neighbours if kept is None else neighbours[kept.holds(neighbours)]
        if not len(neighbours):
            break
        values = acquisition.values(neighbours)
        if values.max() <= value:
            break
        row, value = neighbours[int(np.argmax(values))], float(values.max())
    return row, value


def _follow(
    acquisition: Acquisition, space: Space, start: FloatArray, value: float, numbers: Search, kept: Kept | None
) -> tuple[FloatArray, float]:
    free = space.free if kept is None else space.free[~kept.mask[space.free]]
    if not free.size:
        return start, value

    spans = space.spans[free]

    def objective(part: FloatArray) -> tuple[float, FloatArray]:
        row = start.copy()
        row[free] = part
        found, slope = acquisition.gradient(row)
        return -found, -slope[free]

    found = minimize(
        objective,
        start[free],
        jac=True,
        method="L-BFGS-B",
        bounds=[(low, high) for low, high in spans],
        options={"maxiter": numbers.iterations},
    )
    end = start.copy()
    reached_part = np.clip(found.x, spans[:, 0], spans[:, 1])
    # a climb that leaves the feasible region goes back along its way
    for _ in range(30):
        end[free] = reached_part
        end[free] = space.snap(end[None])[0, free]  # to a value that can be set
        if space.feasible(end[None])[0]:
            break
        reached_part = 0.5 * (reached_part + start[free])
    else:
        return start, value
    reached = float(acquisition.values(end[None])[0])
    return (end, reached) if reached > value else (start, value)
