"""A queue of several lines: what is urgent goes first, and yet nobody is left behind."""

import asyncio
from collections import deque
from typing import Generic, TypeVar

BATCH = 64
BESIDE = 8  # others that go with a batch of urgent ones

T = TypeVar("T")


class UrgentQueue(Generic[T]):
    """Lines by number; the first one is urgent."""

    def __init__(self, lines: int) -> None:
        self._lines: tuple[deque[T], ...] = tuple(deque() for _ in range(lines))
        self._filled = asyncio.Event()

    def waiting(self, line: int) -> int:
        """How many wait in a line."""
        return len(self._lines[line])

    def put(self, item: T, line: int) -> None:
        """Stand in line."""
        self._lines[line].append(item)
        self._filled.set()

    async def batch(self) -> list[T]:
        """The next ones, line by line; urgent ones bring but a few others along, so that these come too."""
        while not any(self._lines):
            self._filled.clear()
            await self._filled.wait()
        found: list[T] = []
        room = BATCH
        for number, line in enumerate(self._lines):
            taken = [line.popleft() for _ in range(min(room, len(line)))]
            found += taken
            room = BESIDE if number == 0 and taken else room - len(taken)
        return found
