"""What is done for a wanted effect and which command comes of it: the same in the daemon and in a run without one."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from tuner.adapter import AdapterError, Outcome
from tuner.basics.sentences import Sentence, from_json, say
from tuner.campaign import commands as c
from tuner.campaign.effects import ComputeNext, Effect, ReturnHome, Run, Send
from tuner.campaign.state import CampaignTrial, Stage, State
from tuner.compute.backend import ComputeError
from tuner.core.optimizer.questions import Question
from tuner.core.optimizer.records import Memory, Proposal, Setting
from tuner.gate.attended import Attended
from tuner.gate.gate import Answer, Gate, Link
from tuner.gate.patience import Awaited, Patience, Wait
from tuner.gate.whereabouts import Whereabouts

log = logging.getLogger(__name__)


class Maker(Link, Protocol):
    """A machine that also makes parts."""

    async def run_trial(self, tag: str) -> Outcome:
        """Make a part; the same tag again is the same part."""


class _LeftError(Exception):
    """Nobody wants to wait any more."""


class Tell(Protocol):
    """Puts a command to the campaign."""

    async def __call__(self, command: c.Command, effect: Effect) -> bool:
        """Say whether it was done; it is not if nobody wants the effect any more."""


@dataclass
class Performer:
    """Does one effect after the other.

    Attributes:
        tell: Puts what came of it to the campaign.
        compute: Computes what comes next: the answer of `tuner.compute.tasks.next_step`, and why it is a cheap one.
        news: Told what happens, and the share done.
        engine: The version that a proposal is recorded with.
        where: What is known about where the machine is.
        waits: Told what is waited for, and None when that is over.
        gives_up: Whether a machine that does not come home is left where it is: where nobody could mend it.
        leave: Set while tuning does not go on: a part is waited for no longer then, unless the machine makes it.
    """

    name: str
    machine: Maker
    tell: Tell
    compute: Callable[[State], Awaitable[tuple[Any, str]]]
    wait: Callable[[float], Awaitable[object]]
    news: Callable[[Sentence, float | None], None]
    engine: str = ""
    where: Whereabouts = field(default_factory=Whereabouts)
    waits: Callable[[Wait | None], None] = lambda wait: None
    gives_up: bool = False
    leave: asyncio.Event = field(default_factory=asyncio.Event)

    async def do(self, effect: Effect, state: State) -> None:
        """Do what the state wants, and tell the campaign what came of it."""
        if isinstance(effect, ComputeNext):
            await self.tell(await self._next(state), effect)
        elif isinstance(effect, Send):
            await self._send(effect, state)
        elif isinstance(effect, Run):
            await self._run(effect, state)
        else:
            await self._home(effect, state)

    async def _next(self, state: State) -> c.Propose | c.Ask | c.KeepContract | c.Fault:
        try:
            result, why = await self.compute(state)
        except ComputeError as error:
            return c.Fault(text=say("fault.no_proposal", why=str(error)))
        if why:
            log.warning("%s: no proposal from the model (%s): a cheap one takes its place", self.name, why)
        if result.get("hold"):
            log.info("%s: %s", self.name, from_json(result["hold"]))
            return c.KeepContract(reason=from_json(result["hold"]))
        memory = Memory.from_json(result["model"])
        if result["proposal"] is None:
            question = None if result["question"] is None else Question.from_json(result["question"])
            return c.Ask(question=question, model=memory, engine=self.engine)
        proposal = Proposal.from_json(result["proposal"])
        return c.Propose(proposal=proposal, source="fallback" if why else "model", model=memory, engine=self.engine)

    async def _send(self, effect: Send, state: State) -> None:
        trial = state.trials[effect.trial - 1]
        if not await self.tell(c.SendSetting(trial=trial.number), effect):
            return
        answer = await self.through_gate(state, trial.setting)
        await self.tell(c.AnswerSetting(trial=trial.number, **_told(answer)), effect)

    async def _home(self, effect: ReturnHome, state: State) -> None:
        """Bring the machine home; as long as it is wanted there, it is tried again and again."""
        answer = await self.through_gate(state, state.terms.known_good, home=True)
        endless, told = Patience(None, 0, self.where.clock), False
        while answer.result != "applied" and not self.gives_up:
            if told:
                await self._wait_for(endless, answer.awaited or "people", answer.text)
            else:
                log.error("%s: the machine is NOT at its known-good setting: %s", self.name, answer.text)
                told = await self.tell(c.DelayHome(text=answer.text, read_back=answer.read_back), effect)
                if not told:
                    return
            self.where.release()  # people may have to move it by hand
            answer = await self._once(state, state.terms.known_good, home=True)
        self.waits(None)
        if answer.result != "applied":
            log.error("%s: the machine is NOT at its known-good setting: %s", self.name, answer.text)
        await self.tell(c.AnswerHome(**_told(answer)), effect)

    async def through_gate(self, state: State, setting: Setting, *, home: bool = False, leaves: bool = False) -> Answer:
        """Send a setting; where time helps it is sent again, as long as the patience lasts."""
        patience = self._patience(state)
        while True:
            answer = await self._once(state, setting, home=home)
            if answer.awaited is None:
                break
            if not await self._wait_for(patience, answer.awaited, answer.text, leaves=leaves):
                answer = replace(answer, text=patience.after(answer.awaited, answer.text))
                break
        self.waits(None)
        return answer

    async def _once(self, state: State, setting: Setting, *, home: bool) -> Answer:
        dry_run = state.terms.policy.dry_run and not home
        return await self._gate(state, setting).send(state.terms, setting, dry_run=dry_run, home=home)

    def _gate(self, state: State, setting: Setting) -> Gate:
        """The road to the machine for a setting whose manual parameters are people's matter."""
        by_hand = {name: setting[name] for name in state.terms.adapter.by_hand}
        self.where.by_hand(by_hand)
        link = Attended(self.machine, by_hand) if by_hand else self.machine
        return Gate(link, self.wait, self.news, self.where, self.waits)

    def _patience(self, state: State) -> Patience:
        policy = state.terms.policy
        return Patience(policy.waiting, policy.retries, self.where.clock)

    async def _wait_for(self, patience: Patience, awaited: Awaited, text: Sentence, *, leaves: bool = False) -> bool:
        """Wait before the next try; False if the patience is over."""
        wait = patience.failed(awaited, text)
        if wait is None:
            return False
        self.waits(wait)
        if not leaves:
            await self.wait(patience.pause_s(wait))
            return True
        tasks = {asyncio.ensure_future(self.wait(patience.pause_s(wait))), asyncio.ensure_future(self.leave.wait())}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if self.leave.is_set():
            raise _LeftError(text)
        return True

    async def _run(self, effect: Run, state: State) -> None:
        try:
            await self._make_trial(effect, state)
        except _LeftError as left:
            self.waits(None)
            await self.tell(c.Interrupt(reason=say("fault.left", why=str(left))), effect)

    async def _make_trial(self, effect: Run, state: State) -> None:
        trial = state.trials[effect.trial - 1]
        if trial.stage is Stage.APPLIED:
            if not state.terms.policy.dry_run and not await self._settle(state, trial):
                return
            if not await self.tell(c.BeginTrial(trial=trial.number), effect):
                return
        if state.terms.policy.dry_run:
            return  # somebody tells the outcome
        outcome = await self._make(state, trial, part_name(state, trial))
        if outcome is not None:
            told = c.MachineOutcome(
                trial=trial.number,
                valid=outcome.valid,
                reason=outcome.reason,
                measurements=dict(outcome.measurements),
                photo=outcome.photo,
            )
            await self.tell(told, effect)

    async def _settle(self, state: State, trial: CampaignTrial) -> bool:
        """Wait and discard parts until the machine has taken the change; False if it failed."""
        policy = state.terms.policy
        if policy.settling_s:
            self.news(say("news.settling", seconds=policy.settling_s), 0.0)
            await self.wait(policy.settling_s)
        for number in range(1, policy.settling_parts + 1):
            discarding = say("news.discarding", number=number, parts=policy.settling_parts)
            self.news(discarding, (number - 1) / policy.settling_parts)
            if await self._make(state, trial, f"{part_name(state, trial)}-s{number}") is None:
                return False
        return True

    async def _make(self, state: State, trial: CampaignTrial, tag: str) -> Outcome | None:
        """Let the machine make a part; None if it could not and the campaign was told so.

        Raises:
            _LeftError: Tuning does not go on, and the machine is not making the part.
        """
        patience, again = self._patience(state), False
        while True:
            awaited: Awaited | None = None
            try:
                # people, and controllers that were frozen, change settings that were verified a while ago
                changed = await self._gate(state, trial.setting).changed(state.terms, trial.setting)
                if changed is not None and not again:
                    told = say("fault.changed", what=changed)
                    break
                if changed is not None:  # a new process, perhaps a machine that was restarted
                    answer = await self.through_gate(state, trial.setting, leaves=True)
                    if answer.result != "applied":
                        told = say(f"setting.{answer.result}", text=answer.text)
                        break
                forbidden = await self._gate(state, trial.setting).interlocked() if again and changed is None else None
                if forbidden is None:
                    # one that has it still may be making the part, and is not ready for a setting then
                    outcome = await self.machine.run_trial(tag)
                    self.waits(None)
                    return outcome
                awaited, text, told = "ready", forbidden, say("fault.no_part", why=forbidden)
            except AdapterError as error:
                text = told = Sentence.of(str(error))
                awaited = await self._gate(state, trial.setting).awaited(error)
            if awaited is None or not await self._wait_for(patience, awaited, text, leaves=True):
                told = patience.after(awaited, told) if awaited else told
                break
            again = True
        self.waits(None)
        await self.tell(c.Fault(text=told), Run(trial.number))
        return None


def _told(answer: Answer) -> dict[str, Any]:
    """What the campaign is told of an answer."""
    return {"result": answer.result, "text": answer.text, "read_back": answer.read_back}


def part_name(state: State, trial: CampaignTrial) -> str:
    """Names the part for the machine: no other part ever has the same name, and it is short enough for a register."""
    return f"{state.series}-{trial.tag}"
