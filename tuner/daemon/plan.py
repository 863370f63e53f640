"""Which settings may be sent and by which moves: limits, grids, constraints, steps, rates and order; pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tuner.adapter import Value
from tuner.campaign.events import SettingMap
from tuner.campaign.terms import Terms
from tuner.config.parameters import Choice, Integer, Parameter, Stepped
from tuner.core.expression import Constraint, parse_constraint
from tuner.errors import TunerError
from tuner.text import listed, shown

RAMP_S = 1.0  # a rate-limited parameter moves this often at least
MOST_MOVES = 5000
_ROUNDING = 1e-9  # of a range: what decimal fractions lose in binary


class GateRefusal(TunerError):  # noqa: N818 - the design's word; it is an answer, not a defect
    """The setting must not be sent."""


@dataclass(frozen=True, slots=True)
class Move:
    """One setting to send on the way, and how long to wait before it, because of rate limits."""

    setting: SettingMap
    wait_s: float


def checked(terms: Terms, setting: Mapping[str, object]) -> SettingMap:
    """The setting, if it is complete, finite, in bounds, on the grid and satisfies the constraints.

    Raises:
        GateRefusal: It is not.
    """
    names = [parameter.name for parameter in terms.parameters]
    if set(setting) != set(names):
        raise GateRefusal(f"a setting has a value for each of {listed(names)}, not for {listed(sorted(setting))}")
    result = {parameter.name: _value(parameter, setting[parameter.name]) for parameter in terms.parameters}
    broken = _broken(_constraints(terms), result)
    if broken is not None:
        raise GateRefusal(f"the constraint {broken} does not hold")
    return result


def _constraints(terms: Terms) -> list[Constraint]:
    return [parse_constraint(text) for text in terms.constraints]


def _broken(constraints: list[Constraint], setting: SettingMap) -> str | None:
    """The first constraint that a setting does not satisfy."""
    for constraint in constraints:
        if not constraint.holds({name: float(setting[name]) for name in constraint.names}):
            return constraint.text
    return None


def _value(parameter: Parameter, value: object) -> Value:
    name = parameter.name
    if isinstance(parameter, Choice):
        if not isinstance(value, str) or value not in parameter.choices:
            raise GateRefusal(f"{name} must be one of {listed(parameter.choices)}, not {shown(value)}")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise GateRefusal(f"{name} must be a finite number, not {shown(value)}")
    if not parameter.low <= value <= parameter.high:
        raise GateRefusal(f"{name} must lie between {parameter.low:g} and {parameter.high:g}, not be {value:g}")
    if isinstance(parameter, Integer):
        if value != round(value):
            raise GateRefusal(f"{name} must be a whole number, not {value!r}")
        return int(value)
    if isinstance(parameter, Stepped):
        place = (value - parameter.low) / parameter.step
        if abs(place - round(place)) > 1e-6:
            raise GateRefusal(f"{name} must be on its grid of {parameter.step:g}, not {value!r}")
    return float(value)


def read_back_problem(terms: Terms, have: Mapping[str, object]) -> str | None:
    """Why what the machine says about its setting cannot be believed, or None."""
    for parameter in terms.parameters:
        value = have.get(parameter.name)
        if value is None:
            return f"the machine does not say its {parameter.name}"
        if isinstance(parameter, Choice):
            if not isinstance(value, str):
                return f"the machine says {parameter.name} is {shown(value)}, which is no text"
        elif isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return f"the machine says {parameter.name} is {shown(value)}, which is no finite number"
    return None


def differences(terms: Terms, setting: Mapping[str, Value], have: Mapping[str, object]) -> list[str]:
    """Which parameters are not, within their tolerances, where they should be."""
    found = []
    for parameter in terms.parameters:
        should, value = setting[parameter.name], have.get(parameter.name)
        if isinstance(parameter, Choice) or isinstance(should, str):
            same = value == should
        else:
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            slack = parameter.read_back_tolerance + _ROUNDING * (parameter.high - parameter.low)
            same = number and isinstance(value, int | float) and abs(value - should) <= slack
        if not same:
            found.append(f"{parameter.name} is {shown(value)}, not {shown(should)}")
    return found


def plan(terms: Terms, have: Mapping[str, Value], target: SettingMap) -> list[Move]:
    """The moves from what the machine has to a target: lower `order` first, no step or rate beyond its limit.

    Raises:
        GateRefusal: The target is not allowed, or no allowed way leads there.
    """
    target = checked(terms, target)
    if not have:
        return _from_nothing(terms, target)
    problem = read_back_problem(terms, have) or _outside(terms, have)
    if problem is not None:
        raise GateRefusal(problem)
    now = {parameter.name: have[parameter.name] for parameter in terms.parameters}
    moves: list[Move] = []
    for order in sorted({parameter.order for parameter in terms.parameters}):
        group = [parameter for parameter in terms.parameters if parameter.order == order]
        while differences(terms, {**now, **{p.name: target[p.name] for p in group}}, now):
            wait_s = 0.0
            for parameter in group:
                now[parameter.name], seconds = _toward(parameter, now[parameter.name], target[parameter.name])
                wait_s = max(wait_s, seconds)
            moves.append(Move(dict(now), wait_s))
            if len(moves) > MOST_MOVES:
                raise GateRefusal(f"the way to this setting has more than {MOST_MOVES} moves")
    if moves:
        moves[-1] = Move(target, moves[-1].wait_s)
    constraints = _constraints(terms)
    for move in moves[:-1]:
        broken = _broken(constraints, move.setting)
        if broken is not None:
            raise GateRefusal(f"on the way to this setting the constraint {broken} would not hold")
    return moves


def _outside(terms: Terms, have: Mapping[str, Value]) -> str | None:
    """Which value of the machine is beyond its limits; from there no way is known to be safe."""
    for parameter in terms.parameters:
        value = have[parameter.name]
        if not isinstance(parameter, Choice) and not isinstance(value, str):
            low, high = parameter.low, parameter.high
            slack = parameter.read_back_tolerance + _ROUNDING * (high - low)
            if not low - slack <= value <= high + slack:
                return (
                    f"the machine says {parameter.name} is {value}, outside of its limits {low:g} to {high:g}: "
                    "bring it back by hand"
                )
    return None


def _from_nothing(terms: Terms, target: SettingMap) -> list[Move]:
    """The moves of a machine that says it has no setting yet: first to the known-good one, then on from there."""
    limited = [p.name for p in terms.parameters if not isinstance(p, Choice) and (p.step_limit or p.rate_limit)]
    if limited:
        raise GateRefusal(
            f"the machine has no setting yet, and {listed(limited)} may only move in steps from the value it has; "
            "bring it to its known-good setting by hand"
        )
    known_good = checked(terms, terms.known_good)
    return [Move(known_good, 0.0), *plan(terms, known_good, target)]


def _toward(parameter: Parameter, now: Value, target: Value) -> tuple[Value, float]:
    """One move of a parameter, and the seconds its rate limit wants for it."""
    if isinstance(parameter, Choice) or isinstance(now, str) or isinstance(target, str):
        return target, 0.0
    largest = parameter.step_limit or math.inf
    grid = parameter.step if isinstance(parameter, Stepped) else 1.0 if isinstance(parameter, Integer) else 0.0
    if parameter.rate_limit is not None:
        largest = min(largest, max(parameter.rate_limit * RAMP_S / 60.0, grid))
    there: float = target
    if abs(target - now) > largest * (1 + _ROUNDING):
        there = now + math.copysign(largest, target - now)
        if grid:  # the furthest value on the grid that is not too far from where the machine is
            up = target > now
            places = (there - parameter.low) / grid
            place = math.floor(places + _ROUNDING) if up else math.ceil(places - _ROUNDING)
            there = parameter.low + place * grid
            if (there <= now) if up else (there >= now):
                raise GateRefusal(
                    f"{parameter.name} is at {now}, from where no allowed step leads on: bring it back by hand"
                )
    if isinstance(parameter, Integer):
        there = round(there)
    seconds = 0.0 if parameter.rate_limit is None else abs(there - now) / parameter.rate_limit * 60.0
    return there, seconds
