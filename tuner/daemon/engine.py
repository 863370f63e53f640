"""The one owner of all campaigns' states: takes commands from a queue, journals what they do, then acknowledges."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NoReturn

from tuner.basics.address import shared
from tuner.basics.sentences import NOTHING, Sentence, no_campaign, say, with_code
from tuner.basics.times import text_of
from tuner.campaign import commands as c
from tuner.campaign.decide import Actor, Refusal
from tuner.campaign.effects import Effect, wanted
from tuner.campaign.evolve import Recorded
from tuner.campaign.state import MOVED_STAGES, Mode, Stage, State
from tuner.campaign.step import SYSTEM, step
from tuner.campaign.terms import Terms
from tuner.daemon.journal_thread import JournalThread, RequestKey, row_of
from tuner.daemon.known_campaigns import KnownCampaigns
from tuner.daemon.troubles import Troubles
from tuner.daemon.urgent_queue import UrgentQueue
from tuner.errors import TryAgainError, TunerError
from tuner.journal.errors import DiskFullError, DuplicateRequestError, HeldError, JournalError
from tuner.journal.records import NewRow, Reply

URGENT, OWN, ORDINARY = range(3)  # lines of commands
MOST_WAITING = 2000
_TRY_AGAIN_S = 2.0

log = logging.getLogger(__name__)
Bring = Callable[[str, Terms], c.ImportEarlier | None]  # what a campaign that has not begun is to import


def _nothing(name: str, terms: Terms) -> None:
    """Nothing is to be imported."""


@dataclass(frozen=True, slots=True)
class Result:
    """What is answered to a command."""

    status: str
    code: str = ""
    text: Sentence = NOTHING
    n: int = 0

    def json(self) -> str:
        """As it is kept beside the request's id."""
        return json.dumps([self.status, self.code, self.text, self.n, self.text.said()])

    @classmethod
    def from_json(cls, text: str) -> "Result":
        """As it was kept; earlier versions kept no code of the sentence."""
        status, code, sentence, n, *said = json.loads(text)
        return cls(status, code, with_code(sentence, said[0] if said else None), n)


@dataclass(slots=True, eq=False)
class Posted:
    """A command in the queue; the work that it is the result of, if it is, must still be wanted."""

    campaign: str
    command: c.Command
    actor: Actor
    request: RequestKey | None = None
    effect: Effect | None = None
    arrived_s: float = 0.0
    answered: "asyncio.Future[Result]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def line(self) -> int:
        """Where it waits: what is urgent goes first, then what the daemon's own parts say."""
        return URGENT if isinstance(self.command, c.URGENT) else OWN if self.request is None else ORDINARY


@dataclass(slots=True)
class _Draft:
    """What a batch of commands will have done, if the journal takes it."""

    states: dict[str, State] = field(default_factory=dict)
    news: list[tuple[str, Recorded, State]] = field(default_factory=list)
    rows: list[NewRow] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    results: list[tuple[Posted, Result]] = field(default_factory=list)


