"""The table of legal moves between a campaign's modes; what is not in it is refused."""

from tuner.campaign.commands import Abort, GoHome, Hold, Order, Resume, Start, Stop
from tuner.campaign.state import Mode

MOVES: dict[tuple[Mode, type[Order]], Mode] = {
    (Mode.IDLE, Start): Mode.EXECUTE,
    (Mode.STOPPED, Start): Mode.EXECUTE,
    (Mode.ABORTED, Start): Mode.EXECUTE,
    (Mode.COMPLETE, Start): Mode.EXECUTE,  # after the budget was raised
    (Mode.EXECUTE, Hold): Mode.HELD,
    (Mode.HELD, Resume): Mode.EXECUTE,
    (Mode.IDLE, Stop): Mode.STOPPED,
    (Mode.EXECUTE, Stop): Mode.STOPPED,
    (Mode.HELD, Stop): Mode.STOPPED,
    (Mode.IDLE, Abort): Mode.ABORTED,
    (Mode.EXECUTE, Abort): Mode.ABORTED,
    (Mode.HELD, Abort): Mode.ABORTED,
    (Mode.STOPPED, Abort): Mode.ABORTED,  # while it brings the machine home
    (Mode.COMPLETE, Abort): Mode.ABORTED,
    (Mode.IDLE, GoHome): Mode.IDLE,
    (Mode.HELD, GoHome): Mode.HELD,
    (Mode.STOPPED, GoHome): Mode.STOPPED,
    (Mode.ABORTED, GoHome): Mode.ABORTED,
    (Mode.COMPLETE, GoHome): Mode.COMPLETE,
}

VERBS: dict[type[Order], str] = {
    Start: "started",
    Hold: "held",
    Resume: "resumed",
    Stop: "stopped",
    Abort: "aborted",
    GoHome: "sent home",
}


def allowed(mode: Mode) -> list[str]:
    """What can be done in a mode, for the sentence that refuses something else."""
    return [VERBS[order] for (have, order) in MOVES if have is mode]
