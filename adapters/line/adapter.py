"""Line controllers that speak ZeroMQ: either they connect to tuner and ask for jobs, or tuner connects to them."""

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from adapters.line.caller import Caller
from adapters.line.curve import public_key, secret_key
from adapters.line.link import Curve, Link, Plan
from adapters.line.listener import Listener
from adapters.line.protocol import FinalReport, HealthReport, Job, NonValid, Present, Refused, Valid, new_job, trial_job
from adapters.shared.values import Deadline, value_from_json
from tuner.adapter import (
    Adapter,
    AdapterSettings,
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


class LineSettings(AdapterSettings):
    """The table `[campaign.adapter.settings]` of a line controller; TCP needs keys, ipc may do without."""

    mode: Literal["listen", "connect"] = Field(
        description="listen: the controller connects to tuner; connect: tuner connects to the controller"
    )
    address: str = Field(
        pattern=r"^(tcp|ipc)://.+", description="tcp://host:port or ipc:///path, to bind or to connect"
    )
    series: str = Field(
        "",
        pattern=r"^[0-9A-Za-z_-]{0,64}$",
        description="part of every trial's job name; must differ between campaigns whose tags may be the same",
    )
    secret_key: Path | None = Field(None, description="CURVE certificate of tuner for this link, mode 600")
    controller_keys: tuple[Path, ...] = Field(
        (), description="public CURVE certificates: of all controllers that may connect, or of the one to connect to"
    )
    insecure: bool = Field(False, description="true: TCP without keys; anyone in the network can then play the machine")
    beat_s: float = Field(1.0, gt=0, le=60, description="longest time between two messages of tuner's")
    silent_s: float = Field(5.0, gt=0, le=86_400, description="a controller silent for so long counts as gone")

    @model_validator(mode="after")
    def _safe(self) -> "LineSettings":
        keys = len(self.controller_keys)
        if (self.secret_key is None) != (keys == 0):
            raise ValueError("secret_key and controller_keys need each other")
        if self.insecure and keys:
            raise ValueError("insecure is for links without keys: leave it out")
        if self.address.startswith("tcp:") and not keys and not self.insecure:
            raise ValueError("tcp needs secret_key and controller_keys (or insecure = true, if you know the network)")
        if self.mode == "connect" and keys > 1:
            raise ValueError("controller_keys must be the one key of the controller to connect to")
        if self.silent_s < 2 * self.beat_s:
            raise ValueError("silent_s must be at least twice beat_s")
        return self


class LineAdapter(Adapter[LineSettings]):
    """A line controller that speaks ZeroMQ, as docs/line.md describes it; it may connect to tuner, or tuner to it."""

    Settings: ClassVar[type[AdapterSettings]] = LineSettings

    def __init__(self, settings: LineSettings, parameters: Sequence[ParameterInfo]) -> None:
        super().__init__(settings, parameters)
        self._link: Link | None = None
        self._lock: int | None = None

    @classmethod
    def occupies(cls, settings: LineSettings) -> Sequence[str]:
        """The address of the link."""
        kind, _, place = settings.address.partition("://")
        return (file_address(place) if kind == "ipc" else endpoint_address(settings.address, 0),)

    @classmethod
    def of_this_host(cls, settings: LineSettings) -> Sequence[str]:
        """Keys, and the file of a link within this host: binding it takes the place of what is there."""
        return (*super().of_this_host(settings), *(["address"] if settings.address.startswith("ipc:") else []))

    def open(self, deadline_s: float) -> None:
        """Bind or connect, and wait for a first word of the controller; if none comes, the door stays open."""
        deadline = Deadline(deadline_s)
        if self._link is None:
            curve = self._curve()
            self._take_lock()
            plan = Plan(self.settings.address, self.settings.beat_s, self.settings.silent_s, curve)
            link: Link = Listener(plan) if self.settings.mode == "listen" else Caller(plan)
            try:
                link.start()
            except LinkError:
                self._drop_lock()
                raise
            self._link = link
        self._link.desk.meet(deadline.left_s())

    def apply(self, setting: Setting, deadline_s: float) -> None:
        """Let the controller apply a setting; it answers when the machine has taken it."""
        setting = check_setting(setting, self.parameters)
        self._perform(new_job("apply", dict(setting)), deadline_s)

    def read_back(self, deadline_s: float) -> dict[str, Value]:
        """The setting the controller says the machine has; empty if it has none yet."""
        report = self._perform(new_job("read_back"), deadline_s)
        setting = report.setting if isinstance(report, Present) else {}
        names = [parameter.name for parameter in self.parameters]
        if setting and set(setting) != set(names):
            raise LinkError(say("line.setting", has=list(setting), names=names))
        return {p.name: value_from_json(p, setting[p.name]) for p in self.parameters} if setting else {}

    def run_trial(self, tag: str, deadline_s: float) -> Outcome:
        """Let the controller make a part; a part it has made before is not made again."""
        report = self._perform(trial_job(tag, self.settings.series), deadline_s)
        if isinstance(report, NonValid):
            return Outcome(False, report.reason, report.measurements, report.photo or None)
        if isinstance(report, Valid):
            return Outcome(True, "", report.measurements, report.photo or None)
        raise LinkError(say("line.about_part", state=report.state, tag=tag))

    def health(self, deadline_s: float) -> Health:
        """What the controller says; one that refuses is not well, one that does not answer is a lost link."""
        try:
            report = self._perform(new_job("health"), deadline_s)
        except RefusedError as error:
            return Health(False, str(error))
        if isinstance(report, HealthReport):
            return Health(report.ok, report.text, report.interlocks)
        return Health(False, say("line.about_health", state=report.state))

    def close(self) -> None:
        """Let go of the address."""
        if self._link is not None:
            self._link.stop()
            self._link = None
        self._drop_lock()

    def _perform(self, job: Job, deadline_s: float) -> FinalReport:
        if self._link is None:
            raise LinkError(say("line.not_open"))
        report = self._link.desk.perform(job, deadline_s)
        if isinstance(report, Refused):
            raise RefusedError(say("line.refuses", job=job.do, why=report.reason))
        if report.state == "failed":
            raise LinkError(say("line.failed", job=job.do, why=report.reason))
        return report

    def _curve(self) -> Curve | None:
        if self.settings.secret_key is None:
            return None
        public, secret = secret_key(self.settings.secret_key)
        return Curve(public, secret, tuple(public_key(path) for path in self.settings.controller_keys))

    def _take_lock(self) -> None:
        """A second process could bind an ipc path that is in use, and the first would not notice."""
        if self.settings.mode != "listen" or not self.settings.address.startswith("ipc://"):
            return
        path = self.settings.address.removeprefix("ipc://") + ".lock"
        try:
            self._lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._drop_lock()
            raise LinkError(
                say("line.address", address=self.settings.address, why=f"{path}: {error.strerror}")
            ) from error

    def _drop_lock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
