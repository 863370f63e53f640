import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENT_S
from tuner.lab.bench.workers import run_all

MEASURE = """
import sys
from tests.lab.bench.test_workers import process
from tuner.lab.bench.workers import run_all

if __name__ == "__main__":
    for _, number in run_all(process, [()], 1):
        print(number, flush=True)
        sys.stdin.read()
"""


def process() -> int:
    return os.getpid()


def test_a_worker_that_waits_for_a_task_ends_with_a_measurement_that_is_killed(tmp_path):
    script = tmp_path / "measure.py"
    script.write_text(MEASURE)
    environ = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ
    ) as started:
        worker = int(started.stdout.readline())
        handle = os.pidfd_open(worker)
        try:
            assert select.select([handle], [], [], 0.0)[0] == []
            started.send_signal(signal.SIGKILL)
            started.wait()
            assert select.select([handle], [], [], PATIENT_S)[0] == [handle]
        finally:
            os.close(handle)


def test_results_come_with_their_tasks():
    assert sorted(run_all(abs, [(-3,), (2,)], 1)) == [((-3,), 3), ((2,), 2)]
