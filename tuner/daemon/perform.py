"""What is done for a wanted effect and which command comes of it: the same in the daemon and in a run without one."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from tuner.adapter import AdapterError, Outcome
from tuner.campaign import commands as c
from tuner.campaign.effects import ComputeProposal, Effect, ReturnHome, Run, Send
from tuner.campaign.state import CampaignTrial, Stage, State
from tuner.compute.backend import ComputeError
from tuner.core.optimizer.records import Memory, Proposal, Setting
from tuner.gate.gate import Answer, Gate, Link
from tuner.gate.whereabouts import Whereabouts

BACK_OFF_S = 0.5
LONGEST_BACK_OFF_S = 30.0

log = logging.getLogger(__name__)


class Maker(Link, Protocol):
    """A machine that also makes parts."""

    async def run_trial(self, tag: str) -> Outcome:
        """Make a part; the same tag again is the same part."""


class Tell(Protocol):
    """Puts a command to the campaign."""

    async def __call__(self, command: c.Command, effect: Effect) -> bool:
        """Say whether it was done; it is not if nobody wants the effect any more."""


@dataclass
class Performer:
    """Does one effect after the other.

    Attributes:
        tell: Puts what came of it to the campaign.
        compute: Computes a proposal: the answer of `tuner.compute.tasks.propose`, and why it is a cheap one.
        news: Told what happens, and the share done.
        engine: The version that a proposal is recorded with.
        where: What is known about where the machine is.
    """

    name: str
    machine: Maker
    tell: Tell
    compute: Callable[[State], Awaitable[tuple[Any, str]]]
    wait: Callable[[float], Awaitable[object]]
    news: Callable[[str, float | None], None]
    engine: str = ""
    where: Whereabouts = field(default_factory=Whereabouts)

    async def do(self, effect: Effect, state: State) -> None:
        """Do what the state wants, and tell the campaign what came of it."""
        if isinstance(effect, ComputeProposal):
            await self.tell(await self._propose(state), effect)
        elif isinstance(effect, Send):
            await self._send(effect, state)
        elif isinstance(effect, Run):
            await self._run(effect, state)
        else:
            await self._home(effect, state)

    async def _propose(self, state: State) -> c.Propose | c.Fault:
        try:
            result, why = await self.compute(state)
        except ComputeError as error:
            return c.Fault(text=f"there is no setting to propose: {error}")
        if why:
            log.warning("%s: no proposal from the model (%s): a cheap one takes its place", self.name, why)
        proposal, memory = Proposal.from_json(result["proposal"]), Memory.from_json(result["model"])
        return c.Propose(proposal=proposal, source="fallback" if why else "model", model=memory, engine=self.engine)

    async def _send(self, effect: Send, state: State) -> None:
        trial = state.trials[effect.trial - 1]
        if not await self.tell(c.SendSetting(trial=trial.number), effect):
            return
        answer = await self.through_gate(state, trial.setting)
        await self.tell(c.AnswerSetting(trial=trial.number, **asdict(answer)), effect)

    async def _home(self, effect: ReturnHome, state: State) -> None:
        answer = await self.through_gate(state, state.terms.known_good, home=True)
        if answer.result != "applied":
            log.error("%s: the machine is NOT at its known-good setting: %s", self.name, answer.text)
        await self.tell(c.AnswerHome(**asdict(answer)), effect)

    async def through_gate(self, state: State, setting: Setting, *, home: bool = False) -> Answer:
        """Send a setting; what failed for sure is tried again a few times."""
        policy = state.terms.policy
        for attempt in range(policy.retries + 1):
            answer = await self._gate().send(state.terms, setting, dry_run=policy.dry_run and not home, home=home)
            if answer.result != "failed" or attempt == policy.retries:
                break
            await self._back_off(attempt, answer.text)
        return answer

    def _gate(self) -> Gate:
        return Gate(self.machine, self.wait, self.news, self.where)

    async def _back_off(self, attempt: int, why: str) -> None:
        self.news(f"trying again: {why}", None)
        await self.wait(min(BACK_OFF_S * 2.0**attempt, LONGEST_BACK_OFF_S))

    async def _run(self, effect: Run, state: State) -> None:
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
            self.news(f"settling for {policy.settling_s:g} s", 0.0)
            await self.wait(policy.settling_s)
        for number in range(1, policy.settling_parts + 1):
            self.news(f"discarding part {number} of {policy.settling_parts}", (number - 1) / policy.settling_parts)
            if await self._make(state, trial, f"{part_name(state, trial)}-s{number}") is None:
                return False
        return True

    async def _make(self, state: State, trial: CampaignTrial, tag: str) -> Outcome | None:
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
                    answer = await self.through_gate(state, trial.setting)
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
            await self._back_off(attempt, text)
        await self.tell(c.Fault(text=text), Run(trial.number))
        return None


def part_name(state: State, trial: CampaignTrial) -> str:
    """Names the part for the machine: no other part ever has the same name, and it is short enough for a register."""
    return f"{state.series}-{trial.tag}"
