"""The table `[daemon]`: where the daemon keeps its state, listens and logs; every key has a default."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tuner.basics.places import OWNERS_SUFFIX, checked_endpoint
from tuner.basics.text import shown
from tuner.basics.vocabulary import Role
from tuner.config.plugins import AdapterNotFoundError, load_adapter
from tuner.config.section import Complaint, Section, reject


def _not_empty(path: Path) -> Path:
    if "\0" in str(path) or path == Path():
        raise ValueError("must be the path of a directory")
    return path


Endpoint = Annotated[str, AfterValidator(checked_endpoint)]
Directory = Annotated[Path, AfterValidator(_not_empty)]


class Log(Section):
    """What is written about the daemon's work; the journal is independent of it."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="least important level written")
    format: Literal["text", "json"] = Field("text", description="format on stderr; files are always JSON")
    directory: Directory | None = Field(None, description="directory of rotating log files; none: stderr only")
    file_megabytes: float = Field(10.0, gt=0, le=10_000, description="size at which a new log file is begun")
    files_kept: int = Field(5, ge=1, le=1000, description="number of old log files kept")


class Daemon(Section):
    """The daemon: its places, what may be done without a key, and how long things may take."""

    state_directory: Directory | None = Field(None, description="directory of journal, keys and backups")
    requests: Endpoint | None = Field(None, description="endpoint that answers requests")
    events: Endpoint | None = Field(None, description="endpoint that publishes events")
    local_role: Annotated[Role, Field(strict=False)] = Field(
        Role.OPERATOR,
        description="what members of the daemon's group may do without a key; its own user is an engineer",
    )
    create_over_wire: bool = Field(False, description="whether engineers may create campaigns by request")
    create_adapters: tuple[str, ...] = Field((), description="adapters that a campaign created by request may have")
    drain_s: float = Field(
        60.0, ge=0, le=86_400, description="how long a part under way may take when the daemon stops"
    )
    backup_hours: float = Field(24.0, gt=0, le=8760, description="hours between backups of the journal")
    session_idle_minutes: float = Field(
        20.0, gt=0, le=1440, description="after which somebody who does nothing is signed out"
    )
    session_hours: float = Field(12.0, gt=0, le=168, description="after which people sign in again in any case")
    anchor_file: Directory | None = Field(None, description="file on another host's disk that gets the journal's head")
    anchor_minutes: float = Field(
        60.0, gt=0, le=10_080, description="minutes between two anchors, in anchor_file or told to receivers"
    )
    log: Log = Field(default_factory=Log, description="logging")

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        tcp = [bool(end and end.startswith("tcp://")) for end in (self.requests, self.events)]
        if tcp[0] != tcp[1]:
            missing, given = ("events", "requests") if tcp[0] else ("requests", "events")
            reject([Complaint((missing,), f"must be a tcp endpoint too, because {given} is: clients need both")])
        taken = [name for name in ("requests", "events") if (getattr(self, name) or "").endswith(OWNERS_SUFFIX)]
        sentence = f"must not end with {OWNERS_SUFFIX}: that is the socket of the daemon's own user"
        reject([Complaint((name,), sentence) for name in taken])
        return self

    @model_validator(mode="after")
    def _creatable(self) -> Self:
        if self.create_over_wire and not self.create_adapters:
            reject([Complaint(("create_adapters",), "is needed with create_over_wire: the adapters that may be used")])
        found = []
        for index, name in enumerate(self.create_adapters):
            try:
                runs = load_adapter(name).starts_programs
            except AdapterNotFoundError as error:
                found.append(Complaint(("create_adapters", index), str(error)))
                continue
            if runs:
                sentence = f"the adapter {shown(name)} starts programs: over the wire it would be a shell for engineers"
                found.append(Complaint(("create_adapters", index), sentence))
        reject(found)
        return self


class Compute(Section):
    """Where and how long proposals are computed."""

    backend: Literal["processes", "dask"] = Field("processes", description="processes of this machine, or a cluster")
    workers: int = Field(2, ge=1, le=256, description="processes, each with one thread")
    deadline_s: float = Field(20.0, gt=0, le=86_400, description="after which a cheap proposal takes the model's place")
    speculate: bool = Field(True, description="whether proposals are computed ahead for every possible answer")
    dask_address: str | None = Field(None, description='scheduler of the cluster, such as "tcp://host:8786"')

    @model_validator(mode="after")
    def _address(self) -> Self:
        if self.backend == "dask" and not self.dask_address:
            reject([Complaint(("dask_address",), 'is needed with backend = "dask"')])
        return self
