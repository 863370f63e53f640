"""One machine and its adapter's process alone: whatever the adapter does, each call has its own answer or an error."""

import asyncio
import os
import time
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess

import pytest

from tests.campaign.helpers import terms
from tests.daemon.scripted import install, read_notes
from tests.patience import PATIENT_S
from tuner.adapter import DeadlineError, Health, LinkError, Outcome, RefusedError
from tuner.campaign.terms import AdapterTerms
from tuner.config.campaign import AdapterDeadlines
from tuner.daemon.service import PRELOADED
from tuner.machine import process as under_test
from tuner.machine.process import LONGEST_BACK_OFF_S, Machine

PLACE = "tests.daemon.scripted"
GOOD = {"x": 5.0, "n": 2}
SHORT_S = 0.2


async def eventually(condition) -> None:
    end_s = time.monotonic() + PATIENT_S
    while not condition():
        assert time.monotonic() < end_s, "it did not happen"
        await asyncio.sleep(0.005)


class Bench:
    """A machine with a script, and what became of it."""

    def __init__(self, directory, name="scripted", sleep=None, deadlines=None, **script) -> None:
        self.directory = directory
        self.slept_s: list[float] = []
        settings = {"notes": str(directory), "script": {call: list(words) for call, words in script.items()}}
        chosen = AdapterTerms(name=name, settings=settings, deadlines=AdapterDeadlines(**(deadlines or {})))
        self.machine = Machine(terms().model_copy(update={"adapter": chosen}), sleep or self._sleep)

    async def _sleep(self, seconds) -> None:
        self.slept_s.append(seconds)

    def calls(self) -> list[str]:
        return [note["call"] for note in read_notes(self.directory) if note["call"] != "construct"]

    def pids(self) -> set[int]:
        return {note["pid"] for note in read_notes(self.directory)}

    async def reached(self, call: str) -> None:
        await eventually(lambda: call in self.calls())

    async def gone(self) -> None:
        """Wait until none of the processes is there any more."""
        await eventually(lambda: not any(alive(pid) for pid in self.pids()))

    def go_on(self) -> None:
        (self.directory / "go on").touch()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module", autouse=True)
def _quick_starts():
    get_context("forkserver").set_forkserver_preload(PRELOADED)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    points = {"scripted": f"{PLACE}:ScriptedAdapter", "old": f"{PLACE}:OldAdapter", "absent": "no.such.module:Adapter"}
    install(tmp_path / "path", **points)
    monkeypatch.syspath_prepend(tmp_path / "path")
    notes = tmp_path / "notes"
    notes.mkdir()
    made = []

    def make(**options) -> Bench:
        made.append(Bench(notes, **options))
        return made[-1]

    yield make
    for one in made:
        one.machine.kill()


@pytest.mark.asyncio
async def test_every_call_reaches_the_adapter_with_its_deadline_and_is_answered(bench):
    one = bench(deadlines={"open_s": 11.0, "apply_s": 12.0, "read_back_s": 13.0, "trial_s": 14.0})
    machine = one.machine
    await machine.apply({"x": 6.0, "n": 3})
    assert await machine.read_back() == {"x": 6.0, "n": 3}
    await machine.go_to(GOOD)
    assert await machine.read_back() == GOOD
    assert await machine.health() == Health(True, "well", {"guard": True})
    assert await machine.run_trial("T1") == Outcome(True, measurements={"width": 2.5})
    await machine.close()
    expected = [("construct", 0.0), ("open", 11.0), ("apply", 12.0), ("read_back", 13.0), ("apply", 12.0)]
    expected += [("read_back", 13.0), ("health", 13.0), ("run_trial", 14.0), ("close", 0.0)]
    assert [(note["call"], note["deadline_s"]) for note in read_notes(one.directory)][: len(expected)] == expected
    await one.gone()


@pytest.mark.asyncio
@pytest.mark.parametrize("death", ["die", "leave"])
async def test_a_process_that_dies_is_told_and_started_again_after_a_while(bench, death):
    one = bench(read_back=[death])
    with pytest.raises(LinkError, match="ended during read_back"):
        await one.machine.read_back()
    assert await one.machine.read_back() == GOOD
    assert one.machine.restarts == 1
    (slept_s,) = one.slept_s
    assert 0 < slept_s <= 0.5


@pytest.mark.asyncio
async def test_one_that_dies_between_two_calls_is_found_dead_by_the_next(bench):
    one = bench()
    await one.machine.read_back()
    (pid,) = one.pids()
    os.kill(pid, 9)
    await one.gone()
    with pytest.raises(LinkError, match="ended during health"):
        await one.machine.health()
    assert (await one.machine.health()).ok


