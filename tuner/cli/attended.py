"""`python -m tuner.cli.attended ...` is `tuner` for a process of ours: it ends when that process is gone."""

import os
import signal
import sys
import threading
from pathlib import Path


def main() -> None:
    """Run the command; the end of stdin, which the starting process holds open, is as good as a SIGTERM."""
    held = os.dup(sys.stdin.fileno())
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())  # what we start must not wait for this pipe
    threading.Thread(target=_stop_at_the_end_of, args=(held,), daemon=True).start()

    from tuner.cli.main import main as tuner

    tuner()


def _stop_at_the_end_of(descriptor: int) -> None:
    while os.read(descriptor, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
