"""A scripted run in this process: the pure campaign machine, the model and the adapter, without journal or sockets."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

from tuner.adapter import Adapter, AdapterError, Health, Outcome, Value
from tuner.basics.times import utc_now
from tuner.campaign import commands as c
from tuner.campaign.decide import Actor, automatic, decide
from tuner.campaign.effects import ComputeProposal, Effect, Run, Send, wanted
from tuner.campaign.events import Event, ModelMemory
from tuner.campaign.evolve import Recorded, evolve
from tuner.campaign.model_input import model_input
from tuner.campaign.state import Stage, State, Trial
from tuner.campaign.terms import Terms
from tuner.compute.tasks import propose, recommend
from tuner.config import Campaign
from tuner.config.parameters import parameter_info
from tuner.config.plugins import load_adapter
from tuner.core.space.parameters import SpaceError
from tuner.errors import ConfigError, TunerError
from tuner.gate.gate import Gate
from tuner.lab.judges.by_name import Answerer, Question
from tuner.lab.simulate.results import RunResult
from tuner.problems import get_problem
from tuner.report.truth import Truth

SYSTEM = Actor("tuner", "engineer")
# drawn call by call: the daemon, which reads back more often and tries again, would meet other ones
_FAULTS = ("crash_probability", "hang_probability", "dropout_probability", "garbage_probability", "open_guard_every")


class Told(Protocol):
    """Is told how many trials of a run are done."""

    def __call__(self, seed: int, trials: int) -> None:
        """Take the news."""


def run_in_process(
    campaign: Campaign, judge: Answerer, told: Told, clock: Callable[[], datetime] = utc_now
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


async def _run(campaign: Campaign, judge: Answerer, told: Told, clock: Callable[[], datetime]) -> RunResult:
    begin_s = time.perf_counter()
    terms = Terms.of(campaign)
    books = Books(campaign.name, clock)
    kind = load_adapter(campaign.adapter.name)
    adapter = kind(campaign.adapter.settings, [parameter_info(p) for p in campaign.parameters])
    shell = _Shell(books, _Link(adapter, terms))
    adapter.open(terms.adapter.deadlines.open_s)
    try:
        books.tell(c.Create(terms=terms))
        state = books.tell(c.Start())
        while True:
            effect, duel = wanted(state), state.duel
            if effect is not None:
                await shell.do(effect, state)
            elif duel is not None:
                answer = judge(Question(duel.number, _part(state, duel.left), _part(state, duel.right)))
                books.tell(
                    _answered(duel.number, answer.side, duel.left, duel.right), Actor(answer.operator, "operator")
                )
            else:
                break
            state = books.state
            told(campaign.seed, sum(trial.stage is Stage.DONE for trial in state.trials))
    finally:
        adapter.close()
    return _result(state, Truth(get_problem(terms.adapter.settings["problem"]), terms.parameters), begin_s)


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
        """Do a command and all that follows from it by itself.

        Raises:
            Refusal: It is not allowed now.
        """
        now = self._clock()
        events: list[Event] = list(decide(self._state, command, actor, now))
        while True:
            for event in events:
                seq = 1 if self._state is None else self._state.seq + 1
                self._state = evolve(self._name, self._state, Recorded(seq, now, actor.name, event))
            following = automatic(self.state, now)
            if following is None:
                return self.state
            events, actor = [following], SYSTEM


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


class _Shell:
    """Does what the state wants, as `tuner.daemon.runner` does, but waits between no moves and tries nothing again."""

    def __init__(self, books: Books, link: _Link) -> None:
        self._books = books
        self._link = link
        self._gate = Gate(link, _no_wait, lambda text, done: None)

    async def do(self, effect: Effect, state: State) -> None:
        if isinstance(effect, ComputeProposal):
            self._propose(state)
        elif isinstance(effect, Send):
            trial = state.trials[effect.trial - 1]
            self._books.tell(c.SendSetting(trial=trial.number))
            answer = await self._gate.send(state.terms, trial.setting)
            self._books.tell(
                c.AnswerSetting(trial=trial.number, result=answer.result, text=answer.text, read_back=answer.read_back)
            )
        elif isinstance(effect, Run):
            await self._run(state, state.trials[effect.trial - 1])
        else:
            answer = await self._gate.send(state.terms, state.terms.known_good, home=True)
            self._books.tell(c.AnswerHome(result=answer.result, text=answer.text, read_back=answer.read_back))

    def _propose(self, state: State) -> None:
        try:
            self._books.tell(_proposal(propose(_plain(model_input(state)))))
        except SpaceError as error:
            self._books.tell(c.Fault(text=f"there is no setting to propose: {error}"))

    async def _run(self, state: State, trial: Trial) -> None:
        tag = f"{state.name}-{trial.tag}"
        try:
            for number in range(1, state.terms.policy.settling_parts + 1):
                await self._link.run_trial(f"{tag}-settling-{number}")
            self._books.tell(c.BeginTrial(trial=trial.number))
            outcome = await self._link.run_trial(tag)
        except AdapterError as error:
            self._books.tell(c.Fault(text=str(error)))
            return
        self._books.tell(
            c.MachineOutcome(
                trial=trial.number,
                valid=outcome.valid,
                reason=outcome.reason,
                measurements=dict(outcome.measurements),
                photo=outcome.photo,
            )
        )


async def _no_wait(seconds: float) -> None:
    """Rate limits are for real machines."""


def _plain(payload: dict[str, Any]) -> Any:
    """As the compute processes get it: what JSON makes of it."""
    return json.loads(json.dumps(payload, allow_nan=False))


def _proposal(result: dict[str, Any]) -> c.Propose:
    result = _plain(result)
    proposal = result["proposal"]
    return c.Propose(
        setting=proposal["setting"],
        source="model",
        kind=proposal["kind"],
        champion=proposal["champion_id"],
        reason=proposal["reason"],
        better=proposal["better"],
        valid=proposal["valid"],
        distance=proposal["distance"],
        model=ModelMemory(**result["model"]),
    )


def _part(state: State, number: int) -> dict[str, Any]:
    trial = state.trials[number - 1]
    return {"number": number, "tag": trial.tag, "setting": trial.setting, "measurements": dict(trial.measurements)}


def _answered(duel: int, side: str, left: int, right: int) -> c.Judge | c.Tie:
    return c.Tie(duel=duel) if side == "tie" else c.Judge(duel=duel, winner=left if side == "left" else right)


def _result(state: State, truth: Truth, begin_s: float) -> RunResult:
    champion = None if state.champion is None else state.trials[state.champion - 1].setting
    found = recommend(_plain(model_input(state)))
    recommended = None if found is None else found["setting"]
    done = [trial for trial in state.trials if trial.stage is Stage.DONE]
    return RunResult.of(
        truth,
        seed=state.terms.seed,
        mode=str(state.mode),
        reason=state.reason,
        scrap=state.scrap,
        champion=champion,
        recommended=recommended,
        settings=tuple(trial.setting for trial in done),
        valid=tuple(trial.valid for trial in done),
        winners=tuple(judgment.winner for judgment in state.judgments),
        seconds=time.perf_counter() - begin_s,
    )