@pytest.mark.slow
@pytest.mark.asyncio
async def test_what_cannot_open_is_tried_less_and_less_often(bench):
    one = bench(open=["drop", "die", "drop", "refuse", "well", "well"], read_back=["die"])
    for _ in range(4):
        with pytest.raises((LinkError, RefusedError)):
            await one.machine.read_back()
    with pytest.raises(LinkError, match="ended during read_back"):
        await one.machine.read_back()
    await one.machine.read_back()
    for slept_s, longest_s in zip(one.slept_s, [0.5, 1.0, 2.0, 4.0, 0.5], strict=True):
        assert longest_s / 2 < slept_s <= longest_s


@pytest.mark.asyncio
async def test_the_time_between_two_tries_has_a_limit(bench):
    one = bench(open=["drop"])
    one.machine._deaths = 5000
    with pytest.raises(LinkError):
        await one.machine.read_back()
    await one.machine.read_back()
    assert LONGEST_BACK_OFF_S / 2 < one.slept_s[0] <= LONGEST_BACK_OFF_S


@pytest.mark.asyncio
async def test_one_that_hangs_is_ended_at_its_deadline(bench, monkeypatch):
    monkeypatch.setattr(under_test, "GRACE_S", SHORT_S)
    one = bench(run_trial=["hang"], deadlines={"trial_s": SHORT_S})
    with pytest.raises(DeadlineError, match=r"run_trial took longer than 0\.2 s"):
        await one.machine.run_trial("T1")
    await one.gone()


@pytest.mark.asyncio
async def test_one_that_hangs_while_it_opens_is_ended_too(bench, monkeypatch):
    monkeypatch.setattr(under_test, "GRACE_S", SHORT_S)
    one = bench(open=["hang"], deadlines={"open_s": 5.0})  # on a busy machine a process takes its time to begin
    with pytest.raises(DeadlineError, match="open took longer"):
        await one.machine.health()
    await eventually(one.pids)
    await one.gone()


@pytest.mark.asyncio
async def test_an_answer_a_little_after_the_deadline_counts(bench):
    one = bench(read_back=["wait"], deadlines={"read_back_s": 0.001})
    asked = asyncio.create_task(one.machine.read_back())
    await one.reached("read_back")
    one.go_on()
    assert await asked == GOOD


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("call", "word"),
    [
        *(("read_back", word) for word in ("text", "nan", "object", "nested", "truth", "raise", "drop")),
        *(("run_trial", word) for word in ("text", "outcome_nan", "perhaps", "no_reason", "endless", "undecodable")),
        *(("health", word) for word in ("text", "unwell", "talkative")),
    ],
)
async def test_nonsense_is_a_fault_of_the_link_and_the_conversation_goes_on(bench, call, word):
    one = bench(**{call: [word]})
    ask = {"run_trial": lambda: one.machine.run_trial("T1")}.get(call, getattr(one.machine, call))
    with pytest.raises(LinkError) as caught:
        await ask()
    assert 0 < len(str(caught.value).encode()) < 10_000
    await ask()
    assert len(one.pids()) == 1


@pytest.mark.asyncio
async def test_a_process_that_writes_into_the_conversation_is_ended_and_the_next_is_understood(bench):
    one = bench(read_back=["scribble"])
    with pytest.raises(LinkError, match="cannot be read"):
        await one.machine.read_back()
    assert await one.machine.read_back() == GOOD
    assert len(one.pids()) == 2


@pytest.mark.asyncio
async def test_what_a_machine_says_is_one_line_without_escape_sequences(bench):
    outcome = await bench(run_trial=["garish"]).machine.run_trial("T1")
    assert outcome == Outcome(False, "[2Jtoo cold")


@pytest.mark.asyncio
async def test_a_refusal_is_told_apart_from_a_fault(bench):
    one = bench(apply=["refuse", "raise"])
    with pytest.raises(RefusedError, match="too hot"):
        await one.machine.apply(GOOD)
    with pytest.raises(LinkError, match="ZeroDivisionError: speed of zero"):
        await one.machine.apply(GOOD)


@pytest.mark.asyncio
async def test_an_adapter_that_prints_disturbs_nobody(bench):
    one = bench(open=["chatter"], read_back=["chatter"])
    assert await one.machine.read_back() == GOOD
    assert (await one.machine.health()).text == "well"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere", 'no adapter "nowhere" is installed'),
        ("absent", 'the adapter "absent" cannot be imported: No module named'),
        ("old", "written for version 0 of the adapter contract"),
    ],
)
async def test_an_adapter_that_cannot_be_loaded_is_refused_with_a_sentence(bench, name, sentence):
    with pytest.raises(RefusedError, match=f"^(the adapter )?.*{sentence}") as caught:
        await bench(name=name).machine.health()
    assert "Error" not in str(caught.value)


@pytest.mark.asyncio
async def test_an_adapter_that_cannot_be_made_is_told_and_tried_again(bench):
    one = bench(construct=["raise"])
    with pytest.raises(LinkError, match="speed of zero"):
        await one.machine.health()
    assert (await one.machine.health()).ok
    one.machine.terms.adapter.settings["surprise"] = 1
    await one.machine.close()
    with pytest.raises(LinkError, match="surprise"):
        await one.machine.health()


