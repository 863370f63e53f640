"""The table of every command: in which modes it may be given, and where it leads; what is not in it is refused.

Beside it stands where each event leads: the fold of a campaign takes its mode from there and from nowhere else.
"""

from dataclasses import dataclass

from tuner.basics.sentences import Sentence, say
from tuner.campaign import commands as c
from tuner.campaign import events as e
from tuner.campaign.state import Mode

_ANY = frozenset(Mode)
_EXECUTE = frozenset({Mode.EXECUTE})
_TUNING = frozenset({Mode.EXECUTE, Mode.HELD})


@dataclass(frozen=True)
class Move:
    """What the table says about a command.

    Attributes:
        modes: Where it may be given; None stands for a campaign that does not exist yet.
        to: The mode it leads to; None: the mode stays, unless what it reports is a fault.
        verb: What it does to a campaign, for the sentence that refuses something else: the name of a text.
        cannot: Why it is refused to people, likewise.
    """

    modes: frozenset[Mode | None]
    to: Mode | None = None
    verb: str = ""
    cannot: str = ""

    @property
    def of_people(self) -> bool:
        """Whether people may give it at the wrong time; the daemon's own parts are only late with it."""
        return bool(self.verb or self.cannot)


MOVES: dict[type[c.CommandBase], Move] = {
    c.Create: Move(frozenset({None}), Mode.IDLE),
    # a campaign that is complete may start again after its budget was raised
    c.Start: Move(_ANY - _TUNING, Mode.EXECUTE, verb="started"),
    c.Hold: Move(_EXECUTE, Mode.HELD, verb="held"),
    c.Resume: Move(frozenset({Mode.HELD}), Mode.EXECUTE, verb="resumed"),
    c.Stop: Move(frozenset({Mode.IDLE}) | _TUNING, Mode.STOPPED, verb="stopped"),
    # also one that is over, while it brings the machine home
    c.Abort: Move(_ANY - {Mode.ABORTED}, Mode.ABORTED, verb="aborted"),
    c.GoHome: Move(_ANY - _EXECUTE, verb="sent_home"),
    c.ChangeTerms: Move(_ANY),
    c.Approve: Move(_EXECUTE, cannot="approve"),  # what is approved is sent, and now
    c.Reject: Move(_TUNING, cannot="reject"),
    c.Repeat: Move(_TUNING, cannot="repeat"),  # nobody waits for a part where none is made
    # what was said about parts that exist counts at once; parts, answers and lots are there in every mode
    c.TellOutcome: Move(_ANY),
    c.Judge: Move(_ANY),
    c.Tie: Move(_ANY),
    c.Retract: Move(_ANY),
    c.Exclude: Move(_ANY),
    c.ChangeLot: Move(_ANY),
    c.ConfirmChange: Move(_ANY),
    c.ImportEarlier: Move(_ANY),
    c.Freeze: Move(_ANY),
    c.Narrow: Move(_ANY),
    c.Free: Move(_ANY),
    c.Acknowledge: Move(_ANY),
    c.AskAgain: Move(_TUNING, cannot="ask_again"),
    # the daemon's own: what begins something needs a campaign that tunes, what reports something is always heard
    c.Propose: Move(_EXECUTE),
    c.Ask: Move(_EXECUTE),
    c.KeepContract: Move(_EXECUTE),
    c.SendSetting: Move(_EXECUTE),
    c.BeginTrial: Move(_EXECUTE),
    c.Reduel: Move(_EXECUTE),
    c.AnswerSetting: Move(_ANY),
    c.MachineOutcome: Move(_ANY),
    c.AnswerHome: Move(_ANY),
    c.DelayHome: Move(_ANY),
    c.Fault: Move(_ANY),
    c.Interrupt: Move(_ANY),
    c.Park: Move(_ANY),
    c.Tick: Move(_ANY),
}

# an event that is not here leaves the mode as it is
LEADS: dict[type[e.EventBase], Mode] = {
    e.CampaignCreated: Mode.IDLE,
    e.CampaignStarted: Mode.EXECUTE,
    e.CampaignHeld: Mode.HELD,
    e.CampaignResumed: Mode.EXECUTE,
    e.CampaignStopped: Mode.STOPPED,
    e.CampaignAborted: Mode.ABORTED,
    e.CampaignCompleted: Mode.COMPLETE,
}


def illegal(name: str, mode: Mode, command: c.CommandBase) -> Sentence | None:
    """Why a command may not be given in a mode, as a sentence that says what can be done; or None."""
    move = MOVES[type(command)]
    if mode in move.modes:
        return None
    now = {"name": name, "mode": say(f"mode.{mode}")}
    verbs = [say(f"verb.{one.verb}") for one in MOVES.values() if one.verb and mode in one.modes]
    if move.verb:
        return say("move.cannot_be", **now, verb=say(f"verb.{move.verb}"), possible=verbs)
    if not move.cannot:
        return say("move.by_now", **now)
    first = [kind for kind in (c.Start, c.Resume) if mode in MOVES[kind].modes and MOVES[kind].to in move.modes]
    step = say(f"move.{first[0].__name__.lower()}_first") if first else say("move.possible", possible=verbs)
    return say("move.not_now", **now, cannot=say(f"cannot.{move.cannot}"), first=step)
