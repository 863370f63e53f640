"""Which settings may be sent and by which moves: limits, grids, constraints, steps, rates and order; pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.adapter import Value
from tuner.basics.sentences import Sentence, say, written
from tuner.campaign.events import SettingMap
from tuner.campaign.terms import Terms
from tuner.config.parameters import Choice, Continuous, Integer, Parameter, Stepped
from tuner.core.space.expression import Constraint, parse_constraint
from tuner.core.space.values import ROUNDING, finite
from tuner.errors import TunerError

RAMP_S = 1.0  # a rate-limited parameter moves this often at least
MOST_MOVES = 5000
Numeric = Continuous | Integer | Stepped


class GateRefusal(TunerError):  # noqa: N818 - the design's word; it is an answer, not a defect
    """The setting must not be sent."""

    def __init__(self, text: Sentence) -> None:
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Move:
    """One setting to send on the way, and how long to wait before it, because of rate limits."""

    setting: SettingMap
    wait_s: float


@dataclass(frozen=True, slots=True)
class Span:
    """What a parameter may have: all between two values; `last` is what it was told last."""

    low: Value
    high: Value
    last: Value

    @classmethod
    def at(cls, value: Value) -> "Span":
        """It is known to have this value."""
        return cls(value, value, value)


def checked(terms: Terms, setting: Mapping[str, object]) -> SettingMap:
    """The setting, if it is complete, finite, in bounds, on the grid and satisfies the constraints."""
    names = [parameter.name for parameter in terms.parameters]
    if set(setting) != set(names):
        raise GateRefusal(say("gate.incomplete", names=names, has=sorted(setting)))
    result = {parameter.name: _value(parameter, setting[parameter.name]) for parameter in terms.parameters}
    broken = _broken(_constraints(terms), result)
    if broken is not None:
        raise GateRefusal(say("gate.constraint", constraint=broken))
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
    if why := parameter.domain.problem(value):
        raise GateRefusal(say("value.wrong", name=parameter.name, why=why))
    return parameter.domain.legal(value)


def read_back_problem(terms: Terms, have: Mapping[str, object]) -> Sentence | None:
    """Why what the machine says about its setting cannot be believed, or None."""
    for parameter in terms.parameters:
        value = have.get(parameter.name)
        if value is None:
            return say("gate.not_said", name=parameter.name)
        if not isinstance(value, str) if isinstance(parameter, Choice) else finite(value) is None:
            code = "gate.said_no_text" if isinstance(parameter, Choice) else "gate.said_no_number"
            return say(code, name=parameter.name, value=written(value))
    return None


def differences(terms: Terms, setting: Mapping[str, Value], have: Mapping[str, object]) -> list[Sentence]:
    """Which parameters are not, within their tolerances, where they should be."""
    return [
        say(
            "gate.differs",
            name=parameter.called,
            have=parameter.shown(have.get(parameter.name)),
            wanted=parameter.shown(setting[parameter.name]),
        )
        for parameter in terms.parameters
        if not _between(parameter, (setting[parameter.name],), have.get(parameter.name))
    ]


def misplaced(terms: Terms, since: Sequence[SettingMap], have: Mapping[str, object]) -> list[Sentence]:
    """Which parameters are where none of these settings, nor a way between them, could have left them."""
    found = []
    for parameter in terms.parameters:
        name = parameter.name
        values = list(dict.fromkeys(setting[name] for setting in since))
        if not _between(parameter, values, have.get(name)):
            left = [parameter.shown(value) for value in values]
            now = parameter.shown(have.get(name))
            found.append(say("gate.misplaced", name=parameter.called, have=now, left=left))
    return found


def _between(parameter: Parameter, values: Sequence[Value], value: object) -> bool:
    """Whether a value is one of some values or between them, within the parameter's tolerance."""
    if isinstance(parameter, Choice):
        return value in values
    numbers, number = [float(one) for one in values], finite(value)
    slack = parameter.domain.slack(parameter.read_back_tolerance)
    return number is not None and min(numbers) - slack <= number <= max(numbers) + slack


def too_wide(terms: Terms, since: Sequence[SettingMap]) -> bool:
    """Whether no move is allowed from everywhere that these settings may have left the machine: limits were changed."""
    spans = [
        (parameter, _span(parameter, since)) for parameter in terms.parameters if not isinstance(parameter, Choice)
    ]
    return any(_is_too_wide(parameter, span) for parameter, span in spans)


def _is_too_wide(parameter: Numeric, span: Span) -> bool:
    return float(span.high) - float(span.low) > (parameter.step_limit or math.inf) * (1 + ROUNDING)


def has_ways(terms: Terms) -> bool:
    """Whether the moves to a setting depend on where the machine is: elsewhere each setting is one move."""
    limited = any(not isinstance(p, Choice) and (p.step_limit or p.rate_limit) for p in terms.parameters)
    return limited or len({p.order for p in terms.parameters}) > 1


