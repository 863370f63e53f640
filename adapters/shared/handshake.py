"""How a part is ordered from a machine of registers or nodes, and how its values become ours.

The handshake, in which every step can be repeated after a crash of either side:

1. tuner writes `start` = off; the machine answers with `done` = off (or tuner writes that too: `done.clear`).
2. tuner writes the part tag, if there is a place for it, and then `start` = on.
3. The machine makes a part, sets `valid`, `reason` and its measurements, and last `done` = on.
4. tuner reads them. `start` stays on until the next trial, so that a tuner that was restarted in between finds its
   part: the machine must act on the rising edge of `start`. After an alarm or a missed deadline `start` goes off.
"""

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from adapters.shared.signals import AnySettings, Code, Command, Measurement, Parameter, Place, Raw, Signal
from adapters.shared.values import check_setting
from tuner.adapter import (
    Adapter,
    DeadlineError,
    Health,
    LinkError,
    Outcome,
    ParameterInfo,
    RefusedError,
    Setting,
    Value,
)
from tuner.basics.text import listed, shown

_WHOLE = 1e-3  # how far a number read back may be from the whole one that it is meant to be: scales and float32 round
_FLOAT32 = 2.0**-23  # relative

H = TypeVar("H", bound=AnySettings)


class HandshakeAdapter(Adapter[H], Generic[H]):
    """The part of an adapter that is the same whether values are in registers or in nodes."""

    def __init__(
        self,
        settings: H,
        parameters: Sequence[ParameterInfo],
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(settings, parameters)
        self._sleep, self._clock = sleep, clock
        self._opened = False
        self._deadline_s = self._ends_s = 0.0

    @abstractmethod
    def _where(self) -> str:
        """The machine's address, for messages."""

    @abstractmethod
    def _connect(self) -> None:
        """Make sure of a live connection."""

    @abstractmethod
    def _read(self, places: Mapping[str, Place]) -> dict[str, Raw]:
        """What the machine holds, by the same names."""

    @abstractmethod
    def _kept(self, name: str, place: Place, raw: Raw) -> Raw:
        """What the machine would have after it was written, in the type of its place."""

    @abstractmethod
    def _write(self, values: Sequence[tuple[str, Place, Raw]]) -> None:
        """Write all, or raise `RefusedError` before the first if one does not fit its type."""

    def open(self, deadline_s: float) -> None:
        """Connect."""
        self._opened = True
        self._begin(deadline_s)

    def apply(self, setting: Setting, deadline_s: float) -> None:
        """Write every parameter."""
        setting = check_setting(setting, self.parameters)
        entries = self.settings.parameters
        values = [(i.name, entries[i.name], _to_raw(entries[i.name], setting[i.name])) for i in self.parameters]
        self._begin(deadline_s)
        for info, (name, place, raw) in zip(self.parameters, values, strict=True):
            if info.kind != "choice":
                _check_kept(info, float(setting[name]), _number(name, entries[name], self._kept(name, place, raw)))
        self._write(values)

    def read_back(self, deadline_s: float) -> dict[str, Value]:
        """Read every parameter."""
        self._begin(deadline_s)
        entries = self.settings.parameters
        raw = self._read({info.name: entries[info.name].source for info in self.parameters})
        return {info.name: _to_value(info, entries[info.name], raw[info.name]) for info in self.parameters}

    def run_trial(self, tag: str, deadline_s: float) -> Outcome:
        """Order a part unless it is made or being made already, wait for it, and read what came of it."""
        self._begin(deadline_s)
        place = self.settings.trial.tag
        ordered = place is not None and self._one("trial.tag", place) == tag
        # done comes last: a part that is finished between two of these questions must not be ordered again
        if not (ordered and (self._started() or self._is_busy() or self._is_done(tag))):
            self._order(tag)
        while not self._is_done(tag):
            if alarm := self._alarm():
                self._release()
                return Outcome(valid=False, reason=alarm)
            self._pause(f"did not finish part {tag}", release=True)
        return self._outcome()

    def health(self, deadline_s: float) -> Health:
        """Alarm, readiness and interlocks; a lost link is raised, because trying again can help then."""
        try:
            self._begin(deadline_s)
            raw = self._read(self.settings.interlocks)
            interlocks = {name: raw[name] == signal.on for name, signal in self.settings.interlocks.items()}
            trouble = self._trouble()
        except RefusedError as error:
            return Health(False, str(error))
        return Health(not trouble, trouble or f"{self._where()} is ready", interlocks)

    def _begin(self, deadline_s: float) -> None:
        self._deadline_s, self._ends_s = deadline_s, self._clock() + deadline_s
        if not self._opened:
            raise LinkError(f"the connection to {self._where()} is closed")
        self._connect()

    def _left_s(self, what: str) -> float:
        left_s = self._ends_s - self._clock()
        if left_s <= 0:
            raise DeadlineError(f"{self._where()} {what} within {self._deadline_s:g} s")
        return left_s

    def _pause(self, what: str, *, release: bool = False) -> None:
        """Wait for the next look; near the deadline keep what a last request needs."""
        reserve_s = min(self.settings.timeout_s, 0.1 * self._deadline_s)
        left_s = self._left_s(what) - reserve_s
        if left_s <= 0:
            if release:
                self._release()
            raise DeadlineError(f"{self._where()} {what} within {self._deadline_s:g} s")
        self._sleep(min(self.settings.poll_interval_s, left_s))

    def _one(self, name: str, place: Place) -> Raw:
        return self._read({name: place})[name]

    def _is_on(self, name: str, signal: Signal | None) -> bool:
        return signal is not None and self._one(name, signal) == signal.on

    def _is_done(self, tag: str) -> bool:
        made = self.settings.trial.made
        return self._is_on("trial.done", self.settings.trial.done) and (
            made is None or self._one("trial.made", made) == tag
        )

    def _started(self) -> bool:
        start = self.settings.trial.start
        return isinstance(start, Signal) and self._is_on("trial.start", start)

    def _is_busy(self) -> bool:
        return self._is_on("trial.busy", self.settings.trial.busy)

    def _working(self) -> bool:
        """Whether a part is in work: the machine says so, or was started and has not finished."""
        return self._is_busy() or (self._started() and not self._is_on("trial.done", self.settings.trial.done))

    def _order(self, tag: str) -> None:
        if trouble := self._trouble():
            raise RefusedError(f"no part can be made: {trouble}")
        while self._working():
            self._pause("is still making another part, which was not finished")
        self._rearm()
        self._trigger(tag)

    def _rearm(self) -> None:
        done = self.settings.trial.done
        self._release()
        if done.clear:
            self._write([("trial.done", done, done.off)])
        while self._is_on("trial.done", done):
            self._pause("still shows the part before as done (see done.clear), it was not cleared")

    def _trigger(self, tag: str) -> None:
        trial = self.settings.trial
        if trial.tag:
            self._write([("trial.tag", trial.tag, tag)])
        if isinstance(trial.start, Command):
            self._write([("trial.start", trial.start, trial.start.on)])

    def _release(self) -> None:
        start = self.settings.trial.start
        if isinstance(start, Command):
            self._write([("trial.start", start, start.off)])

    def _outcome(self) -> Outcome:
        trial, alarm = self.settings.trial, self._alarm()
        valid = self._is_on("trial.valid", trial.valid) if trial.valid else not alarm
        if not valid:
            reason = self._sentence("trial.reason", trial.reason, "code")
            return Outcome(valid=False, reason=reason or alarm or "the machine says that the part is not valid")
        places = self.settings.measurements
        raw = self._read(places)
        return Outcome(valid=True, measurements={name: _number(name, places[name], raw[name]) for name in places})

    def _trouble(self) -> str:
        if alarm := self._alarm():
            return alarm
        ready = self.settings.state.ready
        return "" if ready is None or self._is_on("state.ready", ready) else f"{self._where()} is not ready"

    def _alarm(self) -> str:
        return self._sentence("state.alarm", self.settings.state.alarm, "alarm")

    def _sentence(self, name: str, code: Code | None, noun: str) -> str:
        """What a code means; nothing if it is the one that says all is well."""
        if code is None:
            return ""
        raw = self._one(name, code)
        if (not raw) if code.ok is None else (raw == code.ok):
            return ""
        if str(raw) in code.codes:
            return code.codes[str(raw)]
        return raw if isinstance(raw, str) else f"{noun} {raw}"


def _to_raw(entry: Parameter, value: Value) -> Raw:
    if isinstance(value, str):
        return entry.codes.get(value, value)
    return (value - entry.offset) / entry.scale


def _check_kept(info: ParameterInfo, wanted: float, kept: float) -> None:
    """Refuse what the machine's type would round away from the setting, or out of the limits."""
    whole = _WHOLE if info.kind == "integer" else 0.0
    noise = _FLOAT32 * max(abs(info.low or 0.0), abs(info.high or 0.0))  # a limit need not be a number of 32 bits
    if not info.domain.inside(kept, whole + noise):
        raise RefusedError(f"{info.name} = {wanted!r} would be {kept!r} in the machine, outside of its limits")
    if not info.domain.same(kept, wanted, info.tolerance + whole):
        limit = f"off by more than its tolerance {info.tolerance:g}"
        raise RefusedError(f"{info.name} = {wanted!r} would be {kept!r} in the machine, {limit}")


def _to_value(info: ParameterInfo, entry: Parameter, raw: Raw) -> Value:
    if info.kind == "choice":
        for choice in info.choices:
            if entry.codes.get(choice, choice) == raw:
                return choice
        raise LinkError(f"{info.name} reads {shown(raw)}, which stands for none of {listed(info.choices)}")
    number = _number(info.name, entry, raw)
    if info.kind != "integer":
        return number
    if abs(number - round(number)) > _WHOLE:
        raise LinkError(f"{info.name} reads {number!r}, which is not a whole number")
    return round(number)


def _number(name: str, entry: Measurement, raw: Raw) -> float:
    if isinstance(raw, bool | str):
        raise LinkError(f"{name} reads {shown(raw)}, which is not a number")
    number = raw * entry.scale + entry.offset
    if not math.isfinite(number):
        raise LinkError(f"{name} reads {number}, which is not a finite number")
    return float(number)
