"""Ends a program with all its children when the adapter that has started it is gone.

The adapter's process may be killed at any moment; its program would go on moving the machine, beside that of the next
adapter. So a small process of its own, this file as a script, knows the program and hears by the end of a pipe that
nobody waits for it any more. As a script it imports the standard library only.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

_NOBODY = 0
_LOOK_S = 0.02
_CLOSING_S = 2.0


class Guard:
    """Watches one program at a time; `stop_s` passes between asking a program to stop and ending it."""

    def __init__(self, stop_s: float) -> None:
        self._stop_s = stop_s
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Make sure that the guard is there."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(  # noqa: S603 - this file, by the interpreter that runs it
                [sys.executable, "-I", "-S", __file__, repr(self._stop_s)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,  # what is meant for the adapter's group is not meant for it
            )

    def watch(self, group: int) -> None:
        """From now on this group of processes is ended when we are gone."""
        self._tell(group)

    def rest(self) -> None:
        """The program has ended."""
        self._tell(_NOBODY)

    def close(self) -> None:
        """Let the guard go."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_CLOSING_S)

    def _tell(self, group: int) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it was killed: the next call starts another one
                self._process.stdin.write(f"{group}\n".encode())


def stand_guard(stop_s: float) -> None:
    """Read which group of processes to watch until nobody can say more, then end it."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    group = _NOBODY
    for line in sys.stdin:
        group = int(line)
    if group == _NOBODY:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it is gone
        os.killpg(group, signal.SIGTERM)
        end_s = time.monotonic() + stop_s
        while time.monotonic() < end_s:
            os.killpg(group, 0)
            time.sleep(_LOOK_S)
        os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    stand_guard(float(sys.argv[1]))