@pytest.mark.asyncio
async def test_a_process_that_cannot_be_started_is_a_fault_of_the_link(bench, monkeypatch):
    one = bench()

    def fail(_process) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as patch:
        patch.setattr(ForkServerProcess, "start", fail)
        with pytest.raises(LinkError, match=r"cannot be started: .*temporarily unavailable"):
            await one.machine.health()
    assert (await one.machine.health()).ok


@pytest.mark.asyncio
async def test_calls_of_one_machine_do_not_overlap_and_each_has_its_own_answer(bench):
    one = bench()
    asked = one.machine.read_back(), one.machine.health(), one.machine.run_trial("T1")
    have, health, outcome = await asyncio.gather(*asked)
    assert (have, health.text, outcome.valid) == (GOOD, "well", True)
    assert one.calls() == ["open", "read_back", "health", "run_trial"]


@pytest.mark.asyncio
async def test_the_answer_to_a_cancelled_caller_is_not_taken_for_the_next_ones(bench):
    one = bench(read_back=["wait"])
    asked = asyncio.create_task(one.machine.read_back())
    await one.reached("read_back")
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    after = asyncio.create_task(one.machine.run_trial("T1"))
    one.go_on()
    assert await after == Outcome(True, measurements={"width": 2.5})
    assert await one.machine.read_back() == GOOD
    assert len(one.pids()) == 1


@pytest.mark.asyncio
async def test_a_call_that_is_cancelled_before_its_turn_is_never_sent(bench):
    one = bench(run_trial=["wait"])
    trial = asyncio.create_task(one.machine.run_trial("T1"))
    await one.reached("run_trial")
    move = asyncio.create_task(one.machine.apply({"x": 9.0, "n": 4}))
    await asyncio.sleep(0)  # it stands in the queue now
    move.cancel()
    one.go_on()
    assert (await trial).valid
    assert await one.machine.read_back() == GOOD
    assert "apply" not in one.calls()


@pytest.mark.asyncio
async def test_a_kill_ends_the_call_under_way_and_those_that_wait(bench):
    one = bench(run_trial=["hang"])
    trial = asyncio.create_task(one.machine.run_trial("T1"))
    await one.reached("run_trial")
    move = asyncio.create_task(one.machine.apply({"x": 9.0, "n": 4}))
    await asyncio.sleep(0)
    one.machine.kill()
    with pytest.raises(LinkError, match="ended during run_trial"):
        await trial
    with pytest.raises(LinkError, match="given up before it was sent"):
        await move
    await one.gone()
    assert one.calls() == ["open", "run_trial"]


@pytest.mark.asyncio
async def test_a_machine_let_go_while_its_adapter_waits_to_be_started_is_left_alone(bench):
    resting, rested = asyncio.Event(), asyncio.Event()

    async def sleep(_seconds) -> None:
        resting.set()
        await rested.wait()

    one = bench(read_back=["die"], sleep=sleep)
    with pytest.raises(LinkError):
        await one.machine.read_back()
    move = asyncio.create_task(one.machine.apply({"x": 9.0, "n": 4}))
    await resting.wait()
    one.machine.kill()
    rested.set()
    with pytest.raises(LinkError, match="given up"):
        await move
    assert one.calls() == ["open", "read_back"]
    await one.gone()


@pytest.mark.asyncio
async def test_a_machine_let_go_while_its_adapter_is_started_is_not_even_opened(bench, monkeypatch):
    one, loop = bench(), asyncio.get_running_loop()
    start = ForkServerProcess.start

    def start_and_tell(process) -> None:
        start(process)
        asyncio.run_coroutine_threadsafe(let_go(), loop).result(PATIENT_S)

    async def let_go() -> None:
        one.machine.kill()

    monkeypatch.setattr(ForkServerProcess, "start", start_and_tell)
    with pytest.raises(LinkError, match="given up"):
        await one.machine.apply(GOOD)
    assert one.calls() == []


@pytest.mark.asyncio
async def test_closing_ends_a_part_that_takes_too_long_and_an_adapter_that_does_not_let_go(bench, monkeypatch):
    monkeypatch.setattr(under_test, "GRACE_S", SHORT_S)
    one = bench(run_trial=["hang"])
    trial = asyncio.create_task(one.machine.run_trial("T1"))
    await one.reached("run_trial")
    await asyncio.wait_for(one.machine.close(), PATIENT_S)
    with pytest.raises(LinkError):
        await trial
    await one.gone()
    other = bench(close=["hang", "hang"])
    await other.machine.health()
    await asyncio.wait_for(other.machine.close(), PATIENT_S)
    await other.gone()


@pytest.mark.asyncio
async def test_what_was_never_used_closes_without_a_process(bench):
    one = bench()
    await one.machine.close()
    one.machine.kill()
    assert one.pids() == set()
    assert not one.machine.used
