"""What is known: valid / non-valid labels, duels and ties, as rows of the affine probit likelihood.

Every row says that z = (f(plus) - f(minus)) / noise + e, e ~ N(0, 1), lies in an interval; either point may be absent
(its f counts as zero). A valid label has only `plus`, a non-valid one only `minus`.

Glossary:
    n, d       distinct points and their dimension        m        rows
    points     (n, d), repeated points merged             judge    (m,) who said it: an index into the noise scales
    plus       (m,) index of the point with +1, n if none
    minus      (m,) index of the point with -1, n if none
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from tuner.core.linalg import FloatArray, IntArray


class Kind(IntEnum):
    """What was said in a row."""

    LABEL = 0
    DUEL = 1
    TIE = 2


# where z lies if a row of this kind was said, in just-noticeable differences; without ties these count as zero
_BOUNDS = {Kind.LABEL: (0.0, np.inf), Kind.DUEL: (1.0, np.inf), Kind.TIE: (-1.0, 1.0)}

Pairs = Sequence[tuple[int, int]] | npt.NDArray[np.intp]


class Observations:
    """Points with what was said about them; immutable.

    Args:
        points: (number, d) array; equal rows are merged into one point.
        labels: (point, valid) pairs.
        duels: (winner, loser) pairs.
        ties: Pairs that a judge could not tell apart.
        label_judges: For each label an index into the noise scales; 0 if not given.
        duel_judges: The same for duels.
        tie_judges: The same for ties.
        jnd: The just-noticeable difference in units of the judge's noise: a tie means |z| <= jnd. With ties in the
            data a duel means z >= jnd; without, the judge was never offered a tie and a duel means z >= 0.

    Raises:
        ValueError: A row is malformed; the message says which.
    """

    def __init__(
        self,
        points: npt.ArrayLike,
        labels: Sequence[tuple[int, bool]] | npt.NDArray[np.intp] = (),
        duels: Pairs = (),
        ties: Pairs = (),
        *,
        label_judges: Sequence[int] | None = None,
        duel_judges: Sequence[int] | None = None,
        tie_judges: Sequence[int] | None = None,
        jnd: float = 0.5,
    ) -> None:
        given = _checked_points(points)
        label_rows = _checked_pairs(labels, "labels", len(given), second_is_point=False)
        duel_rows = _checked_pairs(duels, "duels", len(given))
        tie_rows = _checked_pairs(ties, "ties", len(given))
        if len(tie_rows) and not (np.isfinite(jnd) and jnd > 0.0):
            raise ValueError(f"ties row 0: a tie needs a positive width, but jnd is {jnd}")
        merged, inverse = _merge(given)
        n = len(merged)
        valid = label_rows[:, 1].astype(bool)
        at = inverse[label_rows[:, 0]]
        none = np.full(len(at), n)
        self.points: FloatArray = merged
        self.index: IntArray = inverse
        self.plus: IntArray = np.concatenate(
            [np.where(valid, at, none), inverse[duel_rows[:, 0]], inverse[tie_rows[:, 0]]]
        )
        self.minus: IntArray = np.concatenate(
            [np.where(valid, none, at), inverse[duel_rows[:, 1]], inverse[tie_rows[:, 1]]]
        )
        counts = [len(label_rows), len(duel_rows), len(tie_rows)]
        self.kind: IntArray = np.repeat(np.array([Kind.LABEL, Kind.DUEL, Kind.TIE]), counts)
        self.judge: IntArray = np.concatenate(
            [
                _checked_judges(given, name, count)
                for given, name, count in zip(
                    (label_judges, duel_judges, tie_judges),
                    ("label_judges", "duel_judges", "tie_judges"),
                    counts,
                    strict=True,
                )
            ]
        )
        self.jnd = float(jnd)
        for array in (self.points, self.index, self.plus, self.minus, self.kind, self.judge):
            array.setflags(write=False)

    @property
    def n(self) -> int:
        """Number of distinct points."""
        return len(self.points)

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.plus)

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""
        return self.points.shape[1]

    @property
    def judges(self) -> int:
        """How many noise scales the rows refer to (at least one)."""
        return int(self.judge.max(initial=0)) + 1

    @property
    def has_ties(self) -> bool:
        """Whether any judge ever said "can't tell"."""
        return bool((self.kind == Kind.TIE).any())

    def intervals(self, jnd: float | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper bounds of z, (m,) each."""
        width = (self.jnd if jnd is None else jnd) if self.has_ties else 0.0
        lower, upper = self.slopes()
        return width * lower, np.where(self._one_sided, np.inf, width * upper)

    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """Return by how much the bounds of z move with jnd, (m,) each; a bound at infinity does not move."""
        lower, upper = np.array(list(_BOUNDS.values()))[self.kind].T
        return lower, np.where(self._one_sided, 0.0, upper)

    @property
    def _one_sided(self) -> npt.NDArray[np.bool_]:
        return np.array([np.isinf(upper) for _, upper in _BOUNDS.values()])[self.kind]

    def judgments(self) -> "Observations":
        """Return the same points with only what judges said of them."""
        return self.part(np.flatnonzero(self.kind != Kind.LABEL))

    def labels(self) -> "Observations":
        """Return the same points with only their labels."""
        return self.part(np.flatnonzero(self.kind == Kind.LABEL))

    def part(self, rows: IntArray) -> "Observations":
        """Return the same points with only these rows."""
        other = object.__new__(Observations)
        other.points, other.index, other.jnd = self.points, self.index, self.jnd
        for name in ("plus", "minus", "kind", "judge"):
            setattr(other, name, getattr(self, name)[rows])
        return other


