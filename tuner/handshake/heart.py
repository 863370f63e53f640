"""Signs of life between tuner and a machine, also while no call is under way: a thread that beats and looks."""

import contextlib
import threading
from collections.abc import Callable

from tuner.adapter import AdapterError
from tuner.handshake.places import Raw

Beat = Callable[[bool], Raw | None]


class Heart:
    """Beats as long as it is started, and knows when the machine's own beat was seen to change last.

    Args:
        beat: Turns ours on or off, and says what the machine's is now; None if it is not watched.
        every_s: Between two beats.
        silent_s: How long the machine's may stay the same.
        clock: Seconds that never go back.
    """

    def __init__(self, beat: Beat, every_s: float, silent_s: float, clock: Callable[[], float]) -> None:
        self._beat, self._every_s, self._silent_s, self._clock = beat, every_s, silent_s, clock
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._seen: Raw | None = None
        self._changed_s: float | None = None  # None: it was not watched yet

    def start(self) -> None:
        """Begin to beat."""
        if self._thread is None:
            self._end.clear()
            self._thread = threading.Thread(target=self._live, name="heartbeat", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread; a beat that is under way is waited for."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def forget(self) -> None:
        """What was seen before a connection was made says nothing."""
        self._seen = self._changed_s = None

    def stands_still_s(self) -> float:
        """How long the machine's beat has not changed, if that is too long; else 0."""
        changed_s = self._changed_s
        still_s = 0.0 if changed_s is None else self._clock() - changed_s
        return still_s if still_s > self._silent_s else 0.0

    def _live(self) -> None:
        on = False
        while not self._end.wait(self._every_s):
            on = not on
            with contextlib.suppress(AdapterError):  # a call that needs the machine tells what is wrong with it
                seen = self._beat(on)
                if seen is not None and (seen != self._seen or self._changed_s is None):
                    self._seen, self._changed_s = seen, self._clock()
