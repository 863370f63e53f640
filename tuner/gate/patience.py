"""How long a machine may be in the way of a step before that is a fault, and what is waited for meanwhile; pure."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tuner.basics.sentences import Sentence, say
from tuner.config.campaign import Waiting

# verify: read back until it agrees; ready: not ready, an interlock; link: no answer; people: somebody has to look
Awaited = Literal["verify", "ready", "link", "people"]

PAUSES_S = (0.5, 1.0, 2.0)  # between the tries; the last one again and again
NOTHING_S = 1e-3  # so little is left of a patience that it is over


@dataclass(frozen=True, slots=True)
class Wait:
    """What is waited for: why, how long it was so far, and how long it may be; None: for ever."""

    awaited: Awaited
    text: Sentence
    so_far_s: float = 0.0
    at_most_s: float | None = None

    @property
    def sentence(self) -> Sentence:
        """For people."""
        what = say(f"wait.{self.awaited}", text=self.text)
        if self.at_most_s is None:
            return say("wait.so_far", what=what, so_far=self.so_far_s)
        return say("wait.so_far_of", what=what, so_far=self.so_far_s, limit=self.at_most_s)


class Patience:
    """The patience of one step: the time that passes between two tries is counted for what the second one found.

    Args:
        waiting: How long each may take; None: for ever.
        retries: How often a failed call is tried again at least, because one may take longer than the patience.
        clock: Monotonic.
    """

    def __init__(self, waiting: Waiting | None, retries: int, clock: Callable[[], float]) -> None:
        self._limits_s = {} if waiting is None else {"ready": waiting.ready_s, "link": waiting.link_s}
        self._retries = retries
        self._clock = clock
        self._spent_s = dict.fromkeys(("ready", "link", "people"), 0.0)
        self._last_s = clock()
        self._tries = 0

    def failed(self, awaited: Awaited, text: Sentence) -> Wait | None:
        """Note that a try has failed; what is waited for before the next one, or None if the patience is over."""
        now_s = self._clock()
        if self._tries:
            self._spent_s[awaited] += now_s - self._last_s
        self._last_s = now_s
        self._tries += 1
        limit_s, spent_s = self._limits_s.get(awaited), self._spent_s[awaited]
        enough = awaited == "ready" or self._tries > self._retries
        if enough and limit_s is not None and spent_s > limit_s - NOTHING_S:
            return None
        return Wait(awaited, text, spent_s, limit_s)

    def pause_s(self, wait: Wait) -> float:
        """How long to wait before the next try."""
        pause_s = PAUSES_S[min(self._tries, len(PAUSES_S)) - 1]
        left_s = math.inf if wait.at_most_s is None else wait.at_most_s - wait.so_far_s
        return min(pause_s, left_s) if left_s > NOTHING_S else pause_s

    def after(self, awaited: Awaited, text: Sentence) -> Sentence:
        """What was in the way, and how long it was waited for, if it was."""
        spent_s = self._spent_s.get(awaited, 0.0)
        return say("wait.still", text=text, spent=spent_s) if spent_s >= 1 else text
