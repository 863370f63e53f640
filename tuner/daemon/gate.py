"""The only road to a machine: every setting is checked, split into allowed moves and read back; in doubt it is refused.

The answer is one of four: applied (sent and read back), refused (never sent, and trying again does not help), failed
(never sent, or the machine still has the setting it had), unverified (nobody knows what the machine has now).
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from tuner.adapter import AdapterError, Health, Value
from tuner.campaign.events import SettingMap
from tuner.campaign.terms import Terms
from tuner.daemon.plan import GateRefusal, Move, checked, differences, plan, read_back_problem
from tuner.text import listed


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of sending a setting."""

    result: Literal["applied", "refused", "failed", "unverified"]
    text: str = ""
    read_back: SettingMap | None = None


class Link(Protocol):
    """A machine as the gate sees it; errors are AdapterErrors."""

    async def health(self) -> Health:
        """Ask how it is."""

    async def read_back(self) -> dict[str, Value]:
        """Ask which setting it has."""

    async def apply(self, setting: Mapping[str, Value]) -> None:
        """Send it a setting."""

    async def go_to(self, setting: Mapping[str, Value]) -> None:
        """Send it home; it may have a special way."""


class Gate:
    """Sends settings to one machine.

    Args:
        link: The machine.
        wait: Waits some seconds; passed in so that tests need not.
        progress: Told what happens.
    """

    def __init__(
        self, link: Link, wait: Callable[[float], Awaitable[object]], progress: Callable[[str, float | None], None]
    ) -> None:
        self._link = link
        self._wait = wait
        self._progress = progress

    async def send(
        self, terms: Terms, setting: Mapping[str, object], *, dry_run: bool = False, home: bool = False
    ) -> Answer:
        """Bring the machine to a setting, or say why not; `home` takes the machine's own way for the last move."""
        try:
            target = checked(terms, setting)
            problem = await self._not_ready()
            if problem is not None:
                return Answer("refused", problem)
            have = await self._link.read_back()
            moves = await asyncio.to_thread(plan, terms, have, target)  # a slow ramp has thousands of moves
        except GateRefusal as refusal:
            return Answer("refused", str(refusal))
        except AdapterError as error:
            return Answer("failed" if error.retry else "refused", str(error))
        if dry_run:
            return Answer("applied", "dry run: nothing was sent", _plain(have))
        return await self._go(terms, have, target, moves, home=home)

    async def changed(self, terms: Terms, setting: SettingMap) -> str | None:
        """Why a part made now would not be one of this setting, or None.

        Raises:
            AdapterError: The machine does not say which setting it has.
        """
        have = await self._link.read_back()
        problem = read_back_problem(terms, have)
        return problem or listed(differences(terms, setting, have)) or None

    async def interlocked(self) -> str | None:
        """Which interlocks forbid to go on, or None; a machine that is busy may go on.

        Raises:
            AdapterError: The machine does not say.
        """
        return _open_ones(await self._link.health())

    async def _not_ready(self) -> str | None:
        health = await self._link.health()
        if not health.ok:
            return f"the machine is not ready: {health.text or 'no reason given'}"
        return _open_ones(health)

    async def _go(self, terms: Terms, have: SettingMap, target: SettingMap, moves: list[Move], *, home: bool) -> Answer:
        before = have
        for place, move in enumerate(moves):
            self._progress(f"move {place + 1} of {len(moves)}", place / len(moves))
            if move.wait_s:  # before it: the move that came last, perhaps that of another setting, needs its time too
                await self._wait(move.wait_s)
            apply = self._link.go_to if home and place + 1 == len(moves) else self._link.apply
            answer = await self._move(terms, before, move, apply)
            if answer is not None:
                return answer
            before = move.setting
        try:
            have = await self._link.read_back()
        except AdapterError as error:
            return Answer("unverified", f"sent, but it could not be read back: {error}")
        wrong = [problem] if (problem := read_back_problem(terms, have)) else differences(terms, target, have)
        if wrong:
            return Answer("unverified", f"sent, but read back {listed(wrong)}", _plain(have))
        return Answer("applied", "", have)

    async def _move(
        self, terms: Terms, before: SettingMap, move: Move, apply: Callable[[SettingMap], Awaitable[None]]
    ) -> Answer | None:
        """One move; None if the machine took it."""
        try:
            await apply(move.setting)
        except AdapterError as error:
            return await self._after_error(terms, before, error)
        return None

    async def _after_error(self, terms: Terms, before: SettingMap, error: AdapterError) -> Answer:
        """A move went wrong: only the machine itself can say whether it arrived."""
        try:
            have = await self._link.read_back()
        except AdapterError:
            return Answer("unverified", f"{error}; the machine does not say what it has now")
        same = not have if not before else not (read_back_problem(terms, have) or differences(terms, before, have))
        if not same:
            return Answer("unverified", f"{error}; the machine has changed", _plain(have))
        return Answer("failed" if error.retry else "refused", str(error), _plain(have))


def _open_ones(health: Health) -> str | None:
    found = sorted(name for name, holds in health.interlocks.items() if holds is not True)
    return f"interlocks do not hold: {listed(found)}" if found else None


def _plain(have: Mapping[str, object]) -> SettingMap | None:
    """What was read back, if it can be written down."""
    good = {
        name: value
        for name, value in have.items()
        if isinstance(value, str) or (isinstance(value, int | float) and math.isfinite(value))
    }
    return good or None
