"""What each operation answers: commands go to the engine, the rest is read from states, the journal and the model."""

import asyncio
import contextlib
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from tuner.adapter import AdapterError
from tuner.basics.text import listed
from tuner.basics.times import text_of
from tuner.campaign import commands as c
from tuner.campaign.decide import Refusal
from tuner.campaign.evolve import parsed
from tuner.campaign.state import State
from tuner.campaign.terms import Terms
from tuner.compute.backend import Backend
from tuner.config import parse_config
from tuner.config.plugins import load_adapter
from tuner.daemon.engine import Engine, Result
from tuner.daemon.intake import Asked, body_of, digest
from tuner.daemon.journal_thread import JournalThread, RequestKey
from tuner.daemon.model_questions import ModelQuestions
from tuner.daemon.troubles import Troubles
from tuner.daemon.views import campaign_line, campaign_view, event_message, judgment_view, trial_view
from tuner.errors import ConfigError
from tuner.gate.plan import GateRefusal, Move, plan
from tuner.machine.process import InUseError, Machine
from tuner.wire import messages as m
from tuner.wire.ops import OPS

MOST_READERS = 2  # of the journal: what is to be written down waits for these at most


class Answers:
    """Answers requests.

    Args:
        engine: Owns the campaigns.
        archive: The journal.
        compute: For what only the model knows.
        machine_of: The machine of a campaign, if it has been used.
        clock: The wall clock.
        facts: What `status` and `hello` tell about the daemon.
        stop: Called when somebody asks the daemon to end.
        troubles: How many errors of single messages there were.
        busy: How many requests were too many.
    """

    def __init__(
        self,
        engine: Engine,
        archive: JournalThread,
        compute: Backend,
        machine_of: Callable[[str], Machine | None],
        clock: Callable[[], datetime],
        facts: "Facts",
        stop: Callable[[str], None],
        troubles: Troubles,
        busy: Callable[[], int],
    ) -> None:
        self._engine = engine
        self._archive = archive
        self._compute = compute
        self._machine_of = machine_of
        self._clock = clock
        self._facts = facts
        self._stop = stop
        self._plans = asyncio.Semaphore(1)
        self._troubles = troubles
        self._busy = busy
        self._questions = ModelQuestions(compute)
        self._one_config = asyncio.Semaphore(1)  # a large configuration takes a thread that machines need too
        self._few_readers = asyncio.Semaphore(MOST_READERS)

    async def __call__(self, asked: Asked) -> tuple[m.Status, BaseModel]:
        """Status and body of the answer."""
        request, actor = asked.request, asked.actor
        body = body_of(asked.op, request)
        if request.op == "daemon.stop":
            self._stop(f"{actor.name} asked for it")
            return "accepted", m.Accepted()
        if asked.op.command:
            key = RequestKey(asked.key, request.id, digest(request))
            name, command = await self._command(request, body)
            result = await self._engine.post(name, command, actor, request=key, arrived_s=asked.arrived_s)
            return _answered(result)
        if not asked.op.campaign or request.campaign is None:
            return "done", self._about_daemon(body, asked)
        state = await self._find(request.campaign)
        return "done", await self._about_campaign(body, state, asked)

    async def _command(self, request: m.Request, body: BaseModel) -> tuple[str, c.Command]:
        if not isinstance(body, m.CreateBody):
            return request.campaign or "", cast("c.Command", body)
        async with self._one_config:
            name, terms = await asyncio.to_thread(_terms, body.config, self._facts)
        return name, c.Create(terms=terms)

    async def _find(self, name: str) -> State:
        """A campaign's state; one that is over is read from the journal, which commands need more than readers do."""
        state = self._engine.states.get(name)
        if state is None:
            async with self._few_readers:
                state = await self._engine.known.find(name)
        if state is None:
            raise Refusal("not_found", f"there is no campaign {name!r}")
        return state

    def _about_daemon(self, body: BaseModel, asked: Asked) -> BaseModel:
        actor = asked.actor
        now = self._clock()
        if isinstance(body, m.Hello):
            common = set(body.versions) & {m.VERSION}
            if not common:
                raise Refusal("version", f"this daemon speaks version {m.VERSION} of the protocol only")
            known = OPS.keys() if self._facts.create_over_wire else OPS.keys() - {"campaign.create"}
            allowed = sorted(name for name in known if actor.role in OPS[name].roles)
            return m.Welcome(
                version=max(common),
                tuner=self._facts.version,
                you=actor.signature,
                role=cast("m.Role", actor.role),
                ops=allowed,
                events=self._facts.events if asked.encrypted else self._facts.local_events,
            )
        if asked.request.op == "ping":
            return m.Pong(now=text_of(now))
        states = [self._engine.states[name] for name in sorted(self._engine.states)]
        return m.StatusBody(
            tuner=self._facts.version,
            pid=os.getpid(),
            started_at=text_of(self._facts.started_at),
            now=text_of(now),
            seq=self._engine.seq,
            state_directory=str(self._facts.state_directory),
            campaigns=[campaign_line(state, now) for state in states],
            over=self._engine.known.over(),
            set_aside=[m.SetAside(name=name, why=why) for name, why in sorted(self._engine.known.set_aside.items())],
            compute=_stats(self._compute),
            troubles=self._troubles.count,
            busy=self._busy(),
        )

    async def _about_campaign(self, body: BaseModel, state: State, asked: Asked) -> BaseModel:
        op = asked.request.op
        if op == "snapshot":
            return campaign_view(state, self._clock())
        if op == "config":
            return m.ConfigBody(terms=state.terms.model_dump(mode="json"))
        if op == "champion":
            return _champion(state)
        if isinstance(body, m.HistoryBody):
            return await self._history(state, body)
        if isinstance(body, m.TrialsBody):
            return _trials(state, body)
        if isinstance(body, m.PlanBody):
            return await self._plan(state, body)
        return await self._questions.ask(op, state, asked.key)

    async def _history(self, state: State, body: m.HistoryBody) -> m.HistoryPage:
        last = min(state.count, (body.before or state.count + 1) - 1)
        first = max(1, last - body.limit + 1)
        async with self._few_readers:
            rows = await self._archive.call(lambda store: store.part(state.name, first, last - first + 1))
        events = [
            event_message(state.name, parsed(row.seq, row.at, row.actor, row.body), n)
            for n, row in enumerate(rows, first)
        ]
        return m.HistoryPage(events=events[::-1], more=first > 1)

    async def _plan(self, state: State, body: m.PlanBody) -> m.PlanView:
        setting = body.setting if body.setting is not None else state.trial.setting if state.trial else None
        if setting is None:
            raise Refusal("not_found", "no setting waits to be sent")
        try:
            have, known = await self._setting_of(state)
            async with self._plans:  # one at a time: the way home is planned by the same threads
                moves = await asyncio.to_thread(plan, state.terms, have, setting)
        except GateRefusal as refusal:
            raise Refusal("gate", f"this setting would be refused: {refusal}") from refusal
        except AdapterError as error:
            raise Refusal("not_ready", f"the machine does not answer: {error}") from error
        texts = _told(state, have, moves)
        if texts and known:
            texts[0] = f"{known}: {texts[0]}"
        return m.PlanView(
            steps=[move.setting for move in moves], seconds=sum(move.wait_s for move in moves), texts=texts
        )

    async def _setting_of(self, state: State) -> tuple[dict[str, Any], str]:
        """What the machine has, and where that is known from if it could not be asked now.

        It is not asked while a move, a part or the way home is under way.
        """
        machine = self._machine_of(state.name)
        if machine is not None and state.trial is not None and not state.trial.started_at:
            with contextlib.suppress(InUseError):
                return await machine.look() or state.terms.known_good, ""
        if state.machine.read_back is None:
            return state.terms.known_good, "from the known-good setting"
        return state.machine.read_back, "from what the machine had when it was asked last"


