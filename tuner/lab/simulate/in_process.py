"""A scripted run in this process: the pure campaign machine, the model and the adapter, without journal or sockets."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

from tuner.adapter import Adapter, Health, Outcome, Value
from tuner.basics.times import utc_now
from tuner.campaign import commands as c
from tuner.campaign.decide import Actor, Refusal
from tuner.campaign.effects import Effect, wanted
from tuner.campaign.model_input import model_input
from tuner.campaign.people import answer_to
from tuner.campaign.state import Mode, Stage, State
from tuner.campaign.step import SYSTEM, step
from tuner.campaign.terms import Terms
from tuner.compute.backend import ComputeError
from tuner.compute.tasks import next_step, recommend
from tuner.config import Campaign
from tuner.config.parameters import parameter_info
from tuner.config.plugins import load_adapter
from tuner.core.space.parameters import SpaceError
from tuner.daemon.perform import Performer
from tuner.errors import ConfigError, TunerError
from tuner.gate.whereabouts import Whereabouts
from tuner.lab.judges.by_name import Answerer, AskedDuel, JudgeError
from tuner.lab.simulate.results import RunResult
from tuner.problems import get_problem
from tuner.report.truth import Truth

# drawn call by call: the daemon, which reads back more often and tries again, would meet other ones
_HANDS = Actor("simulated hands", "operator")
_FAULTS = (
    "crash_probability",
    "hang_probability",
    "dropout_probability",
    "garbage_probability",
    "open_guard_every",
    "scan_s",
    "not_ready_s",
    "guard_open_s",
    "link_away_s",
)


async def _no_wait(seconds: float) -> None:
    """Rate limits are for real machines."""


class TellProgress(Protocol):
    """Is told how many trials of a run are done."""

    def __call__(self, seed: int, trials: int) -> None:
        """Take the news."""


def run_in_process(
    campaign: Campaign, judge: Answerer, told: TellProgress, clock: Callable[[], datetime] = utc_now
) -> RunResult:
    """Run a campaign as `tuner.lab.simulate.prepare.scripted` made it until it ends by itself.

    Raises:
        ConfigError: The machine is to have faults of its link, which only the daemon can deal with.
        JudgeError: The judge gave no answer.
    """
    settings: Any = campaign.adapter.settings
    for name in _FAULTS:
        if getattr(settings, name, 0.0) > 0:
            raise ConfigError(f"campaign {campaign.name}: {name} is for runs through the daemon, not --in-process")
    return asyncio.run(_run(campaign, judge, told, clock))


async def _run(campaign: Campaign, judge: Answerer, told: TellProgress, clock: Callable[[], datetime]) -> RunResult:
    begin_s = time.perf_counter()
    kind = load_adapter(campaign.adapter.name)
    adapter = kind(campaign.adapter.settings, [parameter_info(p) for p in campaign.parameters])
    state = await tuned(campaign, adapter, judge, told, clock)
    truth = Truth(get_problem(state.terms.adapter.settings["problem"]), state.terms.parameters)
    return _result(state, truth, begin_s)


async def tuned(
    campaign: Campaign,
    adapter: Adapter[Any],
    judge: Answerer,
    told: TellProgress,
    clock: Callable[[], datetime],
    pause: Callable[[float], Awaitable[None]] = _no_wait,
    by_hand: Callable[[Mapping[str, Value]], None] = lambda setting: None,
) -> State:
    """The state of a campaign after it ran on an adapter until nothing is left to do.

    `pause` waits for ramps, `by_hand` is told what a person changes.
    """
    terms = Terms.of(campaign)
    books = Books(campaign.name, clock)
    time_passed = _TimePassed(pause)
    performer = Performer(
        campaign.name,
        _Link(adapter, terms),
        books.told,
        _compute,
        time_passed.wait,
        lambda text, done: None,
        where=Whereabouts(lambda: time_passed.seconds),
        gives_up=True,
    )
    adapter.open(terms.adapter.deadlines.open_s)
    try:
        books.tell(c.Create(terms=terms))
        state = books.tell(c.Start())
        while True:
            effect, duel = wanted(state), state.duel
            if effect is not None:
                await performer.do(effect, state)
            elif state.change is not None and state.mode is Mode.EXECUTE:
                by_hand(state.change.setting)
                books.tell(c.ConfirmChange(change=state.change.number), _HANDS)
            elif duel is not None:
                answer = judge(AskedDuel.of(duel.number, state.trials[duel.left - 1], state.trials[duel.right - 1]))
                said = answer_to(duel.number, duel.left, duel.right, answer.side)
                try:
                    books.tell(said, Actor(answer.operator, "operator"))
                except Refusal as refusal:
                    raise JudgeError(f"the judge's answer is not taken: {refusal}") from refusal
            else:
                return state
            state = books.state
            told(campaign.seed, sum(trial.stage is Stage.DONE for trial in state.trials))
    finally:
        adapter.close()


class Books:
    """A campaign's state, and the only way to change it: what the daemon's engine does, without a journal."""

    def __init__(self, name: str, clock: Callable[[], datetime]) -> None:
        self._name = name
        self._clock = clock
        self._state: State | None = None

    @property
    def state(self) -> State:
        """The campaign now."""
        if self._state is None:
            raise TunerError(f"the campaign {self._name} was not created")
        return self._state

    def tell(self, command: c.Command, actor: Actor = SYSTEM) -> State:
        """Do a command and all that follows from it by itself."""
        done = step(self._name, self._state, command, actor, self._clock())
        self._state = done[-1][1] if done else self._state
        return self.state

    async def told(self, command: c.Command, effect: Effect) -> bool:
        """Take what came of an effect; nobody else is there who could have changed what is wanted."""
        self.tell(command)
        return True


class _Link:
    """The adapter as the gate sees it."""

    def __init__(self, adapter: Adapter[Any], terms: Terms) -> None:
        self._adapter = adapter
        self._deadlines = terms.adapter.deadlines

    async def health(self) -> Health:
        return self._adapter.health(self._deadlines.read_back_s)

    async def read_back(self) -> dict[str, Value]:
        return dict(self._adapter.read_back(self._deadlines.read_back_s))

    async def apply(self, setting: Mapping[str, Value]) -> None:
        self._adapter.apply(setting, self._deadlines.apply_s)

    async def go_to(self, setting: Mapping[str, Value]) -> None:
        self._adapter.go_to(setting, self._deadlines.apply_s)

    async def run_trial(self, tag: str) -> Outcome:
        return self._adapter.run_trial(tag, self._deadlines.trial_s)


class _TimePassed:
    """A clock that only waiting moves: nobody waits for a machine that is not there."""

    def __init__(self, pause: Callable[[float], Awaitable[None]]) -> None:
        self.seconds = 0.0
        self._pause = pause

    async def wait(self, seconds: float) -> None:
        self.seconds += seconds
        await self._pause(seconds)


def _plain(payload: dict[str, Any]) -> Any:
    """As the compute processes get it: what JSON makes of it."""
    return json.loads(json.dumps(payload, allow_nan=False))


async def _compute(state: State) -> tuple[Any, str]:
    try:
        return _plain(next_step(_plain(model_input(state)))), ""
    except SpaceError as error:
        raise ComputeError(str(error)) from error


def _result(state: State, truth: Truth, begin_s: float) -> RunResult:
    found = recommend(_plain(model_input(state)))
    return RunResult.of(
        truth,
        state.trials,
        seed=state.terms.seed,
        mode=str(state.mode),
        reason=state.reason,
        scrap=state.scrap,
        champion=None if state.champion is None else state.trials[state.champion - 1].setting,
        recommended=None if found is None else found["setting"],
        winners=tuple(judgment.winner for judgment in state.judgments),
        seconds=time.perf_counter() - begin_s,
    )
