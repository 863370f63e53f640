"""What tests fork is as what they would have started: streams, exit codes, signals, environment, parent."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon.running import campaign_text, daemon, until
from tests.patience import PATIENT_S
from tests.warm import WARM

TUNER = [sys.executable, "-m", "tuner"]


@pytest.fixture(params=["forked", "cold"])
def started(request):
    before, WARM.cold = WARM.cold, request.param == "cold"
    yield request.param
    WARM.cold = before


def test_streams_exit_codes_and_environment_are_those_of_a_process_that_was_started(started, tmp_path):
    environ = {**os.environ, "TUNER_STATE": str(tmp_path / "nobody is here")}
    shown = subprocess.run([*TUNER, "stop"], capture_output=True, text=True, timeout=PATIENT_S, env=environ)
    assert (shown.returncode, shown.stdout) == (69, "")
    assert "nobody is here" in shown.stderr
    with (tmp_path / "out").open("w") as out:
        assert subprocess.run([*TUNER, "--version"], stdout=out, timeout=PATIENT_S, check=True).stderr is None
    assert "tuner" in (tmp_path / "out").read_text()


def test_a_daemon_is_a_child_that_signals_reach_and_that_tells_how_it_ended(started):
    with daemon(campaign_text(autostart=False)) as running:
        running.start()
        assert f"\nPPid:\t{os.getpid()}\n" in Path(f"/proc/{running.process.pid}/status").read_text()
        running.process.send_signal(signal.SIGKILL)
        assert running.process.wait(PATIENT_S) == -signal.SIGKILL
        running.start()
        assert running.stop() == 0


def test_what_a_daemon_starts_is_what_was_forked_for_it_and_nothing_has_to_be_started_again():
    with daemon(campaign_text()) as running:
        running.start()
        with running.client() as client:
            until(client, "press", lambda view: view.n > 8)
        assert running.stop() == 0
        assert "WARNING" not in running.log()
        assert "Warning" not in running.log()
