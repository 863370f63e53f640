"""The tables of what may be commanded in which mode, and of the moves between modes; what is not in them is refused."""

from tuner.basics.text import listed
from tuner.campaign import commands as c
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


_LEADS_ON: dict[type[Order], str] = {Start: "start", Resume: "resume"}  # what leads to a mode where more is legal

_ANY = frozenset(Mode)
_EXECUTE = frozenset({Mode.EXECUTE})
_TUNING = frozenset({Mode.EXECUTE, Mode.HELD})

LEGAL: dict[type[Order], frozenset[Mode]] = {
    **{order: frozenset(mode for mode, one in MOVES if one is order) for order in VERBS},
    c.Create: frozenset(),  # a campaign is created once, before it has a mode
    c.ChangeTerms: _ANY,
    c.Approve: _EXECUTE,  # what is approved is sent, and now
    c.Reject: _TUNING,
    c.Repeat: _TUNING,  # nobody waits for a part of a campaign that makes none
    # what was said about parts that exist counts at once; parts, answers and lots are there in every mode
    c.TellOutcome: _ANY,
    c.Judge: _ANY,
    c.Tie: _ANY,
    c.Retract: _ANY,
    c.Exclude: _ANY,
    c.ChangeLot: _ANY,
    # the daemon's own: what begins something needs a campaign that tunes, what reports something is always heard
    c.Propose: _EXECUTE,
    c.SendSetting: _EXECUTE,
    c.BeginTrial: _EXECUTE,
    c.Reduel: _EXECUTE,
    c.AnswerSetting: _ANY,
    c.MachineOutcome: _ANY,
    c.AnswerHome: _ANY,
    c.Fault: _ANY,
    c.Interrupt: _ANY,
    c.Park: _ANY,
    c.Tick: _ANY,
}

_CANNOT: dict[type[Order], str] = {
    c.Approve: "its proposal cannot be approved",
    c.Reject: "there is no proposal to reject",
    c.Repeat: "no part can be made again",
}


def allowed(mode: Mode) -> list[str]:
    """What can be done in a mode, for the sentence that refuses something else."""
    return [VERBS[order] for (have, order) in MOVES if have is mode]


def illegal(name: str, mode: Mode, command: Order) -> str | None:
    """Why a command may not be given in a mode, as a sentence that says what can be done; or None."""
    kind = type(command)
    if mode in LEGAL[kind]:
        return None
    possible = f"it can be {listed(allowed(mode))}"
    if kind in VERBS:
        return f"the campaign {name} is {mode} and cannot be {VERBS[kind]}; {possible}"
    if kind not in _CANNOT:
        return f"the campaign {name} is {mode} by now"
    first = [verb for order, verb in _LEADS_ON.items() if MOVES.get((mode, order)) in LEGAL[kind]]
    return f"the campaign {name} is {mode}: {_CANNOT[kind]} now; {f'{first[0]} it first' if first else possible}"


def of_people(command: Order) -> bool:
    """Whether people may give a command at the wrong time; the daemon's own parts are only late with it."""
    return type(command) in VERBS or type(command) in _CANNOT