def plan(terms: Terms, have: Mapping[str, Value], target: SettingMap) -> list[Move]:
    """The moves from what the machine has to a target: lower `order` first, no step or rate beyond its limit."""
    return way(terms, (dict(have),) if have else (), target)


def way(terms: Terms, since: Sequence[SettingMap], target: SettingMap) -> list[Move]:
    """The moves to a target from wherever these settings may have left the machine; the last was sent last.

    The first move is within the limits of everything that the machine may have, each other one within those of the
    move before: it must be read back before the next is sent.
    """
    target = checked(terms, target)
    if not since:
        return _from_nothing(terms, target)
    for have in since:
        problem = read_back_problem(terms, have) or _outside(terms, have)
        if problem is not None:
            raise GateRefusal(problem)
    if not any(differences(terms, target, have) for have in since):
        return []
    spans = {parameter.name: _span(parameter, since) for parameter in terms.parameters}
    moves: list[Move] = []
    for order in sorted({parameter.order for parameter in terms.parameters}):
        group = {parameter.name for parameter in terms.parameters if parameter.order == order}
        while any(spans[name] != Span.at(target[name]) for name in group):
            now, wait_s = {}, 0.0
            for parameter in terms.parameters:
                name, span = parameter.name, spans[parameter.name]
                now[name] = _toward(parameter, span, target[name]) if name in group else span.last
                wait_s = max(wait_s, _seconds(parameter, span, now[name]))
            moves.append(Move(now, wait_s))
            if len(moves) > MOST_MOVES:
                raise GateRefusal(say("gate.too_many_moves", moves=MOST_MOVES))
            spans = {name: Span.at(value) for name, value in now.items()}
    constraints = _constraints(terms)
    for move in moves[:-1]:
        broken = _broken(constraints, move.setting)
        if broken is not None:
            raise GateRefusal(say("gate.constraint_on_the_way", constraint=broken))
    return moves


def _span(parameter: Parameter, since: Sequence[SettingMap]) -> Span:
    values = [setting[parameter.name] for setting in since]
    last = values[-1]
    if isinstance(parameter, Choice) or isinstance(last, str):
        return Span(last, last, last)
    numbers = [value for value in values if not isinstance(value, str)]
    return Span(min(numbers), max(numbers), min(max(last, parameter.low), parameter.high))


def _outside(terms: Terms, have: Mapping[str, Value]) -> Sentence | None:
    """Which value of the machine is beyond its limits; from there no way is known to be safe."""
    for parameter in terms.parameters:
        value = have[parameter.name]
        if not isinstance(parameter, Choice) and not parameter.domain.inside(value, parameter.read_back_tolerance):
            limits = {"low": parameter.low, "high": parameter.high}
            return say("gate.outside", name=parameter.name, value=value, **limits)
    return None


def _from_nothing(terms: Terms, target: SettingMap) -> list[Move]:
    """The moves of a machine that says it has no setting yet: first to the known-good one, then on from there."""
    limited = [p.name for p in terms.parameters if not isinstance(p, Choice) and (p.step_limit or p.rate_limit)]
    if limited:
        raise GateRefusal(say("gate.from_nothing", names=limited))
    known_good = checked(terms, terms.known_good)
    return [Move(known_good, 0.0), *way(terms, (known_good,), target)]


def _toward(parameter: Parameter, span: Span, target: Value) -> Value:
    """The next value on the way to a target: no step too far from anything that the parameter may have."""
    low, high, last = span.low, span.high, span.last
    if isinstance(parameter, Choice) or isinstance(low, str) or isinstance(high, str) or isinstance(target, str):
        return target
    domain = parameter.domain
    furthest = parameter.step_limit or math.inf
    if _is_too_wide(parameter, span):
        raise GateRefusal(say("gate.anywhere", name=parameter.name, low=low, high=high))
    usual = furthest
    if parameter.rate_limit is not None:
        usual = min(furthest, max(parameter.rate_limit * RAMP_S / 60.0, domain.grid))
    distance = max(abs(target - low), abs(target - high))
    if distance <= usual * (1 + ROUNDING) or (low <= target <= high and distance <= furthest * (1 + ROUNDING)):
        return target
    up = target > high
    there: float = low + usual if up else high - usual
    # the furthest value on the grid that is not too far from where the machine is
    there = domain.below(there) if up else domain.above(there)
    if low == high and ((there <= low) if up else (there >= high)):
        raise GateRefusal(say("gate.no_step", name=parameter.name, value=low))
    if (there < high) if up else (there > low):
        return last  # as it was told before: read back, it is known where the parameter is, and the way goes on
    return round(there) if isinstance(parameter, Integer) else there


def _seconds(parameter: Parameter, span: Span, there: Value) -> float:
    """How long nothing may have been sent before this value, because of the rate limit."""
    if isinstance(parameter, Choice) or parameter.rate_limit is None:
        return 0.0
    return max(abs(float(there) - float(end)) for end in (span.low, span.high)) / parameter.rate_limit * 60.0
