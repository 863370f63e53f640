"""Follows a campaign's state: begins what it wants as a task, and gives up what it does not want any more."""

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from tuner.basics.sentences import Sentence, say
from tuner.basics.times import text_of, utc_now
from tuner.basics.vocabulary import ENDED
from tuner.campaign import commands as c
from tuner.campaign.effects import Effect, ReturnHome, Run, Send, wanted
from tuner.campaign.model_input import model_input
from tuner.campaign.state import Mode, State
from tuner.compute.backend import Backend
from tuner.compute.proposals import next_step
from tuner.daemon.engine import Post
from tuner.daemon.perform import Performer
from tuner.daemon.speculation import Speculation
from tuner.gate.patience import Wait
from tuner.gate.whereabouts import Whereabouts
from tuner.machine.process import Machine
from tuner.wire.messages import WaitingView

AGAIN_S = 1.0
MOST_IN_VAIN = 5

log = logging.getLogger(__name__)


class Progress(Protocol):
    """Tells passing news."""

    def __call__(self, name: str, text: Sentence, done: float | None, waiting: WaitingView | None = None) -> None:
        """A campaign, what it does, the share done, what it waits for."""


@dataclass(slots=True)
class Context:
    """What all campaigns share.

    Attributes:
        post: Puts a command into the engine's queue.
        compute: Computes proposals.
        progress: Tells passing news: campaign, text, share done.
        deadline_s: How long the model may think before a cheap proposal takes its place.
        engine: The version that a proposal is recorded with.
        speculate: Whether proposals are computed ahead.
    """

    post: Post
    compute: Backend
    progress: Progress
    deadline_s: float
    engine: str
    speculate: bool = True


