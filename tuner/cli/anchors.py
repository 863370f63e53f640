"""Compares a journal and the security events beside it with the anchors that the daemon wrote elsewhere."""

from pathlib import Path

from tuner.basics.text import counted
from tuner.errors import TunerError
from tuner.journal import anchor as anchors
from tuner.journal import security
from tuner.journal.chain import GENESIS
from tuner.journal.store import Store
from tuner.wire.key_ring import KeyRing


def check_anchors(journal: Path, file: Path) -> str:
    """What is right about them, in a sentence.

    Raises:
        TunerError: An anchor names another event than the journal or the security events have.
    """
    kept = list(anchors.read(file))
    if not kept:
        raise TunerError(f"{file} has no anchor yet: the daemon writes one every anchor_minutes, and when it stops")
    secret = _secret(journal.parent)
    with Store.open_reading(journal) as store:
        for one in kept:
            fault = anchors.check(one, lambda seq: _hash_of(store, seq), secret)
            if fault:
                raise TunerError(f"{journal}: {fault}")
    events = journal.with_name(security.FILE_NAME)
    hashes = {one.seq: one.hash for one in security.read(events)} if events.exists() else {}
    for one in kept:
        if one.security_head not in (hashes.get(one.security_seq), GENESIS):
            raise TunerError(
                f"{events}: event {one.security_seq} is not the one that the anchor of {one.at} names: security events "
                "were removed or written anew"
            )
    seals = "" if secret is not None else "; their seals were not checked, because the daemon's secret cannot be read"
    return f"{file}: ok: {counted(len(kept), 'anchor')}, the last of {kept[-1].at}{seals}"


def _hash_of(store: Store, seq: int) -> str | None:
    return next((row.hash for row in store.rows(after=seq - 1, limit=1) if row.seq == seq), None)


def _secret(directory: Path) -> str | None:
    try:
        return KeyRing.open(directory, create=False).server.secret.get_secret_value()
    except TunerError:
        return None
