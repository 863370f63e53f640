"""The only road to a machine: every setting is checked, split into allowed moves and read back; in doubt it is refused.

The answer is one of four: applied (sent and read back), refused (never sent, and trying again does not help), failed
(never sent, or the machine still has the setting it had), unverified (nobody knows what the machine has now).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from tuner.adapter import AdapterError, Health, Value
from tuner.basics.text import listed
from tuner.campaign.events import SettingMap
from tuner.campaign.terms import Terms
from tuner.core.space.values import finite
from tuner.gate.plan import GateRefusal, Move, checked, differences, read_back_problem, too_wide, way
from tuner.gate.whereabouts import Whereabouts

LOOK_AGAIN_S = (0.05, 0.1, 0.2)  # between the looks at a machine that does not say what it should


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


@dataclass(frozen=True, slots=True)
class Gate:
    """Sends settings to one machine; whoever makes a gate for every setting keeps what is known of where it is."""

    _link: Link
    _wait: Callable[[float], Awaitable[object]]
    _progress: Callable[[str, float | None], None]
    _where: Whereabouts = field(default_factory=Whereabouts)

    async def send(
        self, terms: Terms, setting: Mapping[str, object], *, dry_run: bool = False, home: bool = False
    ) -> Answer:
        """Bring the machine to a setting, or say why not; `home` takes the machine's own way for the last move."""
        where = Whereabouts() if dry_run else self._where  # in a dry run people move the machine
        try:
            target = checked(terms, setting)
            problem = await self._not_ready()
            if problem is not None:
                return Answer("refused", problem)
            have = await self._located(terms, where)
            if isinstance(have, Answer):
                return have
            # a slow ramp has thousands of moves
            moves = await asyncio.to_thread(way, terms, where.since, target)
        except GateRefusal as refusal:
            return Answer("refused", str(refusal))
        except AdapterError as error:
            return Answer("failed" if error.retry else "refused", str(error))
        if dry_run:
            return Answer("applied", "dry run: nothing was sent", _plain(have))
        for place, move in enumerate(moves):
            self._progress(f"move {place + 1} of {len(moves)}", place / len(moves))
            found = await self._moved(terms, move, self._link.go_to if home and move is moves[-1] else self._link.apply)
            if isinstance(found, Answer):
                return found
            have = found
        return Answer("applied", "", have)

    async def changed(self, terms: Terms, setting: SettingMap) -> str | None:
        """Why a part made now would not be one of this setting, or None."""
        have = await self._located(terms, self._where)
        if isinstance(have, Answer):
            return have.text
        problem = read_back_problem(terms, have)
        return problem or listed(differences(terms, setting, have)) or None

    async def interlocked(self) -> str | None:
        """Which interlocks forbid to go on, or None; a machine that is busy may go on."""
        return _open_ones(await self._link.health())

    async def _not_ready(self) -> str | None:
        health = await self._link.health()
        if not health.ok:
            return f"the machine is not ready: {health.text or 'no reason given'}"
        return _open_ones(health)

    async def _located(self, terms: Terms, where: Whereabouts) -> SettingMap | Answer:
        """What the machine has, if that can be; it is asked again where it can not.

        One that must be where it was left is believed when it says so; any other one when it says the same twice.
        """
        before: SettingMap | None = None
        async for have in self._looks():
            where.seen()
            doubt = where.doubt(terms, have) if where.since else None
            if where.ours and doubt is None:
                return have
            problem = read_back_problem(terms, have) if have else None
            if problem is None and before is not None and _same(terms, before, have) and not where.trusts(terms):
                where.found(have, new=doubt is not None or not where.since or too_wide(terms, where.since))
                return have
            before = have if problem is None else None
        if where.trusts(terms):
            text = f"the machine says what cannot be: {doubt}; look at it, then resume or send it home"
            return Answer("unverified", text, _plain(have))
        if problem is not None:
            return Answer("refused", problem, _plain(have))
        return Answer("failed", "the machine says one setting now and another one a moment later", _plain(have))

    async def _looks(self) -> AsyncIterator[SettingMap]:
        """What the machine says, again and again for a little while: some take a moment, some are wrong for one."""
        for pause_s in (0.0, *LOOK_AGAIN_S):
            if pause_s:
                await self._wait(pause_s)
            yield await self._link.read_back()

    async def _moved(
        self, terms: Terms, move: Move, apply: Callable[[SettingMap], Awaitable[None]]
    ) -> SettingMap | Answer:
        """One move: what the machine has after it, or why it is not known to have taken it."""
        where = self._where
        left_s = where.left_s(move.wait_s)  # since the move that came last, perhaps that of another setting
        if left_s:
            await self._wait(left_s)
        before = where.since
        where.begin(move.setting)
        try:
            await apply(move.setting)
        except AdapterError as error:
            where.end()
            return await self._after_error(terms, before, error)
        where.end()
        try:
            async for have in self._looks():
                problem = read_back_problem(terms, have)
                wrong = [problem] if problem else differences(terms, move.setting, have)
                if not wrong:
                    where.believe(move.setting)
                    return have
        except AdapterError as error:
            return Answer("unverified", f"sent, but it could not be read back: {error}")
        return Answer("unverified", f"sent, but read back {listed(wrong)}", _plain(have))

    async def _after_error(self, terms: Terms, before: Sequence[SettingMap], error: AdapterError) -> Answer:
        """A move went wrong: only the machine itself can say whether it arrived."""
        try:
            have = await self._link.read_back()
        except AdapterError:
            return Answer("unverified", f"{error}; the machine does not say what it has now")
        if not before:
            same = not have
        else:
            same = not read_back_problem(terms, have) and any(not differences(terms, one, have) for one in before)
        if not same:
            return Answer("unverified", f"{error}; the machine has changed", _plain(have))
        return Answer("failed" if error.retry else "refused", str(error), _plain(have))


def _same(terms: Terms, one: SettingMap, other: SettingMap) -> bool:
    return not other if not one else bool(other) and not differences(terms, one, other)


def _open_ones(health: Health) -> str | None:
    found = sorted(name for name, holds in health.interlocks.items() if holds is not True)
    return f"interlocks do not hold: {listed(found)}" if found else None


def _plain(have: Mapping[str, object]) -> SettingMap | None:
    """What was read back, if it can be written down."""
    good = {
        name: value
        for name, value in have.items()
        if isinstance(value, str) or (isinstance(value, int | float) and finite(value) is not None)
    }
    return good or None