class Facts(BaseModel):
    """What does not change while the daemon runs."""

    version: str
    started_at: datetime
    state_directory: Path
    events: str
    create_over_wire: bool = False
    create_adapters: tuple[str, ...] = ()
    local_events: str


def _answered(result: Result) -> tuple[m.Status, BaseModel]:
    if result.status != "done":
        raise Refusal(result.code, result.text)
    return "done", m.EventsAfter(n=result.n)


def _terms(text: str, facts: Facts) -> tuple[str, Terms]:
    """Name and terms of a campaign that somebody asks for over the wire: it gets nothing of the daemon's own host."""
    if not facts.create_over_wire:
        raise Refusal(
            "not_allowed",
            "campaigns come from the daemon's configuration files: put this one there and reload, or let engineers "
            "create campaigns with create_over_wire and create_adapters in the table [daemon]",
        )
    try:
        config = parse_config(text, "config")
    except ConfigError as error:
        raise Refusal("config", str(error)) from error
    if len(config.campaigns) != 1:
        raise Refusal("config", "give a configuration with exactly one table [[campaign]]")
    campaign = config.campaigns[0]
    kind = load_adapter(campaign.adapter.name)
    if kind.starts_programs or campaign.adapter.name not in facts.create_adapters:
        raise Refusal(
            "not_allowed",
            f"a campaign with the adapter {campaign.adapter.name} comes from the daemon's configuration files only; "
            f"over the wire: {listed(facts.create_adapters)}",
        )
    kept = kind.of_this_host(campaign.adapter.settings)
    if kept:
        raise Refusal(
            "not_allowed",
            f"over the wire, settings name no files, devices or variables of the daemon's host: leave out "
            f"{listed(kept)}, or put the campaign into a configuration file",
        )
    return campaign.name, Terms.of(campaign)


def _stats(compute: Backend) -> dict[str, Any]:
    stats = compute.stats()
    return {name: getattr(stats, name) for name in stats.__dataclass_fields__}


def _champion(state: State) -> m.ChampionBody:
    number = state.champion
    if number is None:
        return m.ChampionBody(champion=None, judgments=[])
    duels = [judgment_view(judgment) for judgment in state.judgments if number in judgment.pair]
    return m.ChampionBody(champion=trial_view(state.trials[number - 1]), judgments=duels[::-1])


def _trials(state: State, body: m.TrialsBody) -> m.TrialsPage:
    last = min(len(state.trials), (body.before or len(state.trials) + 1) - 1)
    first = max(1, last - body.limit + 1)
    trials = state.trials[first - 1 : last]
    shown = {trial.number for trial in trials}
    judgments = [judgment_view(j) for j in state.judgments if max(j.left, j.right) in shown]
    return m.TrialsPage(trials=[trial_view(trial) for trial in trials[::-1]], judgments=judgments[::-1], more=first > 1)


def _told(state: State, have: dict[str, Any], moves: list[Move]) -> list[str]:
    """Each move in words: what changes, from what to what."""
    units = {parameter.name: parameter.unit for parameter in state.terms.parameters}
    texts = []
    for move in moves:
        changed = [
            f"{name} {have.get(name)} → {value} {units[name]}".rstrip()
            for name, value in move.setting.items()
            if have.get(name) != value
        ]
        texts.append((f"after {move.wait_s:g} s: " if move.wait_s else "") + ", ".join(changed))
        have = move.setting
    return texts
