"""A daemon that is killed in the middle of a part leaves nobody behind who could still move the machine."""

import os
import select
import signal
import sys
import textwrap
from pathlib import Path

import pytest

from tests.daemon.running import campaign_text, daemon
from tests.patience import PATIENT_S

CAMPAIGN = """
[[campaign]]
name = "press"
machine = "machine"
budget = {{ trials = 4 }}
policy = {{ autostart = true, approval = false }}
adapter = {{ name = "command", settings = {{ argv = ["{python}", "machine.py"], directory = "{directory}" }} }}
parameter = [{{ kind = "continuous", name = "heat", low = 120.0, high = 260.0, start = 180.0 }}]
"""
PROGRAM = """
    import os, time
    pipe = open("alive", "w")
    print(os.getppid(), file=pipe, flush=True)
    time.sleep(3600)
"""


def test_neither_adapter_nor_program_outlives_a_daemon_that_is_killed_in_the_middle_of_a_part(tmp_path):
    (tmp_path / "machine.py").write_text(textwrap.dedent(PROGRAM))
    os.mkfifo(tmp_path / "alive")
    with daemon(CAMPAIGN.format(python=sys.executable, directory=tmp_path)) as running:
        running.start(wait=False)
        with (tmp_path / "alive").open() as alive:  # waits until the program is there
            adapter = int(alive.readline())
            descriptor = os.pidfd_open(adapter)
            running.kill()
            assert alive.read() == ""  # blocks as long as somebody could still write
        ended, _, _ = select.select([descriptor], [], [], PATIENT_S)  # a process that has ended can be read
        os.close(descriptor)
    assert ended


@pytest.mark.usefixtures("cold")  # a forked one has another command line
def test_a_compute_process_that_cannot_notice_the_end_of_its_daemon_ends_with_it():
    with daemon(campaign_text(autostart=False)) as running:
        running.start()
        server = next(one for one in iter(lambda: _server_of(running.process.pid), 0) if one is not None)
        descriptor = os.pidfd_open(server)
        while (
            b"numpy" not in Path(f"/proc/{server}/maps").read_bytes()
        ):  # by then it has said that it ends with the daemon
            pass
        os.kill(server, signal.SIGSTOP)  # like one that is busy importing for long
        running.kill()
        ended, _, _ = select.select([descriptor], [], [], PATIENT_S)
        os.close(descriptor)
    assert ended


def _server_of(pid: int) -> int | None:
    """The daemon's own compute process, once it is there."""
    for path in Path(f"/proc/{pid}/task").iterdir():
        for child in (path / "children").read_text().split():
            if b"tuner.compute.worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
    return None
