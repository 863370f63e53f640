"""The process in which everything is imported: it forks `python -m tuner` for the tests (see `tests/warm.py`).

A daemon is forked together with the processes that it will start; they wait until it does.
"""

import gc
import importlib
import inspect
import json
import multiprocessing.forkserver
import multiprocessing.resource_tracker
import multiprocessing.util
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

# the code with which a daemon starts its workers, its adapters' processes and what multiprocessing needs beside them
STARTED_LATER = (
    "from tuner.compute.worker import main",
    "from multiprocessing.forkserver import main",
    "from multiprocessing.resource_tracker import main",
)
Given = dict[str, Any]


def intercept(start: Callable[[Given], int | None]) -> None:
    """Let Popen ask `start` for the process; where it has none, Popen starts one as ever."""
    as_ever = subprocess.Popen._execute_child
    signature = inspect.signature(as_ever)

    def _execute_child(self: "subprocess.Popen[Any]", *values: Any) -> None:
        given = signature.bind(self, *values).arguments
        pid = start(given)
        if pid is None:
            as_ever(self, *values)
            return
        self.pid, self._child_created = pid, True
        self._close_pipe_fds(*(given[name] for name in (
            "p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")))  # fmt: skip

    subprocess.Popen._execute_child = _execute_child


def streams(given: Given) -> list[int]:
    """The descriptors that become the process's standard streams; its own where Popen was told nothing."""
    wanted = (given["p2cread"], given["c2pwrite"], given["errwrite"])
    return [place if descriptor == -1 else descriptor for place, descriptor in enumerate(wanted)]


def serve(directory: str) -> None:
    """Fork for whoever asks, until the end; in a forked process, become what was asked for."""
    del sys.path[0]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import_everything()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(f"{directory}/warm")
        listening.listen()
        ready = int(sys.argv[-1])
        os.write(ready, b"ready")
        os.close(ready)
        wanted = None
        while wanted is None:
            asked, _ = listening.accept()
            with asked:
                wanted = _fork(asked)
    _become(wanted)


def _import_everything() -> None:
    from tuner.basics.threads import one_blas_thread

    one_blas_thread()
    from tuner.cli.main import COMMANDS
    from tuner.compute import tasks

    for place in ("tuner.machine.host", "tuner.problems", *(place for place, _ in COMMANDS.values())):
        importlib.import_module(place.partition(":")[0])
    tasks.warm_up()
    tasks.warm_up = lambda: None
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a process with threads must not be forked"
    gc.collect()
    gc.freeze()


def _fork(asked: socket.socket) -> dict[str, Any] | None:
    """Fork by way of a process that ends at once, so that the new one gets another parent; what it is to be."""
    length, descriptors, _, _ = socket.recv_fds(asked, 4, 16)
    wanted: dict[str, Any] = json.loads(asked.makefile("rb").read(int.from_bytes(length, "big")))
    between = os.fork()
    if between:
        for descriptor in descriptors:
            os.close(descriptor)
        os.waitpid(between, 0)
        return None
    pid = os.fork()
    if pid:
        asked.sendall(str(pid).encode())
        os._exit(0)
    while os.getppid() != wanted["parent"]:
        time.sleep(0.001)
    return {**wanted, "descriptors": descriptors}


def _become(wanted: dict[str, Any]) -> None:
    """Run `python -m tuner` with these words, or the code with which multiprocessing starts a process."""
    if wanted["session"]:
        os.setsid()
    _place(wanted["descriptors"], [0, 1, 2, *wanted.get("passed", [])])
    _begin_anew(wanted["environ"])
    if "code" in wanted:
        _execute(wanted)
        return
    if wanted["words"][:1] == ["run"]:
        Reserve()
    sys.argv = ["tuner", *wanted["words"]]
    runpy.run_module(wanted["module"], run_name="__main__", alter_sys=True)


