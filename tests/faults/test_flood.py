"""Whatever others send, and however much of it: the daemon lives, and hold, stop, abort and home are done."""

import json
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import zmq

from tests.daemon.running import campaign_text, daemon, reached_at, until
from tests.wire.counterpart import free_endpoints
from tuner.basics.vocabulary import Role
from tuner.wire.client import Client
from tuner.wire.endpoint import prepare
from tuner.wire.key_ring import KeyRing
from tuner.wire.keyfiles import write

ROOT = Path(__file__).parents[2]
ROLES = tuple(map(str, Role))
PATIENCE_S = 60.0


class Plant:
    """A daemon on the network whose campaign waits for an approval, and keys of every role."""

    def __init__(self, running, network) -> None:
        self.running, self.network = running, network
        self.ring = KeyRing.open(running.state)
        self.keys = {role: self.new(role, role) for role in ROLES}
        self.keys["revoked"] = self.new("revoked", "operator")
        self.keys["second"] = self.new("second", "engineer")

    def new(self, name, role) -> Path:
        path = self.running.directory / f"{name}.tuner-key"
        write(path, self.ring.new(name, role, requests=self.network[0], events=self.network[1]), replace=False)
        return path

    def jobs(self, connections, open_each, names=(*ROLES, "revoked"), local=False):
        shared = {"connections": connections, "open": open_each, "campaign": "press"}
        found = [
            {**shared, "name": name, "role": "viewer" if name == "revoked" else name, "key": str(self.keys[name])}
            for name in names
        ]
        found = [{**job, "requests": self.network[0]} for job in found]
        if local:
            where = f"ipc://{self.running.state / 'requests.sock'}"
            found.append({**shared, "name": "local", "role": "engineer", "key": None, "requests": where})
        return found

    @contextmanager
    def flooded(self, jobs):
        command = [sys.executable, "-m", "tests.faults.flood"]
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as flood:
            flood.stdin.write(json.dumps(jobs) + "\n")
            flood.stdin.flush()
            assert flood.stdout.readline() == "flooding\n"
            try:
                yield (codes := {})
                flood.stdin.write("end\n")
                flood.stdin.flush()
                codes.update(json.loads(flood.stdout.readline()))
            finally:
                flood.kill()


@pytest.fixture(scope="module")
def plant():
    network = free_endpoints(2)
    head = reached_at(network)
    text = campaign_text(trials=5000).replace("approval = false", "approval = true")
    with daemon(head + text) as running:
        running.start()
        made = Plant(running, network)
        with running.client() as client:
            for _ in range(3):  # something to tell histories and models of
                make_a_part(client)
        yield made


def make_a_part(client):
    view = until(client, "press", lambda view: view.phase == "awaiting_approval" or view.duel)
    if view.duel:
        client.judge("press", view.duel.number, view.duel.left.number)
        view = until(client, "press", lambda view: view.phase == "awaiting_approval")
    made = view.trial.number
    client.approve("press", made)
    until(client, "press", lambda view: view.trial is None or view.trial.number > made)


def rounds(plant, count):
    """Hold and go on, stop, go home and start, abort and start: how long each urgent one of a local engineer took.

    What is not urgent comes from a key of its own: the local one may be flooded.
    """
    took_s = {"hold": [], "stop": [], "home": [], "abort": []}
    with plant.running.client() as local, Client.connect(key=plant.keys["second"]) as other:

        def ask(name):
            began_s = time.monotonic()
            local.request(f"campaign.{name}", "press", timeout_s=PATIENCE_S)
            took_s[name].append(time.monotonic() - began_s)

        def go_on(op):
            other.request(op, "press", timeout_s=PATIENCE_S)

        for _ in range(count):
            ask("hold")
            go_on("campaign.resume")
            ask("stop")
            until(other, "press", lambda view: view.phase == "stopped")
            go_on("campaign.start")
            ask("abort")
            ask("home")
            until(other, "press", lambda view: view.machine.home_wanted is None)
            go_on("campaign.start")
    return took_s


def said(took_s):
    every = sorted(one for times in took_s.values() for one in times)
    worst = ", ".join(f"{name} {max(times) * 1000:.0f} ms" for name, times in took_s.items())
    return f"{len(every)} urgent requests, median {statistics.median(every) * 1000:.1f} ms; slowest: {worst}"


