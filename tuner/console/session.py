"""What a console knows: the campaigns, the link, what happened meanwhile; and how a request gets to the daemon once."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tuner.basics.sentences import sentence_in
from tuner.console.requests import CannotError, KeyRequest, RefusedError, was_done
from tuner.errors import DeniedError, TunerError, UnreachableError
from tuner.wire.aio import AsyncClient
from tuner.wire.errors import NoReplyError, ReplyError
from tuner.wire.follow import Gap, Item
from tuner.wire.messages import CampaignView, EventMessage, Progress, StatusBody, Welcome
from tuner.wire.operations import Operations

GUARD_S = 0.5  # an answer so soon after a new question was meant for the one before
PING_EVERY_S = 1.0
# the daemon answers in a millisecond, but a busy machine lets it wait: without a connection the link is lost after the
# first time, with one after both (three beats), and never while anything else is heard of the daemon; what this console
# itself comes late does not count, see `tuner.wire.patient_clock`
PATIENCE_S = (2.0, 4.0)
ACT_S = 8.0
FIND_S = 4.0  # the part of it that may pass without a connection
LOOK_AGAIN_S = 15.0  # what only time changes in a view: questions left, estimated end
_MEANWHILE = 500
_LOOKS, _LOOK_S = 10, 0.2  # for a request without an answer


@dataclass(frozen=True, slots=True)
class News:
    """Something worth keeping on the alarm screen: a text's key and its fields, put in words when it is shown."""

    at: datetime
    campaign: str
    key: str
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class Seen:
    """A campaign as last seen, and when (monotonic)."""

    view: CampaignView
    at_s: float
    progress: Progress | None = None


