"""The settings a machine can take: parameters, and constraints between them.

A setting (a value for every parameter, by name) is encoded as a row of the unit cube for the model. Every row that
leaves this module lies on the grid of the integer, stepped and choice parameters.

Glossary:
    U    (p, D) encoded settings        D    coordinates: one per numeric parameter, one per option of a choice
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt

from tuner.basics.sentences import Sentence, say
from tuner.core.linalg import FloatArray, IntArray
from tuner.core.space.expression import Constraint, parse_constraint
from tuner.core.space.impossible import impossible, sentence
from tuner.core.space.narrowed import Narrowed, limits_as_constraints, narrowed, whole
from tuner.core.space.parameters import Choice, Continuous, Parameter, SpaceError
from tuner.core.space.restriction import checked as checked_restriction
from tuner.core.space.values import Setting as Setting

BoolArray = npt.NDArray[np.bool_]

BATCHES = 20
ENUMERABLE = 5_000
FEW = 256
REPAIRS = 100
KEPT = 64
SAME = 1e-9
WALK = 120  # after 60 steps the mean of 400 rows still strays three times as far as that of independent ones


def some_setting(space: "Space") -> Setting:
    """Return any setting that satisfies the constraints; SpaceError if a search finds none."""
    return space.decode(space.sample(1, np.random.default_rng(0))[0])


class Space:
    """Parameters and the constraints between them.

    Args:
        parameters: At least one, with different names.
        constraints: Inequalities such as "2*speed + pressure <= 140" over numeric parameters.

    Raises:
        SpaceError: It cannot be; also if no setting satisfies all constraints, where that is certain.
    """

    def __init__(self, parameters: Sequence[Parameter], constraints: Sequence[str | Constraint] = ()) -> None:
        if not parameters:
            raise SpaceError("a space needs at least one parameter")
        self.parameters = tuple(parameters)
        self.names = tuple(p.name for p in self.parameters)
        for name in self.names:
            if self.names.count(name) > 1:
                raise SpaceError(f"two parameters are called {name!r}")
        self.constraints = tuple(parse_constraint(c) if isinstance(c, str) else c for c in constraints)
        numeric = {p.name for p in self.parameters if not isinstance(p, Choice)}
        for constraint in self.constraints:
            for name in sorted(constraint.names):
                if name not in numeric:
                    raise SpaceError(f"constraint {constraint.text!r}: {name!r} is not a numeric parameter")
        edges = np.cumsum([0, *(p.width for p in self.parameters)])
        self._slices = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        self.dimension = int(edges[-1])
        if self.constraints:
            self._check_possible()

    def __repr__(self) -> str:
        rules = f", constraints={[one.text for one in self.constraints]!r}" if self.constraints else ""
        return f"Space([{', '.join(map(repr, self.parameters))}]{rules})"

    def _check_possible(self) -> None:
        """Refuse a space without a setting; most have so many that a few draws find one."""
        U = self._uniform(FEW, np.random.default_rng(0))
        if self.feasible(U).any():
            return
        limits = [parse_constraint(text) for p in self.parameters for text in limits_as_constraints(p)]
        blamed = impossible([whole(p) for p in self.parameters], (*self.constraints, *limits))
        if blamed is None and self.every is not None and not len(self.every):
            blamed = self.constraints
        if blamed is not None:
            raise SpaceError(sentence(blamed))

    def within(self, restriction: Mapping[str, Any]) -> "Space":
        """Return the same space with only what is allowed of some parameters for a while; its rows mean the same.

        What is drawn, snapped, enumerated or called feasible there lies inside. A setting outside has a row still.

        Args:
            restriction: By name a value to keep, (low, high) where either may be None, or a list of options.

        Raises:
            SpaceError: It leaves nothing to a parameter or to the constraints, or does not restrict anything.
        """
        limits = checked_restriction({p.name: p.domain for p in self.parameters}, restriction)
        if not limits:
            return self
        parts = [narrowed(p, limits[p.name]) if p.name in limits else p for p in map(whole, self.parameters)]
        return Space(parts, self.constraints)

    @cached_property
    def spans(self) -> FloatArray:
        """(D, 2) the lowest and the highest coordinate that may be taken."""
        return np.repeat([p.span for p in self.parameters], [p.width for p in self.parameters], axis=0)

    @cached_property
    def groups(self) -> IntArray:
        """(D,) which parameter each coordinate belongs to: a parameter has one lengthscale."""
        return np.repeat(np.arange(len(self.parameters)), [p.width for p in self.parameters])

    @cached_property
    def free(self) -> IntArray:
        """The coordinates of continuous parameters: those a gradient can move."""
        return np.array(
            [s.start for s, p in zip(self._slices, self.parameters, strict=True) if isinstance(p, Continuous)],
            dtype=np.intp,
        )

    @cached_property
    def size(self) -> float:
        """How many settings there are (constraints not counted); infinite with a continuous parameter."""
        return math.prod(math.inf if p.levels is None else p.levels for p in self.parameters)

    def checked(self, setting: Mapping[str, Any]) -> Setting:
        """Return the setting as plain values, in the order of the parameters.

        Raises:
            SpaceError: A value is missing, unknown, out of range, off the grid, or a constraint does not hold.
        """
        if not isinstance(setting, Mapping):
            raise SpaceError(f"a setting gives a value for every parameter by name, got {setting!r}")
        for name in setting:
            if name not in self.names:
                raise SpaceError(f"there is no parameter {name!r}; there are {', '.join(self.names)}")
        for name in self.names:
            if name not in setting:
                raise SpaceError(f"{name}: the setting gives no value for it")
        plain = {p.name: p.checked(setting[p.name]) for p in self.parameters}
        values = {p.name: float(plain[p.name]) for p in self.parameters if not isinstance(p, Choice)}
        for constraint in self.constraints:
            if not bool(constraint.holds(values)):
                raise SpaceError(f"the setting breaks the constraint {constraint.text!r}")
        return plain

    def encode(self, setting: Mapping[str, Any]) -> FloatArray:
        """Return the row of a setting, (D,)."""
        return self.row_of(self.checked(setting))

    def row_of(self, checked: Setting) -> FloatArray:
        """Return the row of a setting that `checked` returned, (D,): constraints are not looked at again."""
        return np.concatenate([p.encode(checked[p.name]) for p in self.parameters])

    def decode(self, u: FloatArray) -> Setting:
        """Return the setting nearest to a row (D,)."""
        return {p.name: p.value(u[s]) for p, s in zip(self.parameters, self._slices, strict=True)}

    def snap(self, U: FloatArray) -> FloatArray:
        """Return the nearest rows on the grid."""
        return np.concatenate([p.snap(U[:, s]) for p, s in zip(self.parameters, self._slices, strict=True)], axis=1)

    def feasible(self, U: FloatArray) -> BoolArray:
        """Say which rows satisfy every constraint, and lie inside where the space is restricted."""
        satisfied = np.asarray((self._margins(U) >= 0.0).all(axis=1))
        for parameter, place in zip(self.parameters, self._slices, strict=True):
            if isinstance(parameter, Narrowed):
                moved = np.abs(parameter.snap(U[:, place]) - U[:, place])
                satisfied &= (moved <= SAME).all(axis=1)
        return satisfied

    def _margins(self, U: FloatArray) -> FloatArray:
        """Return how far inside each constraint each row is, (p, constraints); negative outside."""
        values = {
            p.name: p.column(U[:, s])
            for p, s in zip(self.parameters, self._slices, strict=True)
            if not isinstance(p, Choice)
        }
        margins = [np.broadcast_to(constraint.margin(values), len(U)) for constraint in self.constraints]
        return np.array(margins).reshape(len(self.constraints), len(U)).T

    @cached_property
    def every(self) -> FloatArray | None:
        """Every feasible row, if the settings can be enumerated."""
        if self.size > ENUMERABLE:
            return None
        values = [
            [p.encode(p.level(i)) for i in range(p.levels)] for p in self.parameters if not isinstance(p, Continuous)
        ]
        U = np.array([np.concatenate(row) for row in product(*values)])
        return U[self.feasible(U)]

    def sample(self, count: int, rng: np.random.Generator, known: FloatArray | None = None) -> FloatArray:
        """Draw rows uniformly from the feasible settings; where those are rare, by a random walk among them.

        The walk begins at `known` rows that may be feasible, such as those of trials, if a search finds none.
        """
        found = np.empty((0, self.dimension))
        for _ in range(BATCHES):
            U = self._uniform(max(2 * count, KEPT), rng)
            found = np.concatenate([found, U[self.feasible(U)]])
            if len(found) >= count:
                return found[:count]
        if self.every is not None:
            found = self.every
        elif not len(found):
            found = self._repaired(rng)
        if not len(found) and known is not None:
            found = known[self.feasible(known)]
        if not len(found):
            raise SpaceError(self.nothing_found)
        found = found[rng.integers(len(found), size=max(count, KEPT))]
        return (found if self.every is not None else self._walked(found, rng))[:count]

    @property
    def nothing_found(self) -> Sentence:
        """What to say where no setting is found that satisfies the constraints, although there may be one."""
        return say("space.nothing_found", constraints=[repr(one.text) for one in self.constraints])

    def _uniform(self, count: int, rng: np.random.Generator) -> FloatArray:
        return np.concatenate([p.sample(count, rng) for p in self.parameters], axis=1)

    def _repaired(self, rng: np.random.Generator) -> FloatArray:
        """Return feasible rows found by evolving those that break the constraints least; none if that fails."""
        U = self._uniform(32 * KEPT, rng)
        margins = self._margins(U)
        # constraints have different units: weigh each by its usual size
        scale = np.median(np.abs(np.where(np.isfinite(margins), margins, 1.0)), axis=0) + 1e-300
        for _ in range(REPAIRS):
            margins = self._margins(U)
            inside = (margins >= 0.0).all(axis=1)
            if inside.any():
                return U[inside]
            U = U[np.argsort(np.minimum(margins / scale, 0.0).sum(axis=1), kind="stable")[-KEPT:]]
            U = np.concatenate([U, self.snap(self._stepped(np.repeat(U, 8, axis=0), rng))])
        return U[:0]

    def _walked(self, U: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Move feasible rows about at random, so that they forget where they started (Metropolis)."""
        for _ in range(WALK):
            moved = self._stepped(U, rng)
            # a step out of the cube is refused, not cut short: else the walk would gather at the faces
            within = ((moved >= self.spans[:, 0]) & (moved <= self.spans[:, 1]) | self._chosen).all(axis=1)
            moved = self.snap(moved)
            accepted = within & self.feasible(moved)
            U = np.where(accepted[:, None], moved, U)
        return U

    def _stepped(self, U: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return the rows after a step of any size in half of the parameters, or along the line of two other rows."""
        count = len(self.parameters)
        some = rng.random((len(U), count)) < 0.5
        some[np.arange(len(U)), rng.integers(count, size=len(U))] = True
        size = 10.0 ** rng.uniform(-4.0, 0.0, (len(U), 1))
        moved = np.where(self._chosen, self._uniform(len(U), rng), U + size * rng.standard_normal(U.shape))
        moved = np.where(some[:, self.groups], moved, U)
        # narrow tubes are explored along themselves (differential evolution)
        line = U[rng.integers(len(U), size=len(U))] - U[rng.integers(len(U), size=len(U))]
        along = np.where(self._chosen, U, U + 10.0 ** rng.uniform(-1.0, 0.5, (len(U), 1)) * line)
        stepped = np.where(rng.random((len(U), 1)) < 0.5, moved, along)
        return np.where(self.spans[:, 0] == self.spans[:, 1], U, stepped)  # what is kept at a value is not moved

    @cached_property
    def _chosen(self) -> BoolArray:
        return np.array([isinstance(self.parameters[group], Choice) for group in self.groups])

    def neighbours(self, u: FloatArray) -> FloatArray:
        """Return the feasible rows that differ in one grid parameter by one step, or in one choice."""
        rows = []
        for p, s in zip(self.parameters, self._slices, strict=True):
            if isinstance(p, Continuous):
                continue
            index = int(p.indices(u[s][None])[0])
            others = range(p.levels) if isinstance(p, Choice) else (index - 1, index + 1)
            for other in others:
                if other != index and 0 <= other < p.levels:
                    row = u.copy()
                    row[s] = p.encode(p.level(other))
                    rows.append(row)
        U = np.array(rows).reshape(-1, self.dimension)
        return U[self.feasible(U)]
