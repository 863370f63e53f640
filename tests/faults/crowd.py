"""Many requests and many connections: what a daemon's memory and files do under a million, and under thousands idle.

`python -m tests.faults.crowd` is the crowd itself, with a line of JSON on its input: it sends `count` requests over one
connection for each key, or opens `idle` connections that say hello once and then nothing until its input ends.
"""

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import zmq

from tests.daemon.running import Running, campaign_text, daemon, reached_at
from tests.patience import PATIENT_S
from tests.wire.counterpart import free_endpoints
from tuner.lab.bench.daemon_load import memory_mb
from tuner.wire.client import Client
from tuner.wire.endpoint import prepare
from tuner.wire.key_ring import KeyRing
from tuner.wire.keyfiles import ClientKey, write

ROOT = Path(__file__).parents[2]
KEYS = 12
OPEN_EACH = 16
IDLE_IN_ONE = 1000  # connections of one process: each has some files
HELLOS_AT_ONCE = 50
REPORT_EVERY = 1000
OPS = ("ping",) * 12 + ("snapshot", "status", "trials", "history", "champion", "judgment.give")
WRITE_SHARE = 0.005


@contextmanager
def plant(keys: int) -> Iterator[tuple[Running, list[str], list[Path]]]:
    """A daemon on the network, with so many keys of operators."""
    network = free_endpoints(2)
    head = reached_at(network)
    with daemon(head + campaign_text("press", autostart=False)) as running:
        running.start()
        ring, paths = KeyRing.open(running.state), []
        for number in range(keys):
            paths.append(running.directory / f"{number}.tuner-key")
            write(paths[-1], ring.new(f"op{number}", "operator", requests=network[0]), replace=False)
        yield running, network, paths


