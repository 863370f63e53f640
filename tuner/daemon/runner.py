"""Does what a campaign's state wants: computes proposals, moves the machine, makes parts, and posts what came of it."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tuner.adapter import AdapterError, Outcome
from tuner.campaign import commands as c
from tuner.campaign.decide import ENDED
from tuner.campaign.effects import ComputeProposal, Effect, ReturnHome, Run, Send, wanted
from tuner.campaign.events import ModelMemory
from tuner.campaign.model_input import model_input
from tuner.campaign.state import Mode, Stage, State, Trial
from tuner.compute.backend import Backend, ComputeError
from tuner.compute.proposals import proposal
from tuner.daemon.engine import Post
from tuner.daemon.speculation import Speculation
from tuner.gate.gate import Answer, Gate
from tuner.gate.whereabouts import Whereabouts
from tuner.machine.process import Machine

BACK_OFF_S = 0.5
LONGEST_BACK_OFF_S = 30.0
AGAIN_S = 1.0

log = logging.getLogger(__name__)
Progress = Callable[[str, str, float | None], None]


@dataclass(slots=True)
class Surroundings:
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
class Work:
    """One campaign's machine and what is being done with it."""

    name: str
    around: Surroundings
    machine: Machine
    where: Whereabouts = field(default_factory=Whereabouts)
    draining: bool = False
    _state: State | None = None
    _effect: Effect | None = None
    _task: asyncio.Task[None] | None = None
    _closing: asyncio.Task[None] | None = None
    _speculation: Speculation = field(init=False)

    def __post_init__(self) -> None:
        self._speculation = Speculation(self.around.compute)

    @classmethod
    def of(cls, state: State, around: Surroundings) -> "Work":
        """The work of a campaign that has done nothing yet."""
        return cls(state.name, around, Machine(state.terms), Whereabouts.of(state.machine))

    def follow(self, state: State) -> None:
        """Begin what the state wants, give up what it does not want any more."""
        self._state = state
        self.machine.use(state.terms)
        if wanted(state) is None and state.mode is not Mode.EXECUTE:
            self.where.release()  # it is people's until they resume or start tuning, or send it home
        want = self._allowed(wanted(state))
        if want != self._effect:
            self._change(want, state)
        if want is None and state.mode in ENDED and self.machine.running:
            self._let_go(state)
        if self.around.speculate and not self.draining:
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
        answer = await self._through_gate(state, state.terms.known_good, home=True)
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
            log.warning("%s: %s came to nothing and is begun again", self.name, self._effect)
            self._change(self._effect, self._state)

    async def _do(self, effect: Effect, state: State, before: asyncio.Task[None] | None) -> None:
        if before is not None:  # one machine does one thing at a time
            await asyncio.gather(before, return_exceptions=True)
        try:
            if isinstance(effect, ComputeProposal):
                await self._propose(effect, state)
            elif isinstance(effect, Send):
                await self._send(effect, state)
            elif isinstance(effect, Run):
                await self._run(effect, state)
            else:
                await self._home(effect, state)
        except Exception as error:
            log.exception("defect while doing %s for the campaign %s", effect, self.name)
            await self._post(c.Fault(text=f"a defect in tuner: {type(error).__name__}: {error}"), effect)

    async def _post(self, command: c.Command, effect: Effect | None = None) -> bool:
        result = await self.around.post(self.name, command, effect=effect)
        return bool(result.status == "done")

    def _news(self, text: str, done: float | None = None) -> None:
        self.around.progress(self.name, text, done)

    async def _propose(self, effect: ComputeProposal, state: State) -> None:
        try:
            result, why = await proposal(self.around.compute, model_input(state), self.around.deadline_s)
        except ComputeError as error:
            await self._post(c.Fault(text=f"there is no setting to propose: {error}"), effect)
            return
        if why:
            log.warning("%s: no proposal from the model (%s): a cheap one takes its place", self.name, why)
        await self._post(_proposal(result, "fallback" if why else "model", self.around.engine), effect)

    async def _send(self, effect: Send, state: State) -> None:
        trial = state.trials[effect.trial - 1]
        if not await self._post(c.SendSetting(trial=trial.number), effect):
            return
        answer = await self._through_gate(state, trial.setting)
        command = c.AnswerSetting(
            trial=trial.number, result=answer.result, text=answer.text, read_back=answer.read_back
        )
        await self._post(command, effect)

    async def _through_gate(self, state: State, setting: dict[str, Any], *, home: bool = False) -> Answer:
        """Send a setting; what failed for sure is tried again a few times."""
        gate = self._gate()
        policy = state.terms.policy
        for attempt in range(policy.retries + 1):
            answer = await gate.send(state.terms, setting, dry_run=policy.dry_run and not home, home=home)
            if answer.result != "failed" or attempt == policy.retries:
                break
            self._news(f"trying again: {answer.text}")
            await _back_off(attempt)
        return answer

    def _gate(self) -> Gate:
        return Gate(self.machine, asyncio.sleep, self._news, self.where)

    async def _run(self, effect: Run, state: State) -> None:
        trial = state.trials[effect.trial - 1]
        if trial.stage is Stage.APPLIED:
            if not state.terms.policy.dry_run and not await self._settle(state, trial):
                return
            if not await self._post(c.BeginTrial(trial=trial.number), effect):
                return
        if state.terms.policy.dry_run:
            return  # somebody tells the outcome
        outcome = await self._make(state, trial, _tag(state, trial))
        if outcome is not None:
            told = c.MachineOutcome(
                trial=trial.number,
                valid=outcome.valid,
                reason=outcome.reason,
                measurements=dict(outcome.measurements),
                photo=outcome.photo,
            )
            await self._post(told, effect)

    async def _settle(self, state: State, trial: Trial) -> bool:
        """Wait and discard parts until the machine has taken the change; False if it failed."""
        policy = state.terms.policy
        if policy.settling_s:
            self._news(f"settling for {policy.settling_s:g} s", 0.0)
            await asyncio.sleep(policy.settling_s)
        for number in range(1, policy.settling_parts + 1):
            self._news(f"discarding part {number} of {policy.settling_parts}", (number - 1) / policy.settling_parts)
            if await self._make(state, trial, f"{_tag(state, trial)}-s{number}") is None:
                return False
        return True

    async def _make(self, state: State, trial: Trial, tag: str) -> Outcome | None:
        """Let the machine make a part; None if it could not and the campaign was told so."""
        attempts = state.terms.policy.retries + 1
        for attempt in range(attempts):
            try:
                # people, and controllers that were frozen, change settings that were verified a while ago
                changed = await self._gate().changed(state.terms, trial.setting)
                if changed is not None and attempt == 0:
                    text = f"no part was made, because the setting has changed since it was sent: {changed}"
                    break
                if changed is not None:  # a new process, perhaps a machine that was restarted
                    answer = await self._through_gate(state, trial.setting)
                    if answer.result != "applied":
                        text = f"setting {answer.result}: {answer.text}"
                        break
                elif attempt and (forbidden := await self._gate().interlocked()) is not None:
                    text = f"no part was made: {forbidden}"
                    break
                # one that has it still may be making the part, and is not ready for a setting then
                return await self.machine.run_trial(tag)
            except AdapterError as error:
                text = str(error)
                if not error.retry or attempt + 1 == attempts:
                    break
            self._news(f"trying again: {text}")
            await _back_off(attempt)
        await self._post(c.Fault(text=text), Run(trial.number))
        return None

    async def _home(self, effect: ReturnHome, state: State) -> None:
        answer = await self._through_gate(state, state.terms.known_good, home=True)
        if answer.result != "applied":
            log.error("%s: the machine is NOT at its known-good setting: %s", self.name, answer.text)
        command = c.AnswerHome(result=answer.result, text=answer.text, read_back=answer.read_back)
        await self._post(command, effect)


async def _back_off(attempt: int) -> None:
    await asyncio.sleep(min(BACK_OFF_S * 2.0**attempt, LONGEST_BACK_OFF_S))


def _tag(state: State, trial: Trial) -> str:
    """Names the part for the machine: no other part ever has the same name, and it is short enough for a register."""
    return f"{state.series}-{trial.tag}"


def _proposal(result: dict[str, Any], source: Any, engine: str) -> c.Propose:
    proposal = result["proposal"]
    return c.Propose(
        setting=proposal["setting"],
        source=source,
        kind=proposal["kind"],
        champion=proposal["champion_id"],
        reason=proposal["reason"],
        better=proposal["better"],
        valid=proposal["valid"],
        distance=proposal["distance"],
        model=ModelMemory(**result["model"]),
        engine=engine,
    )
