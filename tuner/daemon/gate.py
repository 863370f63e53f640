"""The only road to a machine: every setting is checked, split into allowed moves and read back; in doubt it is refused.

The answer is one of four: applied (sent and read back), refused (never sent, and trying again does not help), failed
(never sent, or the machine still has the setting it had), unverified (nobody knows what the machine has now).
"""

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from tuner.adapter import AdapterError, Health, Value
from tuner.campaign.events import SettingMap
from tuner.campaign.terms import Terms
from tuner.config.parameters import Choice, Integer, Parameter, Stepped
from tuner.core.expression import parse_constraint
from tuner.errors import TunerError
from tuner.text import listed, shown

RAMP_S = 1.0  # a rate-limited parameter moves this often at least
MOST_MOVES = 10_000
_ROUNDING = 1e-9  # of a range: what decimal fractions lose in binary


class GateRefusal(TunerError):  # noqa: N818 - the design's word; it is an answer, not a defect
    """The setting must not be sent."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of sending a setting."""

    result: Literal["applied", "refused", "failed", "unverified"]
    text: str = ""
    read_back: SettingMap | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """One setting to send on the way, and how long to wait after it, because of rate limits."""

    setting: SettingMap
    wait_s: float


class Link(Protocol):
    """A machine as the gate sees it; errors are AdapterErrors."""

    async def health(self) -> Health:
        """Ask how it is."""

    async def read_back(self) -> dict[str, Value]:
        """Ask which setting it has."""

    async def apply(self, setting: Mapping[str, Value]) -> None:
        """Send it a setting."""

    async def go_to(self, setting: Mapping[str, Value]) -> None:
        """Send it home; it may have a special way."""


def checked(terms: Terms, setting: Mapping[str, object]) -> SettingMap:
    """The setting, if it is complete, finite, in bounds, on the grid and satisfies the constraints.

    Raises:
        GateRefusal: It is not.
    """
    names = [parameter.name for parameter in terms.parameters]
    if set(setting) != set(names):
        raise GateRefusal(f"a setting has a value for each of {listed(names)}, not for {listed(sorted(setting))}")
    result = {parameter.name: _value(parameter, setting[parameter.name]) for parameter in terms.parameters}
    numbers = {name: float(value) for name, value in result.items() if not isinstance(value, str)}
    for text in terms.constraints:
        constraint = parse_constraint(text)
        if not constraint.holds({name: numbers[name] for name in constraint.names}):
            raise GateRefusal(f"the constraint {text} does not hold")
    return result


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
    problem = read_back_problem(terms, have)
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
    for move in moves[:-1]:
        _check_between(terms, move.setting, have)
    return moves


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
    """One move of a parameter, and the seconds its rate limit wants before the next."""
    if isinstance(parameter, Choice) or isinstance(now, str) or isinstance(target, str):
        return target, 0.0
    gap = target - now
    largest = parameter.step_limit or math.inf
    grid = parameter.step if isinstance(parameter, Stepped) else 1.0 if isinstance(parameter, Integer) else 0.0
    if parameter.rate_limit is not None:
        largest = min(largest, max(parameter.rate_limit * RAMP_S / 60.0, grid))
    if abs(gap) > largest * (1 + _ROUNDING):
        step = math.floor(largest / grid * (1 + _ROUNDING)) * grid if grid else largest
        gap = math.copysign(max(step, grid), gap)
    there = target if abs(target - now) <= abs(gap) * (1 + _ROUNDING) else now + gap
    if isinstance(parameter, Integer):
        there = round(there)
    elif isinstance(parameter, Stepped) and there != target:
        there = parameter.low + round((there - parameter.low) / parameter.step) * parameter.step
    seconds = 0.0 if parameter.rate_limit is None else abs(there - now) / parameter.rate_limit * 60.0
    return there, seconds


def _check_between(terms: Terms, setting: SettingMap, have: Mapping[str, Value]) -> None:
    """A setting on the way must be allowed too, except for values that the machine has had from the beginning."""
    between = dict(setting)
    for parameter in terms.parameters:
        value = between[parameter.name]
        if not isinstance(parameter, Choice) and not isinstance(value, str):
            low, high = parameter.low, parameter.high
            slack = parameter.read_back_tolerance + _ROUNDING * (high - low)
            if not low - slack <= value <= high + slack:
                raise GateRefusal(
                    f"the machine says {parameter.name} is {have[parameter.name]}, outside of its limits "
                    f"{low:g} to {high:g}: bring it back by hand"
                )
    numbers = {name: float(value) for name, value in between.items() if not isinstance(value, str)}
    for text in terms.constraints:
        constraint = parse_constraint(text)
        if not constraint.holds({name: numbers[name] for name in constraint.names}):
            raise GateRefusal(f"on the way to this setting the constraint {text} would not hold")


