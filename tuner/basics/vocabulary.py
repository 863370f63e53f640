"""The words that journal, wire, screen and programs share, each defined once; in JSON they are plain strings."""

from enum import StrEnum
from typing import TypeVar

T = TypeVar("T")

MOST_MEASUREMENTS = 200  # of a part


class Mode(StrEnum):
    """The state word of a campaign, PackML's where it fits."""

    IDLE = "Idle"
    EXECUTE = "Execute"
    HELD = "Held"
    STOPPED = "Stopped"
    ABORTED = "Aborted"
    COMPLETE = "Complete"


ENDED = frozenset({Mode.STOPPED, Mode.ABORTED, Mode.COMPLETE})  # it tunes no more


class Stage(StrEnum):
    """How far a trial has come on its road."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    SENT = "sent"
    APPLIED = "applied"
    RUNNING = "running"
    DONE = "done"
    REJECTED = "rejected"
    DROPPED = "dropped"


class Phase(StrEnum):
    """What a campaign does now."""

    IDLE = "idle"
    PROPOSING = "proposing"
    AWAITING_APPROVAL = "awaiting_approval"
    AWAITING_CHANGE = "awaiting_change"
    SENDING = "sending"
    SETTLING = "settling"
    RUNNING = "running"
    ASKING = "asking"
    WAITING_FOR_WINDOW = "waiting_for_window"
    RETURNING_HOME = "returning_home"
    HELD = "held"
    STOPPED = "stopped"
    ABORTED = "aborted"
    COMPLETE = "complete"


class Answer(StrEnum):
    """What an operator says to a duel: which part is better, or that neither can be told to be."""

    LEFT = "left"
    RIGHT = "right"
    TIE = "tie"
    CLEARLY_LEFT = "clearly left"
    CLEARLY_RIGHT = "clearly right"

    def winner(self, left: T, right: T) -> T | None:
        """The better one of the two; None: it cannot be told."""
        return None if self is Answer.TIE else left if self in (Answer.LEFT, Answer.CLEARLY_LEFT) else right

    @property
    def clearly(self) -> bool:
        """Whether the better one is so clearly; such answers are for graded campaigns."""
        return self in (Answer.CLEARLY_LEFT, Answer.CLEARLY_RIGHT)

    @property
    def text(self) -> str:
        """The name of its texts in the console."""
        return "tie" if self is Answer.TIE else "clearly_better" if self.clearly else "better"


class Role(StrEnum):
    """What a client may do."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ENGINEER = "engineer"
    CONTROLLER = "controller"


class Status(StrEnum):
    """What became of a request."""

    DONE = "done"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    FAILED = "failed"


class Lane(StrEnum):
    """How a request waits: urgent ones for nobody, those for the model for a compute process."""

    ORDINARY = "ordinary"
    URGENT = "urgent"
    MODEL = "model"
