"""Starts daemons by forking a process that has imported them: `python -m tests.faults.fork_start`, orders on its input.

Most of a daemon's start is importing Python modules, which no fault test is about. Here that is done once; everything
from reading the configuration on is what `tuner run` does. An order is a line of JSON, and so is its answer.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.daemon.running import Running
from tests.patience import PATIENT_S

ROOT = Path(__file__).parents[2]


class Forker:
    """The process that forks, from outside; used by one thread."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.faults.fork_start"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **order: object) -> int:
        """Have something done; its number."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End it, once its children have ended."""
        self._process.communicate(timeout=PATIENT_S)


class Forked:
    """One daemon, with what tests use of a `subprocess.Popen`."""

    def __init__(self, forker: Forker, **order: object) -> None:
        self._forker = forker
        self.returncode: int | None = None
        self.pid = forker.ask(**order)

    def send_signal(self, number: int) -> None:
        """Tell it."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """Its end, if it was waited for."""
        return self.returncode

    def wait(self, _timeout_s: float | None = None) -> int:
        """Wait for its end."""
        if self.returncode is None:
            self.returncode = self._forker.ask(wait=self.pid)
        return self.returncode


class QuickRunning(Running):
    """A daemon of the tests that is started by a fork."""

    def __init__(self, directory: Path, config: str) -> None:
        super().__init__(directory, config)
        self._forker = Forker()

    def start(self, *, wait: bool = True) -> "QuickRunning":
        """Start it."""
        arguments = ["run", str(self.config), "--state", str(self.state)]
        notify, log = str(self.directory / "notify"), str(self.directory / "log")
        self.process = Forked(self._forker, arguments=arguments, notify=notify, log=log)
        if wait:
            self.wait_for("READY=1")
        return self

    def close(self) -> None:
        """End all."""
        super().close()
        self._forker.close()


def _become(order: dict[str, object]) -> None:
    """Be the daemon, with nothing of the parent's."""
    from tuner.cli.main import main

    os.environ["NOTIFY_SOCKET"] = str(order["notify"])
    log = os.open(str(order["log"]), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    nothing = os.open(os.devnull, os.O_RDWR)
    for source, target in ((nothing, 0), (nothing, 1), (log, 2)):
        os.dup2(source, target)
    sys.argv = ["tuner", *map(str, order["arguments"])]  # type: ignore[call-overload]
    main()


def main() -> None:
    """Fork and wait as the input says."""
    from tuner.basics.threads import one_blas_thread

    one_blas_thread()
    import tuner.cli.run  # noqa: F401 - what a child shall find imported

    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            answer = os.waitstatus_to_exitcode(os.waitpid(order["wait"], 0)[1])
        elif not (answer := os.fork()):
            code = 70
            try:
                _become(order)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            finally:
                sys.stderr.flush()
                os._exit(code)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