class Gate:
    """Sends settings to one machine.

    Args:
        link: The machine.
        wait: Waits some seconds; passed in so that tests need not.
        progress: Told what happens.
    """

    def __init__(
        self, link: Link, wait: Callable[[float], Awaitable[object]], progress: Callable[[str, float | None], None]
    ) -> None:
        self._link = link
        self._wait = wait
        self._progress = progress

    async def send(
        self, terms: Terms, setting: Mapping[str, object], *, dry_run: bool = False, home: bool = False
    ) -> Answer:
        """Bring the machine to a setting, or say why not; `home` takes the machine's own way for the last move."""
        try:
            target = checked(terms, setting)
            problem = await self._not_ready()
            if problem is not None:
                return Answer("refused", problem)
            have = await self._link.read_back()
            moves = plan(terms, have, target)
        except GateRefusal as refusal:
            return Answer("refused", str(refusal))
        except AdapterError as error:
            return Answer("failed" if error.retry else "refused", str(error))
        if dry_run:
            return Answer("applied", "dry run: nothing was sent", _plain(have))
        return await self._go(terms, have, target, moves, home=home)

    async def changed(self, terms: Terms, setting: SettingMap) -> str | None:
        """Why a part made now would not be one of this setting, or None.

        Raises:
            AdapterError: The machine does not say which setting it has.
        """
        have = await self._link.read_back()
        problem = read_back_problem(terms, have)
        return problem or listed(differences(terms, setting, have)) or None

    async def _not_ready(self) -> str | None:
        health = await self._link.health()
        if not health.ok:
            return f"the machine is not ready: {health.text or 'no reason given'}"
        open_ones = sorted(name for name, holds in health.interlocks.items() if holds is not True)
        return f"interlocks do not hold: {listed(open_ones)}" if open_ones else None

    async def _go(self, terms: Terms, have: SettingMap, target: SettingMap, moves: list[Move], *, home: bool) -> Answer:
        before = have
        for place, move in enumerate(moves):
            self._progress(f"move {place + 1} of {len(moves)}", place / len(moves))
            apply = self._link.go_to if home and place + 1 == len(moves) else self._link.apply
            answer = await self._move(terms, before, move, apply)
            if answer is not None:
                return answer
            before = move.setting
            if move.wait_s and place + 1 < len(moves):
                await self._wait(move.wait_s)
        try:
            have = await self._link.read_back()
        except AdapterError as error:
            return Answer("unverified", f"sent, but it could not be read back: {error}")
        wrong = [problem] if (problem := read_back_problem(terms, have)) else differences(terms, target, have)
        if wrong:
            return Answer("unverified", f"sent, but read back {listed(wrong)}", _plain(have))
        return Answer("applied", "", have)

    async def _move(
        self, terms: Terms, before: SettingMap, move: Move, apply: Callable[[SettingMap], Awaitable[None]]
    ) -> Answer | None:
        """One move; None if the machine took it."""
        try:
            await apply(move.setting)
        except AdapterError as error:
            return await self._after_error(terms, before, error)
        return None

    async def _after_error(self, terms: Terms, before: SettingMap, error: AdapterError) -> Answer:
        """A move went wrong: only the machine itself can say whether it arrived."""
        try:
            have = await self._link.read_back()
        except AdapterError:
            return Answer("unverified", f"{error}; the machine does not say what it has now")
        same = not have if not before else not (read_back_problem(terms, have) or differences(terms, before, have))
        if not same:
            return Answer("unverified", f"{error}; the machine has changed", _plain(have))
        return Answer("failed" if error.retry else "refused", str(error), _plain(have))


def _plain(have: Mapping[str, object]) -> SettingMap | None:
    """What was read back, if it can be written down."""
    good = {
        name: value
        for name, value in have.items()
        if isinstance(value, str) or (isinstance(value, int | float) and math.isfinite(value))
    }
    return good or None