class Session:
    """One console's knowledge of one daemon.

    Args:
        changed: Called after anything here has changed.
        only: The campaigns to follow; none: all.
    """

    def __init__(
        self,
        client: AsyncClient,
        changed: Callable[[], None],
        only: tuple[str, ...] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.client = client
        client.find_s = FIND_S
        self.clock = clock
        self.campaigns: dict[str, Seen] = {}
        self.names: frozenset[str] | None = None  # all campaigns, when that is known
        self.welcome: Welcome | None = None
        self.lost: str | None = ""  # why there is no link; empty before the first one, None while there is one
        self.lost_at: datetime | None = None
        self.news: deque[News] = deque(maxlen=200)  # newest first
        self.told = 0  # how many there have been
        self.needs: tuple[str, ...] = ()  # what needs an administrator, as the daemon says it
        self.set_aside: dict[str, str] = {}  # campaigns that cannot be read, and why
        self.trouble: TunerError | None = None  # why campaigns cannot be followed although there is a link
        self.busy = False
        self._changed = changed
        self._only = only
        self._dirty: set[str] = set()
        self._wake = asyncio.Event()
        self._doubt: tuple[KeyRequest, int, str] | None = None  # without an answer: after which event, by whom
        self._before: dict[str, int] = {}  # each campaign's last event when the link was lost
        self._anew: set[str] = set()  # whose view may be older: the daemon that came back may have another journal

    @property
    def linked(self) -> bool:
        """Whether the daemon answers."""
        return self.lost is None

    @property
    def complete(self) -> bool:
        """Whether every campaign was seen."""
        wanted = frozenset(self._only) or self.names
        return wanted is not None and wanted <= self.campaigns.keys()

    def view(self, name: str) -> CampaignView | None:
        """A campaign as last seen."""
        seen = self.campaigns.get(name)
        return None if seen is None else seen.view

    def now(self, name: str) -> datetime:
        """The daemon's clock."""
        seen = self.campaigns[name]
        return datetime.fromisoformat(seen.view.now) + timedelta(seconds=self.clock() - seen.at_s)

    async def run(self) -> None:
        """Follow the daemon until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch())
            group.create_task(self._follow())
            group.create_task(self._refresh())
            group.create_task(self._look_at_daemon())

    async def act(self, request: KeyRequest) -> float:
        """Send a request and wait for the answer; what could not be sent now is not sent later.

        Returns the milliseconds from the key to the acknowledgement.

        Raises:
            CannotError: The daemon refused it, it was not sent, or what became of it is known when the link is back.
        """
        if not self.linked:
            raise CannotError("cannot.no_link")
        began_s = self.clock()
        self.busy = True
        name = request.call.campaign or ""
        seen, actor = self.view(name), self.client.actor or ""
        try:
            await self.client.call(request.call, timeout_s=ACT_S)
        except ReplyError as error:
            raise RefusedError(f"refused.{error.code}", text=str(error)) from error
        except NoReplyError as error:
            self._lose(str(error))
            if error.sent:
                self._doubt = (request, seen.n if seen else 0, actor)
                raise CannotError("cannot.unknown") from error
            raise CannotError("cannot.unsent", text=str(error)) from error
        except TunerError as error:
            raise CannotError("cannot.unsent", text=str(error)) from error
        finally:
            self.busy = False
            self.look_at(name)
        return (self.clock() - began_s) * 1000

    async def fresh(self, view: CampaignView) -> CampaignView:
        """The campaign as it is now: a key may come before the news of what the key before it has done."""
        if self.linked:
            try:
                self._see(await self.client.call(Operations.snapshot(view.name), timeout_s=ACT_S))
            except UnreachableError as error:
                self._lose(str(error))
            except ReplyError:
                pass  # what the request meets will be told
        return self.view(view.name) or view

    def look_at(self, name: str) -> None:
        """Take a new view of a campaign soon."""
        self._dirty.add(name)
        self._wake.set()

    def tell(self, campaign: str, key: str, **fields: object) -> None:
        """Keep a piece of news."""
        self._keep(News(datetime.now(UTC), campaign, key, fields))

    def _keep(self, news: News) -> None:
        self.news.appendleft(news)
        self.told += 1

    async def _watch(self) -> None:
        """Notice at once when the daemon is gone and when it is back."""
        while True:
            try:
                await self._ping()
            except TunerError as error:
                self._lose(str(error))
                denied = isinstance(error, DeniedError)
                await asyncio.sleep(PING_EVERY_S * (5 if denied else 0.5))
                continue
            if not self.linked:
                await self._found()
            await asyncio.sleep(PING_EVERY_S)

    async def _ping(self) -> None:
        """Ask for a sign of life; one of any kind is enough to keep the link, an answer is needed to find it."""
        for last, patience_s in zip((False, True), PATIENCE_S, strict=True):
            before = self.client.signs
            try:
                await self.client.call(Operations.ping(), timeout_s=patience_s)
            except NoReplyError as error:
                if self.linked and self.client.signs > before:
                    return
                if last or not error.sent:
                    raise
            else:
                return

    def _lose(self, text: str) -> None:
        if self.lost:
            self.lost = text
            return
        first = self.lost == ""
        self.lost, self.lost_at = text, datetime.now(UTC)
        self._before = {name: seen.view.n for name, seen in self.campaigns.items()}
        if not first:
            self.tell("", "alarms.link_lost", text=text)
        self._changed()

    async def _found(self) -> None:
        since, self.lost, self.lost_at = self.lost_at, None, None
        try:
            self.welcome = await self.client.call(Operations.hello(), timeout_s=ACT_S)
            status = await self.client.call(Operations.status(), timeout_s=ACT_S)
            self.names = frozenset(line.name for line in status.campaigns)
            self._see_daemon(status)
            if since is not None and self._before:
                self.tell("", "alarms.link_back", span=(datetime.now(UTC) - since).total_seconds())
                happened = [await self._meanwhile(name, n) for name, n in self._before.items()]
                if not any(happened):
                    self.tell("", "alarms.meanwhile_nothing")
        except TunerError as error:
            self._lose(str(error))
            return
        self._anew |= set(self.campaigns)
        for name in self.campaigns:
            self.look_at(name)
        self._changed()

    async def _meanwhile(self, name: str, seen: int) -> bool:
        """Tell what happened in a campaign while there was no link, and what became of a request without an answer.

        Returns whether anything happened.
        """
        page = await self.client.history(name, limit=_MEANWHILE)
        doubt = self._doubt
        if doubt is not None and doubt[0].call.campaign == name:
            taken = False
            for look in range(_LOOKS):  # it may still lie in a socket that the daemon reads only now
                if look:
                    await asyncio.sleep(_LOOK_S)
                    page = await self.client.history(name, limit=_MEANWHILE)
                taken = was_done(doubt[0], doubt[2], [e for e in page.events if e.n > doubt[1]])
                if taken:
                    break
            key = "alarms.taken_after_all" if taken else "alarms.not_taken"
            if self._doubt is doubt:  # only now: where the link was lost again, it is looked for again
                self._doubt = None
            self.tell(name, key, what=doubt[0])
        events = [event for event in page.events if event.n > seen]
        if events:
            self.tell(name, "alarms.meanwhile", text=summary(events))
        return bool(events)

    async def _follow(self) -> None:
        while True:
            try:
                async with aclosing(self.client.events(*self._only)) as items:
                    async for item in items:
                        self._take(item)
            except UnreachableError:
                pass  # whether the link is lost is `_watch`'s to say
            except TunerError as error:
                if str(self.trouble) != str(error):
                    self.trouble = error
                    self.tell("", "alarms.link", text=str(error))
                    self._changed()
            await asyncio.sleep(PING_EVERY_S)

    def _take(self, item: Item) -> None:
        self.trouble = None
        if isinstance(item, Gap):
            self._see(item.view)
        elif isinstance(item, Progress):
            seen = self.campaigns.get(item.campaign)
            if seen is not None:
                seen.progress = item
                if item.waiting != seen.view.waiting:
                    self.look_at(item.campaign)
        elif isinstance(item, EventMessage):
            self.look_at(item.campaign)
        self._changed()

    def _see(self, view: CampaignView) -> None:
        seen = self.campaigns.get(view.name)
        if seen is not None and view.n < seen.view.n and view.name not in self._anew:
            return
        self._anew.discard(view.name)
        progress = seen.progress if seen and seen.view.phase_since == view.phase_since else None
        self.campaigns[view.name] = Seen(view, self.clock(), progress)
        failed, since = view.machine.home_failed, datetime.fromisoformat(view.since)  # not when we came to see it
        if view.fault and (seen is None or seen.view.fault != view.fault):
            self._keep(News(since, view.name, "alarms.fault", {"text": view.fault}))
        if failed and (seen is None or seen.view.machine.home_failed != failed):
            self._keep(News(since, view.name, "alarms.home_failed", {"text": failed}))

    async def _look_at_daemon(self) -> None:
        """Ask now and then how the daemon itself is: no event tells of its disk or its configuration."""
        while True:
            await asyncio.sleep(LOOK_AGAIN_S)
            if self.linked:
                with suppress(TunerError):  # whether the link is lost is `_watch`'s to say
                    self._see_daemon(await self.client.call(Operations.status(), timeout_s=ACT_S))

    def _see_daemon(self, status: StatusBody) -> None:
        aside = {one.name: one.why for one in status.set_aside}
        for name in aside.keys() - self.set_aside.keys():
            self.tell(name, "alarms.set_aside", text=aside[name])
        for text in status.alarms:
            if text not in self.needs:
                self.tell("", "alarms.daemon", text=text)
        if (aside, tuple(status.alarms)) != (self.set_aside, self.needs):
            self.set_aside, self.needs = aside, tuple(status.alarms)
            self._changed()

    async def _refresh(self) -> None:
        while True:
            try:
                async with asyncio.timeout(LOOK_AGAIN_S):
                    await self._wake.wait()
            except TimeoutError:
                self._dirty |= set(self.campaigns)
            self._wake.clear()
            names, self._dirty = self._dirty, set()
            for name in names:
                if not name or not self.linked:
                    continue
                try:
                    self._see(await self.client.call(Operations.snapshot(name), timeout_s=ACT_S))
                except UnreachableError as error:
                    self._lose(str(error))
                except ReplyError:
                    self.campaigns.pop(name, None)
            self._changed()


def summary(events: list[EventMessage]) -> dict[str, object]:
    """Counts of what people care about among events."""
    kinds = Counter(event.type for event in events)
    who = sorted({event.actor for event in events if event.type == "judgment_given"})
    scrap = sum(event.type == "outcome_told" and not event.body.get("valid") for event in events)
    held = [sentence_in(event.body, "reason") for event in events if event.type == "campaign_held"]
    stopped = [sentence_in(event.body, "reason") for event in events if event.type == "campaign_stopped"]
    return {
        "events": len(events),
        "trials": kinds["outcome_told"],
        "scrap": scrap,
        "judgments": kinds["judgment_given"],
        "who": ", ".join(who),
        "held": held[0] if held else "",
        "stopped": stopped[0] if stopped else "",
    }
