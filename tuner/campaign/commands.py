"""What people, machines and clocks ask of a campaign: frozen models; those of people are in people.py."""

from pydantic import Field

from tuner.basics.telling import Said
from tuner.campaign.earlier import ImportEarlier
from tuner.campaign.events import GateResult, Source
from tuner.campaign.people import URGENT as URGENT_OF_PEOPLE
from tuner.campaign.people import (
    Abort,
    Acknowledge,
    Approve,
    AskAgain,
    ChangeLot,
    CommandBase,
    ConfirmChange,
    Exclude,
    Free,
    Freeze,
    GoHome,
    Hold,
    Judge,
    Narrow,
    Reject,
    Repeat,
    Resume,
    Retract,
    Start,
    Stop,
    TellOutcome,
    Tie,
)
from tuner.campaign.terms import Terms
from tuner.core.optimizer.questions import Question
from tuner.core.optimizer.records import Memory, Proposal, Setting

__all__ = [
    "URGENT",
    "Abort",
    "Acknowledge",
    "AnswerHome",
    "AnswerSetting",
    "Approve",
    "Ask",
    "AskAgain",
    "BeginTrial",
    "ChangeLot",
    "ChangeTerms",
    "Command",
    "CommandBase",
    "ConfirmChange",
    "Create",
    "DelayHome",
    "Exclude",
    "Fault",
    "Free",
    "Freeze",
    "GoHome",
    "Hold",
    "ImportEarlier",
    "Interrupt",
    "Judge",
    "KeepContract",
    "MachineOutcome",
    "Narrow",
    "Park",
    "Propose",
    "Reduel",
    "Reject",
    "Repeat",
    "Resume",
    "Retract",
    "SendSetting",
    "Start",
    "Stop",
    "TellOutcome",
    "Tick",
    "Tie",
]


class Create(CommandBase):
    """Begin a campaign with these terms."""

    terms: Terms


class ChangeTerms(CommandBase):
    """Go on with other budget, policy or limits."""

    terms: Terms


class Propose(CommandBase):
    """The compute process has a setting."""

    proposal: Proposal
    source: Source
    model: Memory
    engine: str = ""


class Ask(CommandBase):
    """The compute process has a question; None: nothing is worth asking, and the budget allows no further trial."""

    question: Question | None
    model: Memory
    engine: str = ""


class KeepContract(CommandBase):
    """The compute process knows no setting that keeps the scrap contract: tuning holds before the part is made."""

    reason: Said


class SendSetting(CommandBase):
    """The gate is about to send the setting."""

    trial: int


class AnswerSetting(CommandBase):
    """The gate has an answer."""

    trial: int
    result: GateResult
    text: Said = ""
    read_back: Setting | None = None


class BeginTrial(CommandBase):
    """The machine begins to make the part."""

    trial: int


class MachineOutcome(CommandBase):
    """The machine has made the part, or none."""

    trial: int
    valid: bool
    reason: Said = ""
    measurements: dict[str, float] = Field(default_factory=dict)
    photo: str | None = None


class Fault(CommandBase):
    """The machine or its adapter cannot go on."""

    text: Said


class AnswerHome(CommandBase):
    """The gate has an answer to returning home."""

    result: GateResult
    text: Said = ""
    read_back: Setting | None = None


class DelayHome(CommandBase):
    """The machine is not home yet and is tried again, as long as it takes."""

    text: Said
    read_back: Setting | None = None


class Interrupt(CommandBase):
    """The daemon was away: what was under way is not known to have happened."""

    reason: Said


class Park(CommandBase):
    """The daemon goes away: bring the machine home; the campaign goes on when the daemon is back."""

    reason: Said


class Reduel(CommandBase):
    """The calendar says that the champion is to be judged again."""


class Tick(CommandBase):
    """Time has passed; a question may be due."""


URGENT = (*URGENT_OF_PEOPLE, Park)

Command = (
    Create
    | ChangeTerms
    | Start
    | Hold
    | Resume
    | Stop
    | Abort
    | GoHome
    | Approve
    | Reject
    | TellOutcome
    | Judge
    | Tie
    | Retract
    | Exclude
    | Repeat
    | ChangeLot
    | ConfirmChange
    | Freeze
    | Narrow
    | Free
    | Acknowledge
    | AskAgain
    | ImportEarlier
    | Propose
    | Ask
    | KeepContract
    | SendSetting
    | AnswerSetting
    | BeginTrial
    | MachineOutcome
    | Fault
    | AnswerHome
    | DelayHome
    | Interrupt
    | Park
    | Reduel
    | Tick
)
