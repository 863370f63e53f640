"""Long runs of a campaign on a machine that drops moves and lies: engine, journal, work and gate are the real ones."""

import asyncio
import random
import time

import pytest

from tests.campaign.helpers import ANNA, ENGINEER, terms
from tests.daemon.engine_at_work import desk
from tests.daemon.lying import SAYS, TAKES, LyingMachine
from tests.patience import PATIENT_S
from tuner.campaign import commands as c
from tuner.campaign.effects import wanted
from tuner.campaign.state import Mode
from tuner.core.optimizer.records import Memory, Proposal
from tuner.daemon.runner import CampaignRunner, Context
from tuner.gate import gate, patience
from tuner.gate.whereabouts import Whereabouts
from tuner.machine.process import Machine

PARAMETERS = [
    {"kind": "continuous", "name": "x", "low": 0.0, "high": 10.0, "start": 5.0, "step_limit": 2.5, "order": 1},
    {"kind": "integer", "name": "n", "low": 0, "high": 8, "start": 2, "step_limit": 3, "rate_limit": 60_000.0},
    {"kind": "stepped", "name": "s", "low": 0.0, "high": 1.0, "step": 0.1, "start": 0.5, "step_limit": 0.35},
    {"kind": "choice", "name": "c", "choices": ["a", "b"], "start": "a"},
    {"kind": "continuous", "name": "t", "low": -1.0, "high": 1.0, "start": 0.0, "rate_limit": 12_000.0, "order": 2},
]


class Pretended(Machine):
    """A machine without a process: its calls stand in the same queue and go to the liar."""

    def __init__(self, given_terms, liar: LyingMachine, broken: list[str]) -> None:
        super().__init__(given_terms)
        self.liar, self.broken = liar, broken

    async def _in_turn(self, call):
        async with self._turns.turn(patient=call.patient):
            await asyncio.sleep(0)
            if not call.wanted:
                raise gate.AdapterError("given up")
            try:
                return await self._answer(call)
            except AssertionError as error:
                self.broken.append(str(error))
                raise

    async def _answer(self, call):
        if call.name == "health":
            return {"ok": True, "text": "", "interlocks": {}}
        if call.name == "read_back":
            return await self.liar.read_back()
        if call.name == "run_trial":
            return {"valid": True, "reason": "", "measurements": {}, "photo": None}
        return await self.liar.apply(call.arguments["setting"])


class Dice:
    """Proposes anything."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def submit(self, name, payload, *, speculative=False):
        return self

    def cancel(self) -> None:
        """Nothing is under way."""

    def setting(self) -> dict:
        numbers = {"x": self.rng.uniform(0, 7), "n": self.rng.randrange(9), "s": self.rng.randrange(11) * 0.1}
        return {**numbers, "c": self.rng.choice("ab"), "t": self.rng.uniform(-1, 1)}

    async def result(self, deadline_s=None):
        proposal = Proposal(number=1, setting=self.setting(), kind="improve")
        return {"proposal": proposal.to_json(), "model": Memory().to_json()}


class Shift:
    """A campaign on a lying machine; people judge, hold, turn knobs and resume; the daemon restarts at times."""

    def __init__(self, made, trials: int, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - lies, not secrets
        self.engine = made.engine
        waiting = {"verify_s": 0.006, "ready_s": 0.006, "link_s": 0.006}
        self.terms = terms(
            trials=trials, policy={"waiting": waiting}, parameters=PARAMETERS, constraints=["x + n <= 15"]
        )
        says = iter(lambda: self.rng.choices(SAYS, [40, *[1] * (len(SAYS) - 1)])[0], None)
        takes = iter(lambda: self.rng.choices(TAKES, [40, *[1] * (len(TAKES) - 1)])[0], None)
        self.liar = LyingMachine(self.terms, time.monotonic, self.rng, takes=takes, says=says, steady=False)
        self.broken: list[str] = []
        self.news = asyncio.Event()
        self.faults: list[str] = []
        self.held = self.hands = self.restarts = 0
        self.dice = Dice(self.rng)
        self.around = Context(self.engine.post, self.dice, lambda *news: None, 60.0, "", speculate=False)
        self.work: CampaignRunner | None = None
        self.engine._follow = self.follow
        self.engine._publish = self.note

    @property
    def state(self):
        return self.engine.states["press"]

    def follow(self, state) -> None:
        if self.work is None:
            machine = Pretended(state.terms, self.liar, self.broken)
            self.work = CampaignRunner("press", self.around, machine, Whereabouts.of(state.machine))
        self.work.follow(state)
        self.news.set()

    def note(self, name, one, state) -> None:
        if one.event.type == "campaign_held" and one.event.fault:
            self.faults.append(one.event.reason)

    async def run(self) -> None:
        await self.engine.post("press", c.Create(terms=self.terms))
        await self.engine.post("press", c.Start(), ENGINEER)
        while self.state.mode is not Mode.COMPLETE or wanted(self.state) is not None:
            self.news.clear()
            await self.people()
            await asyncio.wait_for(self.news.wait(), PATIENT_S)
            assert not any("defect" in fault for fault in self.faults), self.faults[-1]

    async def people(self) -> None:
        state = self.state
        if state.duel is not None:
            await self.engine.post("press", c.Tie(duel=state.duel.number), ANNA)
        elif state.mode is Mode.EXECUTE and self.rng.random() < 0.01:
            await self.engine.post("press", c.Hold(), ANNA)
        elif state.mode is Mode.EXECUTE and self.rng.random() < 0.005:
            await self.restart()
        if self.state.mode is Mode.HELD and wanted(self.state) is None:
            self.held += 1
            if self.rng.random() < 0.3 and not self.work.machine._turns.taken:
                self.hands += 1
                self.liar.by_hand(self.dice.setting())
            await self.engine.post("press", c.Resume(), ANNA)

    async def restart(self) -> None:
        """As after a kill: what is being sent arrives or not, nothing is remembered but the journal."""
        self.restarts += 1
        before, self.work = self.work, None
        await before.close()
        await self.engine.resume()


async def shift(tmp_path, monkeypatch, trials: int, seed: int) -> Shift:
    monkeypatch.setattr(gate, "LOOK_AGAIN_S", (0.001, 0.002, 0.003))
    monkeypatch.setattr(gate, "LOOK_EVERY_S", 0.001)
    monkeypatch.setattr(patience, "PAUSES_S", (0.001,))
    async with desk(tmp_path) as made:
        one = Shift(made, trials, seed)
        await one.run()
        await one.work.close()
    assert one.broken == []
    assert [fault for fault in one.faults if "defect" in fault] == []
    assert one.state.spent == trials
    assert one.liar.lies > 0
    assert one.held > 0
    return one


@pytest.mark.asyncio
async def test_no_limit_is_broken_in_fifty_trials_on_a_machine_that_drops_and_lies(tmp_path, monkeypatch):
    await shift(tmp_path, monkeypatch, 50, seed=1)


@pytest.mark.slow
@pytest.mark.asyncio
@pytest.mark.timeout(1800)
async def test_no_limit_is_broken_in_a_thousand_trials_on_a_machine_that_drops_and_lies(tmp_path, monkeypatch):
    one = await shift(tmp_path, monkeypatch, 1000, seed=2)
    assert one.liar.lies > 500
    assert one.hands > 10
    assert one.restarts > 10
    figures = {"commands": one.liar.received, "taken": one.liar.taken, "lies": one.liar.lies, "held": one.held}
    print({**figures, "by hand": one.hands, "restarts": one.restarts, "faults": len(one.faults)})  # noqa: T201
