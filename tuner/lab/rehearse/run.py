"""One rehearsal: the campaign itself on a drawn process, with a clock that runs as fast as the model computes."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import numpy as np

from tuner.adapter import Adapter, AdapterSettings, Health, Outcome, ParameterInfo, Setting, Value
from tuner.basics.vocabulary import Answer
from tuner.campaign.asking_times import may_ask_at
from tuner.campaign.model_input import model_input
from tuner.campaign.state import Stage, State
from tuner.compute.tasks import recommend
from tuner.config import Campaign, Choice
from tuner.config.campaign import Questions
from tuner.config.parameters import parameter_info
from tuner.config.to_space import campaign_space
from tuner.lab.judges.by_name import AskedDuel, JudgeAnswer
from tuner.lab.rehearse.process import Process, draw
from tuner.lab.simulate.in_process import TellProgress, tuned

MOST_NOISE = 0.3  # of the spread of all settings' quality
MOST_SLIPS = 0.08
_JUDGE_STREAM = 7
_MONDAY = (2026, 1, 5, 6)


@dataclass(frozen=True)
class Pace:
    """How long things take that no configuration says, in minutes."""

    part_min: float = 2.0
    look_min: float = 1.0
    approve_min: float = 5.0
    change_min: float = 10.0


@dataclass(frozen=True)
class Task:
    """A rehearsal to run."""

    campaign: Campaign
    seed: int
    trials: int
    pace: Pace

    @property
    def key(self) -> int:
        """A number that no other rehearsal of the command has."""
        return self.trials * 100_000 + self.seed


@dataclass(frozen=True)
class Rehearsal:
    """What came of it.

    Attributes:
        seed: Of process, judge and proposals.
        budget: How many trials were allowed.
        mode: The campaign's last mode; Complete unless something went wrong.
        reason: Why it ended.
        trials: How many were run.
        scrap: How many of them made no part.
        looks: How many questions were answered.
        hours: From the start to the end, pauses counted.
        machine_hours: What of them the machine moved, settled and made parts.
        changes: How often a person changed something by hand.
        change_parts: What all changes cost, in parts, by the change_cost of the parameters.
        gain: The share of what there was to gain that the recommended setting brings; negative: worse than known-good.
        gains: The same for the champion after each trial.
        tries: For each choice, how often each option was tried.
        took_s: How long the computer took.
    """

    seed: int
    budget: int
    mode: str
    reason: str
    trials: int
    scrap: int
    looks: int
    hours: float
    machine_hours: float
    changes: int
    change_parts: float
    gain: float
    gains: tuple[float, ...]
    tries: dict[str, dict[str, int]] = field(default_factory=dict)
    took_s: float = field(default=0.0, compare=False)


class Clock:
    """A time that passes only when it is told to."""

    def __init__(self, now: datetime) -> None:
        self.began = self.now = now
        self.machine = timedelta()

    def __call__(self) -> datetime:
        """The time."""
        return self.now

    def work(self, seconds: float) -> None:
        """Let the machine work for a while."""
        self.now += timedelta(seconds=seconds)
        self.machine += timedelta(seconds=seconds)

    def until(self, moment: datetime) -> None:
        """Let time pass until a moment."""
        self.now = max(self.now, moment)


class RehearsedMachine(Adapter[AdapterSettings]):
    """Makes parts as the drawn process says; the measurement `objective` is what the judge goes by."""

    Settings: ClassVar[type[AdapterSettings]] = AdapterSettings

    def __init__(self, process: Process, parameters: Sequence[ParameterInfo], clock: Clock, task: Task) -> None:
        """Keep what it is."""
        super().__init__(AdapterSettings(), parameters)
        self._process = process
        self._clock = clock
        self._part_s = 60.0 * task.pace.part_min
        self._approve_s = 60.0 * task.pace.approve_min if task.campaign.policy.approval else 0.0
        by_hand = task.campaign.left_to_people
        self._setting: dict[str, Value] = {p.name: p.start for p in parameters if p.name not in by_hand}
        self._hands: dict[str, Value] = {p.name: p.start for p in parameters if p.name in by_hand}
        self._change_s = 60.0 * task.pace.change_min
        self.changes = 0

    def change(self, setting: Setting) -> None:
        """A person changes something by hand, and takes a while for it."""
        self.changes += 1
        self._clock.until(self._clock.now + timedelta(seconds=self._change_s))
        self._hands |= {name: value for name, value in setting.items() if name in self._hands}

    def open(self, deadline_s: float) -> None:
        """It is always there."""

    def apply(self, setting: Setting, deadline_s: float) -> None:
        """Take a setting."""
        self._setting = dict(setting)

    def read_back(self, deadline_s: float) -> dict[str, Value]:
        """The setting it took last."""
        return dict(self._setting)

    def run_trial(self, tag: str, deadline_s: float) -> Outcome:
        """Make a part; somebody approved it before, which took a while."""
        self._clock.until(self._clock.now + timedelta(seconds=self._approve_s))
        self._clock.work(self._part_s)
        cost = self._process.measured({**self._setting, **self._hands})
        if cost is None:
            return Outcome(valid=False, reason="no part")
        return Outcome(valid=True, measurements={"objective": cost})

    def health(self, deadline_s: float) -> Health:
        """Always well."""
        return Health(ok=True)

    def close(self) -> None:
        """Nothing is kept."""


class _People:
    """Look when they may be asked, take their time, see the difference with noise, and slip now and then."""

    def __init__(self, task: Task, clock: Clock) -> None:
        self._rng = np.random.default_rng([task.seed, _JUDGE_STREAM])
        self._noise = self._rng.uniform(0.05, MOST_NOISE)
        self._slips = self._rng.uniform(0.0, MOST_SLIPS)
        self._questions = task.campaign.policy.questions
        self._look = timedelta(minutes=task.pace.look_min)
        self._clock = clock
        self._asked: list[datetime] = []

    def __call__(self, question: AskedDuel) -> JudgeAnswer:
        self._clock.until(may_ask_at(self._questions, self._clock.now, self._asked) or self._clock.now)
        self._asked.append(self._clock.now)
        self._clock.until(self._clock.now + self._look)
        left, right = (float(part["measurements"]["objective"]) for part in (question.left, question.right))
        prefers_left = left + self._noise * self._rng.standard_normal() < right
        if self._rng.random() < self._slips:
            prefers_left = not prefers_left
        return JudgeAnswer(Answer.LEFT if prefers_left else Answer.RIGHT)


def rehearse(task: Task, told: TellProgress) -> Rehearsal:
    """Run one."""
    began_s = time.monotonic()
    campaign = _unattended(task)
    process = draw(campaign_space(campaign), dict(campaign.known_good), task.seed)
    zone = task.campaign.policy.questions.timezone
    clock = Clock(datetime(*_MONDAY, tzinfo=UTC if zone == "UTC" else ZoneInfo(zone)).astimezone(UTC))
    parameters = [parameter_info(parameter) for parameter in campaign.parameters]
    machine = RehearsedMachine(process, parameters, clock, task)

    async def pause(seconds: float) -> None:
        clock.work(seconds)

    people = _People(task, clock)

    def counted(seed: int, trials: int) -> None:
        told(task.key, trials)

    state = asyncio.run(tuned(campaign, machine, people, counted, clock, pause, machine.change))
    found = None if state.champion is None else recommend(model_input(state))
    return Rehearsal(
        seed=task.seed,
        budget=task.trials,
        mode=str(state.mode),
        reason=state.fault or state.reason,
        trials=sum(trial.stage is Stage.DONE for trial in state.trials),
        scrap=state.scrap,
        looks=len(state.judgments),
        hours=(clock.now - clock.began) / timedelta(hours=1),
        machine_hours=clock.machine / timedelta(hours=1),
        changes=machine.changes,
        change_parts=_change_parts(state, campaign),
        gain=process.gain(None if found is None else found["setting"]),
        gains=_gains(state, process),
        tries=_tries(state, campaign),
        took_s=time.monotonic() - began_s,
    )


def _unattended(task: Task) -> Campaign:
    """Nobody approves and no question waits: what that takes is the clock's business."""
    policy = task.campaign.policy.model_copy(
        update={"autostart": False, "approval": False, "dry_run": False, "champion_reduel_hours": None,
                "questions": Questions()}
    )  # fmt: skip
    budget = task.campaign.budget.model_copy(update={"trials": task.trials})
    return task.campaign.model_copy(update={"seed": task.seed, "policy": policy, "budget": budget})


