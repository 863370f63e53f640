"""Where a call leaves its job and waits, and where the link's thread finds it and brings the controller's reports."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from adapters.line.protocol import (
    ANSWERS,
    FinalReport,
    HealthReport,
    Job,
    NonValid,
    Report,
    Running,
    Valid,
)
from tuner.adapter import DeadlineError, LinkError
from tuner.basics.sentences import Sentence, say
from tuner.basics.text import on_one_line

_KEPT_OUTCOMES = 100  # one is wanted at a time
_LOOK_S = 0.25  # of a wait of this length no more counts as silence, however late this process was woken


class Desk:
    """One job at a time; outcomes are kept by job, so that none is lost that comes when nobody waits.

    Args:
        silent_s: After so long without a word the controller counts as gone.
        wake: Tells the link's thread that there is a new job.
    """

    def __init__(
        self, silent_s: float, wake: Callable[[], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._silent_s, self._wake, self._clock = silent_s, wake, clock
        self._changed = threading.Condition()
        self._job: Job | None = None
        self._final: FinalReport | None = None
        self._outcomes: OrderedDict[str, Valid | NonValid] = OrderedDict()
        self._heard_at: float | None = None
        self._trouble = self._broken = self._hint = ""

    def perform(self, job: Job, deadline_s: float) -> FinalReport:
        """Post a job and wait for its final report.

        Raises:
            LinkError: the controller is silent or talks nonsense.
            DeadlineError: it lives, but has not done the job in time.
        """
        with self._changed:
            if job.job in self._outcomes:
                return self._outcomes[job.job]
            self._job, self._final, self._trouble = job, None, ""
            self._wake()
            try:
                self._wait(
                    lambda: self._final is not None, deadline_s, say("line.did_not_finish", job=job.job), self._silent_s
                )
                return self._final  # type: ignore[return-value]  # the wait ends only when it is there
            finally:
                self._job = None  # what nobody waits for any more is not handed out

    def meet(self, deadline_s: float) -> None:
        """Wait until the controller has been heard lately; one that is just being started gets all the time."""
        with self._changed:
            self._trouble = ""
            self._wake()
            self._wait(lambda: self._silence_s() <= self._silent_s, deadline_s, say("line.said_nothing"), math.inf)

    def _wait(self, met: Callable[[], bool], deadline_s: float, what: Sentence, silent_s: float) -> None:
        begin = self._clock()
        end = begin + deadline_s
        late_s = 0.0  # the link's thread was then late too: what the controller said may lie in the socket
        while not met():
            if self._broken or self._trouble:
                raise LinkError(self._broken or self._trouble)
            now = self._clock()
            last = begin if self._heard_at is None else max(begin, self._heard_at)
            silent_at = last + silent_s + late_s
            if now >= silent_at or (now >= end and last == begin):
                raise LinkError(
                    say("line.hint", text=self._silence(), hint=self._hint) if self._hint else self._silence()
                )
            if now >= end:
                raise DeadlineError(say("line.too_late", what=what, seconds=deadline_s))
            wait_s = min(end - now, silent_at - now, _LOOK_S)
            self._changed.wait(wait_s)
            late_s += max(0.0, self._clock() - now - wait_s)

    def _silence_s(self) -> float:
        return math.inf if self._heard_at is None else self._clock() - self._heard_at

    def _silence(self) -> Sentence:
        return say("line.unheard") if self._heard_at is None else say("line.silent", seconds=self._silence_s())

    def posted(self) -> Job | None:
        """The job that somebody waits for."""
        with self._changed:
            return self._job if self._final is None else None

    def heard(self) -> None:
        """The controller lives."""
        with self._changed:
            self._heard_at, self._hint = self._clock(), ""
            self._changed.notify_all()

    def take(self, report: Report) -> bool:
        """Bring a report; the answer is whether somebody waits for this job."""
        with self._changed:
            wanted = self._job is not None and report.job == self._job.job and self._final is None
            if isinstance(report, Running):
                self._note_busy(report, wanted=wanted)
                return wanted
            if isinstance(report, Valid | NonValid) and report.job.startswith("run-"):
                self._outcomes.setdefault(report.job, report)  # the first word counts
                if len(self._outcomes) > _KEPT_OUTCOMES:
                    self._outcomes.popitem(last=False)
            if wanted and self._job is not None:
                if report.state in (*ANSWERS[self._job.do], "refused", "failed"):
                    self._final = report
                else:
                    self._trouble = say("line.no_answer", state=report.state, job=report.job)
                self._changed.notify_all()
            return wanted

    def _note_busy(self, report: Running, *, wanted: bool) -> None:
        """A controller that makes a part and cannot look for other jobs is not well enough for a setting."""
        if not wanted and self._job is not None and self._job.do == "health":
            text = f"the controller is busy with {on_one_line(report.job)}"
            self._final = HealthReport(state="health", job=self._job.job, ok=False, text=text)
            self._changed.notify_all()

    def complain(self, text: str) -> None:
        """The controller talked nonsense: whoever waits is told."""
        with self._changed:
            self._trouble = text
            self._changed.notify_all()

    def hint(self, text: str) -> None:
        """Something that may explain a silence."""
        with self._changed:
            self._hint = text

    def give_up(self, text: str) -> None:
        """The link's thread has ended: nobody waits any longer."""
        with self._changed:
            self._broken = text
            self._changed.notify_all()
