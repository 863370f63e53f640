"""Sends anchors to where this host cannot change them: a file elsewhere, and receivers by webhook, MQTT or command."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from tuner.basics.sentences import say
from tuner.basics.threads import in_own_thread
from tuner.config.daemon import Daemon
from tuner.config.notify import Notify
from tuner.daemon.troubles import Troubles
from tuner.errors import TunerError
from tuner.journal import anchor as anchors
from tuner.journal.anchor import Anchor
from tuner.notify.ways import tell
from tuner.wire.key_ring import KeyRing

RETRY_S = 60.0  # after one that did not arrive, where anchors are rarer than that
LIMIT_S = 20.0  # for a file; receivers have a limit of their own before it

Send = Callable[[Anchor], None]


@dataclass(frozen=True, slots=True)
class AnchorPlan:
    """Where anchors go, how often, and what seals them."""

    file: Path | None
    every_s: float
    secret: str
    receivers: tuple[Notify, ...] = ()


@dataclass
class _Place:
    """One place, when its next anchor is due, how long one may take, and what is under way.

    `sending` may last when nobody waits for it any more: a share of another host that hangs keeps its thread.
    """

    name: str
    send: Send
    limit_s: float
    due_s: float
    task: "asyncio.Task[None] | None" = field(default=None, repr=False)
    sending: "asyncio.Task[None] | None" = field(default=None, repr=False)

    @property
    def free(self) -> bool:
        """Whether it can be sent to."""
        return all(one is None or one.done() for one in (self.task, self.sending))


class Anchoring:
    """Keeps every place supplied; each is sent to in a thread of its own, so that none delays another or the daemon.

    A place that takes longer than its limit is an alarm until it has let go, and the daemon's end waits for none.

    The first anchor is due at once: where a host is switched off every evening, one after a day would never come.

    Args:
        make: Makes an anchor of the journal as it is now, with its seal.
        failed: Is told a place and what is wrong with it, or nothing when all is well again.
    """

    def __init__(
        self,
        plan: AnchorPlan,
        make: Callable[[], Awaitable[Anchor]],
        failed: Callable[[str, str], None],
        troubles: Troubles,
        even_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._every_s = plan.every_s
        self._make = make
        self._failed = failed
        self._troubles = troubles
        self._even_s = even_s
        self._places = [_Place(name, send, limit_s, even_s()) for name, send, limit_s in _sends(plan)]

    def look(self) -> None:
        """Begin to send where an anchor is due."""
        for place in self._places:
            if self._even_s() >= place.due_s and place.free:
                place.task = asyncio.create_task(self._supply(place), name=f"anchor for {place.name}")

    async def close(self) -> None:
        """Send a last one to all, and wait; each has a limit for it, and one that hangs is left alone."""
        for place in self._places:
            if place.task is not None:
                await place.task
            place.due_s = self._even_s()
        self.look()
        await asyncio.gather(*(place.task for place in self._places if place.task is not None))
        left = [place.sending for place in self._places if place.sending is not None]
        for sending in left:
            sending.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _supply(self, place: _Place) -> None:
        try:
            anchor = await self._make()
            place.sending = asyncio.create_task(in_own_thread(place.send, anchor), name=f"sending to {place.name}")
            async with asyncio.timeout(place.limit_s):
                await asyncio.shield(place.sending)
        except (TunerError, TimeoutError) as error:
            hangs = say("guard.anchor_hangs", seconds=place.limit_s)
            place.due_s = self._even_s() + min(self._every_s, RETRY_S)
            self._failed(place.name, hangs if isinstance(error, TimeoutError) else str(error))
        except Exception:  # noqa: BLE001 - the other places go on
            place.due_s = self._even_s() + min(self._every_s, RETRY_S)
            self._troubles.note("sending an anchor")
        else:
            place.due_s = self._even_s() + self._every_s
            self._failed(place.name, "")


def message_of(anchor: Anchor) -> bytes:
    """What a receiver is told; kept line by line it is a file for `tuner journal verify --anchor`."""
    text = f"event {anchor.seq} was the journal's last at {anchor.at}"
    return json.dumps({"v": 1, "kind": "anchor", "text": text, "at": anchor.at, "anchor": asdict(anchor)}).encode()


def _sends(plan: AnchorPlan) -> list[tuple[str, Send, float]]:
    found: list[tuple[str, Send, float]] = []
    file = plan.file
    if file is not None:
        found.append((str(file), lambda anchor: anchors.write(file, anchor), LIMIT_S))
    for target in plan.receivers:
        send: Send = partial(_tell, target)
        found.append((target.name, send, target.timeout_s + LIMIT_S))
    return found


def _tell(target: Notify, anchor: Anchor) -> None:
    tell(target, message_of(anchor), stays=True)


def plan_of(daemon: Daemon, notify: Sequence[Notify], state_directory: Path) -> AnchorPlan | None:
    """What the configuration says about anchors."""
    receivers = tuple(target for target in notify if "anchor" in target.events)
    if daemon.anchor_file is None and not receivers:
        return None
    secret = KeyRing.open(state_directory).server.secret.get_secret_value()
    return AnchorPlan(daemon.anchor_file, daemon.anchor_minutes * 60.0, secret, receivers)
