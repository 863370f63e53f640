"""Where a daemon lives: its state directory and its sockets, as its configuration, systemd or the user say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tuner.basics.text import shown

OWNERS_SUFFIX = ".own"  # of the socket that only the daemon's own user may open
LONGEST_SOCKET_PATH = 107  # bytes, a limit of the operating system
_TCP = re.compile(r"tcp://(\[[0-9A-Fa-f:]+\]|\*|[A-Za-z0-9.-]+):(\d{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Places:
    """Where a daemon with a given configuration and environment lives."""

    state_directory: Path
    requests: str
    events: str


def places(
    environ: Mapping[str, str],
    home: Path,
    state_directory: Path | None = None,
    requests: str | None = None,
    events: str | None = None,
) -> Places:
    """Fill in what `[daemon]` leaves out: systemd's directories if there are, else the user's own.

    Sockets are put beside the state, or in systemd's runtime directory.
    """
    state = state_directory
    if state is None and environ.get("STATE_DIRECTORY"):
        state = Path(environ["STATE_DIRECTORY"].partition(":")[0])
    if state is None:
        state = Path(environ.get("XDG_STATE_HOME") or home / ".local" / "state") / "tuner"
    state = state.expanduser().absolute()
    sockets = Path(environ.get("RUNTIME_DIRECTORY", "").partition(":")[0] or state).absolute()
    return Places(
        state_directory=state,
        requests=requests or f"ipc://{sockets / 'requests.sock'}",
        events=events or f"ipc://{sockets / 'events.sock'}",
    )


def owners(requests: str) -> str:
    """The endpoint beside a local one that only the daemon's own user may open."""
    return f"ipc://{Path(requests.removeprefix('ipc://')).with_suffix(OWNERS_SUFFIX)}"


def checked_endpoint(text: str) -> str:
    """An endpoint as it is."""
    allowed = 'allowed: "ipc:///absolute/path" or "tcp://host:port"'
    if text.startswith("ipc://"):
        path = text.removeprefix("ipc://")
        if not path.startswith("/"):
            raise ValueError(f"{shown(text)} is not an endpoint with an absolute path; {allowed}")
        if len(path.encode()) > LONGEST_SOCKET_PATH:
            raise ValueError(f"the path is longer than the {LONGEST_SOCKET_PATH} bytes a socket may have")
        return text
    match = _TCP.fullmatch(text)
    if not match or not 1 <= int(match[2]) <= 65_535:
        raise ValueError(f"{shown(text)} is not an endpoint; {allowed}")
    return text
