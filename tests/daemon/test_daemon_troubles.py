"""What the daemon does when its surroundings fail it: real processes, real sockets, a busy journal, taken ports."""

import json
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

import pytest
import zmq

from tests.daemon.running import CREATE, campaign_text, daemon, tune, until
from tests.patience import PATIENT_S
from tuner.wire.errors import FailedReply, RefusedReply

SLOW = "seconds_per_trial = 600.0"
HOME = {"x1": 3.5, "x2": 1.5}


def setting_of(running) -> dict:
    return json.loads((running.directory / "machine.json").read_text())["setting"]


def remembering(running, *, trials=50, more="", **options) -> None:
    """Write a configuration whose machine keeps its setting in a file."""
    memory = f'memory = "{running.directory / "machine.json"}"\n' + more
    running.config.write_text(campaign_text(trials=trials, machine=memory, **options))


def run(*arguments):
    command = [sys.executable, "-m", "tuner", "run", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENT_S, check=False)


@pytest.mark.slow
def test_a_part_that_takes_longer_than_drain_s_is_given_up_and_the_machine_goes_home():
    with daemon("") as running:
        remembering(running)
        running.start()
        with running.client() as client:
            tune(client, "press", lambda view: view.budget.spent >= 2 and view.trial is None)
        assert running.stop() == 0
        remembering(running, more=SLOW)
        running.config.write_text("[daemon]\ndrain_s = 0.2\n" + running.config.read_text())
        running.start()
        with running.client() as client:
            view = client.snapshot("press")
            if view.duel is not None:
                client.judge("press", view.duel.number, view.duel.left.number)
            until(client, "press", lambda view: view.phase == "running")
        assert setting_of(running) != HOME
        assert running.stop() == 0
        assert setting_of(running) == HOME
        running.wait_for_log("given up")


@pytest.mark.slow
def test_a_journal_that_another_program_keeps_busy_stops_nobody(tmp_path):
    with daemon(campaign_text(trials=500)) as running:
        running.start()
        with running.client() as client:
            tune(client, "press", lambda view: view.budget.spent >= 2 and view.duel is not None)
            other = sqlite3.connect(running.state / "journal.sqlite", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(FailedReply, match="another program uses the journal") as caught:
                client.request("lot.change", "press", {"lot": "L1"}, timeout_s=PATIENT_S)
            assert caught.value.code == "journal_busy"
            other.execute("ROLLBACK")
            other.close()
            tune(client, "press", lambda view: view.budget.spent >= 4)
        assert running.stop() == 0


def test_a_client_that_does_not_read_keeps_nobody_waiting():
    with daemon(campaign_text(autostart=False)) as running:
        running.start()
        context = zmq.Context()
        deaf = context.socket(zmq.DEALER)
        deaf.setsockopt(zmq.RCVHWM, 1)
        deaf.setsockopt(zmq.LINGER, 0)
        deaf.connect(f"ipc://{running.state / 'requests.sock'}")
        for number in range(3000):
            deaf.send(json.dumps({"v": 1, "id": f"status-{number}", "op": "status"}).encode())
        with running.client() as client:
            for _ in range(20):
                client.request("ping", timeout_s=PATIENT_S)
        deaf.close()
        context.term()


def test_new_settings_of_the_adapter_come_with_a_reload():
    with daemon("") as running:
        remembering(running, more="drift = 0.0")
        running.start()
        with running.client() as client:
            tune(client, "press", lambda view: view.budget.spent >= 2 and view.duel is not None)
            remembering(running, more="drift = 1000.0")
            running.process.send_signal(signal.SIGHUP)
            running.wait_for("READY=1")
            tune(client, "press", lambda view: view.budget.spent >= 6 and view.duel is not None)
            new = client.snapshot("press").duel
            costs = [side.measurements["objective"] for side in (new.left, new.right)]
        assert max(costs) > 500, "the drift of the new settings is in the newest part"


@pytest.mark.slow
def test_a_campaign_that_is_over_lets_go_of_its_adapter(cold):
    with daemon(campaign_text(trials=2)) as running:
        running.start()
        with running.client() as client:
            tune(client, "press")
            until(client, "press", lambda view: view.machine.home)
        end, pause = time.monotonic() + PATIENT_S, threading.Event()
        while adapters_of(running.process.pid):
            assert time.monotonic() < end, "the adapter's process is still there"
            pause.wait(0.05)


def adapters_of(pid: int) -> list[str]:
    """The grandchildren of a daemon: its forkserver's children are the adapters."""
    listed = subprocess.run(["/bin/ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listed.splitlines()[1:]]
    servers = {row[0] for row in rows if row[1] == str(pid) and "forkserver" in row[2]}
    return [row[2] for row in rows if row[1] in servers]


def test_what_cannot_be_listened_at_is_a_sentence(tmp_path):
    with daemon(campaign_text()) as running, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        long = running.directory / ("x" * 100)
        shown = run(running.config, "--state", long)
        assert shown.returncode == 78
        assert "may have 107 bytes" in shown.stderr
        ends = f'[daemon]\nrequests = "tcp://127.0.0.1:{port}"\nevents = "tcp://127.0.0.1:{port}"\n'
        running.config.write_text(ends + campaign_text())
        shown = run(running.config, "--state", running.state)
        assert shown.returncode == 78
        assert f"cannot listen at tcp://127.0.0.1:{port}" in shown.stderr


def test_a_second_daemon_cannot_take_over_the_sockets_of_the_first():
    with daemon("") as running:
        ends = "".join(f'{name} = "ipc://{running.directory}/{name}.sock"\n' for name in ("requests", "events"))
        running.config.write_text("[daemon]\n" + ends + campaign_text(autostart=False))
        running.start()
        shown = run(running.config, "--state", running.directory / "other")
        assert shown.returncode == 75
        assert "another daemon listens at" in shown.stderr


def test_while_it_stops_nothing_new_begins_and_a_second_signal_ends_it_at_once():
    with daemon("") as running:
        remembering(running, more=SLOW)
        running.config.write_text(running.config.read_text() + campaign_text("oven", autostart=False))
        running.start()
        with running.client() as client:
            until(client, "press", lambda view: view.phase == "running")
            running.process.send_signal(signal.SIGTERM)
            running.wait_for("STOPPING=1")
            with pytest.raises(FailedReply) as caught:
                client.start("oven")
            assert caught.value.code == "stopping"
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENT_S) == 0
        running.wait_for_log("stopping at once")


def test_the_journal_says_through_which_key_a_person_spoke_and_nobody_is_called_tuner():
    with daemon(campaign_text(autostart=False)) as running:
        running.start()
        with running.client("tuner") as client, pytest.raises(RefusedReply) as caught:
            client.start("press")
        assert caught.value.code == "bad_request"


def test_a_machine_of_one_campaign_is_not_moved_by_another():
    with daemon(CREATE + campaign_text("one")) as running:
        running.start()
        with running.client() as client:
            until(client, "one", lambda view: view.champion is not None)
            client.create(campaign_text("two", autostart=False).replace("two-machine", "one-machine"))
            with pytest.raises(RefusedReply) as caught:
                client.go_home("two")
            assert caught.value.code == "machine_busy"
