"""The wire's words for a campaign's mode and phase and a trial's stage: the one place where the console spells them."""

from enum import StrEnum


class Mode(StrEnum):
    """What a campaign is in."""

    IDLE = "Idle"
    EXECUTE = "Execute"
    HELD = "Held"
    STOPPED = "Stopped"
    ABORTED = "Aborted"
    COMPLETE = "Complete"


class Stage(StrEnum):
    """How far a trial is, where a key or a text depends on it."""

    PROPOSED = "proposed"
    RUNNING = "running"
    REJECTED = "rejected"
    DROPPED = "dropped"


class Phase(StrEnum):
    """What a campaign does or waits for, where a text depends on it."""

    AWAITING_APPROVAL = "awaiting_approval"
    SENDING = "sending"
    SETTLING = "settling"
    RUNNING = "running"
    ASKING = "asking"
    WAITING_FOR_WINDOW = "waiting_for_window"
    RETURNING_HOME = "returning_home"


ENDED = frozenset({Mode.STOPPED, Mode.ABORTED, Mode.COMPLETE})  # it tunes no more, and the view says why
