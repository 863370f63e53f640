"""No test leaves anything behind: asyncio tasks, threads that keep Python from ending, processes.

What a test has for itself must be gone when its fixtures are; what it shares with its module, when the module ends.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from tests.warm import WARM

GRACE_S = 60.0  # what was told to end may need this long on a busy machine
# one of each for the whole interpreter, started when first needed, by multiprocessing and by dask
SHARED_PROCESSES = ("from multiprocessing.forkserver import", "from multiprocessing.resource_tracker import")
SHARED_THREADS = ("Dask-Offload",)


def processes() -> dict[int, str]:
    """The children of this process that still run, and what each is."""
    found = {}
    for listed in Path("/proc/self/task").glob("*/children"):
        for pid in _read(listed).split():
            state = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()[:1]
            command = _read(Path(f"/proc/{pid}/cmdline")).replace("\0", " ").strip()
            shared = WARM.process is not None and int(pid) == WARM.process.pid
            if state not in ([], ["Z"]) and not shared and not any(words in command for words in SHARED_PROCESSES):
                found[int(pid)] = command
    return found


def _read(file: Path) -> str:
    """What /proc says about a thread or process; nothing if it has ended since it was listed."""
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def threads() -> dict[int, str]:
    """The threads for which Python would wait at its end."""
    waited_for = [thread for thread in threading.enumerate() if thread.ident and not thread.daemon]
    return {thread.ident: thread.name for thread in waited_for if not thread.name.startswith(SHARED_THREADS)}


def _new(found: Callable[[], dict[int, str]], before: dict[int, str]) -> list[str]:
    """What is there that was not there before, when it has had time to end."""
    end, pause = time.monotonic() + GRACE_S, threading.Event()
    while left := [f"{name} ({number})" for number, name in found().items() if number not in before]:
        if time.monotonic() > end:
            return left
        pause.wait(0.01)
    return []


def _nothing_is_left() -> Iterator[None]:
    before = {found: found() for found in (processes, threads)}
    yield
    left = {found.__name__: _new(found, known) for found, known in before.items()}
    assert not any(left.values()), f"left behind: {left}"


def _shares(request: pytest.FixtureRequest) -> bool:
    """Whether the test uses something that outlives it, and may have started a thread or process for that."""
    named = [request.node._fixtureinfo.name2fixturedefs.get(name) for name in request.fixturenames]
    scopes = {defined[-1].scope for defined in named if defined and defined[-1].func.__module__ != __name__}
    return not scopes <= {"function", "session"} or _loop_scope(request.node) == "module"


def _loop_scope(node: pytest.Item | pytest.Collector) -> str:
    marker = node.get_closest_marker("asyncio")
    return marker.kwargs.get("loop_scope", "function") if marker else ""


@asynccontextmanager
async def _no_task_is_left() -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    end = time.monotonic() + GRACE_S
    while left := asyncio.all_tasks() - before - {asyncio.current_task()}:
        assert time.monotonic() < end, f"left behind: {left}"
        await asyncio.wait(left, timeout=0.1)


@pytest_asyncio.fixture
async def loop_of_a_test_leaves_nothing() -> AsyncIterator[None]:
    """Checks the tasks of a test's event loop after its fixtures, before the end of the loop cancels them."""
    async with _no_task_is_left():
        yield


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def loop_of_a_module_leaves_nothing() -> AsyncIterator[None]:
    """The same for a loop that the tests of a module share."""
    async with _no_task_is_left():
        yield


@pytest.fixture(autouse=True, scope="module")
def a_module_leaves_nothing() -> Iterator[None]:
    """Checks what the tests of a module share."""
    yield from _nothing_is_left()


@pytest.fixture(autouse=True, scope="module")
def a_module_leaves_no_task(request: pytest.FixtureRequest, a_module_leaves_nothing: None) -> None:
    """Looks after the module's event loop, if it has one; before all other fixtures, so it ends after them."""
    if _loop_scope(request.node) == "module":
        request.getfixturevalue("loop_of_a_module_leaves_nothing")


@pytest.fixture(autouse=True)
def a_test_leaves_nothing(request: pytest.FixtureRequest) -> Iterator[None]:
    """Checks what a test has for itself."""
    yield from iter([None]) if _shares(request) else _nothing_is_left()


@pytest.fixture(autouse=True)
def a_test_leaves_no_task(request: pytest.FixtureRequest, a_test_leaves_nothing: None) -> None:
    """Looks after the test's event loop, if it has one."""
    if _loop_scope(request.node) == "function":
        request.getfixturevalue("loop_of_a_test_leaves_nothing")
