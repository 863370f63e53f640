"""A daemon of one's own in a child process: for the demo, scripted runs and the bench."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tuner.basics.files import append_to
from tuner.errors import TunerError
from tuner.wire.client import Client
from tuner.wire.errors import NoReplyError

START_S = 60.0
STOP_S = 180.0
LOG_NAME = "daemon.log"
LEAST_ROOM_BYTES = 65536


class LocalDaemon:
    """Runs `tuner run` on a configuration until it is closed; sockets need a short path of its state."""

    def __init__(self, config: Path, state: Path, start_s: float = START_S, more: Sequence[Path] = ()) -> None:
        self.config = config
        self._more = more  # files with further campaigns
        self.state = state
        self._start_s = start_s
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The daemon's process."""
        if self._process is None:
            raise TunerError("the daemon is not running")
        return self._process.pid

    @property
    def log(self) -> Path:
        """Where its log goes."""
        return self.state / LOG_NAME

    def start(self) -> Self:
        """Start it and wait until it answers.

        Raises:
            TunerError: It ended, with what it said.
        """
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        command = [
            sys.executable,
            "-P",
            "-m",
            "tuner.cli.attended",
            "run",
            str(self.config),
            *map(str, self._more),
            "--state",
            str(self.state),
        ]
        with os.fdopen(append_to(self.log), "ab") as log:
            # a group of its own: Ctrl-C is for us, and we stop the daemon in good order; if we are killed, the end of
            # its stdin stops it
            self._process = subprocess.Popen(command, stderr=log, stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603
        try:
            if self._answers(self._process):
                return self
        except BaseException:  # Ctrl-C while it starts: it must not be left behind
            self.stop()
            raise
        self.stop()
        said = self.log.read_text("utf-8", "replace").strip().splitlines()
        raise TunerError("the daemon did not start: " + (said[-1] if said else f"see {self.log}"))

    def _answers(self, process: "subprocess.Popen[bytes]") -> bool:
        with self.client() as client:
            for _ in range(round(self._start_s)):
                with contextlib.suppress(NoReplyError):
                    client.request("ping", timeout_s=1.0)
                    return True
                if process.poll() is not None:
                    break
        return False

    def client(self, actor: str | None = None) -> Client:
        """A client of it."""
        return Client.local(self.state, actor=actor, environ={**os.environ, "RUNTIME_DIRECTORY": ""})

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    def check_room(self) -> None:
        """See whether it can write: on a full disk it waits until somebody makes room."""
        room = os.statvfs(self.state)
        if room.f_frsize * (room.f_bavail if os.geteuid() else room.f_bfree) < LEAST_ROOM_BYTES:
            raise TunerError(f"{self.state}: the disk is full, so that the daemon cannot go on")

    def stop(self) -> None:
        """End it in good order: machines are at home then."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdin is not None:
            process.stdin.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
