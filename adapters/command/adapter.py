"""Any program as a machine: each call starts it with one JSON object on stdin and expects one on stdout."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adapters.command.guard import Guard
from adapters.shared.values import (
    LONGEST_MESSAGE,
    Deadline,
    object_from_json,
    outcome_from_json,
    quoted,
    value_from_json,
)
from tuner.adapter import (
    Adapter,
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
from tuner.basics.address import file_address
from tuner.basics.sentences import say
from tuner.basics.text import shown

Operation = Literal["open", "apply", "read_back", "run_trial", "health", "go_to", "close"]
_CLOSING_S = 2.0  # close has no deadline of its own
_LAST_WORDS = 300  # characters of stderr that are shown


class CommandSettings(AdapterSettings):
    """The table `[campaign.adapter.settings]` of a program; it inherits tuner's environment, secrets included."""

    argv: tuple[str, ...] = Field(min_length=1, description="the program and its arguments; no shell is involved")
    operations: tuple[Operation, ...] = Field(
        ("run_trial",), description="what the program knows; the rest is done without it"
    )
    directory: Path | None = Field(None, description="where the program runs; none: where tuner runs")
    environment: dict[str, str] = Field(default_factory=dict, description="variables set for the program; no secrets")
    tell_manual: bool = Field(False, description="tell the program also of parameters that people change by hand")
    stop_s: float = Field(1.0, ge=0, le=60, description="time between asking a late program to stop and ending it")


