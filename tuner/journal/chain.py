"""The hash chain: each event's hash covers the event and the hash before it, in an encoding with one meaning only."""

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator

from tuner.journal.records import NewRow, Row

GENESIS = "0" * 64  # stands for the hash before the first event


def link(before: bytes, seq: int, campaign: bytes, at: bytes, type_: bytes, body: bytes, actor: bytes) -> str:
    """Return the hash of a row; texts are given as the UTF-8 bytes that are stored."""
    return chained(before, b"%d" % seq, campaign, at, type_, body, actor)


def chained(*parts: bytes) -> str:
    """Return the hash of parts: lengths first, then the bytes, so that no two different rows have the same encoding."""
    return hashlib.sha256(b"".join((struct.pack(f">{len(parts)}Q", *map(len, parts)), *parts))).hexdigest()


def extend(head: tuple[int, str], rows: Iterable[NewRow]) -> Iterator[Row]:
    """Number and hash new rows after `head`, the last seq and hash."""
    seq, hash_ = head
    for row in rows:
        seq += 1
        texts = (text.encode() for text in (row.campaign, row.at, row.type, row.body, row.actor))
        hash_ = link(hash_.encode(), seq, *texts)
        yield Row(seq, row.campaign, row.at, row.type, row.body, row.actor, hash_)


def canonical(value: object) -> str:
    """Return the one JSON text of a value: sorted keys, no blanks, no NaN or infinity (ValueError)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(*texts: str) -> str:
    """Return the SHA-256 of texts, in hex; ("ab", "c") and ("a", "bc") differ."""
    hasher = hashlib.sha256()
    for text in texts:
        encoded = text.encode()
        hasher.update(len(encoded).to_bytes(8, "big"))
        hasher.update(encoded)
    return hasher.hexdigest()
