"""Waiting is normal: machines that are slow, not ready or away for a while finish their campaigns without a person."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

import pytest

from tests.campaign.helpers import terms
from tests.daemon.lying import LyingMachine
from tests.gate.test_lying_run import PARAMETERS, Dice
from tuner.adapter import DeadlineError, Health, LinkError, NotReadyError, Outcome, RefusedError
from tuner.campaign import commands as c
from tuner.campaign.effects import ReturnHome, Send, wanted
from tuner.campaign.state import Mode
from tuner.campaign.step import SYSTEM, step
from tuner.daemon.perform import Performer
from tuner.gate.whereabouts import Whereabouts

CONSTRAINTS = ["x + n <= 15"]


class Press(LyingMachine):
    """An honest machine with the manners of a press, on a clock that only waiting moves.

    It is slow to show what it was sent, and after each part not ready, open or away for a while.
    """

    def __init__(
        self, given_terms, clock, *, scan_s=0.0, not_ready_s=0.0, door_s=0.0, away_s=0.0, refuses=None
    ) -> None:
        super().__init__(given_terms, clock, random.Random(0))  # noqa: S311 - no secrets
        self.clock, self.refuses = clock, refuses
        self.scan_s, self.not_ready_s, self.door_s, self.away_s = scan_s, not_ready_s, door_s, away_s
        self.sent_s = self.made_s = -1e9
        self.parts: dict[str, Outcome] = {}
        self.shown = dict(self.held)

    def _since(self, seconds: float) -> bool:
        return self.clock() - self.made_s < seconds

    def _link(self) -> None:
        if self._since(self.away_s):
            raise LinkError("no answer from the press")

    async def health(self) -> Health:
        self._link()
        ok = not self._since(self.not_ready_s)
        return Health(ok, "" if ok else "not ready", {"guard door": not self._since(self.door_s)})

    async def read_back(self) -> dict:
        self._link()
        if self.clock() - self.sent_s >= self.scan_s - 1e-9:
            self.shown = dict(self.held)
        return dict(self.shown)

    async def apply(self, setting) -> None:
        self._link()
        assert not self._since(self.door_s), "the door is open"
        await self.read_back()
        await super().apply(setting)
        self.sent_s = self.clock()

    go_to = apply

    async def run_trial(self, tag: str) -> Outcome:
        self._link()
        if tag not in self.parts:
            if self.refuses is not None and self._since(self.not_ready_s):
                raise self.refuses
            self.parts[tag] = Outcome(valid=True)
            self.made_s = self.clock()
            self._link()  # it goes away before the part is told
        return self.parts[tag]


class Bench:
    """A campaign at a press: the pure machine, the performer and the gate are the real ones."""

    def __init__(self, *, trials=3, waiting=None, policy=None, parameters=None, **manners) -> None:
        self.now_s = 0.0
        policy = {**(policy or {}), **({"waiting": waiting} if waiting else {})}
        limited = parameters is None
        self.terms = terms(
            trials=trials,
            policy=policy,
            parameters=PARAMETERS if limited else parameters,
            constraints=CONSTRAINTS if limited else (),
        )
        self.press = Press(self.terms, self.clock, **manners)
        self.dice = Dice(random.Random(7))  # noqa: S311 - no secrets
        self.events: list = []
        self.said: list[str] = []
        self.waited = asyncio.Event()
        self.state = None
        self.where = Whereabouts(self.clock)
        self.performer = Performer(
            "press", self.press, self.told, self.compute, self.wait, lambda *_: None, where=self.where, waits=self.waits
        )
        self.tell(c.Create(terms=self.terms))
        self.tell(c.Start())

    def clock(self) -> float:
        return self.now_s

    async def wait(self, seconds: float) -> None:
        self.now_s += seconds
        await asyncio.sleep(0)

    def waits(self, wait) -> None:
        if wait is not None:
            self.said.append(wait.sentence)
            self.waited.set()

    async def compute(self, state):
        return await self.dice.result(), ""

    def tell(self, command) -> None:
        now = datetime(2026, 3, 2, 8, 0, tzinfo=UTC) + timedelta(seconds=self.now_s)
        done = step("press", self.state, command, SYSTEM, now)
        self.events += [one.event for one, _ in done]
        self.state = done[-1][1] if done else self.state

    async def told(self, command, effect) -> bool:
        if wanted(self.state) != effect:
            return False
        self.tell(command)
        return True

    def run(self, until=lambda state: False) -> list[str]:
        """Go on until nothing is wanted, or as long as needed; the kinds of the events."""

        async def work() -> None:
            while not until(self.state):
                effect = wanted(self.state)
                if effect is not None:
                    await self.performer.do(effect, self.state)
                elif self.state.duel is not None:
                    self.tell(c.Tie(duel=self.state.duel.number))
                else:
                    return

        asyncio.run(work())
        return [event.type for event in self.events]


def test_a_slow_press_that_is_not_ready_and_away_in_every_trial_needs_nobody_for_thirty_trials():
    bench = Bench(trials=30, scan_s=0.15, not_ready_s=13.0, away_s=10.0)
    kinds = bench.run()
    assert bench.state.mode is Mode.COMPLETE
    assert len(bench.press.parts) == 30
    assert "campaign_held" not in kinds
    assert bench.state.machine.home
    assert any(said.startswith("waits for the link: no answer from the press, 0:0") for said in bench.said)
    assert any(said.startswith("waits for the machine: not ready, 0:0") for said in bench.said)


def test_a_door_that_is_open_for_ninety_seconds_delays_and_does_not_hold():
    bench = Bench(door_s=90.0)
    assert "campaign_held" not in bench.run()
    assert bench.state.mode is Mode.COMPLETE
    assert 'waits for the machine: interlock "guard door" does not hold, 0:08 of 2:00' in bench.said
    assert bench.now_s > 2 * 90


def test_a_door_that_stays_open_is_a_fault_when_the_patience_is_over_and_going_home_waits_on():
    bench = Bench(trials=2, door_s=400.0)
    kinds = bench.run(lambda state: state.mode is Mode.HELD and wanted(state) is None)
    assert bench.state.fault == 'setting refused: interlock "guard door" does not hold, still so after 2:00'
    assert bench.now_s > 400
    assert kinds[-3:] == ["campaign_held", "home_delayed", "home_answered"]
    assert bench.state.machine.home
    assert any(said.endswith('"guard door" does not hold, 0:32') for said in bench.said), "for ever: no limit is told"


@pytest.mark.parametrize(("scan_s", "held"), [(0.1, False), (4.9, False), (5.5, True)])
def test_a_setting_is_read_back_until_it_agrees_or_verify_s_is_over(scan_s, held):
    bench = Bench(scan_s=scan_s, trials=2)
    kinds = bench.run(lambda state: state.mode is Mode.HELD and wanted(state) is None)
    assert ("campaign_held" in kinds) == held
    if held:
        assert bench.state.fault.startswith("setting unverified: sent, but read back")
        assert any(said.startswith("waits until the machine has taken the setting") for said in bench.said)
        assert bench.state.machine.home, "tried again and again"


@pytest.mark.parametrize(("away_s", "held"), [(55.0, False), (70.0, True)])
def test_a_link_that_is_away_for_longer_than_its_patience_holds_and_the_machine_goes_home_when_it_is_back(away_s, held):
    bench = Bench(away_s=away_s, trials=2)
    kinds = bench.run(lambda state: state.mode is Mode.HELD and wanted(state) is None)
    assert ("campaign_held" in kinds) == held
    if held:
        assert bench.state.fault == "no answer from the press, still so after 1:00"
        assert bench.state.machine.home
        assert bench.now_s >= away_s
        bench.tell(c.Resume())
        bench.run(lambda state: state.mode is Mode.HELD)
        assert len(bench.press.parts) == 2, "the part was made once, and told when the link was back"


@pytest.mark.parametrize("refusal", [RefusedError("not now"), NotReadyError("not now")])
def test_a_part_that_is_refused_while_the_machine_is_not_ready_is_ordered_again(refusal):
    bench = Bench(not_ready_s=30.0, refuses=refusal, policy={"settling_parts": 1})
    assert "campaign_held" not in bench.run()
    assert bench.state.mode is Mode.COMPLETE


def test_what_a_machine_refuses_although_it_is_ready_is_a_fault_at_once():
    bench = Bench(refuses=RefusedError("no such mould"), not_ready_s=1e9)
    bench.press.health = ready
    bench.press.made_s = 0.0
    bench.run(lambda state: state.mode is Mode.HELD and wanted(state) is None)
    assert bench.state.fault == "no such mould"
    assert bench.now_s < 1


async def ready() -> Health:
    return Health(ok=True)


def test_a_call_that_takes_longer_than_the_patience_is_tried_again_as_often_as_retries_says():
    bench = Bench(policy={"retries": 2})
    calls = 0

    async def slow(tag):
        nonlocal calls
        calls += 1
        bench.now_s += 600
        raise DeadlineError("run_trial took longer than 600 s")

    bench.press.run_trial = slow
    bench.run(lambda state: state.mode is Mode.HELD and wanted(state) is None)
    assert calls == 3


def test_a_machine_that_changes_between_away_and_not_ready_is_a_fault_in_the_end():
    bench = Bench(trials=2)
    looks = 0

    async def fickle() -> Health:
        nonlocal looks
        looks += 1
        if looks % 2:
            raise LinkError("no answer")
        return Health(ok=False, text="starting")

    bench.press.health = fickle
    bench.run(lambda state: state.mode is Mode.HELD)
    assert bench.now_s < 200
    assert bench.state.fault.startswith("setting failed: no answer, still so after 1:0")


def test_a_part_is_waited_for_no_longer_when_tuning_does_not_go_on():
    bench = Bench(away_s=1e9)

    async def work() -> None:
        bench.run_task = asyncio.create_task(go_on())
        await bench.waited.wait()
        bench.tell(c.Hold())
        bench.performer.leave.set()
        await bench.run_task

    async def go_on() -> None:
        while bench.state.mode is Mode.EXECUTE:
            await bench.performer.do(wanted(bench.state), bench.state)

    asyncio.run(work())
    assert bench.events[-1].type == "trial_interrupted"
    assert bench.events[-1].reason == "the part was waited for no longer: no answer from the press"
    assert wanted(bench.state) is None


def test_somebody_who_goes_on_although_the_machine_is_not_home_is_believed():
    bench = Bench(trials=2, door_s=400.0)
    bench.run(lambda state: state.mode is Mode.HELD)
    bench.tell(c.DelayHome(text="the door is open"))
    assert wanted(bench.state) == ReturnHome(bench.state.fault)
    bench.tell(c.Resume())
    assert wanted(bench.state) == Send(2)
    assert bench.state.machine.home_failed == "the door is open", "until it is known where it is"
    bench.press.door_s = 0.0
    bench.run()
    assert bench.state.mode is Mode.COMPLETE
    assert bench.state.machine.home