def _checked_points(points: npt.ArrayLike) -> FloatArray:
    array = np.array(points, dtype=np.float64)
    if array.ndim == 1 and array.size == 0:
        array = array.reshape(0, 1)
    if array.ndim != 2:
        raise ValueError(f"points must be a table, one row a point; got an array of shape {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if bad.size:
        raise ValueError(f"points row {bad[0]}: {array[bad[0]].tolist()} is not finite")
    return array


def _checked_pairs(pairs: Any, name: str, points: int, *, second_is_point: bool = True) -> IntArray:
    rows = []
    for number, pair in enumerate(pairs):
        try:
            first, second = pair
        except (TypeError, ValueError):
            raise ValueError(f"{name} row {number}: expected a pair, got {pair!r}") from None
        for index in (first, second) if second_is_point else (first,):
            if isinstance(index, bool | np.bool_) or not isinstance(index, int | np.integer):
                raise ValueError(f"{name} row {number}: {index!r} is not the index of a point")
            if not 0 <= index < points:
                raise ValueError(
                    f"{name} row {number}: there is no point {index}; the indices go from 0 to {points - 1}"
                )
        if second_is_point and first == second:
            raise ValueError(f"{name} row {number}: point {first} cannot be compared with itself")
        if not second_is_point and second not in (0, 1):
            raise ValueError(f"{name} row {number}: {second!r} is neither valid (True) nor non-valid (False)")
        rows.append((int(first), int(second)))
    return np.array(rows, dtype=np.intp).reshape(-1, 2)


def _checked_judges(judges: Sequence[int] | None, name: str, count: int) -> IntArray:
    if judges is None:
        return np.zeros(count, dtype=np.intp)
    if len(judges) != count:
        raise ValueError(f"{name}: {len(judges)} given for {count} rows")
    for row, judge in enumerate(judges):
        if isinstance(judge, bool) or not isinstance(judge, int | np.integer) or judge < 0:
            raise ValueError(f"{name} row {row}: {judge!r} is not the index of a noise scale")
    return np.array(judges, dtype=np.intp)


def _merge(points: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct rows in order of first appearance, and the place of each given row among them."""
    if len(points) == 0:
        return points, np.empty(0, dtype=np.intp)
    _, first, inverse = np.unique(points + 0.0, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return points[np.sort(first)], place[inverse.reshape(-1)]
