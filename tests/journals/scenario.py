"""Seven campaigns with every feature in use, driven through the real engine by a clock of their own."""

import asyncio
import dataclasses
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tuner.basics.sentences import from_json
from tuner.basics.vocabulary import Mode
from tuner.campaign import commands as c
from tuner.campaign.decide import Actor
from tuner.campaign.effects import ComputeNext, Run, Send, wake_at, wanted
from tuner.campaign.importing import import_of
from tuner.campaign.model_input import model_input
from tuner.campaign.state import State
from tuner.campaign.terms import Terms
from tuner.compute.tasks import next_step
from tuner.core.optimizer.questions import Question
from tuner.core.optimizer.records import Memory, Proposal
from tuner.daemon.engine import Engine, RequestKey, Result
from tuner.daemon.journal_thread import JournalThread

INES = Actor("ines", "engineer")
ANNA = Actor("anna", "operator", "desk")
BEN = Actor("Bjørn Ωmega", "operator", "panel-2")

WINDOWS = {
    "timezone": "Europe/Vienna",
    "quiet_hours": [{"start": "22:00:00", "end": "06:00:00"}],
    "breaks": [{"start": "12:00:00", "end": "12:30:00"}, {"start": "15:00:00", "end": "15:10:00"}],
    "per_hour": 30,
}
MOULD = {
    "machine": "moulding-1",
    "seed": 7,
    "budget": {"trials": 14, "scrap": 6},
    "policy": {
        "approval": True,
        "settling_parts": 1,
        "settling_s": 1.5,
        "champion_reduel_hours": 4.0,
        "repeat_after": 3,
        "questions": WINDOWS,
    },
    "adapter": {"name": "acme", "settings": {"host": "10.0.0.7", "map": [{"node": 4, "scale": 0.1}], "tls": None}},
    "parameters": [
        {"kind": "integer", "name": "melt", "low": 180, "high": 260, "start": 220, "step_limit": 10, "unit": "°C"},
        {"kind": "stepped", "name": "hold", "low": 200, "high": 900, "step": 5, "start": 450.0, "rate_limit": 600.0},
        {"kind": "continuous", "name": "cool", "low": 1.0, "high": 40.0, "start": 18.0, "log": True, "order": 1},
        {"kind": "choice", "name": "gate", "choices": ["edge", "tunnel", "fan"], "start": "edge"},
    ],
    "constraints": ["hold <= 1600 - 4*melt"],
}  # fmt: skip
PRESS = {
    "machine": "press-3",
    "seed": 3,
    "budget": {"trials": 9},
    "policy": {"approval": False, "repeat_after": 0, "retries": 0},
    "adapter": {"name": "simulated", "settings": {"problem": "sasena"}, "deadlines": {"trial_s": 30.0}},
    "parameters": [
        {"kind": "continuous", "name": "x1", "low": 0, "high": 5, "start": 3.5, "step_limit": 0.8, "tolerance": 0.01},
        {"kind": "continuous", "name": "x2", "low": 0.0, "high": 5.0, "start": 1.5, "unit": "mm"},
    ],
}  # fmt: skip
HANDS = {
    **PRESS,
    "machine": "press-4",
    "policy": {**PRESS["policy"], "waiting": {"verify_s": 2.0, "ready_s": 300.0, "link_s": 30.0}},
    "adapter": {**PRESS["adapter"], "by_hand": ["gate"]},
    "parameters": [
        {**PRESS["parameters"][0], "resolution": 0.05, "label": "gap"},
        {**PRESS["parameters"][1], "resolution": 0.001, "change_cost": 0.5},
        {"kind": "choice", "name": "gate", "choices": ["edge", "fan"], "start": "edge", "manual": True},
    ],
}
DRY = {**PRESS, "machine": "oven", "policy": {"approval": False, "dry_run": True, "questions": WINDOWS}}


def terms(given: dict[str, Any], **changes: Any) -> Terms:
    """Terms from plain data; what 0.1.0 could not read as JSON it could read as the text of a configuration."""
    plain = json.loads(json.dumps({**given, **changes}))
    questions = plain["policy"].get("questions", {})
    for name in ("quiet_hours", "breaks"):
        questions[name] = [f"{one['start'][:5]}-{one['end'][:5]}" for one in questions.get(name, [])]
    return Terms.model_validate_json(json.dumps(plain))