class _HealthMessage(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    ok: bool
    text: str = ""
    interlocks: dict[str, bool] = Field(default_factory=dict)


class CommandAdapter(Adapter[CommandSettings]):
    """Runs a program of yours for every part: setting and tag as JSON on stdin, outcome as JSON on stdout."""

    Settings: ClassVar[type[AdapterSettings]] = CommandSettings
    starts_programs: ClassVar[bool] = True

    def __init__(self, settings: CommandSettings, parameters: Sequence[ParameterInfo]) -> None:
        super().__init__(settings, parameters)
        self._open = False
        self._guard = Guard(settings.stop_s)
        # a program without "apply" is given it with the trial: until then it is the known-good one
        self._setting: dict[str, Value] = {parameter.name: parameter.start for parameter in parameters}

    @classmethod
    def takes(cls, settings: CommandSettings, parameter: str) -> bool:
        """Told when a person has made the change, with the rest of the setting."""
        return settings.tell_manual

    @classmethod
    def complaints(cls, settings: CommandSettings, parameters: Sequence[ParameterInfo]) -> Sequence[str]:
        """A program that makes no parts, or is told a setting and never asked for it, cannot work."""
        known = settings.operations
        found = [f"operations has {shown(name)} twice" for name in sorted(set(known)) if known.count(name) > 1]
        if "run_trial" not in known:
            found.append('operations must have "run_trial": the program that makes the part')
        if ("apply" in known) != ("read_back" in known):
            found.append('operations must have both "apply" and "read_back", or neither')
        if "go_to" in known and "apply" not in known:
            found.append('operations has "go_to", which needs "apply" and "read_back"')
        return found

    @classmethod
    def occupies(cls, settings: CommandSettings) -> Sequence[str]:
        """The program as it is called: other arguments, variables or another directory may mean another machine."""
        program = shutil.which(settings.argv[0]) or Path(settings.directory or ".", settings.argv[0])
        call = [*settings.argv[1:], os.path.realpath(settings.directory or "."), sorted(settings.environment.items())]
        return (file_address(program, json.dumps(call)),)

    def open(self, deadline_s: float) -> None:
        """See that the program is there, and tell it if it wants to know."""
        self._program()
        if not self._open and "open" in self.settings.operations:
            self._run("open", deadline_s)
        self._open = True

    def apply(self, setting: Setting, deadline_s: float) -> None:
        """Give the setting to the program, or keep it for the next trial."""
        self._take("apply", setting, deadline_s)

    def go_to(self, known_good: Setting, deadline_s: float) -> None:
        """The program's own way home, if it has one."""
        self._take("go_to" if "go_to" in self.settings.operations else "apply", known_good, deadline_s)

    def read_back(self, deadline_s: float) -> dict[str, Value]:
        """What the program says, or what the next trial will be given."""
        self._require_open()
        if "read_back" not in self.settings.operations:
            return dict(self._setting)
        reply = self._run("read_back", deadline_s)
        raw = reply.get("setting")
        names = [parameter.name for parameter in self.parameters]
        if not isinstance(raw, dict) or set(raw) != set(names):
            raise LinkError(say("program.read_back", names=names))
        return {parameter.name: value_from_json(parameter, raw[parameter.name]) for parameter in self.parameters}

    def run_trial(self, tag: str, deadline_s: float) -> Outcome:
        """Start the program with setting and tag, and wait for its outcome."""
        self._require_open()
        return outcome_from_json(self._run("run_trial", deadline_s, tag=tag), say("program.named"))

    def health(self, deadline_s: float) -> Health:
        """What the program says, or whether it is there at all."""
        if not self._open:
            return Health(False, say("adapter.not_open"))
        if "health" not in self.settings.operations:
            try:
                return Health(True, say("program.well", program=self._program()))
            except AdapterError as error:
                return Health(False, str(error))
        try:
            message = _HealthMessage.model_validate(self._run("health", deadline_s))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(step) for step in first["loc"])
            raise LinkError(say("program.no_health", what=f"{where}: {first['msg']}")) from None
        return Health(message.ok, message.text, message.interlocks)

    def close(self) -> None:
        """Tell the program if it wants to know; whether it can be told does not matter any more."""
        if self._open and "close" in self.settings.operations:
            with contextlib.suppress(AdapterError):
                self._run("close", _CLOSING_S)
        self._open = False
        self._guard.close()

    def _take(self, operation: Operation, setting: Setting, deadline_s: float) -> None:
        self._require_open()
        setting = check_setting(setting, self.parameters)
        if "apply" in self.settings.operations:
            self._run(operation, deadline_s, setting=setting)
        self._setting = dict(setting)

    def _require_open(self) -> None:
        if not self._open:
            raise LinkError(say("adapter.not_open"))

    def _program(self) -> str:
        name, directory = self.settings.argv[0], self.settings.directory
        if directory is not None and not directory.is_dir():
            raise AdapterError(say("program.no_directory", directory=str(directory)))
        path = self.settings.environment.get("PATH", os.environ.get("PATH"))
        # a relative path with a slash is one from the directory the program runs in
        sought = str(Path(directory or ".", name).absolute()) if os.sep in name else name
        found = shutil.which(sought, path=path)
        if found is None:
            raise AdapterError(say("program.none", name=name))
        return found

    def _run(
        self, operation: Operation, deadline_s: float, setting: Setting | None = None, tag: str | None = None
    ) -> dict[str, Any]:
        deadline = Deadline(deadline_s)
        request = {
            "op": operation,
            "setting": dict(self._setting if setting is None else setting),
            "tag": tag,
            "deadline_s": deadline_s,
        }
        try:
            self._guard.start()
            process = subprocess.Popen(  # noqa: S603 - running the configured program is what this adapter is for
                [self._program(), *self.settings.argv[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self.settings.directory,
                env={**os.environ, **self.settings.environment},
                start_new_session=True,  # a group of its own, so that its children can be ended with it
            )
        except OSError as error:
            raise LinkError(say("program.not_started", program=self.settings.argv[0], why=str(error))) from error
        self._guard.watch(process.pid)
        # a program that is late gets the last part of the deadline to put the machine in order
        orderly = Deadline(max(deadline.left_s() - self.settings.stop_s, deadline.left_s() / 2))
        stdout, stderr = _Drain(process.stdout), _Drain(process.stderr)
        try:
            _write(process, json.dumps(request).encode())
            answered = stdout.ended(orderly) and stderr.ended(orderly) and _exited(process, orderly.left_s())
            if not answered:
                _end(process, deadline)
        except BaseException:
            _end(process, Deadline(0.0))
            raise
        finally:
            self._guard.rest()
        if not answered:
            raise DeadlineError(say("program.slow", operation=operation, seconds=deadline_s))
        return self._reply(operation, process.returncode, bytes(stdout.kept), bytes(stderr.kept))

    def _reply(self, operation: Operation, code: int, stdout: bytes, stderr: bytes) -> dict[str, Any]:
        if code != 0:
            said = stderr.decode("utf-8", "replace").strip()[-_LAST_WORDS:]
            how = "program.killed" if code < 0 else "program.failed"
            raise LinkError(say(how, code=abs(code), operation=operation, said=said or say("program.wrote_nothing")))
        if not stdout.strip() and operation not in ("read_back", "run_trial", "health"):
            return {}
        reply = object_from_json(stdout, say("program.named"))
        if "refused" in reply:
            why = quoted(str(reply["refused"]))[1:-1]
            raise RefusedError(say("program.refuses", operation=operation, why=why or say("gate.no_reason")))
        return reply


class _Drain(threading.Thread):
    """Reads what a program writes, so that it never waits for us; of a flood only the beginning is kept."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        super().__init__(daemon=True)
        self.kept = bytearray()
        self._stream = stream
        self.start()

    def run(self) -> None:
        """Read until the program, and whoever has inherited its output, is gone."""
        if self._stream is None:
            return
        with self._stream:
            while chunk := os.read(self._stream.fileno(), 65_536):
                if len(self.kept) <= LONGEST_MESSAGE:
                    self.kept += chunk

    def ended(self, deadline: Deadline) -> bool:
        """Wait for the end; whether it came in time."""
        self.join(deadline.left_s())
        return not self.is_alive()


def _write(process: subprocess.Popen[bytes], request: bytes) -> None:
    """Write and close; a program that does not want to read is left alone."""
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(request)


def _end(process: subprocess.Popen[bytes], deadline: Deadline) -> None:
    """End the program and all that it has started: politely first, surely at the deadline."""
    for signum, wait_s in ((signal.SIGTERM, deadline.left_s()), (signal.SIGKILL, _CLOSING_S)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signum)
        _exited(process, wait_s)


def _exited(process: subprocess.Popen[bytes], wait_s: float) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(wait_s)
    return process.returncode is not None
