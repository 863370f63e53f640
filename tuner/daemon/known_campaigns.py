"""The campaigns that the journal knows: states in memory, an index of those that are over, and those set aside."""

import contextlib
import logging
from collections.abc import Callable
from datetime import datetime

from tuner.basics.sentences import say
from tuner.basics.vocabulary import ENDED
from tuner.campaign.automatic import automatic
from tuner.campaign.decide import Refusal
from tuner.campaign.effects import wanted
from tuner.campaign.evolve import HistoryError
from tuner.campaign.state import State
from tuner.daemon.journal_thread import JournalThread, load_index, load_state, save_index, save_state
from tuner.errors import TryAgainError
from tuner.journal.errors import JournalError

SNAPSHOT_EVERY = 200
TELL_EVERY = 200  # campaigns that were read at a start: a start that is broken off goes on from there

log = logging.getLogger(__name__)


class KnownCampaigns:
    """Campaigns by name; what is over is read from the journal when somebody speaks of it.

    Attributes:
        states: Those in memory; only the engine changes them.
        set_aside: Those that cannot be read, and why.
    """

    def __init__(self, archive: JournalThread, clock: Callable[[], datetime]) -> None:
        self._archive = archive
        self._clock = clock
        self._kept: dict[str, int] = {}
        self._ended: dict[str, int] = {}
        self.states: dict[str, State] = {}
        self.set_aside: dict[str, str] = {}

    async def load(self, told: Callable[[int, int], None] = lambda done, of: None) -> None:
        """Read the states of all campaigns that are not over; `told` hears now and then how far it is.

        Where nobody has kept an index of what is over, everything is read: minutes, with millions of events.
        """
        self._ended = await self._archive.call(load_index)
        rows = await self._archive.call(lambda store: store.campaigns())
        names = [row.name for row in rows if self._ended.get(row.name) != row.last_seq]
        for done, name in enumerate(names):
            if done and done % TELL_EVERY == 0:
                await self._archive.call(lambda store: save_index(store, self._ended))
                told(done, len(names))
            state = await self._read(name)
            if state is None:
                continue
            if _over(state):  # without a snapshot: it is small, and nobody may ever ask for it
                self._ended[name] = state.seq
            else:
                self.states[name] = state
        if names:
            await self._archive.call(lambda store: save_index(store, self._ended))

    async def _read(self, name: str) -> State | None:
        """A campaign's state from the journal; one that cannot be read is set aside, for the others must go on."""
        try:
            state = await self._archive.call(lambda store: load_state(store, name))
            if state is not None:  # whoever looks at it must be able to
                wanted(state), automatic(state, self._clock()), state.champion
        except JournalError:
            raise
        except Exception as error:
            known = isinstance(error, HistoryError)
            defect = say("fault.defect", error=f"{type(error).__name__}: {error}")
            why = self.set_aside[name] = str(error) if known else defect
            log.error("%s is set aside, because it cannot be read: %s", name, why, exc_info=not known)  # noqa: TRY400
            return None
        return state

    async def find(self, name: str) -> State | None:
        """A campaign's state; one that is over is read from the journal."""
        state = self.states.get(name)
        if state is None and name in self._ended:
            state = await self._read(name)
        self.refuse_unreadable(name)
        return state

    def refuse_unreadable(self, name: str) -> None:
        """Refuse a campaign that was set aside."""
        if name in self.set_aside:
            raise Refusal("unreadable", say("daemon.set_aside", name=name, why=self.set_aside[name]))

    def names(self) -> set[str]:
        """All of them."""
        return {*self.states, *self._ended, *self.set_aside}

    def over(self) -> int:
        """How many campaigns are over and not in memory."""
        return len(self._ended.keys() - self.states.keys() - self.set_aside.keys())

    async def remember(self, names: set[str]) -> None:
        """Read campaigns that are over but spoken of."""
        for name in names & self._ended.keys() - self.states.keys() - self.set_aside.keys():
            state = await self._read(name)
            if state is not None:
                self.states[name] = state

    async def keep(self, states: dict[str, State]) -> None:
        """Write snapshots now and then, and note campaigns that are over; without room there will be another time."""
        with contextlib.suppress(TryAgainError):
            await self._write_snapshots(states)

    async def _write_snapshots(self, states: dict[str, State]) -> None:
        ended = False
        for name, state in states.items():
            over = _over(state)
            if over or state.count - self._kept.get(name, 0) >= SNAPSHOT_EVERY:
                await self._archive.call(lambda store, state=state: save_state(store, state))  # type: ignore[misc]
                self._kept[name] = state.count
            if over and self._ended.get(name) != state.seq:
                self._ended[name] = state.seq
                ended = True
        if ended:
            await self._archive.call(lambda store: save_index(store, self._ended))

    async def close(self) -> None:
        """Keep snapshots, so that the next start is quick; if that is not possible it is only slower."""
        with contextlib.suppress(JournalError):
            for state in self.states.values():
                await self._archive.call(lambda store, state=state: save_state(store, state))  # type: ignore[misc]
            await self._archive.call(lambda store: save_index(store, self._ended))


def _over(state: State) -> bool:
    """Whether nothing more is to be done for a campaign."""
    stuck = state.machine.home_failed is not None  # people must go on seeing this
    return state.mode in ENDED and state.trial is None and wanted(state) is None and not stuck
