"""What `tuner doctor` looks at; each check tells what it found and changes nothing."""

import contextlib
import os
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tuner.basics.places import LONGEST_SOCKET_PATH, Places
from tuner.basics.text import counted
from tuner.campaign.evolve import HistoryError, evolve, parsed
from tuner.campaign.state import State
from tuner.config import Campaign, Config, load_config
from tuner.errors import ConfigError, DeniedError, TryAgainError, TunerError, UnreachableError
from tuner.journal import FILE_NAME, Store
from tuner.machine.check import check_campaigns
from tuner.wire.client import Client
from tuner.wire.endpoint import is_encrypted
from tuner.wire.key_ring import DIRECTORY, KeyRing
from tuner.wire.operations import Operations

Level = Literal["ok", "warn", "bad"]

_LEAST_FREE_BYTES = 100_000_000
_ENOUGH_FREE_BYTES = 1_000_000_000
_PLAUSIBLE_YEARS = range(2026, 2100)
_CLOCKS_S = 0.2
_CLOCKS_DIFFER_S = 0.05
_FUTURE = timedelta(minutes=1)
_ANSWER_S = 2.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    level: Level
    what: str
    text: str


def configs(paths: Sequence[Path]) -> tuple[list[Config], list[Finding]]:
    """The files that are right, and what was found."""
    good, findings = [], []
    for path in paths:
        try:
            config = load_config(path)
        except ConfigError as error:
            findings += [Finding("bad", "config", line) for line in str(error).splitlines()]
        else:
            good.append(config)
            findings.append(Finding("ok", "config", f"{path}: {counted(len(config.campaigns), 'campaign')}"))
    return good, findings


def state_directory(directory: Path) -> Iterator[Finding]:
    """Whether the daemon's directory is there and nobody else's business."""
    if not directory.exists():
        yield Finding("warn", "state", f"{directory} does not exist yet; the daemon makes it")
        return
    mode = stat.S_IMODE(directory.stat().st_mode)
    if mode & 0o022:
        yield Finding("bad", "state", f"{directory} can be changed by other users (mode {mode:04o}): chmod 700")
    elif not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("bad", "state", f"{directory} cannot be written by {os.getuid()}, the user of this command")
    else:
        yield Finding("ok", "state", f"{directory} (mode {mode:04o})")


def keys(directory: Path, places: Places) -> Iterator[Finding]:
    """Whether all key files can be used, and whether anybody can connect."""
    network = any(map(is_encrypted, (places.requests, places.events)))
    if not (directory / DIRECTORY).exists():
        text = "there are none; the daemon makes its own" if network else "there are none, and only tcp needs them"
        yield Finding("warn" if network else "ok", "keys", text)
        return
    try:
        ring = KeyRing.open(directory, create=False)
    except TunerError as error:
        yield Finding("bad", "keys", str(error))
        return
    for problem in ring.problems:
        yield Finding("bad", "keys", problem)
    accepted = [key for key in ring.list() if ring.role_of(key.public)]
    text = f"{len(accepted)} of {counted(len(ring.list()), 'key')} accepted"
    if network and not accepted:
        yield Finding("warn", "keys", f"{text}: nobody can connect over tcp; see `tuner keys new`")
    else:
        yield Finding("ok", "keys", text)


def journal(directory: Path, now: datetime) -> Iterator[Finding]:
    """Whether the journal is what was written, and not from the future."""
    path = directory / FILE_NAME
    if not path.exists():
        yield Finding("ok", "journal", "there is none yet")
        return
    try:
        with Store.open_reading(path) as store:
            verdict = store.verify()
            faults = unreadable(store) if verdict.ok else {}
            last = store.page(None, None, 1)
    except TunerError as error:
        yield Finding("bad", "journal", str(error))
        return
    if not verdict.ok:
        where = f" at event {verdict.first_bad_seq}" if verdict.first_bad_seq is not None else ""
        yield Finding("bad", "journal", f"{path} is damaged{where}: {verdict.why}")
        return
    yield Finding("ok", "journal", f"{counted(verdict.events, 'event')}, each follows from the one before")
    for name, why in faults.items():
        yield Finding("bad", "journal", f"the campaign {name} cannot be read: {why}")
    with contextlib.suppress(ValueError):
        if last and datetime.fromisoformat(last[0].at) > now + _FUTURE:
            yield Finding("bad", "clock", f"the last event is from {last[0].at}: this computer's clock is behind it")


