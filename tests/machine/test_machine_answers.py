"""Answers of an adapter's process that are none: only begun, one too many, without an end."""

import asyncio
import os
import signal
import time

import pytest
from pydantic import ValidationError

from tests.machine import test_machine_process as process
from tests.machine.test_machine_process import GOOD, SHORT_S
from tests.patience import PATIENT_S
from tuner.adapter import AdapterError, LinkError, Outcome
from tuner.machine import answers

bench = process.bench  # the same machine with a script


@pytest.mark.asyncio
async def test_an_answer_that_only_begins_keeps_nobody_else_waiting(bench):
    one = bench(read_back=["begin"], deadlines={"read_back_s": SHORT_S})
    loop = asyncio.get_running_loop()

    def others_are_served() -> bool:
        while not (one.directory / "begun").exists():
            time.sleep(0.005)
        try:
            for _ in range(50):
                asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(PATIENT_S)
        except TimeoutError:
            for pid in one.pids():
                os.kill(pid, signal.SIGKILL)
            return False
        return True

    served = asyncio.create_task(asyncio.to_thread(others_are_served))
    with pytest.raises(AdapterError):
        await one.machine.read_back()
    assert await served
    assert await one.machine.read_back() == GOOD


@pytest.mark.asyncio
async def test_an_answer_too_many_is_never_the_next_calls(bench):
    one = bench(health=["twice"])
    with pytest.raises(LinkError, match="cannot be read"):
        await one.machine.health()
    assert await one.machine.read_back() == GOOD
    assert len(one.pids()) == 2


@pytest.mark.asyncio
async def test_an_endless_text_about_a_fault_is_cut(bench):
    with pytest.raises(LinkError, match=r"^too loud") as caught:
        await bench(read_back=["shout"]).machine.read_back()
    assert len(str(caught.value)) <= answers.MOST_LETTERS


def test_options_and_files_may_have_spaces_of_other_widths():
    setting = {"grade": "\u6a19\u6e96\u3000A"}
    assert answers.SETTING_ANSWER.validate_python(setting) == setting
    given = {"valid": True, "reason": "", "measurements": {}, "photo": "/parts/1\u202fPM.png"}
    assert answers.OutcomeAnswer.model_validate(given).photo == given["photo"]


@pytest.mark.parametrize("names", [("guard", "guard\x1b"), ("g" * 300, "g" * 301)])
def test_an_interlock_does_not_vanish_behind_another_one_of_nearly_its_name(names):
    with pytest.raises(ValidationError, match="two names are the same"):
        answers.HealthAnswer(ok=True, text="", interlocks=dict(zip(names, (False, True), strict=True)))


@pytest.mark.asyncio
async def test_what_a_machine_calls_things_has_no_escape_sequences_either(bench):
    one = bench(run_trial=["garish_names"], health=["garish_locks"], read_back=["garish_setting"])
    outcome = await one.machine.run_trial("T1")
    assert outcome == Outcome(True, measurements={"cycle [2J ]0;mine": 1.5}, photo="/parts/ [31m1  a.png")
    assert (await one.machine.health()).interlocks == {"guard [2J": True}
    assert await one.machine.read_back() == {"x [2J": 5.0, "n": "two [31m"}
