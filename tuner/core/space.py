"""The settings a machine can take: parameters, and constraints between them.

A setting (a value for every parameter, by name) is encoded as a row of the unit cube for the model. Every row that
leaves this module lies on the grid of the integer, stepped and choice parameters.

Glossary:
    U    (p, D) encoded settings        D    coordinates: one per numeric parameter, one per option of a choice
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tuner.core.expression import Constraint, parse_constraint
from tuner.core.linalg import FloatArray, IntArray
from tuner.core.parameters import CHOSEN, Choice, Continuous, Parameter, SpaceError, Stepped, Value, finite_number

Setting = dict[str, Value]
BoolArray = npt.NDArray[np.bool_]

TRIES = 200


class Space:
    """Parameters and the constraints between them.

    Args:
        parameters: At least one, with different names.
        constraints: Inequalities such as "2*speed + pressure <= 140" over numeric parameters.
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

    def encode(self, setting: Mapping[str, Any]) -> FloatArray:
        """Return the row of a setting, (D,).

        Raises:
            SpaceError: A value is missing, unknown, out of range, off the grid, or a constraint does not hold.
        """
        for name in setting:
            if name not in self.names:
                raise SpaceError(f"there is no parameter {name!r}; there are {', '.join(self.names)}")
        for name in self.names:
            if name not in setting:
                raise SpaceError(f"{name}: the setting gives no value for it")
        row = np.concatenate([p.encode(setting[p.name]) for p in self.parameters])
        values = {p.name: finite_number(p.name, setting[p.name]) for p in self.parameters if not isinstance(p, Choice)}
        for constraint in self.constraints:
            if not bool(constraint.holds(values)):
                raise SpaceError(f"the setting breaks the constraint {constraint.text!r}")
        return row

    def decode(self, u: FloatArray) -> Setting:
        """Return the setting nearest to a row (D,)."""
        return {p.name: p.value(u[s]) for p, s in zip(self.parameters, self._slices, strict=True)}

    def snap(self, U: FloatArray) -> FloatArray:
        """Return the nearest rows on the grid."""
        return np.concatenate([p.snap(U[:, s]) for p, s in zip(self.parameters, self._slices, strict=True)], axis=1)

    def feasible(self, U: FloatArray) -> BoolArray:
        """Say which rows satisfy every constraint."""
        mask = np.ones(len(U), dtype=bool)
        if self.constraints and len(U):
            values = {
                p.name: p.column(U[:, s])
                for p, s in zip(self.parameters, self._slices, strict=True)
                if not isinstance(p, Choice)
            }
            for constraint in self.constraints:
                mask &= np.asarray(constraint.holds(values))
        return mask

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw rows uniformly from the feasible settings; fewer if they are hard to find.

        Raises:
            SpaceError: No feasible setting was found at all.
        """
        found: list[FloatArray] = []
        have = 0
        for _ in range(TRIES):
            U = self._uniform(max(2 * count, 64), rng)
            U = U[self.feasible(U)]
            found.append(U)
            have += len(U)
            if have >= count:
                break
        rows = np.concatenate(found)[:count]
        if not len(rows):
            raise SpaceError("no setting satisfies all constraints, as far as random search can tell")
        return rows

    def _uniform(self, count: int, rng: np.random.Generator) -> FloatArray:
        columns = []
        for p in self.parameters:
            if isinstance(p, Continuous):
                columns.append(rng.random((count, 1)))
            elif isinstance(p, Choice):
                columns.append(CHOSEN * np.eye(p.width)[rng.integers(p.levels, size=count)])
            else:
                index = rng.integers(p.levels, size=count)
                columns.append(np.array([p.encode(p.level(int(i)))[0] for i in index])[:, None])
        return np.concatenate(columns, axis=1)

    def neighbours(self, u: FloatArray) -> FloatArray:
        """Return the feasible rows that differ in one grid parameter by one step, or in one choice."""
        rows = []
        for p, s in zip(self.parameters, self._slices, strict=True):
            if isinstance(p, Continuous):
                continue
            if isinstance(p, Choice):
                others: list[Any] = [option for option in p.choices if option != p.value(u[s])]
            else:
                index = round(float(p.column(u[s][None])[0] - p.low) / (p.step if isinstance(p, Stepped) else 1))
                others = [p.level(i) for i in (index - 1, index + 1) if 0 <= i < p.levels]
            for other in others:
                row = u.copy()
                row[s] = p.encode(other)
                rows.append(row)
        U = np.array(rows).reshape(-1, self.dimension)
        return U[self.feasible(U)]
