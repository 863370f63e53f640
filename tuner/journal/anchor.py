"""Anchors: the heads of journal and security events, written outside of the host, so that a rewritten journal is found.

Whoever may write the state directory can write every hash anew. What lies elsewhere he cannot: an anchor names an event
by number and hash, and `check` finds a journal in which that event is another one, or missing. The seal is an HMAC with
a key that comes from the daemon's secret: it tells whoever has that secret that this daemon wrote the anchor. It is no
signature that strangers can check; what protects an anchor is its place.
"""

import hashlib
import hmac
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tuner.basics.files import append_to
from tuner.basics.sentences import say
from tuner.journal.chain import GENESIS, canonical
from tuner.journal.errors import DamagedError, explain_os

_PURPOSE = b"tuner anchor 1"


@dataclass(frozen=True, slots=True)
class Anchor:
    """The last event of the journal and of the security events at a time."""

    at: str
    seq: int
    head: str
    security_seq: int = 0
    security_head: str = GENESIS
    seal: str = ""


def sealed(anchor: Anchor, secret: str) -> Anchor:
    """An anchor with its seal."""
    return replace(anchor, seal=_seal(anchor, secret))


def write(path: Path, anchor: Anchor) -> None:
    """Add an anchor to a file, and wait for the disk.

    A line that was cut off before it, by a power cut or a full disk, is ended first: the file may only grow.
    """
    line = canonical(asdict(anchor)).encode() + b"\n"
    if _was_cut_off(path):
        line = b"\n" + line
    try:
        fd = append_to(path)
        try:
            while line:  # a disk that fills up takes a part, and refuses the rest
                line = line[os.write(fd, line) :]
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise explain_os(error, say("guard.writing_anchor", file=path)) from error


def read(path: Path) -> Iterator[Anchor]:
    """The anchors of a file: as the daemon wrote them, or as a receiver kept its messages, one a line.

    The beginning of an anchor is left out: a power cut or a full disk left it, and whoever may change this file could
    remove the whole line as well.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise explain_os(error, f"reading the anchors {path}") from error
    for number, line in enumerate(lines, 1):
        try:
            found = json.loads(line)
            one = Anchor(**found.get("anchor", found))
            good = isinstance(one.seq, int) and isinstance(one.security_seq, int) and isinstance(one.seal, str)
        except (ValueError, TypeError, AttributeError, RecursionError):
            good = False
            if _is_beginning(line):
                continue
        if not good:
            raise DamagedError(f"{path}: line {number} is no anchor")
        yield one


def check(anchor: Anchor, hash_of: Callable[[int], str | None], secret: str | None) -> str:
    """Say what is wrong with a journal by an anchor; nothing if all is right.

    `hash_of` tells the hash of an event by its number.
    """
    if secret is not None and not hmac.compare_digest(anchor.seal, _seal(anchor, secret)):
        return f"the anchor of {anchor.at} was not written by this daemon: its seal is wrong"
    if anchor.seq == 0:
        return ""
    found = hash_of(anchor.seq)
    if found is None:
        return f"event {anchor.seq}, which the anchor of {anchor.at} names, is missing: the journal was cut off"
    if found != anchor.head:
        return f"event {anchor.seq} is not the one that the anchor of {anchor.at} names: the journal was written anew"
    return ""


def _was_cut_off(path: Path) -> bool:
    """Whether the last line of a file has no end; not of a pipe, or a file that only takes and shows nothing."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return bool(file.seek(0, os.SEEK_END)) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n"
    except OSError:
        return False


def _is_beginning(line: bytes) -> bool:
    """Whether a line can be the beginning of an anchor, or of a message with one; their texts have no brackets."""
    return not line.strip() or (line.startswith(b"{") and line.count(b"{") > line.count(b"}"))


def _seal(anchor: Anchor, secret: str) -> str:
    key = hmac.digest(secret.encode(), _PURPOSE, hashlib.sha256)
    return hmac.new(key, canonical(asdict(replace(anchor, seal=""))).encode(), hashlib.sha256).hexdigest()
