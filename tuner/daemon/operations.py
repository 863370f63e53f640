"""What each operation answers: commands go to the engine, the rest is read from states, the journal and the model."""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from tuner.adapter import AdapterError
from tuner.basics.sentences import Sentence, no_campaign, say
from tuner.basics.times import text_of
from tuner.basics.vocabulary import Lane, Role, Status
from tuner.campaign import commands as c
from tuner.campaign.decide import Refusal
from tuner.campaign.evolve import parsed
from tuner.campaign.state import State
from tuner.campaign.terms import Terms
from tuner.compute.backend import Backend
from tuner.config import parse_config
from tuner.config.plugins import load_adapter
from tuner.daemon.engine import Engine
from tuner.daemon.intake import Asked, body_of, digest
from tuner.daemon.journal_thread import JournalThread, RequestKey
from tuner.daemon.model_questions import ModelQuestions
from tuner.daemon.people import People
from tuner.daemon.troubles import Troubles
from tuner.daemon.views import campaign_line, campaign_view, event_message, judgment_views, trial_view
from tuner.errors import ConfigError
from tuner.gate.plan import GateRefusal, Move, plan
from tuner.machine.process import InUseError, Machine
from tuner.wire import messages as m
from tuner.wire import people as who
from tuner.wire.operations import OPS

B = TypeVar("B", bound=BaseModel)
Handle = Callable[[Asked, Any], Awaitable[BaseModel]]
MOST_READERS = 2  # of the journal: what is to be written down waits for these at most


