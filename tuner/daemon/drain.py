"""How the daemon ends: parts are finished, machines go home, and where the journal cannot say so the log does."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tuner.basics.sentences import say
from tuner.basics.text import listed
from tuner.campaign import commands as c
from tuner.campaign.state import Stage, State
from tuner.daemon.engine import Engine
from tuner.daemon.runner import CampaignRunner
from tuner.daemon.service_manager import Notifier

PARK_S = 10.0  # how long the journal may take for its last words
_EXTEND_S = 30.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Drain:
    """The way out; `hurry` is set when somebody does not want to wait any longer."""

    _engine: Engine
    _runners: Mapping[str, CampaignRunner]
    _notifier: Notifier
    _changed: asyncio.Event
    _hurry: asyncio.Event

    async def run(self, drain_s: float) -> None:
        """Finish parts under way, bring machines home; campaigns go on when the daemon is back."""
        self._engine.stopping = True
        for runner in self._runners.values():
            runner.drain()
        await self._until(_no_part_under_way, "a part is being made", drain_s)
        for name in self._waiting(_no_part_under_way):
            log.warning("%s: the part under way is given up after %g s", name, drain_s)
            self._runners[name].give_up_part()
        unwritten = [name for name in self._runners if not await self._park(name)]
        await asyncio.gather(*(self._runners[name].rescue() for name in unwritten))
        await self._until(_home_or_not, "a machine goes home", None, set(unwritten))
        for name in self._runners.keys() - set(unwritten):
            state = self._engine.states[name]
            if state.machine.requested is not None and not state.machine.home:
                machine = state.machine
                why = machine.home_failed or ("it was let go" if machine.home_wanted is None else "no time was left")
                log.error("%s: the machine is NOT at its known-good setting: %s", name, why)

    async def rescue(self) -> None:
        """The journal has failed: bring all machines home without it."""
        await asyncio.gather(*(runner.rescue() for runner in self._runners.values()))

    async def _park(self, name: str) -> bool:
        """Write down that the machine is to go home; False if the journal does not take it."""
        post = asyncio.ensure_future(self._engine.post(name, c.Park(reason=say("daemon.stops"))))
        done, _ = await asyncio.wait({post}, timeout=PARK_S)
        return bool(done)

    def _waiting(self, ready: Callable[[State], bool], but: frozenset[str] | set[str] = frozenset()) -> list[str]:
        return [name for name in self._runners if name not in but and not ready(self._engine.states[name])]

    async def _until(
        self,
        ready: Callable[[State], bool],
        what: str,
        timeout_s: float | None,
        but: frozenset[str] | set[str] = frozenset(),
    ) -> None:
        """Wait until all campaigns are ready, as long as there is time and patience."""
        loop = asyncio.get_running_loop()
        end_s = None if timeout_s is None else loop.time() + timeout_s
        told = False
        while (waiting := self._waiting(ready, but)) and not self._hurry.is_set():
            left_s = _EXTEND_S if end_s is None else end_s - loop.time()
            if left_s <= 0:
                return
            if not told:
                log.info("waiting for %s: %s; a second signal ends it at once", listed(waiting), what)
                told = True
            self._notifier.extend(_EXTEND_S)
            self._changed.clear()
            events = [asyncio.create_task(event.wait()) for event in (self._changed, self._hurry)]
            await asyncio.wait(events, timeout=min(left_s, _EXTEND_S / 3), return_when=asyncio.FIRST_COMPLETED)
            for event in events:
                event.cancel()


def _home_or_not(state: State) -> bool:
    """Whether the machine is home, or is known not to come in time: nobody waits for ever for the daemon's end."""
    return state.machine.home_wanted is None or state.machine.home_failed is not None


def _no_part_under_way(state: State) -> bool:
    """In a dry run a person makes the part, and nobody waits for a person here."""
    return state.trial is None or state.trial.stage is not Stage.RUNNING or state.terms.policy.dry_run
