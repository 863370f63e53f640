"""What is known: valid / non-valid labels, duels (perhaps graded) and ties, as rows of the affine probit likelihood.

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
    SLIGHT = 3  # a duel whose judge could have said "clearly better" and did not
    CLEAR = 4
    KNOWN = 5  # a valid label of a setting that is known to be good, not of one part alone


_FREE = (np.inf, np.inf)
# where z lies if a row of this kind was said: how often the just-noticeable and the clear difference are in its lower
# and in its upper bound; without ties the just-noticeable one counts as zero
_BOUNDS = {
    Kind.LABEL: ((0.0, 0.0), _FREE),
    Kind.DUEL: ((1.0, 0.0), _FREE),
    Kind.TIE: ((-1.0, 0.0), (1.0, 0.0)),
    Kind.SLIGHT: ((1.0, 0.0), (1.0, 1.0)),
    Kind.CLEAR: ((1.0, 1.0), _FREE),
    Kind.KNOWN: ((0.0, 1.0), _FREE),
}
_GRADES = {None: Kind.DUEL, False: Kind.SLIGHT, True: Kind.CLEAR}

Pairs = Sequence[tuple[int, int]] | npt.NDArray[np.intp]


class Observations:
    """Points with what was said about them; immutable.

    Args:
        points: (number, d) array; equal rows are merged into one point.
        labels: (point, valid) pairs.
        duels: (winner, loser) pairs.
        ties: Pairs that a judge could not tell apart.
        label_known: For each label whether the setting is known to be good, beyond one part: z is more than `clear`.
        label_judges: For each label an index into the noise scales; 0 if not given.
        duel_judges: The same for duels.
        tie_judges: The same for ties.
        duel_grades: For each duel whether the winner was clearly better; None (as if not given) where nobody asked.
        jnd: The just-noticeable difference in units of the judge's noise: a tie means |z| <= jnd. With ties in the
            data a duel means z >= jnd; without, the judge was never offered a tie and a duel means z >= 0.
        clear: By how much more than this z is where a part is clearly better, in the same units; where it is better but
            not clearly, z is less than that.

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
        label_known: Sequence[bool] | None = None,
        label_judges: Sequence[int] | None = None,
        duel_judges: Sequence[int] | None = None,
        tie_judges: Sequence[int] | None = None,
        duel_grades: Sequence[bool | None] | None = None,
        jnd: float = 0.5,
        clear: float = 1.0,
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
        grades = _checked_grades(duel_grades, len(duel_rows))
        known = [Kind.KNOWN if one else Kind.LABEL for one in label_known or [False] * counts[0]]
        if len(known) != counts[0]:
            raise ValueError(f"label_known: {len(known)} given for {counts[0]} rows")
        self.kind: IntArray = np.array(known + grades + [Kind.TIE] * counts[2], dtype=np.intp)
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
        self.clear = _checked_clear(clear)
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
        (lower, lower_clear), (upper, upper_clear) = self._bounds
        return width * lower + self.clear * lower_clear, np.where(
            np.isinf(upper), np.inf, width * self.slopes()[1] + self.clear * upper_clear
        )

    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """Return by how much the bounds of z move with jnd, (m,) each; a bound at infinity does not move."""
        (lower, _), (upper, _) = self._bounds
        return lower, np.where(np.isinf(upper), 0.0, upper)

    @property
    def _bounds(self) -> FloatArray:
        """For the lower and the upper bound of each row, how often the two differences are in it, (2, 2, m)."""
        # in rows without gaps: sums over others would be rounded otherwise
        return np.ascontiguousarray(np.array(list(_BOUNDS.values()))[self.kind].transpose(1, 2, 0))

    def graded_at(self, clear: float) -> "Observations":
        """Return the same rows with another clear difference."""
        other = self.part(np.arange(self.m))
        other.clear = _checked_clear(clear)
        return other

    def judgments(self) -> "Observations":
        """Return the same points with only what judges said of them."""
        return self.part(np.flatnonzero(~self._labels))

    def labels(self) -> "Observations":
        """Return the same points with only their labels."""
        return self.part(np.flatnonzero(self._labels))

    @property
    def _labels(self) -> npt.NDArray[np.bool_]:
        return np.isin(self.kind, (Kind.LABEL, Kind.KNOWN))

    def part(self, rows: IntArray) -> "Observations":
        """Return the same points with only these rows."""
        other = object.__new__(Observations)
        other.points, other.index, other.jnd, other.clear = self.points, self.index, self.jnd, self.clear
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


def _checked_grades(grades: Sequence[bool | None] | None, count: int) -> list[Kind]:
    if grades is None:
        return [Kind.DUEL] * count
    if len(grades) != count:
        raise ValueError(f"duel_grades: {len(grades)} given for {count} rows")
    for row, grade in enumerate(grades):
        if grade is not None and not isinstance(grade, bool):
            raise ValueError(f"duel_grades row {row}: {grade!r} is neither clearly (True) nor not (False) nor None")
    return [_GRADES[grade] for grade in grades]


def _checked_clear(clear: float) -> float:
    if not (np.isfinite(clear) and clear > 0.0):
        raise ValueError(f"a clear difference is positive and finite, not {clear}")
    return float(clear)


def _merge(points: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct rows in order of first appearance, and the place of each given row among them."""
    if len(points) == 0:
        return points, np.empty(0, dtype=np.intp)
    _, first, inverse = np.unique(points + 0.0, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return points[np.sort(first)], place[inverse.reshape(-1)]