class Desk:
    """An engine at work, everybody who speaks with it, and the clock that they share."""

    def __init__(self, archive: JournalThread) -> None:
        self.now = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
        self.engine = Engine(archive, self._clock, lambda name, one, state: None, lambda state: None)
        self._requests = 0

    def _clock(self) -> datetime:
        self.now += timedelta(seconds=1, microseconds=137)
        return self.now

    def state(self, name: str) -> State:
        return self.engine.states[name]

    async def tell(self, name: str, command: c.Command, **rest: Any) -> Result:
        """The daemon's own parts speak."""
        result = await self.engine.post(name, command, **rest)
        assert result.status == "done", (command, result)
        return result

    async def ask(self, name: str, command: c.Command, actor: Actor = INES, refused: str = "") -> Result:
        """Somebody sends a request."""
        self._requests += 1
        key = {
            "id": f"request-{self._requests:04}",
            "digest": f"digest {self._requests}",
            "owner": actor.via or "local",
        }
        known = {field.name for field in dataclasses.fields(RequestKey)}
        request = RequestKey(**{name: value for name, value in key.items() if name in known})
        result = await self.engine.post(name, command, actor, request=request)
        assert result.code == refused, (command, result)
        return result

    async def work(self, name: str, trials: int) -> None:
        """Let the campaign go on until it has so many trials with an outcome, or wants nothing any more."""
        while sum(trial.ended_at is not None for trial in self.state(name).trials) < trials:
            if not await self.step(name):
                return

    async def step(self, name: str) -> bool:
        """Do the one thing that the campaign waits for."""
        state = self.state(name)
        effect, trial, duel = wanted(state), state.trial, state.duel
        if isinstance(effect, ComputeNext):
            await self.tell(name, _computed(state))
        elif isinstance(effect, Send):
            await self.tell(name, c.SendSetting(trial=effect.trial))
            setting = state.trials[effect.trial - 1].setting
            await self.tell(name, c.AnswerSetting(trial=effect.trial, result="applied", read_back=setting))
        elif isinstance(effect, Run):
            await self.tell(name, c.BeginTrial(trial=effect.trial))
            await self.tell(name, _outcome(state, effect.trial))
        elif effect is not None:
            await self.tell(name, c.AnswerHome(result="applied", read_back=state.terms.known_good))
        elif duel is not None:
            await self.ask(name, _answer(state), (ANNA, BEN)[duel.number % 2])
        elif trial is not None and trial.stage == "proposed":
            await self.ask(name, c.Approve(trial=trial.number))
        elif (wake := wake_at(state, self.now)) is not None:
            self.now = max(self.now, wake)
            await self.tell(name, c.Tick())
        else:
            return False
        return True


def _computed(state: State) -> c.Propose | c.Ask | c.KeepContract:
    result = json.loads(json.dumps(next_step(json.loads(json.dumps(model_input(state))))))
    if "hold" in result:
        return c.KeepContract(reason=from_json(result["hold"]))
    memory = Memory.from_json(result["model"])
    if result["proposal"] is None:
        question = None if result["question"] is None else Question.from_json(result["question"])
        return c.Ask(question=question, model=memory, engine="tuner corpus")
    proposal = Proposal.from_json(result["proposal"])
    return c.Propose(proposal=proposal, source="model", model=memory, engine="tuner corpus")


def cost(setting: dict[str, Any]) -> float:
    """How bad a part is."""
    if "x1" in setting:
        return float((setting["x1"] - 2.0) ** 2 + (setting["x2"] - 2.5) ** 2)
    gate = {"fan": 0.0, "edge": 0.5, "tunnel": 1.0}[setting["gate"]]
    parts = ((setting["melt"] - 235) / 20, (setting["hold"] - 600) / 150, (setting["cool"] - 20) / 8)
    return float(sum(part * part for part in parts) + gate)


def _outcome(state: State, number: int) -> c.MachineOutcome:
    setting = state.trials[number - 1].setting
    good = cost(setting) < 20 and number != 4
    return c.MachineOutcome(
        trial=number,
        valid=good,
        reason="" if good else "short shot",
        measurements={"width": round(cost(setting), 3), "weight": 12.0},
        photo=f"/photos/{number}.png" if number == 2 else None,
    )


