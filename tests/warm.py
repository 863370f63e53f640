"""`python -m tuner` in a moment: tests start it hundreds of times, and most of each start is imports.

What tests start is forked from a process in which everything is imported (`tests/warm_process.py`; one for each process
of pytest) and becomes a child of whoever asked for it. Where TUNER_COLD is set, as in `make test-all`, and in tests
with the fixture `cold`, everything is started as users start it.
"""

import ctypes
import json
import multiprocessing.util
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.warm_process import Given, intercept, streams

ROOT = Path(__file__).parents[1]
SERVE = "import sys; sys.path.insert(0, sys.argv[1]); from tests.warm_process import serve; serve(sys.argv[2])"
FIXED = ("PYTHON", "LANG", "LC_", "OPENBLAS", "OMP")  # what Python reads only when it starts
PR_SET_CHILD_SUBREAPER = 36
MODULES = ("tuner", "tuner.cli.attended")
AS_EVER = multiprocessing.util.spawnv_passfds


class Warm:
    """The process in which everything is imported, from the side of the tests."""

    def __init__(self) -> None:
        self.cold = bool(os.environ.get("TUNER_COLD"))
        self._fixed = _fixed(os.environ)  # of the process that is forked, whatever a test sets later
        self.process: subprocess.Popen[bytes] | None = None
        self._directory = ""
        self._lock = threading.Lock()

    def start(self, given: Given) -> int | None:
        """The number of a forked process; None for what is not `python -m tuner`, or in surroundings of its own."""
        words, environ = given["args"], given["env"] or os.environ
        own = ("shell", "preexec_fn", "executable", "cwd", "pass_fds")
        if isinstance(words, str) or any(given[name] for name in own):
            return None
        python, *rest = (os.fspath(word) for word in words)
        rest = rest[rest[:1] == ["-P"] :]
        if python != sys.executable or rest[:1] != ["-m"] or rest[1] not in MODULES:
            return None
        wanted = {"module": rest[1], "words": rest[2:], "session": given["start_new_session"]}
        return self._forked(wanted, environ, streams(given))

    def spawn(self, path: bytes, words: list[Any], passed: list[int]) -> int:
        """What multiprocessing starts; a process of its own kind `spawn` is forked too."""
        code, *argv = [os.fsdecode(word) for word in words][words.index("-c") + 1 :]
        pid = None
        if "from multiprocessing.spawn import" in code:
            wanted = {"code": code, "argv": argv, "passed": list(passed), "session": False}
            pid = self._forked(wanted, os.environ, [0, 1, 2, *passed])
        return AS_EVER(path, words, passed) if pid is None else pid

    def _forked(self, wanted: Given, environ: Mapping[str, str], descriptors: list[int]) -> int | None:
        """The number of a process that becomes what is wanted; None where it must be started as users start it."""
        if self.cold or _fixed(environ) != self._fixed:
            return None
        message = json.dumps({**wanted, "environ": dict(environ), "parent": os.getpid()}).encode()
        with self._lock:
            return self._asked_for(message, descriptors)

    def _asked_for(self, message: bytes, descriptors: list[int]) -> int:
        """Ask for a process; while this one is a subreaper, what the other leaves behind becomes its child."""
        self._begin()
        prctl = ctypes.CDLL(None).prctl
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
            asked.connect(f"{self._directory}/warm")
            prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(asked, [len(message).to_bytes(4, "big")], descriptors)
                asked.sendall(message)
                return int(asked.makefile().read())
            finally:
                prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)

    def _begin(self) -> None:
        if self.process is not None:
            return
        self._directory = tempfile.mkdtemp(prefix="warm-")
        ready, theirs = os.pipe()
        command = [sys.executable, "-P", "-c", SERVE, str(ROOT), self._directory, str(theirs)]
        environ = {name: value for name, value in os.environ.items() if not name.startswith(FIXED)} | self._fixed
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs], env=environ)
        os.close(theirs)
        with os.fdopen(ready) as waited_for:
            assert waited_for.read() == "ready", "the process from which others are forked did not start"

    def end(self) -> None:
        """End it, when all tests have run; what was forked from it does not notice."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for left in Path(self._directory).iterdir():
                left.unlink()
            Path(self._directory).rmdir()


def _fixed(environ: Mapping[str, str]) -> dict[str, str]:
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")  # tuner sets them if nobody did
    return {name: value for name, value in environ.items() if name.startswith(FIXED) and "HASH" not in name} | threads


WARM = Warm()


def pytest_configure() -> None:
    """From now on Popen and multiprocessing fork."""
    intercept(WARM.start)
    multiprocessing.util.spawnv_passfds = WARM.spawn


def pytest_unconfigure() -> None:
    """Leave nothing behind."""
    WARM.end()


@pytest.fixture
def cold() -> Iterator[None]:
    """Start everything as users start it."""
    before, WARM.cold = WARM.cold, True
    yield
    WARM.cold = before
