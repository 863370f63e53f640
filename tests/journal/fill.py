"""Fill a journal with made-up events, for tests and measurements with many of them."""

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from tuner.journal.chain import canonical
from tuner.journal.records import NewRow
from tuner.journal.store import Store

Body = Callable[[int, int], str]

_TYPES = ("proposed", "approved", "applied", "ran", "asked", "judged")
_BATCH = 20_000  # events in one transaction
_SIDE_BY_SIDE = 20  # campaigns that run at the same time, so that their events are mixed
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
_SETTINGS, _NOTES = 997, 499  # different ones; without a common factor, so that few bodies are alike
_SHORTEST_NOTE, _LONGEST_NOTE = 40, 150


def fill(path: Path, campaigns: int, events_each: int, body: Body | None = None) -> tuple[int, str]:
    """Append events to a journal, new or old, and return its head.

    Args:
        path: the journal's file.
        campaigns: how many campaigns; their names are "campaign 0001" and so on.
        events_each: how many events each has.
        body: makes the JSON text of an event from the numbers of its campaign and of the event in it, from 0; by
            default of 150 to 600 bytes.
    """
    with Store.open(path) as store:
        rows = _rows(campaigns, events_each, body or bodies(random.Random(0)))  # noqa: S311 - made-up data
        while batch := list(islice(rows, _BATCH)):
            store.append(batch)
        return store.head


def bodies(rng: random.Random) -> Body:
    """Return a maker of bodies like those of real events: numbers, a setting of some parameters and a note."""
    settings = [
        canonical({f"parameter_{number}": rng.random() for number in range(rng.randint(2, 12))})
        for _ in range(_SETTINGS)
    ]
    notes = ["x" * rng.randint(0, _LONGEST_NOTE) for _ in range(_NOTES)]

    def body(campaign: int, event: int) -> str:
        number = 31 * campaign + event
        note, setting = notes[number % _NOTES], settings[number % _SETTINGS]
        # keys in their order: this is the text that `canonical` would make, ten times as fast
        return f'{{"campaign":{campaign},"note":"{note:<{_SHORTEST_NOTE}}","setting":{setting},"trial":{event}}}'

    return body


def _rows(campaigns: int, events_each: int, body: Body) -> Iterator[NewRow]:
    count = 0
    for first in range(0, campaigns, _SIDE_BY_SIDE):
        for event in range(events_each):
            for campaign in range(first, min(first + _SIDE_BY_SIDE, campaigns)):
                at = (_FIRST + timedelta(seconds=count)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
                type_ = _TYPES[event % len(_TYPES)]
                yield NewRow(f"campaign {campaign + 1:04}", at, type_, body(campaign, event), "bench")
                count += 1
