"""How settings are handed over and parts ordered where a machine is registers, nodes or data blocks.

The handshake, in which every step can be repeated after a crash of either side:

1. tuner writes `start` = off; the machine answers with `done` = off (or tuner writes that too: `done.clear`).
2. tuner writes the part tag, if there is a place for it, and then `start` = on.
3. The machine makes a part, sets `valid`, `reason` and its measurements, and last `done` = on.
4. tuner reads them. `start` stays on until the next trial, so that a tuner that was restarted in between finds its
   part: the machine must act on the rising edge of `start`. After an alarm or a missed deadline `start` goes off.

A setting is written value by value. With a `recipe` its `valid` is off before the first and on after the last of them.
"""

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from tuner.adapter import (
    Adapter,
    DeadlineError,
    Health,
    Inspected,
    LinkError,
    Outcome,
    ParameterInfo,
    RefusedError,
    Setting,
    Value,
    check_setting,
)
from tuner.basics.sentences import Sentence, say
from tuner.handshake.convert import (
    bit_of,
    check_kept,
    tag_number,
    to_number,
    to_raw,
    to_value,
    with_bit,
    without_neighbours,
)
from tuner.handshake.heart import Heart
from tuner.handshake.inspection import Looks, inspected
from tuner.handshake.places import AnySettings, Code, Command, Place, Raw, Recipe, Signal

H = TypeVar("H", bound=AnySettings)
Write = tuple[str, Place, Raw]


