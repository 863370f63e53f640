"""Keeps files free for the daemon itself: whoever opens connections without end takes the last one of nobody.

libzmq ends the whole process where a local client comes and no file is left. So before that nobody new is let in: the
kernel drops what knocks at the network's sockets, and the group's sockets are their owner's alone. Who is connected
already notices nothing. Looking is the business of a thread: a busy loop would look too late.
"""

import array
import contextlib
import os
import resource
import socket
import stat
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

LOOK_S = 0.02
AGAIN_S = 0.5  # between two looks for new sockets to close
CALM_S = 60.0  # without closing a door until it is told that there is room again
MOST_SHARE = 0.1  # of a processor that looking may take
LEAST_FREE = 500  # files, or a quarter of all, but not more than half of them
_ATTACH, _DETACH = 26, 27  # SO_ATTACH_FILTER, SO_DETACH_FILTER: Python has no names for them
_DROP_ALL = array.array("B", struct.pack("HBBI", 0x06, 0, 0, 0))  # a filter of one step: return nothing
_FILES = "/proc/self/fd"


class Doorkeeper(threading.Thread):
    """Closes the doors while files are short.

    Args:
        doors: Files of local sockets and the rights that they have while there is room.
        told: Is told how many files are open and how many there may be when doors were closed, and (0, 0) when they
            have been open for a minute; from this thread.
    """

    def __init__(self, doors: Mapping[Path, int], told: Callable[[int, int], None]) -> None:
        super().__init__(name="doorkeeper", daemon=True)
        self._doors = doors
        self._told = told
        self._ended = threading.Event()
        self._closed = False
        self._alarmed = False
        self._again_s = self._crowded_s = 0.0

    def run(self) -> None:
        """Look again and again."""
        pause_s = LOOK_S
        while not self._ended.wait(pause_s):
            began_s = time.monotonic()
            with contextlib.suppress(OSError):
                self._look()
            pause_s = max(LOOK_S, (time.monotonic() - began_s) / MOST_SHARE)

    def end(self) -> None:
        """Look no more; the sockets are closed now."""
        self._ended.set()
        self.join()

    def _look(self) -> None:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        enough = most - min(max(LEAST_FREE, most // 4), most // 2)
        used = files_open()
        if used > enough:
            if time.monotonic() >= self._again_s:
                self._again_s = time.monotonic() + AGAIN_S
                self._set(closed=True)
                self._closed = True
            if not self._alarmed:
                self._alarmed = True
                self._told(used, most)
            self._crowded_s = time.monotonic()
        elif self._closed and used < 0.9 * enough:
            self._set(closed=False)
            self._closed, self._again_s = False, 0.0
        elif self._alarmed and time.monotonic() - self._crowded_s > CALM_S:
            self._alarmed = False
            self._told(0, 0)

    def _set(self, *, closed: bool) -> None:
        for one in _listening():
            with contextlib.suppress(OSError), one:  # one that has no filter cannot lose it
                if closed:
                    one.setsockopt(socket.SOL_SOCKET, _ATTACH, struct.pack("@HP", 1, _DROP_ALL.buffer_info()[0]))
                else:
                    one.setsockopt(socket.SOL_SOCKET, _DETACH, 0)
        for file, mode in dict(self._doors).items():
            with contextlib.suppress(OSError):
                file.chmod(mode & 0o700 if closed else mode)


def files_open() -> int:
    """How many this process has; newer kernels just say it."""
    return os.stat(_FILES).st_size or len(os.listdir(_FILES))  # noqa: PTH116, PTH208 - fifty times a second


def _listening() -> Iterator[socket.socket]:
    """Our sockets of the network that take connections."""
    for name in os.listdir(_FILES):  # noqa: PTH208 - numbers are wanted
        with contextlib.suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
            one = socket.socket(fileno=os.dup(int(name)))
            inet = one.family in (socket.AF_INET, socket.AF_INET6)
            if inet and one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                yield one
            else:
                one.close()