@contextmanager
def crowd(**job: object) -> Iterator["subprocess.Popen[str]"]:
    """The crowd as a process of its own."""
    command = [sys.executable, "-m", "tests.faults.crowd"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            yield process
        finally:
            process.kill()


def files_of(pid: int) -> int:
    """How many a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def many_requests(count: int, told: Callable[[int], None] = lambda _: None) -> dict:
    """Send so many, from many keys at once; what came back, and the daemon's memory early and late."""
    with plant(KEYS) as (running, network, keys):
        job = {"requests": network[0], "keys": list(map(str, keys)), "count": count}
        began_s = time.monotonic()
        with crowd(**job) as process:
            early_mb = files = 0.0
            while "replies" not in (line := json.loads(process.stdout.readline())):
                told(line["so_far"])
                if not early_mb and line["so_far"] >= count / 5:
                    early_mb, files = memory_mb(running.process.pid), files_of(running.process.pid)
        line["per_s"] = round(count / (time.monotonic() - began_s))
        with running.client() as client:
            line["troubles"] = client.status().troubles
        line["early_mb"], line["late_mb"] = early_mb, memory_mb(running.process.pid)
        line["more_files"] = files_of(running.process.pid) - files
        assert running.stop() == 0
        with running.journal() as store:
            assert store.verify().ok
        return line


def check_requests(found: dict) -> None:
    """Every request was answered as it should be, and the daemon did not grow."""
    assert found["replies"] == found["requests"]
    assert not found["codes"].keys() - {"done", "busy", "not_found", "wrong_duel", "wrong_mode", "refused"}, found
    assert found["codes"]["done"] > found["requests"] / 2, found
    assert found["troubles"] == 0
    assert found["late_mb"] < 1.2 * found["early_mb"] + 10, found
    assert found["more_files"] <= 0, found


def idle_connections(count: int, told: Callable[[int], None] = lambda _: None) -> dict:
    """Hold so many encrypted connections; how a good client fares beside them, and what is left when they go."""
    share = min(count, IDLE_IN_ONE)
    with plant(-(-count // share) + 1) as (running, network, keys):
        pid = running.process.pid
        found = {"files": files_of(pid), "mb": memory_mb(pid)}
        crowds, held = [], 0
        try:
            for key in keys[:-1]:
                process = crowd(requests=network[0], keys=[str(key)], idle=min(share, count - held))
                crowds.append(process)
                held += json.loads(process.__enter__().stdout.readline())["connected"]
                told(held)
            found |= {"held": held, "files_beside": files_of(pid), "mb_beside": memory_mb(pid)}
            took_ms = []
            with Client.connect(key=keys[-1]) as client:
                for number in range(200):
                    began_s = time.monotonic()
                    client.request("lot.change", "press", {"lot": f"L{number}"}, timeout_s=PATIENT_S)
                    took_ms.append(1000 * (time.monotonic() - began_s))
                assert client.status().troubles == 0
            found |= {"p50_ms": sorted(took_ms)[99], "p99_ms": sorted(took_ms)[197]}
        finally:
            for process in crowds:
                process.__exit__(None, None, None)
        end = time.monotonic() + PATIENT_S
        while files_of(pid) > found["files"] + 10 and time.monotonic() < end:
            time.sleep(0.1)
        found |= {"files_after": files_of(pid), "mb_after": memory_mb(pid)}
        assert running.stop() == 0
        return found


def check_idle(found: dict, count: int) -> None:
    """All were held at once, somebody else was served, and nothing is left of them."""
    assert found["held"] == count, found
    assert found["files_beside"] >= count, found
    assert found["files_after"] <= found["files"] + 10, found


class Sender:
    """One key's connection."""

    def __init__(self, context: zmq.Context, requests: str, key: str, seed: int) -> None:
        self.dealer = context.socket(zmq.DEALER)
        prepare(self.dealer, requests, ClientKey.load(Path(key)))
        self.dealer.setsockopt(zmq.SNDTIMEO, round(PATIENT_S * 1000))  # a daemon that lets nobody in any more is told
        self.dealer.connect(requests)
        self.rng = random.Random(seed)  # noqa: S311 - which request
        self.sent = self.replies = 0

    def send(self) -> None:
        """Ask for something; now and then a change that is written down."""
        op, body = self.rng.choice(OPS), {}
        if self.rng.random() < WRITE_SHARE:
            op, body = "lot.change", {"lot": f"L{self.sent}"}
        elif op == "judgment.give":
            body = {"duel": 1, "winner": 1}
        request = {"v": 1, "id": f"crowd-{self.sent:08}", "op": op, "body": body}
        if op not in ("ping", "status"):
            request["campaign"] = "press"
        self.dealer.send(json.dumps(request).encode())
        self.sent += 1


def say(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def send_all(context: zmq.Context, given: dict) -> None:
    """Send as many as are wanted, with a few open on each connection."""
    poller, codes, told = zmq.Poller(), Counter(), 0
    senders = {}
    for seed, key in enumerate(given["keys"]):
        one = Sender(context, given["requests"], key, seed)
        senders[one.dealer] = one
        poller.register(one.dealer, zmq.POLLIN)
    left = given["count"]
    for one in senders.values():
        for _ in range(min(OPEN_EACH, left)):
            one.send()
            left -= 1
    while codes.total() < given["count"] and (ready := poller.poll(PATIENT_S * 1000)):
        for dealer, _ in ready:
            for _ in range(OPEN_EACH):
                try:
                    reply = json.loads(dealer.recv(zmq.DONTWAIT))
                except zmq.Again:
                    break
                codes[reply["code"] or reply["status"]] += 1
                if left > 0:
                    senders[dealer].send()
                    left -= 1
        if codes.total() >= told + REPORT_EVERY:
            told = codes.total()
            say(so_far=told)
    say(requests=sum(one.sent for one in senders.values()), replies=codes.total(), codes=dict(codes.most_common()))


def hold_all(context: zmq.Context, given: dict) -> None:
    """Open connections, each with one answered request, and keep them; fewer where nobody is let in any more."""
    kept = []
    while len(kept) < given["idle"]:
        some = [
            Sender(context, given["requests"], given["keys"][0], 0)
            for _ in range(min(HELLOS_AT_ONCE, given["idle"] - len(kept)))
        ]
        try:
            for one in some:
                one.dealer.send(b'{"v":1,"id":"crowd-hello","op":"ping","body":{}}')
        except zmq.Again:
            break
        kept += [one for one in some if one.dealer.poll(PATIENT_S * 1000) and json.loads(one.dealer.recv())["status"]]
    say(connected=len(kept))
    sys.stdin.readline()


def main() -> None:
    """Do what the input says."""
    given = json.loads(sys.stdin.readline())
    context = zmq.Context()
    context.set(zmq.MAX_SOCKETS, 4096)
    (hold_all if "idle" in given else send_all)(context, given)
    context.destroy(linger=0)


if __name__ == "__main__":
    main()
