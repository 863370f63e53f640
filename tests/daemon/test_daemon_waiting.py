"""Waiting for machines in a real daemon: it is told, it outlives a restart, and hold, stop and abort end it."""

import json

import pytest

from tests.daemon.running import campaign_text, daemon, until

LONG = "waiting = { verify_s = 3600.0, ready_s = 3600.0, link_s = 3600.0 }"
KINDS = {
    "verify": "scan_s = 3600.0",
    "ready": "open_guard_every = 1",
    "link": "link_away_s = 3600.0",
}
SAYS = {
    "verify": "waits until the machine has taken the setting: x1 is ",
    "ready": 'waits for the machine: interlock "guard closed" does not hold',
    "link": "waits for the link: the link to the simulated machine is away",
}


@pytest.fixture(scope="module")
def running():
    with daemon("[compute]\nworkers = 1\nspeculate = false\n") as one:
        texts = []
        for kind, machine in KINDS.items():
            memory = one.directory / f"{kind}.machine"
            elsewhere = {"x1": 1.0, "x2": 1.5} if kind == "verify" else {"x1": 3.5, "x2": 1.5}
            memory.write_text(json.dumps({"setting": elsewhere, "parts": {}, "calls": 0}))
            texts.append(campaign_text(kind, trials=30, policy=LONG, machine=f'{machine}\nmemory = "{memory}"'))
        one.config.write_text("\n".join([one.config.read_text(), *texts]))
        yield one.start()


def waits(client, kind):
    return until(client, kind, lambda view: view.waiting is not None and view.waiting.awaited == kind)


def test_every_kind_of_waiting_is_told_and_outlives_a_restart(running):
    for _ in range(2):
        with running.client() as client:
            for kind, said in SAYS.items():
                view = waits(client, kind)
                assert view.waiting.at_most_s == 3600.0
                assert said in view.phase_text
                assert (view.mode, view.fault) == ("Execute", None)
            lines = {line.name: line.phase_text for line in client.status().campaigns}
            assert all(said in lines[kind] and lines[kind].endswith(" of 1:00 h") for kind, said in SAYS.items())
        running.kill()
        running.start()


@pytest.mark.parametrize("kind", KINDS)
def test_hold_stop_and_abort_end_every_kind_of_waiting(running, kind):
    with running.client() as client:
        waits(client, kind)
        client.hold(kind)
        view = until(client, kind, lambda view: view.phase == "held")
        assert (view.waiting, view.fault) == (None, None)
        client.resume(kind)
        waits(client, kind)
        client.stop(kind)
        view = until(client, kind, lambda view: view.phase == "returning_home" and view.waiting is not None)
        assert (view.mode, view.trial, view.waiting.awaited) == ("Stopped", None, kind)
        client.abort(kind)
        view = until(client, kind, lambda view: view.phase == "aborted")
        assert view.waiting is None
    with running.journal() as store:
        kinds = [row.type for row in store.rows(campaign=kind)]
    assert ("trial_interrupted" in kinds[-12:]) or kind != "link", "the part that was waited for"


def test_the_way_home_that_takes_too_long_is_told_and_goes_on_when_nothing_is_in_the_way_any_more():
    policy = "waiting = { verify_s = 0.2, ready_s = 0.2, link_s = 0.2 }"
    with daemon(campaign_text(trials=2, policy=policy, machine="open_guard_every = 1")) as running:
        running.start()
        with running.client() as client:
            view = until(client, "press", lambda view: view.machine.home_failed is not None)
            assert (view.mode, view.phase) == ("Held", "returning_home")
            assert "still so after" not in view.machine.home_failed, "it was too short for a word"
            view = until(client, "press", lambda view: view.waiting is not None and view.waiting.at_most_s is None)
            assert view.waiting.awaited == "ready"
            running.reload(running.config.read_text().replace("open_guard_every = 1", ""))
            view = until(client, "press", lambda view: view.machine.home)
            assert (view.phase, view.machine.home_failed) == ("held", None)