@dataclass
class CampaignRunner:
    """One campaign's machine and what is being done with it."""

    name: str
    context: Context
    machine: Machine
    where: Whereabouts = field(default_factory=Whereabouts)
    draining: bool = False
    waiting: WaitingView | None = None
    _state: State | None = None
    _effect: Effect | None = None
    _in_vain: int = 0
    _task: asyncio.Task[None] | None = None
    _closing: asyncio.Task[None] | None = None
    _speculation: Speculation = field(init=False)
    _performer: Performer = field(init=False)

    def __post_init__(self) -> None:
        self._speculation = Speculation(self.context.compute)
        self._performer = Performer(
            self.name,
            self.machine,
            self._tell,
            self._compute,
            asyncio.sleep,
            self._news,
            self.context.engine,
            self.where,
            self._waits,
        )

    @classmethod
    def of(cls, state: State, context: Context) -> "CampaignRunner":
        """The work of a campaign that has done nothing yet."""
        return cls(state.name, context, Machine(state.terms), Whereabouts.of(state.machine))

    def follow(self, state: State) -> None:
        """Begin what the state wants, give up what it does not want any more."""
        self._state = state
        self.machine.use(state.terms)
        if state.mode is Mode.EXECUTE and not self.draining:
            self._performer.leave.clear()
        else:
            self._performer.leave.set()
        if wanted(state) is None and state.mode is not Mode.EXECUTE:
            self.where.release()  # it is people's until they resume or start tuning, or send it home
        want = self._allowed(wanted(state))
        if want != self._effect:
            self._in_vain = 0
            self._change(want, state)
        if want is None and state.mode in ENDED and self.machine.running:
            self._let_go(state)
        if self.context.speculate and not self.draining:
            self._speculation.update(state)

    def _let_go(self, state: State) -> None:
        """A campaign that is over needs its machine no more; others may want its port."""
        if state.mode is Mode.ABORTED:
            self.machine.kill()
            return
        if self._closing is None or self._closing.done():
            self._closing = asyncio.create_task(self._close_machine(self._task))

    async def _close_machine(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.gather(before, return_exceptions=True)
        if self._effect is None:
            await self.machine.close()

    async def rescue(self) -> None:
        """Bring the machine home without the journal, because it takes no more words."""
        state = self._state
        self.draining = True
        if state is None or state.machine.home or state.machine.requested is None or state.mode is Mode.ABORTED:
            return
        before, self._task, self._effect = self._task, None, None
        if before is not None:
            before.cancel()
            await asyncio.gather(before, return_exceptions=True)
        self.machine.kill()  # a part under way could take hours
        self.machine.reserve(True)
        answer = await self._performer.through_gate(state, state.terms.known_good, home=True)
        if answer.result == "applied":
            log.warning("%s: the machine is at its known-good setting; the journal does not say so", self.name)
        else:
            log.error("%s: the machine is NOT at its known-good setting: %s", self.name, answer.text)

    def give_up_part(self) -> None:
        """The part under way has taken too long: end its call, so that the machine can go home."""
        self.machine.kill()

    def drain(self) -> None:
        """From now on only finish the part under way and bring the machine home."""
        self.draining = True
        self._speculation.clear()
        if self._state is not None:
            self.follow(self._state)

    async def close(self) -> None:
        """Give up everything and let go of the machine."""
        self._speculation.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._closing is not None:
            await asyncio.gather(self._closing, return_exceptions=True)
        await self.machine.close()

    def _allowed(self, want: Effect | None) -> Effect | None:
        return want if not self.draining or isinstance(want, Run | ReturnHome) else None

    def _change(self, want: Effect | None, state: State) -> None:
        before, self._task, self._effect = self._task, None, want
        if before is not None:
            before.cancel()
        self.waiting = None
        self.machine.reserve(isinstance(want, Send | Run | ReturnHome))
        if state.mode is Mode.ABORTED:
            self.machine.kill()
        if want is not None:
            self._task = asyncio.create_task(self._do(want, state, before), name=f"{self.name}: {want}")
            self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Work that came to its end should have changed the state; if it has not, it is begun again, not at once."""
        if task is self._task and not task.cancelled():
            asyncio.get_running_loop().call_later(AGAIN_S, self._begin_again, task)

    def _begin_again(self, task: asyncio.Task[None]) -> None:
        if task is self._task and self._state is not None and self._allowed(wanted(self._state)) == self._effect:
            self._in_vain += 1
            log.warning("%s: %s came to nothing and is begun again", self.name, self._effect)
            self._change(self._effect, self._state)

    async def _do(self, effect: Effect, state: State, before: asyncio.Task[None] | None) -> None:
        if before is not None:  # one machine does one thing at a time
            await asyncio.gather(before, return_exceptions=True)
        try:
            await self._performer.do(effect, state)
            if self._in_vain >= MOST_IN_VAIN:  # people are told, who would wait for ever
                await self._tell(c.Fault(text=say("fault.in_vain", times=self._in_vain)), effect)
        except Exception as error:
            log.exception("defect while doing %s for the campaign %s", effect, self.name)
            await self._tell(c.Fault(text=say("fault.defect", error=f"{type(error).__name__}: {error}")), effect)

    async def _tell(self, command: c.Command, effect: Effect) -> bool:
        result = await self.context.post(self.name, command, effect=effect)
        return bool(result.status == "done")

    async def _compute(self, state: State) -> tuple[Any, str]:
        return await next_step(self.context.compute, model_input(state), self.context.deadline_s)

    def _news(self, text: Sentence, done: float | None) -> None:
        self.context.progress(self.name, text, done)

    def _waits(self, wait: Wait | None) -> None:
        """Keep what is waited for, for those who ask; tell it when it is something else."""
        before = self.waiting
        if wait is None:
            self.waiting = None
            if before is not None:
                self.context.progress(self.name, say("news.goes_on"), None)
            return
        since = text_of(utc_now() - timedelta(seconds=wait.so_far_s))
        if before is not None and (before.awaited, before.text) == (wait.awaited, wait.text):
            since = before.since  # only time has passed
        told = WaitingView(awaited=wait.awaited, text=wait.text, since=since, at_most_s=wait.at_most_s)
        if told != before:
            self.waiting = told
            self.context.progress(self.name, wait.sentence, None, told)
