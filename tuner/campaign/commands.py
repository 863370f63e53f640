"""What people, machines and clocks ask of a campaign: frozen models; those of people are also bodies on the wire."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from tuner.campaign.events import GateResult, Source
from tuner.campaign.terms import Terms
from tuner.core.optimizer.records import Memory, Proposal, Setting


def _printable(text: str) -> str:
    """Names and reasons are shown on screens and in logs: no line breaks, no escape sequences."""
    if not text.isprintable():
        raise ValueError("must be printable text of one line")
    return text.strip()


def _not_blank(text: str) -> str:
    if not text:
        raise ValueError("must not be blank")
    return text


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 1.0 is the same as 1, whichever a client's library writes."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Number = Annotated[int, Field(ge=1, le=2**31), BeforeValidator(_whole)]
Text = Annotated[str, Field(max_length=500), AfterValidator(_printable)]
Needed = Annotated[Text, AfterValidator(_not_blank)]


class CommandBase(BaseModel):
    """Base of all commands: strict, frozen, nothing unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Create(CommandBase):
    """Begin a campaign with these terms."""

    terms: Terms


class ChangeTerms(CommandBase):
    """Go on with other budget, policy or limits."""

    terms: Terms


class Start(CommandBase):
    """Begin tuning, or begin again after a stop."""


class Hold(CommandBase):
    """Pause: the part under way is finished, nothing more is sent."""

    reason: Text = Field("", description="why, for the record")


class Resume(CommandBase):
    """Go on after a pause."""


class Stop(CommandBase):
    """Stop tuning: the part under way is finished, then the machine goes to its known-good setting."""

    reason: Text = Field("", description="why, for the record")


class Abort(CommandBase):
    """Let go of the machine at once; it is sent nothing more, not even its known-good setting."""

    reason: Text = Field("", description="why, for the record")


class GoHome(CommandBase):
    """Bring the machine to its known-good setting; only while it is not tuning."""


class Approve(CommandBase):
    """Allow the proposed setting to be sent."""

    trial: Number = Field(description="number of the proposed trial")


class Reject(CommandBase):
    """Forbid the proposed setting; another one will be proposed."""

    trial: Number = Field(description="number of the proposed trial")
    reason: Needed = Field(description="why; the model learns to stay away")


class TellOutcome(CommandBase):
    """Say whether a trial made a part that can be judged; said again it corrects what was said before."""

    trial: Number
    valid: bool = Field(description="whether there is a part that can be judged")
    reason: Text = Field("", description="why not; needed if it is not valid")


class Judge(CommandBase):
    """Say which part of a duel is better."""

    duel: Number
    winner: Number = Field(description="number of the better trial")
    took_s: Annotated[float, Field(ge=0, le=1e7)] | None = Field(None, description="how long the answer took")


class Tie(CommandBase):
    """Say that neither part of a duel can be told to be better."""

    duel: Number
    took_s: Annotated[float, Field(ge=0, le=1e7)] | None = Field(None, description="how long the answer took")


class Retract(CommandBase):
    """Take a judgment back."""

    judgment: Number
    reason: Text = Field("", description="why, for the record")


class Exclude(CommandBase):
    """Leave a trial and everything said about it out of account."""

    trial: Number
    reason: Needed = Field(description="why, for the record")


class Repeat(CommandBase):
    """Make a part again at the setting of an old trial."""

    trial: Number


class ChangeLot(CommandBase):
    """The material is another one from now on."""

    lot: Annotated[str, Field(max_length=64), AfterValidator(_printable), AfterValidator(_not_blank)]


# what follows comes from the daemon's own parts


class Propose(CommandBase):
    """The compute process has a setting."""

    proposal: Proposal
    source: Source
    model: Memory
    engine: str = ""


class SendSetting(CommandBase):
    """The gate is about to send the setting."""

    trial: int


class AnswerSetting(CommandBase):
    """The gate has an answer."""

    trial: int
    result: GateResult
    text: str = ""
    read_back: Setting | None = None


class BeginTrial(CommandBase):
    """The machine begins to make the part."""

    trial: int


class MachineOutcome(CommandBase):
    """The machine has made the part, or none."""

    trial: int
    valid: bool
    reason: str = ""
    measurements: dict[str, float] = Field(default_factory=dict)
    photo: str | None = None


class Fault(CommandBase):
    """The machine or its adapter cannot go on."""

    text: str


class AnswerHome(CommandBase):
    """The gate has an answer to returning home."""

    result: GateResult
    text: str = ""
    read_back: Setting | None = None


class Interrupt(CommandBase):
    """The daemon was away: what was under way is not known to have happened."""

    reason: str


class Park(CommandBase):
    """The daemon goes away: bring the machine home; the campaign goes on when the daemon is back."""

    reason: str


class Reduel(CommandBase):
    """The calendar says that the champion is to be judged again."""


class Tick(CommandBase):
    """Time has passed; a question may be due."""


# what makes a machine safer: nothing else may delay these
URGENT = (Hold, Stop, Abort, GoHome, Park)

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
