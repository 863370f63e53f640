"""What goes into the journal and what comes out of it, as frozen data."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class NewRow:
    """An event to be stored."""

    campaign: str
    at: str  # UTC, ISO 8601 with microseconds and Z
    type: str
    body: str  # canonical JSON, see `tuner.journal.chain.canonical`
    actor: str


@dataclass(frozen=True, slots=True)
class Row:
    """An event as stored."""

    seq: int  # 1, 2, ... over all campaigns, without gaps
    campaign: str
    at: str
    type: str
    body: str
    actor: str
    hash: str  # of the row before and everything above, see `tuner.journal.chain.link`


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered to a request, so that the same request again gets the same answer."""

    owner: str  # the name of the key that sent the request: an id belongs to its key
    request_id: str
    digest: str  # SHA-256 of the request's meaning: the same id with another meaning is an error of the client
    reply: str  # JSON text
    at: str


@dataclass(frozen=True, slots=True)
class CampaignRow:
    """Where a campaign's events are; a projection of the journal."""

    name: str
    first_seq: int
    last_seq: int
    count: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The fold of a campaign's events up to and including `seq`."""

    campaign: str
    seq: int
    state: str  # JSON text
    journal_hash: str  # hash of the journal's row `seq`


@dataclass(frozen=True, slots=True)
class Verdict:
    """What verification found; `first_bad_seq` is None if the fault is not in one event."""

    ok: bool
    events: int  # how many are right, counted from the first
    head: tuple[int, str]  # last seq and hash that are right
    first_bad_seq: int | None = None
    why: str = ""

    @property
    def fault(self) -> str:
        """What is wrong, and at which event."""
        return self.why if self.first_bad_seq is None else f"event {self.first_bad_seq}: {self.why}"


@dataclass(frozen=True, slots=True)
class BackupInfo:
    """A backup that was written, checked and made durable."""

    path: Path
    seq: int
    hash: str
    size_bytes: int
