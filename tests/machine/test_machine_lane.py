"""Whoever only looks at a machine waits for everybody who moves it, and all who look share one read."""

import asyncio
import json
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import zmq

from tests.daemon.running import campaign_text, daemon, until
from tests.daemon.scripted import install, read_notes
from tests.machine.test_machine_process import GOOD, PLACE, bench, eventually  # noqa: F401 - a fixture
from tests.patience import PATIENT_S
from tuner.machine import process as under_test
from tuner.machine.process import InUseError
from tuner.wire.errors import FailedReply

ROOT = Path(__file__).parents[2]
CLIENTS, REQUESTS = 12, 199


@pytest.mark.asyncio
async def test_all_who_look_at_once_share_one_read_and_it_is_fresh_for_a_moment(bench, monkeypatch):  # noqa: F811
    monkeypatch.setattr(under_test, "FRESH_S", 3600.0)
    one = bench(read_back=["wait"])
    looks = [asyncio.create_task(one.machine.look()) for _ in range(50)]
    await one.reached("read_back")
    one.go_on()
    assert await asyncio.gather(*looks) == [GOOD] * 50
    assert await one.machine.look() == GOOD
    assert one.calls().count("read_back") == 1
    monkeypatch.setattr(under_test, "FRESH_S", -1.0)
    await one.machine.look()
    assert one.calls().count("read_back") == 2


@pytest.mark.asyncio
async def test_a_look_that_failed_is_not_shared_with_those_who_come_later(bench):  # noqa: F811
    one = bench(read_back=["drop"])
    with pytest.raises(under_test.LinkError, match="loose"):
        await one.machine.look()
    assert await one.machine.look() == GOOD


@pytest.mark.asyncio
async def test_a_look_lets_every_other_call_go_first(bench):  # noqa: F811
    one = bench(run_trial=["wait"])
    part = asyncio.create_task(one.machine.run_trial("T1"))
    await one.reached("run_trial")
    look = asyncio.create_task(one.machine.look())
    await eventually(lambda: one.machine._turns._patient)
    others = [asyncio.create_task(call) for call in (one.machine.health(), one.machine.apply({"x": 6.0, "n": 3}))]
    await eventually(lambda: len(one.machine._turns._waiting) == 2)
    one.go_on()
    assert await look == {"x": 6.0, "n": 3}
    await asyncio.gather(part, *others)
    assert one.calls() == ["open", "run_trial", "health", "apply", "read_back"]


@pytest.mark.asyncio
async def test_nobody_looks_while_the_machine_is_in_use_and_who_waits_to_is_sent_away(bench):  # noqa: F811
    one = bench(run_trial=["wait"])
    part = asyncio.create_task(one.machine.run_trial("T1"))
    await one.reached("run_trial")
    looks = [asyncio.create_task(one.machine.look()) for _ in range(3)]
    await eventually(lambda: one.machine._turns._patient)
    one.machine.reserve(True)
    for look in looks:
        with pytest.raises(InUseError):
            await look
    with pytest.raises(InUseError):
        await one.machine.look()
    one.go_on()
    await part
    one.machine.reserve(False)
    assert await one.machine.look() == GOOD
    assert one.calls() == ["open", "run_trial", "read_back"]


@pytest.mark.asyncio
async def test_a_look_that_all_have_given_up_before_its_turn_still_leaves_the_queue_in_order(bench):  # noqa: F811
    one = bench(run_trial=["wait"])
    part = asyncio.create_task(one.machine.run_trial("T1"))
    await one.reached("run_trial")
    move = asyncio.create_task(one.machine.apply({"x": 9.0, "n": 4}))
    look = asyncio.create_task(one.machine.look())
    await eventually(lambda: one.machine._turns._patient)
    move.cancel()
    look.cancel()
    one.go_on()
    await part
    assert await one.machine.read_back() == GOOD
    assert "apply" not in one.calls()


def persistent(command) -> None:
    """Ask until it is not too busy."""
    end_s, pause = time.monotonic() + PATIENT_S, threading.Event()
    while True:
        try:
            command()
        except FailedReply as failed:
            if failed.code != "busy" or time.monotonic() > end_s:
                raise
            pause.wait(0.05)
        else:
            return


@pytest.fixture
def flooded(tmp_path, monkeypatch):
    """A daemon that waits for approval, whose machine takes half a second for each read, and who wants to read."""
    install(tmp_path / "path", scripted=f"{PLACE}:ScriptedAdapter")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'path'}:{ROOT}")
    with daemon("") as running, ExitStack() as stack:
        machine = f'notes = "{running.directory}"\nscript = {{ read_back = {json.dumps(["slow"] * 4000)} }}'
        text = campaign_text(trials=3, machine=machine).replace('problem = "sasena"', "")
        text = text.replace('name = "simulated"', 'name = "scripted"').replace("approval = false", "approval = true")
        running.config.write_text(text)
        running.start()
        with running.client() as client:
            until(client, "press", lambda view: view.phase == "awaiting_approval")
            client.approve("press", 1)
            until(client, "press", lambda view: view.phase == "awaiting_approval" and view.trial.number == 2)
            context = stack.enter_context(zmq.Context())
            for number in range(CLIENTS):
                viewer = stack.enter_context(context.socket(zmq.DEALER))
                viewer.setsockopt(zmq.LINGER, 0)
                viewer.connect(f"ipc://{running.state / 'requests.sock'}")
                for request in range(REQUESTS):
                    asked = {"v": 1, "id": f"plan-{number}-{request}-x", "op": "plan", "campaign": "press"}
                    viewer.send(json.dumps(asked).encode())
            yield running, client


def calls(running) -> list[str]:
    return [note["call"] for note in read_notes(running.directory)]


@pytest.mark.parametrize("order", ["stop", pytest.param("hold", marks=pytest.mark.slow)])
def test_the_way_home_starts_before_any_further_read_however_many_want_to_know_the_plan(flooded, order):
    running, client = flooded
    if order == "hold":
        persistent(lambda: client.hold("press"))
        persistent(lambda: client.go_home("press"))
    else:
        persistent(lambda: client.stop("press"))
    before = calls(running)
    view = until(client, "press", lambda view: view.machine.home)
    after = calls(running)[len(before) :]
    assert view.machine.home_failed is None
    on_the_way = after[: after.index("read_back", after.index("health")) if "health" in after else 0]
    assert on_the_way.count("read_back") <= 1, "one may have been under way, or have had its turn at that moment"
    assert calls(running).count("read_back") < 60


def test_after_an_abort_nobody_reads_any_more(flooded):
    running, client = flooded
    persistent(lambda: client.abort("press"))
    before = calls(running)
    persistent(lambda: client.plan("press", {"x1": 3.0, "x2": 1.0}))
    assert calls(running) == before


def test_a_plan_that_is_wanted_while_the_machine_is_in_use_says_where_it_begins():
    with daemon(campaign_text(policy="settling_s = 3600.0")) as running:
        running.start()
        with running.client() as client:
            until(client, "press", lambda view: view.phase == "settling")
            plan = client.plan("press", {"x1": 3.0, "x2": 1.5})
    assert plan.steps == [{"x1": 3.0, "x2": 1.5}]
    assert plan.texts == ["from what the machine had when it was asked last: x1 3.500 → 3.000 mm"]