@dataclass
class Answers:
    """Answers requests: a public method for each operation that is not simply a command for the engine.

    `machine_of` is the machine of a campaign, if it has been used, `waiting_of` what it waits for there. `stop` is
    called when somebody asks the daemon to end. `troubles` and `busy` count errors of single messages and requests that
    were too many.
    """

    _engine: Engine
    _archive: JournalThread
    _compute: Backend
    _machine_of: Callable[[str], Machine | None]
    _waiting_of: Callable[[str], m.WaitingView | None]
    _clock: Callable[[], datetime]
    _facts: "Facts"
    _stop: Callable[[str], None]
    _troubles: Troubles
    _busy: Callable[[], int]
    _people: People
    _alarms: Callable[[], Sequence[str]] = list

    def __post_init__(self) -> None:
        self._plans = asyncio.Semaphore(1)
        self._questions = ModelQuestions(self._compute)
        self._one_config = asyncio.Semaphore(1)  # a large configuration takes a thread that machines need too
        self._few_readers = asyncio.Semaphore(MOST_READERS)

    async def __call__(self, asked: Asked) -> tuple[Status, BaseModel]:
        """Status and body of the answer: by the handler with the operation's name, or the engine for a command."""
        handle: Handle = getattr(self, asked.op.method, self._order)
        return asked.op.status, await handle(asked, body_of(asked.op, asked.request))

    async def _order(self, asked: Asked, body: c.Command) -> m.EventsAfter:
        return await self._post(asked, asked.request.campaign or "", body)

    async def _post(self, asked: Asked, name: str, command: c.Command) -> m.EventsAfter:
        self._require_proof(asked, name)
        key = RequestKey(asked.sender.client, asked.request.id, digest(asked.request))
        result = await self._engine.post(name, command, asked.actor, request=key, arrived_s=asked.arrived_s)
        if result.status != Status.DONE:
            raise Refusal(result.code, result.text)
        return m.EventsAfter(n=result.n)

    def _require_proof(self, asked: Asked, name: str) -> None:
        """Whoever answers or approves has proved who it is, where the campaign wants it; anybody may hold and stop."""
        state, actor = self._engine.states.get(name), asked.actor
        if state is None or state.terms.policy.identify != "pin" or asked.op.lane is Lane.URGENT:
            return
        if not actor.proved and actor.role != Role.CONTROLLER:
            raise Refusal("sign_in", say("refused.sign_in", name=name))

    async def create(self, asked: Asked, body: m.CreateBody) -> m.EventsAfter:
        """A campaign from the text of a configuration."""
        async with self._one_config:
            name, terms = await asyncio.to_thread(_terms, body.config, self._facts)
        return await self._post(asked, name, c.Create(terms=terms))

    async def stop_daemon(self, asked: Asked, body: m.Nothing) -> m.Accepted:
        """The daemon ends when its machines are home."""
        self._stop(f"{asked.actor.signature} asked for it")
        return m.Accepted()

    async def hello(self, asked: Asked, body: m.Hello) -> m.Welcome:
        """The version that both speak, who is asking, and what that one may do."""
        common = set(body.versions) & {m.VERSION}
        if not common:
            raise Refusal("version", say("request.only_version", version=m.VERSION))
        known = OPS.keys() if self._facts.create_over_wire else OPS.keys() - {"campaign.create"}
        return m.Welcome(
            version=max(common),
            tuner=self._facts.version,
            you=asked.actor.signature,
            role=Role(asked.actor.role),
            ops=sorted(name for name in known if asked.actor.role in OPS[name].roles),
            events=self._facts.events if asked.sender.door == "network" else self._facts.local_events,
            people=self._people.count,
        )

    async def ping(self, asked: Asked, body: m.Nothing) -> m.Pong:
        """The time here."""
        return m.Pong(now=text_of(self._clock()))

    async def status(self, asked: Asked, body: m.Nothing) -> m.StatusBody:
        """The daemon and its campaigns."""
        now = self._clock()
        states = [self._engine.states[name] for name in sorted(self._engine.states)]
        return m.StatusBody(
            tuner=self._facts.version,
            pid=os.getpid(),
            started_at=text_of(self._facts.started_at),
            now=text_of(now),
            seq=self._engine.seq,
            state_directory=str(self._facts.state_directory),
            campaigns=[campaign_line(state, now, self._waiting_of(state.name)) for state in states],
            over=self._engine.known.over(),
            set_aside=[m.SetAside(name=name, why=why) for name, why in sorted(self._engine.known.set_aside.items())],
            compute=asdict(self._compute.stats()),
            troubles=self._troubles.count,
            busy=self._busy(),
            alarms=list(self._alarms()),
        )

    async def snapshot(self, asked: Asked, body: m.Nothing) -> m.CampaignView:
        """Everything a console shows."""
        state = await self._state(asked)
        return campaign_view(state, self._clock(), self._waiting_of(state.name))

    async def config(self, asked: Asked, body: m.Nothing) -> m.ConfigBody:
        """The terms."""
        return m.ConfigBody(terms=(await self._state(asked)).terms.model_dump(mode="json"))

    async def history(self, asked: Asked, body: m.HistoryBody) -> m.HistoryPage:
        """A page of events, from the journal."""
        state = await self._state(asked)
        first, last = _page(state.count, body)
        async with self._few_readers:
            rows = await self._archive.call(lambda store: store.part(state.name, first, last - first + 1))
        events = [
            event_message(state.name, parsed(row.seq, row.at, row.actor, row.body), n)
            for n, row in enumerate(rows, first)
        ]
        return m.HistoryPage(events=events[::-1], more=first > 1)

    async def trials(self, asked: Asked, body: m.TrialsBody) -> m.TrialsPage:
        """A page of trials, with the judgments about them."""
        state = await self._state(asked)
        first, last = _page(len(state.trials), body)
        trials = state.trials[first - 1 : last]
        shown = {trial.number for trial in trials}
        judgments = judgment_views(state, (j for j in state.judgments if max(j.left, j.right) in shown))
        return m.TrialsPage(trials=[trial_view(t) for t in trials[::-1]], judgments=judgments[::-1], more=first > 1)

    async def alarms(self, asked: Asked, body: m.AlarmsPage) -> m.AlarmsBody:
        """A page of alarms."""
        state = await self._state(asked)
        first, last = _page(len(state.alarms), body)
        alarms = [m.AlarmView.model_validate(one) for one in state.alarms[first - 1 : last][::-1]]
        return m.AlarmsBody(alarms=alarms, more=first > 1)

    async def champion(self, asked: Asked, body: m.Nothing) -> m.ChampionBody:
        """The champion and its duels."""
        state = await self._state(asked)
        number = state.champion
        if number is None:
            return m.ChampionBody(champion=None, judgments=[])
        duels = judgment_views(state, (judgment for judgment in state.judgments if number in judgment.pair))
        return m.ChampionBody(champion=trial_view(state.trials[number - 1]), judgments=duels[::-1])

    async def recommendation(self, asked: Asked, body: m.Nothing) -> BaseModel:
        """What only the model knows, as all four of these."""
        return await self._questions.ask(asked.request.op, await self._state(asked), asked.sender.client)

    explanation = slices = maps = recommendation

    async def plan(self, asked: Asked, body: m.PlanBody) -> m.PlanView:
        """The moves, as the gate would make them."""
        state = await self._state(asked)
        setting = body.setting if body.setting is not None else state.trial.setting if state.trial else None
        if setting is None:
            raise Refusal("not_found", say("refused.no_setting_waits"))
        try:
            have, known = await self._setting_of(state)
            async with self._plans:  # one at a time: the way home is planned by the same threads
                moves = await asyncio.to_thread(plan, state.terms, have, setting)
        except GateRefusal as refusal:
            raise Refusal("gate", say("gate.would_refuse", why=str(refusal))) from refusal
        except AdapterError as error:
            raise Refusal("not_ready", say("machine.no_answer", why=str(error))) from error
        texts = _told(state, have, moves)
        if texts and known:
            texts[0] = say(known, text=texts[0])
        return m.PlanView(
            steps=[move.setting for move in moves], seconds=sum(move.wait_s for move in moves), texts=texts
        )

    async def _once(self, asked: Asked, work: Callable[[], Coroutine[Any, Any, B]]) -> B:
        return await self._people.once(asked.sender.client, asked.request.id, digest(asked.request), work)

    async def list_people(self, asked: Asked, body: m.Nothing) -> who.PeopleBody:
        """Who may sign in."""
        return self._people.list()

    async def add_person(self, asked: Asked, body: who.NewPerson) -> who.PeopleBody:
        """Another one."""
        by = asked.actor.signature
        return await self._once(asked, lambda: self._people.add(body, by, asked.sender.client))

    async def disable_person(self, asked: Asked, body: who.DisableBody) -> who.PeopleBody:
        """Somebody may sign in no more, or again."""
        by = asked.actor.signature
        return await self._once(asked, lambda: self._people.disable(body.name, by, disabled=body.disabled))

    async def set_pin(self, asked: Asked, body: who.PinBody) -> who.PeopleBody:
        """Another PIN."""
        by = asked.actor.signature
        return await self._once(asked, lambda: self._people.set_pin(body.name, body.pin, by, asked.sender.client))

    async def set_badge(self, asked: Asked, body: who.BadgeBody) -> who.PeopleBody:
        """Another badge."""
        by = asked.actor.signature
        return await self._once(asked, lambda: self._people.set_badge(body.name, body.badge, by, asked.sender.client))

    async def open_session(self, asked: Asked, body: who.OpenBody) -> who.Opened:
        """Somebody signs in, with no more rights than the client has."""
        return await self._once(asked, lambda: self._people.open(body.name, body.pin, body.badge, asked.sender))

    async def close_session(self, asked: Asked, body: m.Nothing) -> m.Accepted:
        """Somebody signs out."""
        self._people.close(asked.request.session, asked.sender)
        return m.Accepted()

    async def check_sessions(self, asked: Asked, body: who.CheckBody) -> who.CheckedBody:
        """Whether people of a client are still signed in."""
        good = [self._people.signed_in(one, asked.sender) is not None for one in body.sessions]
        return who.CheckedBody(good=good)

    async def list_sessions(self, asked: Asked, body: m.Nothing) -> who.SessionsBody:
        """Who is signed in."""
        return self._people.sessions()

    async def end_session(self, asked: Asked, body: who.SessionBody) -> who.SessionsBody:
        """Somebody is signed out."""
        return self._people.end(body.number, asked.actor.signature)

    async def _state(self, asked: Asked) -> State:
        """A campaign's state; one that is over is read from the journal, which commands need more than readers do."""
        name = asked.request.campaign or ""
        state = self._engine.states.get(name)
        if state is None:
            async with self._few_readers:
                state = await self._engine.known.find(name)
        if state is None:
            raise Refusal("not_found", no_campaign(name, self._engine.known.names()))
        return state

    async def _setting_of(self, state: State) -> tuple[dict[str, Any], str]:
        """What the machine has, and the code of where that is known from if it could not be asked now.

        It is not asked while a move, a part or the way home is under way.
        """
        machine = self._machine_of(state.name)
        if machine is not None and state.trial is not None and not state.trial.started_at:
            with contextlib.suppress(InUseError):
                have = await machine.look()
                by_hand = {name: state.terms.known_good[name] for name in state.terms.adapter.by_hand} | state.manual
                return {**by_hand, **have} if have else state.terms.known_good, ""
        if state.machine.read_back is None:
            return state.terms.known_good, "plan.from_known_good"
        return state.machine.read_back, "plan.from_last"


