"""Metrics and watching: a real daemon, asked over loopback."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from tests.daemon.running import campaign_text, daemon, until
from tests.docs.documents import ROOT
from tests.patience import PATIENT_S
from tuner.cli.metrics import OF_CAMPAIGN, OF_DAEMON


@pytest.fixture(scope="module")
def running():
    with daemon(campaign_text(trials=5)) as one:
        one.start()
        with one.client() as client:
            until(client, "press", lambda view: view.duel is not None)
        yield one


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def started(*words):
    command = [sys.executable, "-m", "tuner", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def looked_at(*options):
    process = started("metrics", "--port", free_port(), *options)
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), address
        with urllib.request.urlopen(address, timeout=PATIENT_S) as answer:  # noqa: S310 - ours
            return answer.read().decode()
    finally:
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        process.stdout.close()
        assert process.wait(PATIENT_S) == 130


def test_prometheus_is_told_of_the_daemon_and_of_each_campaign(running):
    text = looked_at("--state", running.state)
    label = '{campaign="press",machine="press-machine"}'
    assert "tuner_up 1.0" in text
    assert f"tuner_trials_budget{label} 5.0" in text
    assert f"tuner_question_open{label} 1.0" in text
    assert 'tuner_mode{campaign="press",machine="press-machine",mode="Execute"} 1.0' in text
    assert {name for name in OF_DAEMON | OF_CAMPAIGN if f"# HELP {name} " in text} == OF_DAEMON.keys() | OF_CAMPAIGN


def test_without_a_daemon_it_is_down_and_nothing_fails(tmp_path):
    text = looked_at("--state", tmp_path)
    assert "tuner_up 0.0" in text
    assert "tuner_scrap" not in text


def test_a_port_that_is_taken_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = started("metrics", "--port", taken.getsockname()[1])
        said, _ = process.communicate(timeout=PATIENT_S)
    assert process.returncode == 1
    assert "cannot be used: Address already in use; choose another with --port" in said


def test_the_dashboard_asks_for_metrics_that_there_are():
    board = json.loads((ROOT / "docs" / "grafana.json").read_text())
    asked = {
        name
        for panel in board["panels"]
        for one in panel["targets"]
        for name in re.findall("tuner_[a-z_]+", one["expr"])
    }
    assert asked <= OF_DAEMON.keys() | OF_CAMPAIGN.keys()
    assert len(asked) > 6


def test_status_is_shown_again_when_something_happens(running):
    process = started("status", "--watch", "--json", "--state", running.state)
    try:
        while process.stdout.readline() != "}\n":  # the first is spread over lines
            pass
        before = json.loads(process.stdout.readline())  # at the first beat
        with running.client() as client:
            client.hold("press", "lunch")
        while json.loads(process.stdout.readline())["campaigns"][0]["mode"] != "Held":
            pass
        assert before["campaigns"][0]["mode"] == "Execute"
    finally:
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        process.stdout.close()
        assert process.wait(PATIENT_S) == 130
