"""Time as a client may count it against a daemon: what the client itself came late does not count."""

from collections.abc import Callable

LOOK_S = 0.25  # the longest wait at a time, and the most that counts between two looks at this clock


class PatientClock:
    """A clock that stands still while this program is late.

    On a busy machine a program may find its time over before it could read the answer that lies in its socket. So a
    wait is cut into short ones, and what one of them took too long does not count.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._read_s = clock()
        self._counted_s = 0.0
        self._most_s = LOOK_S

    def __call__(self) -> float:
        """The seconds that count so far."""
        now_s = self._clock()
        self._counted_s += min(now_s - self._read_s, self._most_s)
        self._read_s, self._most_s = now_s, LOOK_S
        return self._counted_s

    def rest(self, pause_s: float) -> float:
        """A pause that is meant, and counts in full up to the next look at this clock."""
        self()
        self._most_s = max(LOOK_S, pause_s)
        return pause_s
