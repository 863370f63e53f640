"""A program that the command adapter has started does not outlive the adapter, however that ends."""

import os
import subprocess
import sys
import textwrap

import pytest

from adapters.command import CommandAdapter
from adapters.command.adapter import CommandSettings
from adapters.command.guard import Guard
from tuner.adapter import ParameterInfo

HEAT = ParameterInfo("heat", "continuous", 180.0, 120.0, 260.0)
CALLER = """
    import sys
    from adapters.command.adapter import CommandAdapter, CommandSettings
    settings = CommandSettings(argv=(sys.executable, "machine.py"), stop_s=float(sys.argv[1]))
    adapter = CommandAdapter(settings, ())
    adapter.open(10.0)
    adapter.run_trial("a", 3600.0)
"""


@pytest.fixture
def alive(tmp_path):
    """A named pipe that tells whether somebody still has it open for writing."""
    os.mkfifo(tmp_path / "alive")
    reader = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    yield reader
    os.close(reader)


@pytest.fixture
def kill_in_call(tmp_path):
    """Kill an adapter's process in the middle of a call of this program, which says so by a byte."""

    def kill(text, alive, stop_s):
        (tmp_path / "machine.py").write_text(textwrap.dedent(text))
        command = [sys.executable, "-c", textwrap.dedent(CALLER), str(stop_s)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        held = os.open(tmp_path / "alive", os.O_WRONLY)  # the pipe has not ended before the program opens it
        caller = subprocess.Popen(command, cwd=tmp_path, env=environment)
        assert os.read(alive, 1) == b"x"
        os.close(held)
        caller.kill()
        caller.wait()

    return kill


def test_a_program_is_ended_with_all_its_children_when_the_adapter_is_killed(kill_in_call, alive):
    text = """
        import signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        pipe = open("alive", "w")
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], stderr=pipe)
        print("x", end="", file=pipe, flush=True)
        time.sleep(3600)
    """
    kill_in_call(text, alive, stop_s=0.1)
    assert os.read(alive, 1) == b""  # blocks as long as somebody could still write


def test_a_program_may_put_the_machine_in_order_when_the_adapter_is_killed(kill_in_call, alive, tmp_path):
    text = """
        import signal, sys, time
        pipe = open("alive", "w")
        def stop(*_):
            open("in-order", "w").close()
            sys.exit(0)
        signal.signal(signal.SIGTERM, stop)
        print("x", end="", file=pipe, flush=True)
        time.sleep(3600)
    """
    kill_in_call(text, alive, stop_s=30.0)
    assert os.read(alive, 1) == b""
    assert (tmp_path / "in-order").exists()


def test_what_a_program_leaves_behind_on_purpose_is_left_alone_when_the_adapter_closes(tmp_path, alive):
    text = """
        import subprocess, sys
        quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        child = "pipe = open('alive', 'w'); pipe.write('x'); pipe.flush(); open('go-on').read(); pipe.write('y')"
        subprocess.Popen([sys.executable, "-c", child], **quiet)
        print('{"valid": true}')
    """
    os.mkfifo(tmp_path / "go-on")
    (tmp_path / "machine.py").write_text(textwrap.dedent(text))
    held = os.open(tmp_path / "alive", os.O_WRONLY)
    adapter = CommandAdapter(CommandSettings(argv=(sys.executable, "machine.py"), directory=tmp_path), [HEAT])
    adapter.open(10.0)
    assert adapter.run_trial("a", 10.0).valid
    assert os.read(alive, 1) == b"x"
    os.close(held)
    adapter.close()
    (tmp_path / "go-on").write_text("now")
    assert os.read(alive, 1) == b"y"


def test_a_guard_that_was_killed_is_replaced():
    guard = Guard(0.1)
    guard.start()
    first = guard._process
    first.kill()
    first.wait()
    guard.watch(0)
    guard.start()
    assert guard._process.poll() is None
    guard.close()