def _answer(state: State) -> c.Judge | c.Tie:
    duel = state.duel
    assert duel is not None
    left, right = (cost(dict(state.trials[number - 1].setting)) for number in (duel.left, duel.right))
    if duel.number == 2 or left == right:
        return c.Tie(duel=duel.number, took_s=9.5)
    return c.Judge(duel=duel.number, winner=duel.left if left < right else duel.right, took_s=4.25)


async def mould(desk: Desk) -> None:
    """Approval, windows, lots, corrections of every kind; it ends with its budget."""
    name = "mould"
    await desk.tell(name, c.Create(terms=terms(MOULD)))
    await desk.ask(name, c.Start())
    await desk.ask(name, c.ChangeLot(lot="L-2026/17"), ANNA)
    await desk.ask(name, c.Start(), refused="illegal_state")
    await desk.work(name, 3)
    while desk.state(name).trial is None:
        await desk.step(name)
    await desk.ask(name, c.Reject(trial=desk.state(name).trials[-1].number, reason="too hot for this resin"))
    await desk.work(name, 7)
    state = desk.state(name)
    await desk.ask(name, c.Retract(judgment=state.judgments[0].number, reason="held the wrong part"), INES)
    await desk.ask(name, c.Exclude(trial=3, reason="mould was dirty"))
    done = [trial.number for trial in state.trials if trial.usable]
    await desk.ask(name, c.Repeat(trial=done[0]))
    await desk.ask(name, c.ChangeLot(lot="Löt 18"), BEN)
    await desk.work(name, 9)
    await desk.ask(name, c.Hold(reason="shift change"), ANNA)
    changed = {**MOULD, "budget": {"trials": 15, "scrap": 7}, "policy": {**MOULD["policy"], "approval": False}}
    await desk.tell(name, c.ChangeTerms(terms=terms(changed)))
    await desk.ask(name, c.Resume(), ANNA)
    desk.now = desk.now.replace(hour=20, minute=59, second=30)  # one minute and a half before the quiet hours
    await desk.work(name, 11)
    while desk.state(name).trial is not None or desk.state(name).duel is not None:
        await desk.step(name)
    await desk.tell(name, c.Reduel())
    await desk.work(name, 12)
    trial = desk.state(name).trials[-1].number
    told = desk.state(name).trials[trial - 1].valid
    await desk.ask(name, c.TellOutcome(trial=trial, valid=not told, reason="looked at it again"), ANNA)
    while await desk.step(name):
        pass


async def press(desk: Desk) -> None:
    """Faults, interruptions, a failed way home, a stop and a new start; it is aborted in the end."""
    name = "press"
    await desk.tell(name, c.Create(terms=terms(PRESS)))
    await desk.ask(name, c.Start())
    await desk.work(name, 2)
    while not isinstance(wanted(desk.state(name)), Send):
        await desk.step(name)
    number = desk.state(name).trials[-1].number
    await desk.tell(name, c.SendSetting(trial=number))
    await desk.tell(name, c.Interrupt(reason="the daemon was restarted"))
    await desk.tell(name, c.SendSetting(trial=number))
    back = {"x1": 3.5, "x2": 1.5}
    await desk.tell(name, c.AnswerSetting(trial=number, result="unverified", text="read back x1 3.5", read_back=back))
    await desk.tell(name, c.AnswerHome(result="failed", text="the link is down"))
    await desk.ask(name, c.GoHome(), INES)
    await desk.step(name)
    await desk.ask(name, c.Resume(), ANNA)
    await desk.work(name, 4)
    while not isinstance(wanted(desk.state(name)), Run):
        await desk.step(name)
    await desk.tell(name, c.BeginTrial(trial=desk.state(name).trials[-1].number))
    await desk.tell(name, c.Fault(text="the guard is open"))
    await desk.tell(name, c.DelayHome(text="the guard is open, still so after 2:00", read_back=back))
    await desk.step(name)
    await desk.ask(name, c.Resume(), BEN)
    await desk.work(name, 5)
    await desk.ask(name, c.Stop(reason="end of the shift"), ANNA)
    while await desk.step(name):
        pass
    await desk.ask(name, c.Start())
    await desk.work(name, 6)
    while not isinstance(wanted(desk.state(name)), ComputeNext):
        await desk.step(name)
    again = Question(2, 1, repeat=True, why="again")
    await desk.tell(name, c.Ask(question=again, model=desk.state(name).memory, engine="tuner corpus"))
    while desk.state(name).trial is None:
        await desk.step(name)
    await desk.tell(name, c.Park(reason="the daemon stops"))
    await desk.ask(name, c.Abort(reason="smoke"), INES)


