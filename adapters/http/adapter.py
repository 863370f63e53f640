"""Machines and plant systems with a REST interface: requests from templates, values at paths into JSON."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar
from urllib.parse import quote

from adapters.http.client import HttpClient
from adapters.http.requests import (
    HttpConnection,
    HttpSettings,
    PathCode,
    PathSignal,
    Request,
    complaints_on,
)
from adapters.shared.paths import at, filled, leaves
from adapters.shared.values import Deadline, no_reason
from tuner.adapter import (
    Adapter,
    AdapterError,
    AdapterSettings,
    DeadlineError,
    Health,
    Inspected,
    LinkError,
    Offered,
    Outcome,
    ParameterInfo,
    RefusedError,
    Setting,
    Value,
    check_setting,
)
from tuner.basics.address import host_address
from tuner.basics.sentences import say, written
from tuner.basics.text import shown
from tuner.handshake import Raw, to_number, to_raw, to_value

_NO_PART = "rehearse-none"  # a tag that no part has


class HttpAdapter(Adapter[HttpSettings]):
    """A machine or plant system with a REST interface: templates for its requests, paths into its JSON."""

    Settings: ClassVar[type[AdapterSettings]] = HttpSettings
    Connection: ClassVar[type[AdapterSettings] | None] = HttpConnection

    def __init__(
        self,
        settings: HttpSettings,
        parameters: Sequence[ParameterInfo],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(settings, parameters)
        self._client = HttpClient(settings)
        self._opened = False
        self._sleep = sleep

    @classmethod
    def complaints(cls, settings: HttpSettings, parameters: Sequence[ParameterInfo]) -> Sequence[str]:
        """Templates and paths that cannot work."""
        return tuple(complaints_on(settings, parameters))

    @classmethod
    def occupies(cls, settings: HttpSettings) -> Sequence[str]:
        """The addresses by which the machine is set and started: a plant system has many machines."""
        client = HttpClient(settings)
        paths = {request.path.partition("{")[0].rstrip("/") for request in (settings.set, settings.trial.start)}
        return tuple(host_address(client.host, client.port, path or "/") for path in sorted(paths))

    @classmethod
    def browse(cls, connection: HttpConnection, deadline_s: float) -> Sequence[Offered]:
        """Every path into the JSON that the machine answers with."""
        client, deadline = HttpClient(connection), Deadline(deadline_s)
        requests = [Request(path=connection.look)]
        if isinstance(connection, HttpSettings):
            requests = [connection.read, *([connection.state.ask] if connection.state else [])]
        found = []
        for request in requests:
            what = f"{request.method} {request.path}"
            body = client.checked(
                what, client.ask(what, request.method, request.path, request.body, deadline, deadline_s)
            )
            found += [Offered(path, what, _kind(value), "read", shown(value)) for path, value in leaves(body)]
        return found

    def open(self, deadline_s: float) -> None:
        """See whether the machine answers."""
        self._opened = True
        self._ask("read", self.settings.read, {}, Deadline(deadline_s))

    def apply(self, setting: Setting, deadline_s: float) -> None:
        """Send every parameter, together or one by one."""
        setting = check_setting(setting, self.parameters)
        deadline = self._begin(deadline_s)
        entries = self.settings.parameters
        raw = {name: _plain(to_raw(entries[name], value), value) for name, value in setting.items()}
        if not self.settings.one_by_one():
            self._ask("set", self.settings.set, raw, deadline)
            return
        for name, value in raw.items():
            self._ask(f"set {name}", self.settings.set, {"name": name, "value": value}, deadline)

    def read_back(self, deadline_s: float) -> dict[str, Value]:
        """Ask for the values, and find each at its path."""
        body = self._ask("read", self.settings.read, {}, self._begin(deadline_s))
        return {info.name: self._value(info, body) for info in self.parameters}

    def _value(self, info: ParameterInfo, body: Any) -> Value:
        entry = self.settings.parameters[info.name]
        return to_value(info, entry, _raw(info.name, at(body, entry.path, "the answer to read")))

    def run_trial(self, tag: str, deadline_s: float) -> Outcome:
        """Order a part unless the machine knows its tag already, and ask until there is a result."""
        deadline = self._begin(deadline_s)
        trial = self.settings.trial
        if trial.result is None:
            return self._outcome(self._ask("trial.start", trial.start, {"tag": tag}, deadline))
        result = self._result(tag, deadline)
        if result is None:
            self._ask("trial.start", trial.start, {"tag": tag}, deadline)
        while result is None or not self._finished(result):
            if deadline.left_s() <= self.settings.poll_interval_s:
                late = say("handshake.did_not_finish", tag=tag)
                told = say("handshake.too_late", where=self._client.where, what=late, seconds=deadline.seconds)
                raise DeadlineError(told)
            self._sleep(self.settings.poll_interval_s)
            result = self._result(tag, deadline)
        return self._outcome(result)

    def _result(self, tag: str, deadline: Deadline) -> Any:
        """What the machine says about a part; None if it knows none of this tag."""
        trial = self.settings.trial
        request = trial.result
        if request is None:
            return None
        answer = self._client.ask(
            "trial.result", request.method, _path(request, {"tag": tag}), filled(request.body, {"tag": tag}),
            deadline, self.settings.timeout_s,
        )  # fmt: skip
        if answer.status in trial.unknown:
            return None
        body = self._client.checked("trial.result", answer)
        if trial.tag is not None and (body is None or at(body, trial.tag, "the result") != tag):
            return None
        return body

    def _finished(self, result: Any) -> bool:
        done = self.settings.trial.done
        return done is None or _is_on("trial.done", done, result)

    def _outcome(self, result: Any) -> Outcome:
        trial = self.settings.trial
        numbers = {
            name: to_number(name, entry, _raw(name, found))
            for name, entry in trial.measurements.items()
            if (found := at(result, entry.path, "the result")) is not None
        }
        photo = at(result, trial.photo, "the result") if trial.photo else None
        picture = photo if isinstance(photo, str) and photo else None
        if trial.valid is not None and not _is_on("trial.valid", trial.valid, result):
            reason = _sentence("trial.reason", trial.reason, result, "code") or no_reason()
            return Outcome(False, reason, numbers, picture)
        return Outcome(True, "", numbers, picture)

    def health(self, deadline_s: float) -> Health:
        """Readiness, alarm and interlocks; a machine that does not answer is a lost link."""
        deadline, state = self._begin(deadline_s), self.settings.state
        try:
            if state is None:
                self._ask("read", self.settings.read, {}, deadline)
                return Health(True, say("http.answers", where=self._client.where))
            body = self._ask("state.ask", state.ask, {}, deadline)
            interlocks = {name: _is_on(name, signal, body) for name, signal in state.interlocks.items()}
            if alarm := _sentence("state.alarm", state.alarm, body, "alarm"):
                return Health(False, alarm, interlocks)
            ready = state.ready is None or _is_on("state.ready", state.ready, body)
        except RefusedError as error:
            return Health(False, str(error))
        told = say("handshake.ready" if ready else "handshake.not_ready", where=self._client.where)
        return Health(ready, told, interlocks)

    def inspect(self, deadline_s: float) -> Sequence[Inspected]:
        """Every path into the answers, and whether the methods that change something are allowed."""
        deadline, s = self._begin(deadline_s), self.settings
        rows = [
            self._allowed(name, request, deadline) for name, request in (("set", s.set), ("trial.start", s.trial.start))
        ]
        checks: list[tuple[str, str, Callable[[Any], object]]] = [
            (f"parameters.{info.name}", s.parameters[info.name].path, partial(self._value, info))
            for info in self.parameters
        ]
        rows += self._paths("read", s.read, checks, deadline)
        if s.state is not None:
            signals: dict[str, PathSignal | None] = {"state.ready": s.state.ready}
            signals |= {f"interlocks.{name}": signal for name, signal in s.state.interlocks.items()}
            checks = [
                (name, signal.path, partial(_is_on, name, signal))
                for name, signal in signals.items()
                if signal is not None
            ]
            if (alarm := s.state.alarm) is not None:
                checks.append(
                    ("state.alarm", alarm.path, lambda body: _sentence("alarm", alarm, body, "alarm") or "none")
                )
            rows += self._paths("state.ask", s.state.ask, checks, deadline)
        if s.trial.result is not None:
            rows.append(self._row("trial.result", s.trial.result.path, lambda: self._no_result(deadline)))
        return rows

    def _no_result(self, deadline: Deadline) -> str:
        if self._result(_NO_PART, deadline) is not None:
            raise LinkError(f"has a result for {_NO_PART}, which was never ordered: look at tag and unknown")
        return "knows no part that was not ordered"

    def _allowed(self, name: str, request: Request, deadline: Deadline) -> Inspected:
        """What the machine says to OPTIONS; one that says nothing may still allow it."""
        path = request.path.partition("{")[0]

        def look() -> str:
            answer = self._client.ask(name, "OPTIONS", path, None, deadline, self.settings.timeout_s)
            methods = [word.strip().upper() for word in answer.allow.split(",") if word.strip()]
            if methods and request.method not in methods:
                raise RefusedError(f"{request.method} is not allowed there, only {', '.join(methods)}")
            return "allowed" if methods else "not asked (the machine does not tell what it allows)"

        return self._row(name, f"{request.method} {request.path}", look)

    def _paths(
        self,
        what: str,
        request: Request,
        checks: Sequence[tuple[str, str, Callable[[Any], object]]],
        deadline: Deadline,
    ) -> list[Inspected]:
        answers: list[Any] = []
        first = self._row(
            what, f"{request.method} {request.path}", lambda: _kept(answers, self._ask(what, request, {}, deadline))
        )
        if not answers:
            return [first]
        body = answers[0]

        def now(check: Callable[[Any], object]) -> str:
            return f"now {shown(check(body))}"

        return [first, *(self._row(name, path, partial(now, check)) for name, path, check in checks)]

    def _row(self, name: str, where: str, look: Callable[[], str]) -> Inspected:
        began_s = time.monotonic()
        try:
            text, ok = look(), True
        except AdapterError as error:
            text, ok = str(error), False
        return Inspected(name, where, text, ok, time.monotonic() - began_s)

    def close(self) -> None:
        """There is no connection to let go of."""
        self._opened = False

    def _begin(self, deadline_s: float) -> Deadline:
        if not self._opened:
            raise LinkError(say("adapter.not_open"))
        return Deadline(deadline_s)

    def _ask(self, what: str, request: Request, values: Mapping[str, object], deadline: Deadline) -> Any:
        body = None if request.body is None else filled(request.body, values)
        path, s = _path(request, values), self.settings
        return self._client.checked(what, self._client.ask(what, request.method, path, body, deadline, s.timeout_s))


def _path(request: Request, values: Mapping[str, object]) -> str:
    return request.path.format(**{name: quote(str(value), safe="") for name, value in values.items()})


def _plain(raw: Raw, value: Value) -> Raw:
    """A whole number stays one on its way through a scale."""
    return round(raw) if isinstance(value, int) and isinstance(raw, float) and raw.is_integer() else raw


def _raw(name: str, found: object) -> Raw:
    if not isinstance(found, bool | int | float | str):
        raise LinkError(say("machine.neither", name=name, value=written(found)))
    return found


def _is_on(name: str, signal: PathSignal, body: Any) -> bool:
    return _raw(name, at(body, signal.path, "the answer")) == signal.on


def _sentence(name: str, code: PathCode | None, body: Any, noun: str) -> str:
    """What a code means; nothing if it is the one that says all is well."""
    if code is None:
        return ""
    raw = at(body, code.path, "the answer")
    if raw is None or ((not raw) if code.ok is None else raw == code.ok):
        return ""
    return code.codes.get(str(raw)) or (raw if isinstance(raw, str) else f"{noun} {raw}")


def _kind(value: object) -> str:
    return {bool: "true or false", int: "whole number", float: "number", str: "text"}.get(type(value), "nothing")


def _kept(answers: list[Any], answer: Any) -> str:
    answers.append(answer)
    return "answers"
