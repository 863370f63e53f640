"""Events and journals for the tests of the journal."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tuner.journal import NewRow, Reply, canonical
from tuner.journal.tables import TRIGGERS

AT = "2026-03-01T08:00:00.000000Z"


def event(number: int, campaign: str = "kiln") -> NewRow:
    return NewRow(campaign, AT, "proposed", canonical({"number": number}), "ada")


def events(count: int, campaign: str = "kiln") -> list[NewRow]:
    return [event(number, campaign) for number in range(count)]


def answer(request_id: str, owner: str = "desk") -> Reply:
    return Reply(owner, request_id, "digest", '{"status":"done"}', AT)


@contextmanager
def tampering(path: Path) -> Iterator[sqlite3.Connection]:
    """Somebody with an SQLite shell who takes the triggers away and puts them back."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous=OFF")  # the tests have many of these and cut no power
        connection.execute("BEGIN")
        for name in TRIGGERS:
            connection.execute(f"DROP TRIGGER {name}")
        yield connection
        for sql in TRIGGERS.values():
            connection.execute(sql)
        connection.execute("COMMIT")
    finally:
        connection.close()