def unreadable(store: Store) -> dict[str, str]:
    """The campaigns of a journal that cannot be folded, and why; the others are folded to their end."""
    states: dict[str, State] = {}
    faults: dict[str, str] = {}
    for row in store.rows():
        if row.campaign in faults:
            continue
        try:
            one = parsed(row.seq, row.at, row.actor, row.body)
            states[row.campaign] = evolve(row.campaign, states.get(row.campaign), one)
        except HistoryError as error:
            faults[row.campaign] = str(error)
    return faults


def disk(directory: Path) -> Iterator[Finding]:
    """Whether the journal has room to grow."""
    place = next(place for place in (directory, *directory.parents) if place.exists())
    free = shutil.disk_usage(place).free
    text = f"{free / 1e9:.1f} GB free at {place}"
    level: Level = "bad" if free < _LEAST_FREE_BYTES else "warn" if free < _ENOUGH_FREE_BYTES else "ok"
    yield Finding(level, "disk", text)


def clock(
    campaigns: Sequence[Campaign], now: datetime, wait: Callable[[float], object] = time.sleep
) -> Iterator[Finding]:
    """Whether the time is plausible, goes as fast as the monotonic clock, and time zones are known."""
    if now.year not in _PLAUSIBLE_YEARS:
        yield Finding("bad", "clock", f"it is not {now:%Y-%m-%d}: set this computer's clock")
    else:
        yield Finding("ok", "clock", f"{now.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC")
    wall_s, even_s = time.time(), time.monotonic()
    wait(_CLOCKS_S)
    off_s = (time.time() - wall_s) - (time.monotonic() - even_s)
    if abs(off_s) > _CLOCKS_DIFFER_S:
        yield Finding("warn", "clock", f"the clock was set by {off_s:+.2f} s just now: something adjusts it")
    zones = {campaign.policy.questions.timezone for campaign in campaigns} - {"UTC"}
    try:
        for zone in sorted(zones) or ["Europe/Vienna"]:
            ZoneInfo(zone)
    except (OSError, ZoneInfoNotFoundError) as error:
        level: Level = "bad" if zones else "warn"
        yield Finding(level, "clock", f"time zones are not known ({error}): install tzdata")


def sockets(places: Places) -> Iterator[Finding]:
    """Whether sockets can be where they should be."""
    for endpoint in (places.requests, places.events):
        path = endpoint.removeprefix("ipc://")
        if is_encrypted(endpoint):
            continue
        if len(path.encode()) > LONGEST_SOCKET_PATH:
            yield Finding(
                "bad", "sockets", f"{path} is longer than {LONGEST_SOCKET_PATH} bytes: use a shorter directory"
            )
        elif Path(path).exists() and not _is_listened_to(path):
            yield Finding(
                "warn", "sockets", f"{path} was left behind by a daemon that was killed; the next replaces it"
            )


def daemon(client: Client) -> tuple[bool, Finding]:
    """Whether a daemon answers."""
    try:
        body = client.call(Operations.status(), timeout_s=_ANSWER_S)
    except UnreachableError:
        return False, Finding("warn", "daemon", f"none answers at {client.link.requests}")
    except (DeniedError, TryAgainError) as error:
        return True, Finding("warn", "daemon", f"it is there, but says: {error}")
    except TunerError as error:
        return True, Finding("bad", "daemon", str(error))
    return True, Finding("ok", "daemon", f"tuner {body.tuner}, process {body.pid}, {len(body.campaigns)} campaigns")


def machines(campaigns: Sequence[Campaign], deadline_s: float) -> Iterator[Finding]:
    """Whether each machine answers; nothing is moved."""
    for campaign in campaigns:
        what = f"machine {campaign.machine}"
        said: list[str] = []
        try:
            check_campaigns([campaign], deadline_s, said.append)
        except TunerError as error:
            yield Finding("bad", what, str(error))
        else:
            yield Finding("ok", what, f"adapter {campaign.adapter.name}: {said[-1].strip()}")


def _is_listened_to(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_ANSWER_S)
        try:
            probe.connect(path)
        except OSError as error:
            return isinstance(error, PermissionError)
    return True
