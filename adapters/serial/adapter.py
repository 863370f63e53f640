"""Machines with a serial port and a line protocol: what is sent are templates, what is understood are patterns."""

import re
from collections import deque
from collections.abc import Sequence
from typing import ClassVar

from adapters.serial.port import LinePort
from adapters.serial.text import SerialSettings, read_values, setting_lines, template_complaints, trial_outcome
from adapters.shared.reaching import ReachingAdapter
from adapters.shared.values import AlarmError, Deadline, quoted
from tuner.adapter import (
    AdapterError,
    AdapterSettings,
    DeadlineError,
    Health,
    LinkError,
    Outcome,
    ParameterInfo,
    RefusedError,
    Setting,
    Value,
    check_setting,
)
from tuner.basics.address import endpoint_address, file_address
from tuner.basics.sentences import say

_REMEMBERED = 100  # questions whose answer did not come in time, and may come yet


class SerialAdapter(ReachingAdapter[SerialSettings]):
    """Speaks a line protocol over a serial port, with templates and patterns from the configuration."""

    Settings: ClassVar[type[AdapterSettings]] = SerialSettings

    def __init__(self, settings: SerialSettings, parameters: Sequence[ParameterInfo]) -> None:
        super().__init__(settings, parameters)
        self._port = LinePort(settings)
        self._alarm = ""
        self._given_up: deque[Sequence[str]] = deque(maxlen=_REMEMBERED)  # what would answer questions of before

    @classmethod
    def complaints(cls, settings: SerialSettings, parameters: Sequence[ParameterInfo]) -> Sequence[str]:
        """Templates that cannot write the parameters or round them too much, patterns without the groups needed."""
        found = template_complaints(settings, parameters)
        if settings.alarm and not (settings.alarm_over or settings.health):
            found.append("alarm needs alarm_over or health: else nobody learns when it is over")
        return found

    @classmethod
    def occupies(cls, settings: SerialSettings) -> Sequence[str]:
        """The device, or the terminal server."""
        port = settings.port
        return (endpoint_address(port, 0) if "://" in port else file_address(port),)

    @classmethod
    def of_this_host(cls, settings: SerialSettings) -> Sequence[str]:
        """The port: a device, or an address of pyserial's that may name files too."""
        return (*super().of_this_host(settings), "port")

    def apply(self, setting: Setting, deadline_s: float) -> None:
        """Send a line for each parameter, or one for all; every one must be accepted."""
        setting = check_setting(setting, self.parameters)
        deadline = self._ready(deadline_s)
        done: list[str] = []
        for name, line in setting_lines(self.settings, self.parameters, setting):
            try:
                self._ask(line, deadline, self.settings.accepted)
            except AdapterError as error:
                if done:
                    raise type(error)(f"{error} ({', '.join(done)} had been set before)") from error
                raise
            done.append(name)

    def read_back(self, deadline_s: float) -> dict[str, Value]:
        """Ask for each parameter, or for all at once."""
        deadline = self._ready(deadline_s)
        return read_values(
            self.settings, self.parameters, lambda line: self._ask(line, deadline, self.settings.read_reply)
        )

    def run_trial(self, tag: str, deadline_s: float) -> Outcome:
        """Send the trigger and wait for a part, scrap, a refusal or an alarm."""
        deadline = self._ready(deadline_s)
        line = self.settings.trigger.format(tag=tag)
        try:
            match = self._ask(line, deadline, self.settings.valid, self.settings.non_valid, tag=tag)
        except AlarmError as error:
            return Outcome(valid=False, reason=f"alarm: {error.alarm}")
        return trial_outcome(self.settings, match)

    def health(self, deadline_s: float) -> Health:
        """Ask the machine, or read it back as a sign of life; then ask for the interlocks."""
        if not self._wanted:
            return Health(False, "the adapter is not open")
        deadline = self._ready(deadline_s)
        try:
            self._forget_waiting_lines()
            if self.settings.health is None:
                self.read_back(deadline.left_s())
            else:
                answer = self._ask(self.settings.health, deadline, ".*").string
                if not re.fullmatch(self.settings.well, answer):
                    return Health(False, f"the machine says {quoted(answer)}")
                self._alarm = ""
            interlocks = {
                name: bool(re.fullmatch(lock.holds, self._ask(lock.query, deadline, ".*").string))
                for name, lock in self.settings.interlocks.items()
            }
        except RefusedError as error:
            return Health(False, str(error))
        if self._alarm:
            return Health(False, say("machine.alarm", alarm=self._alarm), interlocks)
        return Health(True, say("serial.well", port=self.settings.port), interlocks)

    def close(self) -> None:
        """Let go of the port."""
        self._wanted = False
        self._port.close()

    def _reach(self, deadline: Deadline) -> None:
        """Open the port if it is not, or no longer, open; if the machine has a greeting, wait for it."""
        if self._port.is_open:
            return
        self._port.open()
        if self.settings.greeting is None:
            return
        try:
            while not re.fullmatch(self.settings.greeting, self._port.read_line(deadline)):
                continue
        except AdapterError:
            self._port.close()  # so that the next attempt waits for the greeting as well
            raise

    def _forget_waiting_lines(self) -> None:
        """Late answers to earlier questions must not be taken for an answer to the next; alarms are kept."""
        for line in self._port.waiting_lines():
            self._hear_alarm(line)

    def _hear_alarm(self, line: str) -> bool:
        """Note the begin or the end of an alarm; whether the line was one of them."""
        if self.settings.alarm_over and re.fullmatch(self.settings.alarm_over, line):
            self._alarm = ""
            return True
        match = re.fullmatch(self.settings.alarm, line) if self.settings.alarm else None
        if match:
            self._alarm = match.groupdict().get("reason") or line
        return match is not None

    def _ask(self, line: str, deadline: Deadline, *expected: str, tag: str | None = None) -> "re.Match[str]":
        """Send a line and wait for the one that answers it."""
        try:
            printable = line.encode(self.settings.encoding) and line.isprintable()
        except UnicodeEncodeError:
            printable = False
        if not printable:
            raise RefusedError(say("serial.unsendable", line=quoted(line), encoding=self.settings.encoding))
        self._forget_waiting_lines()
        try:
            return self._answer(line, deadline, expected, tag)
        except DeadlineError as error:
            self._given_up.append(expected)
            raise DeadlineError(say("machine.because", text=quoted(line), why=str(error))) from error

    def _answer(self, line: str, deadline: Deadline, expected: Sequence[str], tag: str | None) -> "re.Match[str]":
        self._port.write(line, deadline)
        echoed = not self.settings.echo
        while True:
            answer = self._port.read_line(deadline)
            if not echoed:
                echoed = answer == line
                continue
            match = self._understand(line, answer, expected)
            # a result with another tag is that of an earlier part
            if match is not None and (tag is None or match.groupdict().get("tag") in (None, tag)):
                return match

    def _understand(self, line: str, answer: str, expected: Sequence[str]) -> "re.Match[str] | None":
        """The match of what was expected, None for a line without a meaning; everything else is an error."""
        if self._hear_alarm(answer):
            if self._alarm:
                raise AlarmError(say("serial.alarm", line=quoted(line), alarm=self._alarm), self._alarm)
            return None
        if not answer or (self.settings.ignore and re.fullmatch(self.settings.ignore, answer)):
            return None
        refused = re.fullmatch(self.settings.refused, answer)
        if refused:
            reason = refused.groupdict().get("reason") or answer
            raise RefusedError(say("serial.refuses", line=quoted(line), why=reason))
        for wanted in expected:
            match = re.fullmatch(wanted, answer)
            if match:
                return match
        late = next((one for one in self._given_up if any(re.fullmatch(wanted, answer) for wanted in one)), None)
        if late is not None:
            self._given_up.remove(late)
            return None
        raise LinkError(say("serial.no_pattern", line=quoted(line), answer=quoted(answer)))