def test_urgent_requests_are_done_while_every_role_floods(plant):
    with plant.flooded(plant.jobs(3, 199, local=True)) as codes:
        took_s = rounds(plant, 2)
        with Client.connect(key=plant.keys["second"]) as client:
            status = client.request("status", timeout_s=PATIENCE_S).body
    assert all(len(times) == 2 for times in took_s.values()), "none was refused"
    assert status["troubles"] == 0
    assert status["busy"] > 0, "the flood was over the limits"
    assert {"busy", "done"} <= codes["viewer"].keys()
    assert not any("defect" in found for found in codes.values())


@pytest.mark.slow
@pytest.mark.parametrize("who", [*ROLES, "revoked", "local", "all"])
def test_urgent_requests_are_done_at_once_while_one_role_or_all_flood(plant, who, capsys):
    names = (*ROLES, "revoked") if who == "all" else () if who == "local" else (who,)
    with plant.flooded(plant.jobs(12, 199, names, local=who in ("local", "all"))) as codes:
        if who in ("revoked", "all"):
            plant.ring.revoke("revoked")  # its connections stay open
        took_s = rounds(plant, 10)
    with capsys.disabled():
        sys.stdout.write(f"\n{who}: {said(took_s)}; replies {codes}\n")
    assert all(len(times) == 10 for times in took_s.values())
    assert not any("defect" in found for found in codes.values())


def dealer(context, plant, key=None):
    socket = context.socket(zmq.DEALER)
    where = plant.network[0] if key else f"ipc://{plant.running.state / 'requests.sock'}"
    prepare(socket, where, key)
    socket.connect(where)
    return socket


@pytest.mark.parametrize("revoked", [False, True])
def test_an_id_that_is_no_text_is_answered_also_over_the_limit_and_the_daemon_lives(plant, revoked):
    name = f"odd{revoked}".lower()
    key = plant.ring.new(name, "viewer")
    context = zmq.Context()
    socket = dealer(context, plant, key)
    socket.send(b'{"id":"12345678","op":"ping"}')
    assert socket.poll(30_000)
    assert json.loads(socket.recv())["status"] == "done"
    if revoked:
        plant.ring.revoke(name)
    count = 260
    for number in range(count):
        socket.send(json.dumps({"id": f"slices-{number}", "op": "slices", "campaign": "press"}).encode())
    for _ in range(50):
        socket.send(b'{"id":"\\ud800aaaaaaaaa","op":"ping"}')
    found = []
    while len(found) < count + 50:
        assert socket.poll(90_000), f"only {len(found)} replies came"
        found.append(json.loads(socket.recv()))
    assert sum(one["id"] == "" for one in found) == 50
    assert len({one["id"] for one in found}) == count + 1
    assert "defect" not in {one["code"] for one in found}
    if revoked:
        assert {one["code"] for one in found} == {"denied"}
    socket.close(0)
    context.term()
    with plant.running.client() as client:
        assert client.status().troubles == 0


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"op": "ping", "campaign": "c"}, ""),
        ({"op": "plan", "campaign": "press", "body": {"setting": {"x1": 10**400, "x2": 1}}}, "bad_request"),
        ({"op": "plan", "campaign": "press", "body": {"setting": {"x1": True, "x2": [1]}}}, "bad_request"),
        ({"op": "history", "campaign": "press", "body": {"before": 10**400}}, "bad_request"),
        ({"op": "history", "campaign": "press", "body": {"before": 1.0, "limit": 5.0}}, ""),
        ({"op": "history", "campaign": "press", "body": {"limit": 1.5}}, "bad_request"),
        ({"op": "snapshot", "campaign": "\0"}, "not_found"),
        ({"op": "campaign.hold", "campaign": "nowhere"}, "not_found"),
        ({"op": "ping", "v": 10**400}, "bad_request"),
        ({"op": "ping", "actor": "a\u202eb"}, "bad_request"),
    ],
)
def test_odd_requests_have_their_code_and_are_no_defect(plant, request_, code):
    context = zmq.Context()
    socket = dealer(context, plant)
    socket.send(json.dumps({"id": "odd-00001", **request_}).encode())
    assert socket.poll(30_000)
    reply = json.loads(socket.recv())
    socket.close(0)
    context.term()
    assert (reply["id"], reply["code"]) == ("odd-00001", code), reply["text"]


def test_hello_names_the_events_that_the_asker_can_subscribe_to(plant):
    context = zmq.Context()
    told = []
    for key in (None, plant.ring.new("greeter", "viewer")):
        socket = dealer(context, plant, key)
        socket.send(b'{"id":"12345678","op":"hello","body":{"versions":[1]}}')
        assert socket.poll(30_000)
        told.append(json.loads(socket.recv())["body"]["events"])
        socket.close(0)
    context.term()
    assert told == [f"ipc://{plant.running.state / 'events.sock'}", plant.network[1]]