def _gains(state: State, process: Process) -> tuple[float, ...]:
    """What the best of the winners so far brings after each trial: the champion's own way, judged by the truth."""
    gains: list[float] = []
    champion: int | None = None
    for trial in state.trials:
        won = [
            one.winner for one in state.active if max(one.left, one.right) == trial.number and one.winner is not None
        ]
        if trial.usable and (champion is None or trial.number in won):
            champion = trial.number
        gains.append(process.gain(None if champion is None else state.trials[champion - 1].setting))
    return tuple(gains)


def _change_parts(state: State, campaign: Campaign) -> float:
    """What the changes from each part to the next cost, beside the parts themselves."""
    made = [campaign.known_good, *(t.setting for t in state.trials if t.stage is Stage.DONE)]
    return sum(
        p.cost for before, after in pairwise(made) for p in campaign.parameters if before[p.name] != after[p.name]
    )


def _tries(state: State, campaign: Campaign) -> dict[str, dict[str, int]]:
    done = [trial.setting for trial in state.trials if trial.stage is Stage.DONE]
    return {
        p.name: {option: sum(setting[p.name] == option for setting in done) for option in p.choices}
        for p in campaign.parameters
        if isinstance(p, Choice)
    }


def typical_part_min(campaign: Campaign) -> float:
    """How long a part takes where the configuration says so, else what a moulded part takes."""
    settings: Any = campaign.adapter.settings
    seconds = getattr(settings, "seconds_per_trial", 0.0)
    return seconds / 60.0 if seconds else Pace().part_min