class Facts(BaseModel):
    """What does not change while the daemon runs."""

    version: str
    started_at: datetime
    state_directory: Path
    events: str
    create_over_wire: bool = False
    create_adapters: tuple[str, ...] = ()
    local_events: str


def _terms(text: str, facts: Facts) -> tuple[str, Terms]:
    """Name and terms of a campaign that somebody asks for over the wire: it gets nothing of the daemon's own host."""
    if not facts.create_over_wire:
        raise Refusal("not_allowed", say("create.not_over_wire"))
    try:
        config = parse_config(text, "config")
    except ConfigError as error:
        raise Refusal("config", say("create.config", why=str(error))) from error
    if len(config.campaigns) != 1:
        raise Refusal("config", say("create.one_campaign"))
    campaign = config.campaigns[0]
    if campaign.earlier is not None:
        raise Refusal("not_allowed", say("create.earlier"))
    kind = load_adapter(campaign.adapter.name)
    if kind.starts_programs or campaign.adapter.name not in facts.create_adapters:
        allowed = list(facts.create_adapters)
        raise Refusal("not_allowed", say("create.adapter", adapter=campaign.adapter.name, allowed=allowed))
    kept = kind.of_this_host(campaign.adapter.settings)
    if kept:
        raise Refusal("not_allowed", say("create.of_this_host", keys=list(kept)))
    return campaign.name, Terms.of(campaign)


def _page(count: int, body: m.HistoryBody | m.TrialsBody | m.AlarmsPage) -> tuple[int, int]:
    """The numbers of the first and the last on a page."""
    last = min(count, (body.before or count + 1) - 1)
    return max(1, last - body.limit + 1), last


def _told(state: State, have: dict[str, Any], moves: list[Move]) -> list[Sentence]:
    """Each move in words: what changes, from what to what."""
    texts = []
    for move in moves:
        changed = [
            say("plan.change", name=one.called, old=one.shown(have.get(one.name)), new=one.shown(new, unit=True))
            for one in state.terms.parameters
            if have.get(one.name) != (new := move.setting[one.name])
        ]
        texts.append(
            say("plan.after", seconds=move.wait_s, changes=changed)
            if move.wait_s
            else say("plan.at_once", changes=changed)
        )
        have = move.setting
    return texts
