"""What people, machines and clocks ask of a campaign: frozen models; those of people are in a light module."""

from pydantic import Field

from tuner.campaign.events import GateResult, ModelMemory, SettingMap, Source
from tuner.campaign.people import URGENT as URGENT_OF_PEOPLE
from tuner.campaign.people import (
    Abort,
    Approve,
    ChangeLot,
    Exclude,
    GoHome,
    Hold,
    Judge,
    Order,
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

__all__ = [
    "URGENT",
    "Abort",
    "AnswerHome",
    "AnswerSetting",
    "Approve",
    "BeginTrial",
    "ChangeLot",
    "ChangeTerms",
    "Command",
    "Create",
    "Exclude",
    "Fault",
    "GoHome",
    "Hold",
    "Interrupt",
    "Judge",
    "MachineOutcome",
    "Order",
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


class Create(Order):
    """Begin a campaign with these terms."""

    terms: Terms


class ChangeTerms(Order):
    """Go on with other budget, policy or limits."""

    terms: Terms


class Propose(Order):
    """The compute process has a setting."""

    setting: SettingMap
    source: Source
    kind: str
    champion: int | None
    reason: str
    better: float | None
    valid: float | None
    distance: float | None
    model: ModelMemory
    engine: str = ""


class SendSetting(Order):
    """The gate is about to send the setting."""

    trial: int


class AnswerSetting(Order):
    """The gate has an answer."""

    trial: int
    result: GateResult
    text: str = ""
    read_back: SettingMap | None = None


class BeginTrial(Order):
    """The machine begins to make the part."""

    trial: int


class MachineOutcome(Order):
    """The machine has made the part, or none."""

    trial: int
    valid: bool
    reason: str = ""
    measurements: dict[str, float] = Field(default_factory=dict)
    photo: str | None = None


class Fault(Order):
    """The machine or its adapter cannot go on."""

    text: str


class AnswerHome(Order):
    """The gate has an answer to returning home."""

    result: GateResult
    text: str = ""
    read_back: SettingMap | None = None


class Interrupt(Order):
    """The daemon was away: what was under way is not known to have happened."""

    reason: str


class Park(Order):
    """The daemon goes away: bring the machine home; the campaign goes on when the daemon is back."""

    reason: str


class Reduel(Order):
    """The calendar says that the champion is to be judged again."""


class Tick(Order):
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
    | Propose
    | SendSetting
    | AnswerSetting
    | BeginTrial
    | MachineOutcome
    | Fault
    | AnswerHome
    | Interrupt
    | Park
    | Reduel
    | Tick
)