class HandshakeAdapter(Adapter[H], Generic[H]):
    """The part of an adapter that is the same whether values are in registers, nodes or data blocks.

    Calls come from one thread, and beats of the heart from another: whoever speaks with the machine holds `_lock`.
    """

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
        self._lock = threading.RLock()
        self._time = threading.local()  # the call's own deadline, and the beat's
        heart = settings.heartbeat
        self._heart = Heart(self._beat, heart.every_s, heart.silent_s, clock) if heart else None
        self._counted: tuple[str, Raw] | None = None  # a part, and how many had been made before it

    @classmethod
    def takes(cls, settings: H, parameter: str) -> bool:
        """Whether it has a place."""
        return parameter in settings.parameters

    @abstractmethod
    def _where(self) -> str:
        """The machine's address, for messages."""

    @abstractmethod
    def _connect(self) -> None:
        """Make sure of a live connection."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Let go of the connection, if there is one."""

    @abstractmethod
    def _read(self, places: Mapping[str, Place]) -> dict[str, Raw]:
        """What the machine holds, by the same names; for a place that is a bit its whole word."""

    @abstractmethod
    def _kept(self, name: str, place: Place, raw: Raw) -> Raw:
        """What the machine would have after it was written, in the type of its place."""

    @abstractmethod
    def _write(self, values: Sequence[Write]) -> None:
        """Write all, or raise `RefusedError` before the first if one does not fit its type."""

    def _write_bit(self, name: str, place: Place, bit: int, raw: Raw) -> None:
        """Write one bit of a word; its neighbours are read and written again unless the protocol knows better."""
        self._write([(name, place, with_bit(name, self._read({name: place})[name], bit, raw))])

    def _tag_bits(self, name: str, place: Place) -> int:
        """How many bits the number has that stands for a tag there; 0 if it is text."""
        return 0

    def _address(self, place: Place) -> str:
        """A place in the words of the machine's manual."""
        return ", ".join(f"{key} {value}" for key, value in place.model_dump(exclude_defaults=True).items())

    def _described(self, name: str, place: Place, *, written: bool) -> str:
        """Type and access of a place, as far as the protocol tells; raises `RefusedError` if it cannot be used so."""
        return "written" if written else "read"

    def open(self, deadline_s: float) -> None:
        """Connect."""
        self._opened = True
        if self._heart:
            self._heart.forget()
        self._begin(deadline_s)
        if self._heart:
            self._heart.start()

    def close(self) -> None:
        """Hang up."""
        self._opened = False
        if self._heart:
            self._heart.stop()
        with self._lock:
            self._disconnect()

    def apply(self, setting: Setting, deadline_s: float) -> None:
        """Write every parameter, and say when all are there if the machine wants to know."""
        setting = check_setting(setting, self.parameters)
        entries = self.settings.parameters
        values = [(i.name, entries[i.name], to_raw(entries[i.name], setting[i.name])) for i in self.parameters]
        self._begin(deadline_s)
        with self._lock:
            for info, (name, place, raw) in zip(self.parameters, values, strict=True):
                kept = raw if bit_of(place) is not None else self._kept(name, place, raw)
                if info.kind != "choice":
                    check_kept(info, float(setting[name]), to_number(name, entries[name], kept))
        recipe = self.settings.recipe
        if recipe is not None:
            was_on = recipe.taken is None and self._is_on("recipe.valid", recipe.valid)
            self._put([("recipe.valid", recipe.valid, recipe.valid.off)])
            if was_on:
                self._stay_off()
            while self._is_on("recipe.taken", recipe.taken):
                self._pause(say("handshake.still_taken"))
        self._put(values)
        if recipe is not None:
            self._hand_over(recipe)

    def _hand_over(self, recipe: Recipe[Any, Any, Any]) -> None:
        """Say that all values are there, and wait until the machine has taken them."""
        off: list[Write] = [("recipe.valid", recipe.valid, recipe.valid.off)]
        self._put([("recipe.valid", recipe.valid, recipe.valid.on)])
        while recipe.taken or recipe.clears:
            if reason := self._sentence("recipe.refused", recipe.refused, "code"):
                self._put(off)
                raise RefusedError(say("handshake.not_taken", where=self._where(), why=reason))
            if recipe.taken and self._is_on("recipe.taken", recipe.taken):
                self._put(off)
                return
            if recipe.clears and not self._is_on("recipe.valid", recipe.valid):
                return
            self._pause(say("handshake.did_not_take"), release=lambda: self._put(off))

    def read_back(self, deadline_s: float) -> dict[str, Value]:
        """Read every parameter."""
        self._begin(deadline_s)
        entries = self.settings.parameters
        raw = self._get({info.name: entries[info.name].source for info in self.parameters})
        return {info.name: to_value(info, entries[info.name], raw[info.name]) for info in self.parameters}

    def run_trial(self, tag: str, deadline_s: float) -> Outcome:
        """Order a part unless it is made or being made already, wait for it, and read what came of it."""
        self._begin(deadline_s)
        if not self._is_known(tag):
            self._order(tag)
        while not self._is_done(tag):
            if alarm := self._alarm():
                self._release()
                return Outcome(valid=False, reason=alarm)
            self._pause(say("handshake.did_not_finish", tag=tag), release=self._release)
        return self._outcome()

    def health(self, deadline_s: float) -> Health:
        """Alarm, readiness and interlocks; a lost link is raised, because trying again can help then."""
        try:
            self._begin(deadline_s)
            raw = self._get(self.settings.interlocks)
            interlocks = {name: raw[name] == signal.on for name, signal in self.settings.interlocks.items()}
            trouble = self._trouble()
        except RefusedError as error:
            return Health(False, str(error))
        return Health(not trouble, trouble or say("handshake.ready", where=self._where()), interlocks)

    def inspect(self, deadline_s: float) -> Sequence[Inspected]:
        """Every place of the map: whether it is there, of the right type, and can be written where it must be."""
        self._begin(deadline_s)
        looks = Looks(self._address, self._described, self._get, self._kept, self._told, self._sleep)
        return inspected(self.settings, self.parameters, looks)

    def _begin(self, deadline_s: float) -> None:
        self._time.deadline_s, self._time.ends_s = deadline_s, self._clock() + deadline_s
        with self._lock:
            if not self._opened:
                raise LinkError(say("handshake.closed", where=self._where()))
            self._connect()
        self._check_heart()

    def _beat(self, on: bool) -> Raw | None:
        """Turn our heartbeat on or off, and read the machine's."""
        heart = self.settings.heartbeat
        with self._lock:
            if not self._opened or heart is None:
                return None
            self._time.deadline_s = self.settings.timeout_s
            self._time.ends_s = self._clock() + self.settings.timeout_s
            self._connect()
            if heart.write is not None:
                self._put([("heartbeat.write", heart.write, heart.write.on if on else heart.write.off)])
            return None if heart.watch is None else self._get({"heartbeat.watch": heart.watch})["heartbeat.watch"]

    def _check_heart(self) -> None:
        if self._heart and (still_s := self._heart.stands_still_s()):
            raise LinkError(say("handshake.heart", where=self._where(), seconds=still_s))

    def _left_s(self, what: Sentence) -> float:
        left_s: float = self._time.ends_s - self._clock()
        if left_s <= 0:
            raise self._too_late(what)
        return left_s

    def _too_late(self, what: Sentence) -> DeadlineError:
        return DeadlineError(say("handshake.too_late", where=self._where(), what=what, seconds=self._time.deadline_s))

    def _pause(self, what: Sentence, *, release: Callable[[], None] | None = None) -> None:
        """Wait for the next look; near the deadline keep what a last request needs."""
        self._check_heart()
        reserve_s = min(self.settings.timeout_s, 0.1 * self._time.deadline_s)
        left_s = self._left_s(what) - reserve_s
        if left_s <= 0:
            if release is not None:
                release()
            raise self._too_late(what)
        self._sleep(min(self.settings.poll_interval_s, left_s))

    def _get(self, places: Mapping[str, Place]) -> dict[str, Raw]:
        """What the machine holds, bits as bits."""
        with self._lock:
            return without_neighbours(places, self._read(places))

    def _put(self, values: Sequence[Write]) -> None:
        """Write all; nothing is written if one does not fit its type."""
        with self._lock:
            if all(bit_of(place) is None for _, place, _ in values):
                self._write(values)
                return
            for name, place, raw in values:
                if bit_of(place) is None:
                    self._kept(name, place, raw)
            for name, place, raw in values:
                bit = bit_of(place)
                if bit is None:
                    self._write([(name, place, raw)])
                else:
                    self._write_bit(name, place, bit, raw)

    def _is_on(self, name: str, signal: Signal | None) -> bool:
        return signal is not None and self._get({name: signal})[name] == signal.on

    def _told(self, name: str, place: Place, tag: str) -> Raw:
        """A tag as the machine has it."""
        with self._lock:
            bits = self._tag_bits(name, place)
        return tag_number(tag, bits) if bits else tag

    def _shows(self, name: str, place: Place, tag: str) -> bool:
        return self._get({name: place})[name] == self._told(name, place, tag)

    def _is_known(self, tag: str) -> bool:
        """Whether the part is made or in work."""
        trial = self.settings.trial
        if trial.tag is None:
            return trial.made is not None and self._is_done(tag)
        if not self._shows("trial.tag", trial.tag, tag):
            return False
        if trial.done is None and trial.made is None:  # a count alone tells nothing to who has not read it before
            return self._counted is not None and self._counted[0] == tag
        # done comes last: a part that is finished between two of these questions must not be ordered again
        return self._started() or self._is_busy() or self._is_done(tag)

    def _is_done(self, tag: str) -> bool:
        """Whether all that the machine has for it says that the part is finished."""
        trial = self.settings.trial
        if trial.done is not None and not self._shows_done():
            return False
        if trial.made is not None and not self._shows("trial.made", trial.made, tag):
            return False
        if trial.count is None or self._counted is None or self._counted[0] != tag:
            return trial.done is not None or trial.made is not None
        return self._get({"trial.count": trial.count})["trial.count"] != self._counted[1]

    def _shows_done(self) -> bool:
        return self._is_on("trial.done", self.settings.trial.done)

    def _started(self) -> bool:
        start = self.settings.trial.start
        return isinstance(start, Signal) and self._is_on("trial.start", start)

    def _is_busy(self) -> bool:
        return self._is_on("trial.busy", self.settings.trial.busy)

    def _working(self) -> bool:
        """Whether a part is in work: the machine says so, or was started and has not finished."""
        return self._is_busy() or (self._done_stays() and self._started() and not self._shows_done())

    def _done_stays(self) -> bool:
        """Whether done can be read until the next part is ordered."""
        return self.settings.trial.done is not None

    def _order(self, tag: str) -> None:
        if trouble := self._trouble():
            raise RefusedError(say("machine.no_part", why=trouble))
        while self._working():
            self._pause(say("handshake.other_part"))
        trial = self.settings.trial
        if trial.made is not None and self._is_done(tag):  # it was this one that was in work
            return
        if trial.count is not None:
            self._counted = (tag, self._get({"trial.count": trial.count})["trial.count"])
        self._rearm()
        self._trigger(tag)

    def _rearm(self) -> None:
        done, was_on = self.settings.trial.done, self._started()
        self._release()
        if done is not None and done.clear:
            self._put([("trial.done", done, done.off)])
        if was_on and (done is None or done.clear or not self._done_stays()):
            self._stay_off()
        while self._done_stays() and self._shows_done():
            self._pause(say("handshake.not_cleared"))

    def _stay_off(self) -> None:
        """Wait until a machine that looks once in a scan has seen that a signal is off: it acts on the rising edge."""
        self._sleep(min(self.settings.off_s, self._left_s(say("handshake.no_time"))))

    def _trigger(self, tag: str) -> None:
        trial = self.settings.trial
        if trial.tag:
            self._put([("trial.tag", trial.tag, self._told("trial.tag", trial.tag, tag))])
        if isinstance(trial.start, Command):
            self._put([("trial.start", trial.start, trial.start.on)])

    def _release(self) -> None:
        start = self.settings.trial.start
        if isinstance(start, Command):
            self._put([("trial.start", start, start.off)])

    def _outcome(self) -> Outcome:
        trial, alarm = self.settings.trial, self._alarm()
        valid = self._is_on("trial.valid", trial.valid) if trial.valid else not alarm
        if not valid:
            reason = self._sentence("trial.reason", trial.reason, "code")
            return Outcome(valid=False, reason=reason or alarm or say("machine.not_valid"))
        places = self.settings.measurements
        raw = self._get(places)
        return Outcome(valid=True, measurements={name: to_number(name, places[name], raw[name]) for name in places})

    def _trouble(self) -> str:
        if alarm := self._alarm():
            return alarm
        ready = self.settings.state.ready
        return (
            ""
            if ready is None or self._is_on("state.ready", ready)
            else say("handshake.not_ready", where=self._where())
        )

    def _alarm(self) -> str:
        return self._sentence("state.alarm", self.settings.state.alarm, "alarm")

    def _sentence(self, name: str, code: Code | None, noun: str) -> str:
        """What a code means; nothing if it is the one that says all is well."""
        if code is None:
            return ""
        raw = self._get({name: code})[name]
        if (not raw) if code.ok is None else (raw == code.ok):
            return ""
        if str(raw) in code.codes:
            return code.codes[str(raw)]
        return raw if isinstance(raw, str) else say(f"handshake.{noun}", number=raw)
