"""Commands that only speak with the daemon load nothing that only the daemon needs: people wait for these imports."""

import subprocess
import sys

import pytest

from tests.patience import PATIENT_S

HEAVY = ("numpy", "scipy", "textual", "apscheduler", "tuner.config", "tuner.core.posterior", "tuner.compute",
         "tuner.core.optimizer.optimizer", "tuner.journal",
         "tuner.daemon", "tuner.adapter", "tuner.config.plugins", "tuner.campaign.decide", "tuner.campaign.evolve",
         "tuner.campaign.events", "tuner.campaign.state", "tuner.campaign.terms", "tuner.wire.schema")  # fmt: skip
BLOCKING = ("asyncio", "zmq.asyncio", "tuner.wire.aio", "tuner.wire.keyfiles", "tuner.console")
PROGRAM = """
import sys
from tuner.cli.main import cli
from tuner.cli import connection
connection._FIND_S = 0.05  # there is no daemon: nobody has to wait for one
code = cli.main(sys.argv[1:], standalone_mode=False)
print(code, *sorted(sys.modules))
"""


@pytest.mark.parametrize(
    ("arguments", "code", "unloaded"),
    [
        (["status"], "69", (*HEAVY, *BLOCKING)),
        (["stop"], "69", (*HEAVY, *BLOCKING, "rich")),
        (["campaign", "hold", "press"], "69", (*HEAVY, *BLOCKING, "rich")),
        (["keys", "new", "desk", "--role", "viewer", "--out", "desk.tuner-key"], "None", (*HEAVY, *BLOCKING[:-2])),
        (["ask", "--campaign", "press"], "69", HEAVY),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_light_command_loads_nothing_heavy(arguments, code, unloaded, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments, "--state", str(tmp_path / "state")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=PATIENT_S,
        check=True,
    )
    said, *loaded = done.stdout.splitlines()[-1].split()
    assert said == code, done.stdout + done.stderr
    assert "tuner.basics.vocabulary" in loaded
    assert [name for name in unloaded if name in loaded] == []


def test_the_daemon_and_its_workers_load_nothing_that_they_do_not_need():
    program = "import sys, tuner.daemon.service, tuner.compute.tasks as t; t.warm_up(); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENT_S, check=True
    )
    assert "sqlite_utils" in loaded.stdout.split()
    assert {"pandas", "scipy.stats", "matplotlib", "textual"} & set(loaded.stdout.split()) == set()
