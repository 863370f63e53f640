import json
import os
import signal
import subprocess
import sys

import pytest

from tests.compute.helpers import gone, until

DAEMON = """
import asyncio, json, sys
from tests.compute.helpers import minutes_of_work, until
from tuner.compute.worker_pool import Pool

async def main():
    async with Pool(2) as pool:
        await pool.ready()
        jobs = [pool.submit("slices", minutes_of_work(number=i)) for i in range(1 if sys.argv[1] == "one" else 2)]
        await until(lambda: pool.stats().busy == len(jobs))
        print(json.dumps(pool.pids()), flush=True)
        await asyncio.gather(*(job.result() for job in jobs))

asyncio.run(main())
"""


@pytest.mark.asyncio
@pytest.mark.parametrize("busy", [pytest.param("one", marks=pytest.mark.slow), "all"])
async def test_no_process_outlives_a_daemon_that_is_killed(busy):
    command = [sys.executable, "-c", DAEMON, busy]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as daemon:  # noqa: ASYNC220 - our own code
        assert daemon.stdout is not None
        processes = json.loads(daemon.stdout.readline())
        assert len(processes) == 4
        assert not any(gone(pid) for pid in processes)
        os.kill(daemon.pid, signal.SIGKILL)
        await until(lambda: all(gone(pid) for pid in processes))
    assert daemon.returncode == -signal.SIGKILL