class Engine:
    """Campaigns by name.

    Args:
        publish: Called with each event once it is safe, and the state after it.
        follow: Called with each changed state once it is safe, to begin or give up work.
        unwritten: Called with a command to stop or abort that the journal did not take.
        troubles: Where errors of single commands and events are counted.
    """

    def __init__(
        self,
        archive: JournalThread,
        clock: Callable[[], datetime],
        publish: Callable[[str, Recorded, State], None],
        follow: Callable[[State], None],
        unwritten: Callable[[str, c.Command], None] = lambda name, command: None,
        troubles: Troubles | None = None,
    ) -> None:
        self._archive = archive
        self._clock = clock
        self._publish = publish
        self._follow = follow
        self._unwritten = unwritten
        self.stopping = False
        self._troubles = troubles or Troubles()
        self._queue: UrgentQueue[Posted] = UrgentQueue(3)
        self._urged_s: dict[str, float] = {}
        self._seq = 0
        self.known = KnownCampaigns(archive, clock)
        self.states = self.known.states

    @property
    def seq(self) -> int:
        """The number of the last event that is safe."""
        return self._seq

    async def load(self, told: Callable[[int, int], None] = lambda done, of: None) -> None:
        """Read the states of all campaigns that are not over; `told` hears now and then how far it is."""
        self._seq = (await self._archive.call(lambda store: store.head))[0]
        await self.known.load(told)

    async def post(
        self,
        campaign: str,
        command: c.Command,
        actor: Actor = SYSTEM,
        *,
        request: RequestKey | None = None,
        effect: Effect | None = None,
        arrived_s: float | None = None,
    ) -> Result:
        """Put a command into the queue and wait until what it does is safe; it came at `arrived_s`, or just now."""
        came_s = asyncio.get_running_loop().time() if arrived_s is None else arrived_s
        posted = Posted(campaign, command, actor, request, effect, came_s)
        if posted.line == ORDINARY and self._queue.waiting(ORDINARY) >= MOST_WAITING:
            return Result("failed", "busy", say("daemon.busy_queue"))
        self._queue.put(posted, posted.line)
        return await posted.answered

    async def run(self) -> None:
        """Serve the queue for ever; only a journal that cannot be used any more ends it."""
        while True:
            await self._attempt(await self._queue.batch())

    async def _attempt(self, batch: list[Posted]) -> None:
        """Work on a batch; if an error of our own stops it, on each command alone, so that one is to blame."""
        try:
            await self._process(batch)
        except Exception as error:
            if isinstance(error, JournalError) and not isinstance(error, TryAgainError | DuplicateRequestError):
                raise
            self._troubles.note(f"working on {len(batch)} commands")
            for posted in batch:
                if not posted.answered.done() and len(batch) > 1:
                    await self._attempt([posted])
                elif not posted.answered.done():
                    posted.answered.set_result(Result("failed", "defect", say("daemon.defect_unwritten")))

    async def _process(self, batch: list[Posted]) -> None:
        await self.known.remember({posted.campaign for posted in batch})
        known = await self._archive.replies([posted.request for posted in batch if posted.request])
        draft = _Draft()
        for posted in batch:
            result = _earlier(posted, known, draft)
            if result is None:
                result = self._safely(posted, draft)
                key = posted.request
                if key is not None and result.code not in ("id_reused", "defect"):
                    at = text_of(self._clock())
                    draft.replies.append(Reply(key.owner, key.id, key.digest, result.json(), at))
            draft.results.append((posted, result))
        try:
            await self._archive.append(draft.rows, draft.replies)
        except JournalError as error:
            self._not_stored(draft, error)
            return
        self._stored(draft)
        await self.known.keep(draft.states)

    def _safely(self, posted: Posted, draft: _Draft) -> Result:
        """Decide on one command; where an error of our own ends that, it has drafted nothing."""
        try:
            return self._one(posted, draft)
        except Exception:  # noqa: BLE001 - the other commands of the batch are not to blame
            self._troubles.note(f"deciding on {type(posted.command).__name__} for the campaign {posted.campaign}")
        return Result("failed", "defect", say("daemon.defect_unwritten"))

    def _one(self, posted: Posted, draft: _Draft) -> Result:
        """Decide on one command; nothing is changed but the draft."""
        name, now = posted.campaign, self._clock()
        state = draft.states.get(name, self.states.get(name))
        try:
            self._check(posted, state, draft)
            done = step(name, state, posted.command, posted.actor, now, seq=self._seq + len(draft.rows))
        except Refusal as refusal:
            return Result("refused", refusal.code, refusal.text, state.count if state else 0)
        draft.rows += [row_of(name, one) for one, _ in done]
        draft.news += [(name, one, after) for one, after in done]
        if done:
            draft.states[name] = state = done[-1][1]
        return Result("done", n=state.count if state else 0)

    def _check(self, posted: Posted, state: State | None, draft: _Draft) -> None:
        """Work must still be wanted, and two campaigns cannot move one machine at the same time."""
        self.known.refuse_unreadable(posted.campaign)
        name, command = posted.campaign, posted.command
        if state is None and not isinstance(command, c.Create):
            raise Refusal("not_found", no_campaign(name, self.known.names()))
        if isinstance(command, c.Hold | c.Stop | c.Abort):
            self._urged_s[name] = max(posted.arrived_s, self._urged_s.get(name, 0.0))
        if isinstance(command, c.Start | c.Resume) and posted.arrived_s < self._urged_s.get(name, 0.0):
            # urgent commands overtake: whoever said stop last is not to see the machine start after that
            raise Refusal("stale", say("refused.held_since"))
        if posted.effect is not None and (state is None or wanted(state) != posted.effect):
            raise Refusal("stale", say("refused.unwanted"))
        if self.stopping and isinstance(posted.command, c.Create | c.Start | c.Resume):
            raise Refusal("stopping", say("daemon.stopping"))
        if not isinstance(posted.command, c.Start | c.Resume | c.GoHome | c.Park) or state is None:
            return
        for name, other in {**self.states, **draft.states}.items():
            busy = other.mode in (Mode.EXECUTE, Mode.HELD) or other.machine.home_wanted is not None
            busy = busy or (other.trial is not None and other.trial.stage is Stage.RUNNING)
            if name == state.name or not busy:
                continue
            address = shared(state.terms.adapter.occupies, other.terms.adapter.occupies)
            if address is not None or other.terms.machine == state.terms.machine:
                where = say("machine.where", address=address) if address else ""
                also = other.terms.machine if other.terms.machine != state.terms.machine else ""
                told = {"machine": state.terms.machine, "where": where, "name": name}
                told["also"] = say("machine.called", name=also) if also else ""
                raise Refusal("machine_busy", say("machine.busy", **told))

    def _stored(self, draft: _Draft) -> None:
        self._seq += len(draft.rows)
        self.states.update(draft.states)
        for name, one, state in draft.news:
            try:
                self._publish(name, one, state)
            except Exception:  # noqa: BLE001 - it is stored; `snapshot` and `history` tell of it
                self._troubles.note(f"publishing event {one.seq}")
        for posted, result in draft.results:
            if not posted.answered.done():
                posted.answered.set_result(result)
        # who only says that time has passed wants everybody to look at the clock again
        ticked = {posted.campaign for posted, _ in draft.results if isinstance(posted.command, c.Tick)}
        for name in ticked & self.states.keys() | draft.states.keys():
            try:
                self._follow(self.states[name])
            except Exception:  # noqa: BLE001 - other campaigns go on
                self._troubles.note(f"beginning the work of the campaign {name}")

    def _not_stored(self, draft: _Draft, error: JournalError) -> None:
        """Tell clients; what machines and models said must not be lost and is tried again."""
        log.error("the journal did not take %d events: %s", len(draft.rows), error)
        if isinstance(error, DiskFullError):
            result = Result("failed", "disk_full", say("daemon.disk_full"))
        elif isinstance(error, HeldError):
            result = Result("failed", "journal_busy", say("daemon.journal_busy"))
        else:
            self._give_up(draft, error)
        loop = asyncio.get_running_loop()
        for posted, _ in draft.results:
            if posted.request is None:
                loop.call_later(_TRY_AGAIN_S, self._queue.put, posted, posted.line)
                continue
            if isinstance(posted.command, c.Stop | c.Abort):
                self._unwritten(posted.campaign, posted.command)
                end = "daemon.but_let_go" if isinstance(posted.command, c.Abort) else "daemon.but_home"
                result = replace(result, text=say(end, text=result.text))
            if not posted.answered.done():
                posted.answered.set_result(result)

    def _give_up(self, draft: _Draft, error: JournalError) -> NoReturn:
        """Nothing can be written any more, so nobody must believe that it was; the daemon ends."""
        result = Result("failed", "journal_lost", say("daemon.journal_lost", why=str(error)))
        for posted, _ in draft.results:
            if posted.request is not None and not posted.answered.done():
                posted.answered.set_result(result)
        raise error

    async def resume(self) -> None:
        """After a start: what was under way is not known to have happened; then work begins."""
        for state in list(self.states.values()):
            if state.trial is not None and state.trial.stage in MOVED_STAGES:
                await self.post(state.name, c.Interrupt(reason=say("daemon.restarted")))
            else:
                self._follow(state)

    async def configure(
        self,
        campaigns: Sequence[tuple[str, Terms]],
        bring: Bring = _nothing,
        stopping: Callable[[], bool] = lambda: False,
    ) -> list[str]:
        """Create campaigns that are new, change those that are known; return what was refused.

        `bring` finds what one that has not begun is to import; if that cannot be, it does not start by itself. A daemon
        that is stopping leaves the rest for its next start.
        """
        problems: list[str] = []
        for name, terms in campaigns:
            if stopping():
                break
            try:
                known = await self.known.find(name) is not None
            except Refusal as refusal:
                problems.append(refusal.text)
                continue
            result = await self.post(name, c.ChangeTerms(terms=terms) if known else c.Create(terms=terms))
            if result.status != "done":
                problems.append(say("phase.value", name=name, value=result.text))
                if result.code == "fixed_terms" and name in self.states:
                    await self.post(name, c.ChangeTerms(terms=self.states[name].terms.may_take(terms)))
            elif why := await self._bring(name, terms, bring):
                problems.append(say("phase.value", name=name, value=why))
            elif terms.policy.autostart and self.states[name].mode is Mode.IDLE:
                result = await self.post(name, c.Start())
                if result.status != "done":
                    problems.append(say("phase.value", name=name, value=result.text))
        return problems

    async def _bring(self, name: str, terms: Terms, bring: Bring) -> str:
        """Import what the configuration names, once; why it cannot be, or nothing."""
        if self.states[name].trials or self.states[name].imports:
            return ""
        try:
            brought = await asyncio.to_thread(bring, name, terms)
        except TunerError as error:
            return str(error)
        return "" if brought is None else (await self.post(name, brought)).text

    async def close(self) -> None:
        """Keep snapshots, so that the next start is quick."""
        await self.known.close()


def _earlier(posted: Posted, known: dict[RequestKey, Reply], draft: _Draft) -> Result | None:
    """What was answered to the same request of the same key before, also in the same batch."""
    key = posted.request
    if key is None:
        return None
    drafted = (reply for reply in draft.replies if (reply.owner, reply.request_id) == (key.owner, key.id))
    reply = known.get(key) or next(drafted, None)
    if reply is None:
        return None
    if reply.digest != key.digest:
        return Result("refused", "id_reused", say("request.id_reused"))
    return Result.from_json(reply.reply)


Post = Callable[..., Awaitable[Result]]
