"""Requests that are almost right, from many keys at once, while a good client works."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.daemon.running import campaign_text, daemon, reached_at
from tests.patience import PATIENT_S
from tests.wire.counterpart import free_endpoints
from tuner.basics.vocabulary import Role
from tuner.wire.client import Client
from tuner.wire.key_ring import KeyRing
from tuner.wire.keyfiles import write

ROOT = Path(__file__).parents[2]
ROLES = tuple(map(str, Role))


def ended(process: subprocess.Popen) -> bool:
    """Whether it has; between two looks the good client works at the pace of a busy console."""
    try:
        process.wait(0.02)
    except subprocess.TimeoutExpired:
        return False
    return True


def fuzz(count: int, seed: int, keys_a_role: int) -> dict:
    """Let the fuzzer send so many; what it has seen, and how the good client fared."""
    network = free_endpoints(2)
    head = reached_at(network)
    with daemon(head + campaign_text("fuzz", trials=100_000) + campaign_text("good", autostart=False)) as running:
        running.start()
        ring = KeyRing.open(running.state)
        shared = {"campaign": "fuzz", "requests": network[0]}
        lines = []
        for role in ROLES:
            for number in range(keys_a_role):
                path = running.directory / f"{role}{number}.tuner-key"
                write(path, ring.new(f"{role}{number}", role), replace=False)
                lines.append({**shared, "role": role, "key": str(path)})
        local = f"ipc://{running.state / 'requests.sock'}"
        lines += [{"campaign": "fuzz", "requests": local, "role": "engineer", "key": None}] * keys_a_role
        given = json.dumps({"count": count, "seed": seed, "lines": lines})
        good = ring.new("good", "operator", requests=network[0], events=network[1])
        command = [sys.executable, "-m", "tests.faults.fuzz"]
        with (
            subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as fuzzer,
            Client.connect(key=good) as client,
        ):
            fuzzer.stdin.write(given + "\n")
            fuzzer.stdin.close()
            took_s = []
            while not ended(fuzzer):
                for op, campaign, body in (
                    ("ping", None, {}),
                    ("snapshot", "good", {}),
                    ("lot.change", "good", {"lot": f"L{len(took_s)}"}),
                    ("history", "good", {"limit": 20}),
                ):
                    began_s = time.monotonic()
                    assert client.request(op, campaign, body, timeout_s=PATIENT_S).status == "done"
                    took_s.append(time.monotonic() - began_s)
            assert fuzzer.returncode == 0, "the fuzzer itself has failed; it says above why"
            found = json.loads(fuzzer.stdout.read())
            found["troubles"] = client.status().troubles
        assert running.process.poll() is None
        assert running.stop() == 0
        found["log"] = running.log()
    took_s.sort()
    found["p50_ms"], found["p99_ms"] = (1000 * took_s[int(share * (len(took_s) - 1))] for share in (0.5, 0.99))
    found["good"] = len(took_s)
    return found


def check(found: dict) -> str:
    assert found["strange"] == []
    assert found["lost"] == found["lost_named"] == 0
    assert found["defect"] == 0, found["log"][-5000:]
    assert found["troubles"] == 0
    assert {"done", "busy", "bad_request", "denied", "not_found", "unknown_op"} <= found["codes"].keys()
    return (
        f"{found['requests']} requests, {found['replies']} replies, {found['lost']} lost, {found['defect']} defects; "
        f"good client: {found['good']} requests, p50 {found['p50_ms']:.1f} ms, p99 {found['p99_ms']:.1f} ms; "
        f"codes {found['codes']}"
    )


def test_five_hundred_requests_that_are_almost_right_are_all_answered():
    check(fuzz(500, seed=1, keys_a_role=1))


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_a_hundred_thousand_requests_that_are_almost_right_are_all_answered(capsys):
    line = check(fuzz(100_000, seed=2, keys_a_role=3))
    with capsys.disabled():
        sys.stdout.write(f"\n{line}\n")