async def hands(desk: Desk) -> None:
    """Parameters that people change by hand and confirm; it is stopped while a change is asked for."""
    name = "hands"
    await desk.tell(name, c.Create(terms=terms(HANDS)))
    await desk.ask(name, c.Start())
    await desk.ask(name, c.ConfirmChange(change=2), ANNA, refused="not_open")
    await desk.ask(name, c.ConfirmChange(change=1), ANNA)
    while desk.state(name).changes < 2:
        await desk.step(name)
    await desk.ask(name, c.Stop(reason="the other gate is broken"), BEN)
    await desk.ask(name, c.ConfirmChange(change=3), BEN)
    while await desk.step(name):
        pass


async def dry(desk: Desk) -> None:
    """A dry run that waits for its first part."""
    await desk.tell("dry", c.Create(terms=terms(DRY)))
    await desk.ask("dry", c.Start())
    await desk.tell("dry", c.SendSetting(trial=1))
    await desk.ask("dry", import_of(desk.state("press"), discount=0.25))


async def again(desk: Desk) -> None:
    """Takes over all that the press found, and goes on where that was."""
    name = "again"
    await desk.tell(name, c.Create(terms=terms(PRESS, machine="press-5")))
    await desk.ask(name, import_of(desk.state("press"), discount=1.0))
    await desk.ask(name, import_of(desk.state("press"), discount=0.5), refused="unchanged")
    await desk.ask(name, c.Start())
    while await desk.step(name):
        pass


async def steered(desk: Desk) -> None:
    """Parameters restricted for a while, an alarm acknowledged, a comparison asked again, a part remade."""
    name = "steered"
    await desk.tell(name, c.Create(terms=terms(PRESS, machine="press-6")))
    await desk.ask(name, c.Start())
    await desk.work(name, 3)
    await desk.ask(name, c.Freeze(parameter="x2", value=1.5, until="shift", reason="the insert is worn"))
    await desk.ask(name, c.Narrow(parameter="x1", low=1.0, high=9.0, reason="too wide"), refused="bad_request")
    await desk.ask(name, c.Narrow(parameter="x1", low=1.0, high=3.75, reason="the resin degrades"))
    await desk.ask(name, c.Freeze(parameter="x1", value=2.0, reason="x"), ANNA, refused="denied")
    await desk.work(name, 5)
    await desk.ask(name, c.Free(parameter="x1", reason="another resin"))
    while desk.state(name).duel is None:
        await desk.step(name)
    await desk.ask(name, c.AskAgain(judgment=1), BEN)
    await desk.ask(name, c.Repeat(trial=desk.state(name).trials[-1].number), ANNA)
    await desk.tell(name, c.Fault(text="the pump is hot"))
    await desk.ask(name, c.Acknowledge(alarm=1), BEN)
    await desk.step(name)
    desk.now += timedelta(hours=9)
    await desk.tell(name, c.Tick())
    await desk.ask(name, c.Resume(), BEN)
    await desk.work(name, 7)


async def agreed(desk: Desk) -> None:
    """A scrap contract that holds tuning before the part once its scrap is used up, and goes on under a new one."""
    name, wide = "agreed", {"rate": 0.3, "strictness": "certain", "confidence": 0.6}
    scrap = {"rate": 0.3, "budget": 1}
    await desk.tell(name, c.Create(terms=terms(PRESS, machine="press-7", scrap=scrap)))
    await desk.ask(name, c.Start())
    while desk.state(name).mode != Mode.HELD:
        assert await desk.step(name)
    while await desk.step(name):  # home
        pass
    await desk.tell(name, c.ChangeTerms(terms=terms(PRESS, machine="press-7", scrap=wide)))
    await desk.ask(name, c.Resume())
    await desk.work(name, 7)


async def play(directory: Path) -> dict[str, State]:
    """Make the journal; the states as they were in memory at its end."""
    archive = await JournalThread.open(directory)
    desk = Desk(archive)
    await desk.engine.load()
    work = asyncio.create_task(desk.engine.run())
    try:
        for campaign in (mould, press, hands, dry, again, steered, agreed):
            await asyncio.wait_for(campaign(desk), 600)
        await desk.engine.close()
        return dict(desk.engine.states)
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await archive.close()
