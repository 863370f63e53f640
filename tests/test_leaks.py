"""A test that leaves something behind fails, also where all its assertions hold."""

import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENT_S

LEAVING = """
import asyncio, subprocess, threading
import pytest

KEPT = []

@pytest.fixture
def served():
    process = subprocess.Popen(["sleep", "1000"])
    yield
    process.kill()
    process.wait()

@pytest.mark.asyncio
async def test_that_cleans_up(served):
    await asyncio.create_task(asyncio.sleep(0))

@pytest.mark.asyncio
async def test_task():
    KEPT.append(asyncio.create_task(asyncio.Event().wait()))

def test_thread(request):
    event = threading.Event()
    request.config.add_cleanup(event.set)
    threading.Thread(target=event.wait).start()

def test_process(request):
    process = subprocess.Popen(["sleep", "1000"])
    request.config.add_cleanup(lambda: (process.kill(), process.wait()))
"""
SHARING = """
import subprocess
import pytest

@pytest.fixture(scope="module")
def shared():
    return []

@pytest.fixture(scope="module", autouse=True)
def last(shared):
    yield
    for process in shared:
        process.kill()
        process.wait()

def test_that_starts_what_its_module_ends(shared):
    shared.append(subprocess.Popen(["sleep", "1000"]))
"""


def test_tasks_threads_and_processes_that_are_left_fail_the_test_that_left_them(tmp_path):
    (tmp_path / "conftest.py").write_text("from tests import leaks\nleaks.GRACE_S = 0.1\nfrom tests.leaks import *\n")
    (tmp_path / "test_leaving.py").write_text(LEAVING)
    (tmp_path / "test_sharing.py").write_text(SHARING)
    options = ["-rE", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-o", "asyncio_mode=strict"]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=PATIENT_S, check=False)
    failed = {line.split("::")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("ERROR ")}
    assert failed == {"test_task", "test_thread", "test_process"}, done.stdout
    assert "5 passed" in done.stdout
