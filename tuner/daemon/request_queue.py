"""Who is answered next, and who has too much open: limits for each key, turns by key, and a lane for what is urgent.

A key's requests wait in line by connection; keys take turns, and so do the connections of one key. So whoever floods
the daemon waits for himself. Urgent requests (hold, stop, abort, home, and the end of the daemon) never stand in a
line, and are counted apart: only a flood of urgent requests of the same key can have them refused.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

MOST_OPEN = 400  # requests of one key that wait or are being answered
CONNECTION_OPEN = 200  # of them on one connection
ALWAYS_OPEN = 4  # that a connection may have open, however many others of its key have
MOST_CONNECTIONS = 100  # of a key that have this right
URGENT_OPEN = 64  # urgent requests of one key
URGENT_CONNECTION_OPEN = 8
BYTES_OF_ONE = 4096  # a larger request counts as several

T = TypeVar("T")


@dataclass(slots=True)
class Bucket:
    """So many at once, and so many a second on the long run."""

    most: float
    per_s: float
    left: float = field(init=False)
    _at_s: float = 0.0

    def __post_init__(self) -> None:
        self.left = self.most

    def take(self, now_s: float, count: float = 1.0) -> bool:
        """Take some, if there are any; a debt is paid before the next."""
        self.left = min(self.most, self.left + max(0.0, now_s - self._at_s) * self.per_s)
        self._at_s = now_s
        if self.left <= 0:
            return False
        self.left -= count
        return True


@dataclass(frozen=True, slots=True)
class Pace:
    """How many requests a key may send: at once, and a second."""

    at_once: float
    per_s: float


NETWORK = Pace(1000, 500)
LOCAL = Pace(3000, 1000)  # all programs on the daemon's machine together
URGENT = Pace(400, 200)
URGENT_CONNECTION = Pace(20, 10)


@dataclass(slots=True)
class _Share(Generic[T]):
    """What one key has open, and what of it waits."""

    ordinary: Bucket
    urgent: Bucket
    open: Counter[bytes] = field(default_factory=Counter)
    urgent_open: Counter[bytes] = field(default_factory=Counter)
    urgent_buckets: OrderedDict[bytes, Bucket] = field(default_factory=OrderedDict)
    waiting: OrderedDict[bytes, deque[T]] = field(default_factory=OrderedDict)


class RequestQueue(Generic[T]):
    """The lines of all keys."""

    def __init__(self) -> None:
        self._shares: dict[str, _Share[T]] = {}
        self._turns: deque[str] = deque()
        self._filled = asyncio.Event()

    def affords(self, key: str, pace: Pace, now_s: float, size_bytes: int) -> bool:
        """Whether a key may send a request of this size now."""
        return self._share(key, pace).ordinary.take(now_s, 1 + size_bytes // BYTES_OF_ONE)

    def enter(self, key: str, client: bytes, item: T) -> bool:
        """Stand in line; False: the key has too much open. What has entered must be `done` some time."""
        share = self._shares[key]
        mine, all_of_key = share.open[client], share.open.total()
        if mine >= CONNECTION_OPEN or (
            all_of_key >= MOST_OPEN and (mine >= ALWAYS_OPEN or len(share.open) > MOST_CONNECTIONS)
        ):
            return False
        share.open[client] += 1
        if not share.waiting:
            self._turns.append(key)
        share.waiting.setdefault(client, deque()).append(item)
        self._filled.set()
        return True

    def enter_urgent(self, key: str, client: bytes, now_s: float) -> bool:
        """Pass by all lines; False: this key floods the urgent lane itself."""
        share = self._shares[key]
        bucket = share.urgent_buckets.setdefault(client, Bucket(URGENT_CONNECTION.at_once, URGENT_CONNECTION.per_s))
        while len(share.urgent_buckets) > MOST_CONNECTIONS:
            share.urgent_buckets.popitem(last=False)
        if share.urgent_open[client] >= URGENT_CONNECTION_OPEN or share.urgent_open.total() >= URGENT_OPEN:
            return False
        if not bucket.take(now_s) or not share.urgent.take(now_s):
            return False
        share.urgent_open[client] += 1
        return True

    def done(self, key: str, client: bytes, *, urgent: bool) -> None:
        """A request is answered."""
        share = self._shares[key]
        opened = share.urgent_open if urgent else share.open
        opened[client] -= 1
        if opened[client] <= 0:
            del opened[client]

    async def next(self) -> T:
        """Whose turn it is."""
        while not self._turns:
            self._filled.clear()
            await self._filled.wait()
        key = self._turns.popleft()
        waiting = self._shares[key].waiting
        client, line = waiting.popitem(last=False)
        item = line.popleft()
        if line:
            waiting[client] = line  # behind the key's other connections
        if waiting:
            self._turns.append(key)
        return item

    def _share(self, key: str, pace: Pace) -> "_Share[T]":
        if key not in self._shares:
            self._shares[key] = _Share(Bucket(pace.at_once, pace.per_s), Bucket(URGENT.at_once, URGENT.per_s))
        return self._shares[key]
