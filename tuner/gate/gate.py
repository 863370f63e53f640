"""The only road to a machine: every setting is checked, split into allowed moves and read back; in doubt it is refused.

The answer is one of four: applied (sent and read back), refused (never sent, and trying again does not help), failed
(never sent, or the machine still has the setting it had), unverified (nobody knows what the machine has now). Where it
says what is waited for, the same setting may be sent again: the next way begins wherever the machine may be by then.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Literal, Protocol

from tuner.adapter import AdapterError, Health, NotReadyError, Value
from tuner.basics.sentences import NOTHING, Sentence, listing, say
from tuner.campaign.events import SettingMap
from tuner.campaign.terms import Terms
from tuner.core.space.values import finite
from tuner.gate.patience import NOTHING_S, Awaited, Wait
from tuner.gate.plan import GateRefusal, Move, checked, differences, read_back_problem, too_wide, way
from tuner.gate.whereabouts import Whereabouts

LOOK_AGAIN_S = (0.05, 0.1, 0.2)  # between the first looks at a machine that does not say what it should
LOOK_EVERY_S = 0.5  # between those after them


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of sending a setting; `awaited` is what would have to be otherwise for it to be sent, if time helps."""

    result: Literal["applied", "refused", "failed", "unverified"]
    text: Sentence = NOTHING
    read_back: SettingMap | None = None
    awaited: Awaited | None = None


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
    _progress: Callable[[Sentence, float | None], None]
    _where: Whereabouts = field(default_factory=Whereabouts)
    _waits: Callable[[Wait | None], None] = lambda wait: None

    async def send(
        self, terms: Terms, setting: Mapping[str, object], *, dry_run: bool = False, home: bool = False
    ) -> Answer:
        """Bring the machine to a setting, or say why not; `home` takes the machine's own way for the last move."""
        where = Whereabouts(self._where.clock) if dry_run else self._where  # in a dry run people move the machine
        try:
            target = checked(terms, setting)
            problem = await self._not_ready()
            if problem is not None:
                return Answer("refused", problem, awaited="ready")
            have = await self._located(terms, where)
            if isinstance(have, Answer):
                return have
            # a slow ramp has thousands of moves
            moves = await asyncio.to_thread(way, terms, where.since, target)
        except GateRefusal as refusal:
            return Answer("refused", Sentence.of(str(refusal)))
        except AdapterError as error:
            return Answer(
                "failed" if error.retry else "refused", Sentence.of(str(error)), awaited=await self.awaited(error)
            )
        if dry_run:
            return Answer("applied", say("gate.dry_run"), _plain(have))
        for place, move in enumerate(moves):
            self._progress(say("news.move", number=place + 1, moves=len(moves)), place / len(moves))
            found = await self._moved(terms, move, self._link.go_to if home and move is moves[-1] else self._link.apply)
            if isinstance(found, Answer):
                return found
            self._waits(None)
            have = found
        return Answer("applied", read_back=have)

    async def changed(self, terms: Terms, setting: SettingMap) -> Sentence | None:
        """Why a part made now would not be one of this setting, or None."""
        have = await self._located(terms, self._where)
        if isinstance(have, Answer):
            return have.text
        problem = read_back_problem(terms, have)
        wrong = differences(terms, setting, have)
        return problem or (say("list.quoted", parts=wrong) if wrong else None)

    async def interlocked(self) -> Sentence | None:
        """Which interlocks forbid to go on, or None; a machine that is busy may go on."""
        return _open_ones(await self._link.health())

    async def awaited(self, error: AdapterError) -> Awaited | None:
        """What would have to be otherwise after an error; None if time does not help."""
        if isinstance(error, NotReadyError):
            return "ready"
        if error.retry:
            return "link"
        try:  # a machine that is not ready refuses what it will take later
            return None if await self._not_ready() is None else "ready"
        except AdapterError as another:
            return "link" if another.retry else None

    async def _not_ready(self) -> Sentence | None:
        health = await self._link.health()
        if not health.ok:
            return Sentence.of(health.text or say("gate.not_ready"))
        return _open_ones(health)

    async def _located(self, terms: Terms, where: Whereabouts) -> SettingMap | Answer:
        """What the machine has, if that can be; it is asked again where it can not.

        One that must be where it was left is believed when it says so; any other one when it says the same twice.
        """
        before: SettingMap | None = None
        async for have, so_far_s in self._looks(terms):
            where.seen()
            doubt = where.doubt(terms, have) if where.since else None
            if where.ours and doubt is None:
                return have
            problem = read_back_problem(terms, have) if have else None
            if problem is None and before is not None and _same(terms, before, have) and not where.trusts(terms):
                where.found(have, new=doubt is not None or not where.since or too_wide(terms, where.since))
                return have
            before = have if problem is None else None
            self._note(terms, so_far_s, doubt or problem or say("gate.wavers"))
        if where.trusts(terms):
            text = say("gate.cannot_be", doubt=doubt)
            return Answer("unverified", text, _plain(have))
        if problem is not None:
            return Answer("refused", problem, _plain(have))
        return Answer("failed", say("gate.machine_wavers"), _plain(have), awaited="link")

    async def _looks(self, terms: Terms) -> AsyncIterator[tuple[SettingMap, float]]:
        """What the machine says, again and again for `verify_s`: some take a while, some are wrong for a moment."""
        limit_s, clock = terms.policy.waiting.verify_s, self._where.clock
        begin_s = clock()
        yield await self._link.read_back(), 0.0
        for pause_s in chain(LOOK_AGAIN_S, repeat(LOOK_EVERY_S)):
            left_s = begin_s + limit_s - clock()
            if left_s < NOTHING_S:
                return
            await self._wait(min(pause_s, left_s))
            yield await self._link.read_back(), clock() - begin_s

    def _note(self, terms: Terms, so_far_s: float, text: Sentence) -> None:
        """Tell why a machine is looked at again, unless that was only a moment."""
        if so_far_s > sum(LOOK_AGAIN_S):
            self._waits(Wait("verify", text, so_far_s, terms.policy.waiting.verify_s))

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
            if not error.retry:  # else it may still be on its way, until the machine answers again
                where.end()
            return await self._after_error(terms, before, error)
        where.end()
        try:
            async for have, so_far_s in self._looks(terms):
                problem = read_back_problem(terms, have)
                wrong = [problem] if problem else differences(terms, move.setting, have)
                if not wrong:
                    where.believe(move.setting)
                    return have
                self._note(terms, so_far_s, listing(wrong))
        except AdapterError as error:
            text = say("gate.not_read_back", why=str(error))
            return Answer("unverified", text, awaited=await self.awaited(error))
        return Answer("unverified", say("gate.read_back", what=wrong), _plain(have))

    async def _after_error(self, terms: Terms, before: Sequence[SettingMap], error: AdapterError) -> Answer:
        """A move went wrong: only the machine itself can say whether it arrived."""
        awaited = await self.awaited(error)
        try:
            have = await self._link.read_back()
        except AdapterError:
            return Answer("unverified", say("gate.silent_after", why=str(error)), awaited=awaited)
        if not before:
            same = not have
        else:
            same = not read_back_problem(terms, have) and any(not differences(terms, one, have) for one in before)
        if not same:
            return Answer("unverified", say("gate.changed_after", why=str(error)), _plain(have), awaited=awaited)
        return Answer("failed" if error.retry else "refused", Sentence.of(str(error)), _plain(have), awaited=awaited)


def _same(terms: Terms, one: SettingMap, other: SettingMap) -> bool:
    return not other if not one else bool(other) and not differences(terms, one, other)


def _open_ones(health: Health) -> Sentence | None:
    found = sorted(name for name, holds in health.interlocks.items() if holds is not True)
    if not found:
        return None
    # the names first: a line of a terminal may be too short for the rest
    return say("gate.interlock" if len(found) == 1 else "gate.interlocks", names=found)


def _plain(have: Mapping[str, object]) -> SettingMap | None:
    """What was read back, if it can be written down."""
    good = {
        name: value
        for name, value in have.items()
        if isinstance(value, str) or (isinstance(value, int | float) and finite(value) is not None)
    }
    return good or None
