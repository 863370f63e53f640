import multiprocessing
import os
import re
import signal
import subprocess
import sys

import pytest

from tuner.daemon.state_lock import LOCK_NAME, DaemonLock
from tuner.errors import TryAgainError, TunerError

HOLD = """
import sys
from pathlib import Path
from tuner.daemon.state_lock import DaemonLock
lock = DaemonLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Start another process that holds the lock of `tmp_path`."""
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_daemon_is_told_which_process_serves(tmp_path, other):
    with pytest.raises(TryAgainError) as caught:
        DaemonLock(tmp_path)
    assert caught.value.exit_code == 75
    assert f"(process {other.pid})" in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "tuner stop" in str(caught.value)


def test_a_killed_daemon_leaves_a_file_but_no_lock(tmp_path, other):
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert (tmp_path / LOCK_NAME).read_text() == f"{other.pid}\n"
    with DaemonLock(tmp_path):
        assert (tmp_path / LOCK_NAME).read_text() == f"{os.getpid()}\n"


def test_the_lock_is_free_after_release_and_release_may_be_repeated(tmp_path):
    first = DaemonLock(tmp_path)
    first.release()
    first.release()
    DaemonLock(tmp_path).release()


def test_deleting_the_file_does_not_let_a_second_daemon_in(tmp_path, other):
    (tmp_path / LOCK_NAME).unlink()
    with pytest.raises(TryAgainError, match="a tuner daemon already serves"):
        DaemonLock(tmp_path)


def test_a_holder_that_has_not_yet_said_who_it_is_is_reported_without_a_number(tmp_path, other):
    (tmp_path / LOCK_NAME).write_text("")
    with pytest.raises(TryAgainError) as caught:
        DaemonLock(tmp_path)
    assert not re.search(r"process", str(caught.value))


def test_rubbish_in_the_file_is_replaced(tmp_path):
    (tmp_path / LOCK_NAME).write_bytes(b"\xff" * 500)
    with DaemonLock(tmp_path):
        assert (tmp_path / LOCK_NAME).read_text() == f"{os.getpid()}\n"


def test_a_refused_start_leaves_the_number_of_the_holder_alone(tmp_path, other):
    for _ in range(2):
        with pytest.raises(TryAgainError, match=str(other.pid)):
            DaemonLock(tmp_path)
    assert (tmp_path / LOCK_NAME).read_text() == f"{other.pid}\n"


def test_a_missing_state_directory_is_made_for_its_owner_alone(tmp_path):
    state = tmp_path / "deep" / "state"
    with DaemonLock(state):
        assert state.stat().st_mode & 0o777 == 0o700
        assert (state / LOCK_NAME).stat().st_mode & 0o777 == 0o600


def test_a_state_directory_that_is_a_file_is_explained(tmp_path):
    (tmp_path / "state").write_text("")
    with pytest.raises(TunerError, match=r"the state directory .*state cannot be used: File exists"):
        DaemonLock(tmp_path / "state")


def test_a_lock_file_that_points_elsewhere_is_refused_and_its_target_kept(tmp_path):
    target = tmp_path / "precious"
    target.write_text("keep me")
    state = tmp_path / "state"
    state.mkdir()
    (state / LOCK_NAME).symlink_to(target)
    with pytest.raises(TunerError, match="cannot be used"):
        DaemonLock(state)
    assert target.read_text() == "keep me"


def test_children_do_not_keep_the_lock_of_a_daemon_that_ended(tmp_path):
    lock = DaemonLock(tmp_path)
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=_wait_for_word, args=(there,))
    child.start()
    try:
        assert here.recv() == "running"
        lock.release()
        DaemonLock(tmp_path).release()
    finally:
        here.send("end")
        child.join()


def _wait_for_word(pipe):
    pipe.send("running")
    pipe.recv()