def _begin_anew(environ: dict[str, str]) -> None:
    """Have what a new interpreter has: the environment, standard streams and Ctrl-C."""
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = sys.__stdin__ = _stream(0, sys.__stdin__)
    sys.stdout = sys.__stdout__ = _stream(1, sys.__stdout__)
    sys.stderr = sys.__stderr__ = _stream(2, sys.__stderr__)


def _stream(place: int, before: Any) -> Any:
    """A new standard stream: the one before remembers whether its file could be sought."""
    mode, buffering = ("r" if place == 0 else "w"), (1 if place == 2 else -1)
    return os.fdopen(place, mode, buffering, encoding=before.encoding, errors=before.errors, closefd=False)


class Reserve:
    """Processes that a daemon will start, forked while it has one thread; each waits until its turn comes."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[int, socket.socket]] = {}
        for code in STARTED_LATER:
            ours, theirs = socket.socketpair()
            pid = os.fork()
            if pid == 0:
                for _, of_another in [*self._waiting.values(), (pid, ours)]:
                    of_another.close()
                _wait(theirs)
            theirs.close()
            self._waiting[code] = (pid, ours)
        intercept(self._by_popen)
        self._as_ever = multiprocessing.util.spawnv_passfds
        multiprocessing.util.spawnv_passfds = self._by_multiprocessing

    def _by_popen(self, given: Given) -> int | None:
        return self._start(given["args"], streams(given), given["pass_fds"])

    def _by_multiprocessing(self, path: bytes, words: list[Any], passed: list[int]) -> int:
        pid = self._start([os.fsdecode(word) for word in words], [0, 1, 2], passed)
        return self._as_ever(path, words, passed) if pid is None else pid

    def _start(self, words: Any, given: list[int], passed: Iterable[int]) -> int | None:
        """Let one of them become what is wanted; None: there is none, or no more."""
        if isinstance(words, str) or "-c" not in words:
            return None
        code, *argv = words[words.index("-c") + 1 :]
        found = next((start for start in self._waiting if start in code), None)
        if found is None:
            return None
        pid, control = self._waiting.pop(found)
        wanted = {"code": code, "argv": argv, "passed": list(passed), "environ": dict(os.environ)}
        message = json.dumps(wanted).encode()
        with control:
            socket.send_fds(control, [len(message).to_bytes(4, "big")], [*given, *wanted["passed"]])
            control.sendall(message)
        return pid


def _wait(control: socket.socket) -> None:
    """Become what the daemon starts, when it does; end with a daemon that never does."""
    try:
        length, descriptors, _, _ = socket.recv_fds(control, 4, 16)
        if not length:
            return
        wanted = json.loads(control.makefile("rb").read(int.from_bytes(length, "big")))
        control.close()
        _begin_anew(wanted["environ"])
        _place(descriptors, [0, 1, 2, *wanted["passed"]])
        _execute(wanted)
    except SystemExit:
        pass
    except BaseException:  # noqa: BLE001 - nothing may unwind into the daemon's start
        traceback.print_exc()
    finally:
        os._exit(0)


def _execute(wanted: dict[str, Any]) -> None:
    """Run the code that would have been started with `-c`."""
    sys.argv = ["-c", *wanted["argv"]]
    exec(wanted["code"], {"__name__": "__main__"})  # noqa: S102 - our own and multiprocessing's


def _place(descriptors: list[int], places: list[int]) -> None:
    """Give each descriptor its number, and close every other."""
    high = [os.dup2(descriptor, 500 + number) for number, descriptor in enumerate(descriptors)]
    for descriptor, place in zip(high, places, strict=True):
        os.dup2(descriptor, place)
    kept = sorted(places)
    for low, end in zip([-1, *kept], [*kept, 2000], strict=True):
        if low + 1 < end:  # closerange(0, 0) closes all there are: it asks the kernel for those from 0 to -1
            os.closerange(low + 1, end)
