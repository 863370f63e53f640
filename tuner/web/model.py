"""What the model says, asked once for all browsers: it takes seconds, and the page is there at once."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuner.errors import TunerError
from tuner.wire.aio import AsyncClient
from tuner.wire.messages import AlarmView, ChampionBody, EventMessage, TrialsPage
from tuner.wire.model_answers import Explanation, Maps, Recommendation, Slices

MOST_TRIALS = 500
AGAIN_S = 5.0


@dataclass(slots=True)
class Known:
    """The model's answers about a campaign after one of its events, as far as they are there."""

    n: int = -1
    trials: TrialsPage | None = None
    champion: ChampionBody | None = None
    explained: Explanation | None = None
    recommended: Recommendation | None = None
    slices: Slices | None = None
    maps: Maps | None = None
    stops: tuple[EventMessage, ...] = ()
    alarms: Sequence[AlarmView] = ()
    told: int = 0
    failed: str = ""
    asking: bool = False
    again_s: float = 0.0  # after a failure it is asked again, but not at every look


class ModelAnswers:
    """Asks when somebody looks, not more often than the campaign changes, and tells when there is more to see."""

    def __init__(self, client: AsyncClient, changed: Callable[[], None]) -> None:
        self._client = client
        self._changed = changed
        self._known: dict[str, Known] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def about(self, name: str, n: int) -> Known:
        """What is known; the rest is asked for beside. Older answers are shown until there are new ones."""
        known = self._known.setdefault(name, Known())
        if known.n != n and not known.asking and time.monotonic() >= known.again_s:
            known.asking = True
            task = asyncio.create_task(self._ask(name, n, known))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return known

    def told(self, name: str) -> int:
        """How often something new about a campaign has come."""
        return self._known[name].told if name in self._known else 0

    def _tell(self, known: Known) -> None:
        known.told += 1
        self._changed()

    async def _ask(self, name: str, n: int, known: Known) -> None:
        try:
            known.trials = await self._client.trials(name, limit=MOST_TRIALS)
            known.champion = await self._client.champion(name)
            known.alarms = (await self._client.alarms(name)).alarms
            events = (await self._client.history(name, limit=MOST_TRIALS)).events
            known.stops = tuple(event for event in events if _stops(event))
            self._tell(known)
            if known.champion.champion is not None:
                known.explained = await self._client.explanation(name)
                self._tell(known)
                known.recommended = await self._client.recommendation(name)
                known.slices = await self._client.slices(name)
                self._tell(known)
                known.maps = await self._client.maps(name)
            known.failed, known.n = "", n
        except TunerError as error:
            known.failed, known.again_s = str(error), time.monotonic() + AGAIN_S
        finally:
            known.asking = False
        self._tell(known)

    async def close(self) -> None:
        """Ask no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _stops(event: EventMessage) -> bool:
    """Whether an event is of the history of alarms: tuning was held, aborted or went on, or the way home failed."""
    if event.type == "home_answered":
        return event.body.get("result") != "applied"
    return event.type in ("campaign_held", "campaign_resumed", "campaign_stopped", "campaign_aborted")
