"""Whether any setting satisfies constraints: says no only where that is certain, and names those that are to blame.

Linear constraints are decided exactly, by a mixed-integer program. Others are bounded on boxes that are halved again
and again: a box is out of the question when one constraint is violated at every point of it. Where neither can tell,
nothing is said.

Glossary:
    low, high    (p,) bounds of an expression on p boxes; low > high where it has no value anywhere on the box
    A, b         rows A u + b >= 0 over u: the unit cube, or the number of the level for a grid parameter
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tuner.basics.sentences import Sentence, say
from tuner.core.linalg import FloatArray
from tuner.core.space.expression import Constraint, Name, Number, Operation, Program
from tuner.core.space.parameters import Choice, Continuous, Integer, Parameter, Stepped

MOST_BOXES = 4096
ROUNDS = 40
PROGRAM_S = 2.0
SLACK = 1e-7  # of a constraint's terms: what rounding may make of a setting that is just possible
MOST_TO_BLAME = 20

Numeric = Continuous | Integer | Stepped
Bounds = tuple[FloatArray, FloatArray]
Linear = tuple[dict[str, float], float]  # coefficients and a constant


def impossible(parameters: Sequence[Parameter], constraints: Sequence[Constraint]) -> tuple[Constraint, ...] | None:
    """Return constraints that no setting satisfies together, as few as can be; None if there may be one."""
    numeric = {p.name: p for p in parameters if not isinstance(p, Choice)}
    for constraint in constraints:
        if _without_setting(numeric, [constraint]):
            return (constraint,)
    if len(constraints) < 2 or not _without_setting(numeric, constraints):
        return None
    blamed = list(constraints)
    for constraint in constraints if len(constraints) <= MOST_TO_BLAME else ():
        others = [other for other in blamed if other is not constraint]
        if _without_setting(numeric, others):
            blamed = others
    return tuple(blamed)


def sentence(blamed: Sequence[Constraint]) -> Sentence:
    """Say it."""
    if len(blamed) == 1:
        return say("space.impossible", constraint=repr(blamed[0].text))
    return say("space.impossible_together", constraints=[repr(one.text) for one in blamed])


def _without_setting(numeric: Mapping[str, Numeric], constraints: Sequence[Constraint]) -> bool:
    used = {name: numeric[name] for name in sorted(set().union(*(c.names for c in constraints)))}
    answer = _by_program(used, constraints)
    return _by_boxes(used, constraints) if answer is None else answer


def _by_program(used: Mapping[str, Numeric], constraints: Sequence[Constraint]) -> bool | None:
    """Whether the linear constraints alone rule out everything; False: here is a setting; None: who knows."""
    rows: list[Linear] = []
    for constraint in constraints:
        rows += _linear(constraint) or []
    if not rows or not used:
        return None
    from scipy.optimize import Bounds as Limits  # slow to import, and seldom needed
    from scipy.optimize import LinearConstraint, milp

    names = list(used)
    offset = np.array([float(p.low) for p in used.values()])
    width = np.array([_unit(p) for p in used.values()])
    top = np.array([1.0 if p.levels is None else p.levels - 1.0 for p in used.values()])
    A = np.array([[row.get(name, 0.0) for name in names] for row, _ in rows]) * width
    b = np.array([constant for _, constant in rows]) + (A / width) @ offset
    size = np.abs(A) @ top + np.abs(A / width) @ np.abs(offset) + np.abs([constant for _, constant in rows])
    if not np.isfinite(size).all() or not (size > 0.0).all():
        return None
    try:
        answer = milp(
            np.zeros(len(names)),
            integrality=np.array([p.levels is not None for p in used.values()], dtype=int),
            bounds=Limits(np.zeros(len(names)), top),
            constraints=LinearConstraint(A / size[:, None], lb=-b / size - SLACK),
            options={"time_limit": PROGRAM_S},
        )
    except ValueError:
        return None
    if answer.status == 2:  # proved to have no solution
        return True
    if answer.x is None:
        return None
    free = np.array([p.levels is None for p in used.values()])
    found = offset + width * np.clip(np.where(free, answer.x, answer.x.round()), 0.0, top)
    values = dict(zip(names, found, strict=True))
    return False if all(constraint.holds(values) for constraint in constraints) else None


def _unit(parameter: Numeric) -> float:
    """How much a parameter changes where its unknown changes by one."""
    if isinstance(parameter, Continuous):
        return float(parameter.high) - float(parameter.low)
    return float(parameter.step) if isinstance(parameter, Stepped) else 1.0


def _linear(constraint: Constraint) -> list[Linear] | None:
    """Return terms that must not be negative, or None if the constraint is not linear."""
    sides = [_linear_side(side) for side in constraint.sides]
    rows = []
    for left, right, comparison in zip(sides, sides[1:], constraint.comparisons, strict=False):
        if left is None or right is None:
            return None
        small, large = (left, right) if "<" in comparison else (right, left)
        rows.append(_add(large, small, -1.0))
    return rows


def _linear_side(program: Program) -> Linear | None:
    stack: list[Linear] = []
    for step in program:
        if isinstance(step, Number):
            stack.append(({}, step.value))
        elif isinstance(step, Name):
            stack.append(({step.name: 1.0}, 0.0))
        elif step.function == "negative":
            stack.append(_add(({}, 0.0), stack.pop(), -1.0))
        elif step.function in ("+", "-"):
            right, left = stack.pop(), stack.pop()
            stack.append(_add(left, right, 1.0 if step.function == "+" else -1.0))
        elif step.function == "*" and not (stack[-1][0] and stack[-2][0]):
            right, left = stack.pop(), stack.pop()
            factor, form = (left[1], right) if not left[0] else (right[1], left)
            stack.append(_add(({}, 0.0), form, factor))
        elif step.function == "/" and not stack[-1][0] and stack[-1][1]:
            right, left = stack.pop(), stack.pop()
            stack.append(_add(({}, 0.0), left, 1.0 / right[1]))
        else:
            return None
    return stack.pop()


def _add(one: Linear, other: Linear, factor: float) -> Linear:
    names = {**one[0], **other[0]}
    return {n: one[0].get(n, 0.0) + factor * other[0].get(n, 0.0) for n in names}, one[1] + factor * other[1]


def _by_boxes(used: Mapping[str, Numeric], constraints: Sequence[Constraint]) -> bool:
    """Halve boxes until every one is out of the question, or there are too many of them."""
    names = list(used)
    low = np.array([[float(p.low) for p in used.values()]])
    high = np.array([[float(p.high) for p in used.values()]])
    full = np.maximum(high - low, np.finfo(float).tiny)
    for _ in range(ROUNDS):
        low, high = _on_grid(used, low, high)
        keep = (low <= high).all(axis=1)
        low, high = low[keep], high[keep]
        box = {name: (low[:, i], high[:, i]) for i, name in enumerate(names)}
        keep = np.ones(len(low), dtype=bool)
        with np.errstate(all="ignore"):
            for constraint in constraints:
                keep &= _may_hold(constraint, box, len(low))
        low, high = low[keep], high[keep]
        if not len(low):
            return True
        if 2 * len(low) > MOST_BOXES or not names:
            return False
        widest = np.argmax((high - low) / full, axis=1)
        rows = np.arange(len(low))
        middle = 0.5 * (low[rows, widest] + high[rows, widest])
        lower_high, upper_low = high.copy(), low.copy()
        lower_high[rows, widest] = upper_low[rows, widest] = middle
        low, high = np.concatenate([low, upper_low]), np.concatenate([lower_high, high])
    return False


def _on_grid(used: Mapping[str, Numeric], low: FloatArray, high: FloatArray) -> Bounds:
    """Draw the sides of boxes in to the values that grid parameters have."""
    low, high = low.copy(), high.copy()
    for i, parameter in enumerate(used.values()):
        if isinstance(parameter, Continuous):
            continue
        first, unit = float(parameter.low), _unit(parameter)
        inward = 1e-6  # of a step: values on the grid are rounded
        low[:, i] = np.maximum(low[:, i], first + unit * (np.ceil((low[:, i] - first) / unit - inward) - inward))
        high[:, i] = np.minimum(high[:, i], first + unit * (np.floor((high[:, i] - first) / unit + inward) + inward))
    return low, high


def _may_hold(constraint: Constraint, box: Mapping[str, Bounds], count: int) -> npt.NDArray[np.bool_]:
    """Say on which boxes a constraint may hold somewhere."""
    sides = [_bounds(side, box, count) for side in constraint.sides]
    may = np.ones(count, dtype=bool)
    for side in sides:
        may &= side[0] <= side[1]
    for left, right, comparison in zip(sides, sides[1:], constraint.comparisons, strict=False):
        small, large = (left, right) if "<" in comparison else (right, left)
        may &= ~(large[1] < small[0]) if "=" in comparison else ~(large[1] <= small[0])
    return may


def _bounds(program: Program, box: Mapping[str, Bounds], count: int) -> Bounds:
    stack: list[Bounds] = []
    for step in program:
        if isinstance(step, Number):
            stack.append((np.full(count, step.value), np.full(count, step.value)))
        elif isinstance(step, Name):
            stack.append(box[step.name])
        else:
            stack.append(_applied(step, stack))
    return stack.pop()


def _applied(step: Operation, stack: list[Bounds]) -> Bounds:
    """Bounds of a function of bounds; floating-point operations are monotone, so the ends bound all between."""
    name = step.function
    two = name in ("+", "-", "*", "/", "**", "min", "max")
    right = stack.pop() if two else None
    left = stack.pop()
    nowhere = left[0] > left[1]
    if right is not None:
        nowhere |= right[0] > right[1]
        low, high = _of_two(name, left, right)
    else:
        low, high = _of_one(name, left)
    low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    return np.where(nowhere, np.inf, low), np.where(nowhere, -np.inf, high)


def _of_one(name: str, value: Bounds) -> Bounds:
    low, high = value
    if name == "negative":
        return -high, -low
    if name == "abs":
        inside = (low <= 0.0) & (high >= 0.0)
        return np.where(inside, 0.0, np.minimum(np.abs(low), np.abs(high))), np.maximum(np.abs(low), np.abs(high))
    if name == "exp":
        return np.exp(low) * (1 - SLACK), np.exp(high) * (1 + SLACK)
    if name in ("sqrt", "log"):
        outside = high < 0.0 if name == "sqrt" else high <= 0.0
        function = np.sqrt if name == "sqrt" else np.log
        least, most = function(np.maximum(low, 0.0)), function(np.maximum(high, 0.0))
        return np.where(outside, np.inf, least - SLACK * np.abs(least)), np.where(outside, -np.inf, most + SLACK)
    middle, half = 0.5 * (low + high), 0.5 * (high - low) + SLACK  # sine and cosine: no steeper than one
    wave = np.sin(middle) if name == "sin" else np.cos(middle)
    return np.maximum(wave - half, -1.0), np.minimum(wave + half, 1.0)


def _of_two(name: str, left: Bounds, right: Bounds) -> Bounds:
    if name == "+":
        return left[0] + right[0], left[1] + right[1]
    if name == "-":
        return left[0] - right[1], left[1] - right[0]
    if name == "min":
        return np.minimum(left[0], right[0]), np.minimum(left[1], right[1])
    if name == "max":
        return np.maximum(left[0], right[0]), np.maximum(left[1], right[1])
    corners = [(one, other) for one in left for other in right]
    if name == "*":
        found = np.array([np.where((one == 0.0) | (other == 0.0), 0.0, one * other) for one, other in corners])
        return found.min(axis=0), found.max(axis=0)
    if name == "/":
        unsure = (right[0] <= 0.0) & (right[1] >= 0.0)
        found = np.array([one / other for one, other in corners])
    else:
        whole = (right[0] == right[1]) & (right[0] == np.rint(right[0])) & (right[0] >= 0.0)
        even = whole & (right[0] % 2.0 == 0.0)
        size = _of_one("abs", left)
        base = np.where(even, size[0], left[0]), np.where(even, size[1], left[1])
        unsure = (left[0] < 0.0) & ~whole  # of what may be negative: told by no corner
        found = np.array([np.power(one, other) for one in base for other in right])
    slack = SLACK * np.abs(found)
    low, high = (found - slack).min(axis=0), (found + slack).max(axis=0)
    return np.where(unsure, -np.inf, low), np.where(unsure, np.inf, high)
