"""What people ask of a campaign: frozen models, also bodies on the wire; a client needs nothing heavier than these."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from tuner.basics.vocabulary import Answer


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

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)


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

    trial: Number = Field(description="its number")
    valid: bool = Field(description="whether there is a part that can be judged")
    reason: Text = Field("", description="why not; needed if it is not valid")


class Judge(CommandBase):
    """Say which part of a duel is better."""

    duel: Number = Field(description="the question's number")
    winner: Number = Field(description="number of the better trial")
    took_s: Annotated[float, Field(ge=0, le=1e7)] | None = Field(
        None, description="how long the answer took, in seconds"
    )
    clearly: bool = Field(
        False,
        exclude_if=lambda clearly: not clearly,  # a daemon of an earlier version knows no such field
        description="whether it is clearly better; the policy must have graded = true",
    )


class Tie(CommandBase):
    """Say that neither part of a duel can be told to be better."""

    duel: Number = Field(description="the question's number")
    took_s: Annotated[float, Field(ge=0, le=1e7)] | None = Field(
        None, description="how long the answer took, in seconds"
    )


def answer_to(duel: int, left: int, right: int, answer: Answer, took_s: float | None = None) -> Judge | Tie:
    """What a person says to a duel between two trials, as a command."""
    winner = answer.winner(left, right)
    if winner is None:
        return Tie(duel=duel, took_s=took_s)
    return Judge(duel=duel, winner=winner, clearly=answer.clearly, took_s=took_s)


class Retract(CommandBase):
    """Take a judgment back."""

    judgment: Number = Field(description="its number")
    reason: Text = Field("", description="why, for the record")


class Exclude(CommandBase):
    """Leave a trial and everything said about it out of account."""

    trial: Number = Field(description="its number")
    reason: Needed = Field(description="why, for the record")


class Repeat(CommandBase):
    """Make a part again at the setting of an old trial."""

    trial: Number = Field(description="its number")


class ConfirmChange(CommandBase):
    """Say that a change was made by hand as it was asked for."""

    change: Number = Field(description="its number")


class ChangeLot(CommandBase):
    """The material is another one from now on."""

    lot: Annotated[str, Field(max_length=64), AfterValidator(_printable), AfterValidator(_not_blank)] = Field(
        description="its name"
    )


_VALUE = (
    Annotated[float, Field(ge=-1e300, le=1e300)]
    | Annotated[int, Field(ge=-(2**53), le=2**53)]
    | Annotated[str, Field(max_length=200), AfterValidator(_printable), AfterValidator(_not_blank)]
)
_Until = Annotated[
    Annotated[str, Field(max_length=64), AfterValidator(_printable)] | None,
    Field(description="when it ends by itself: a time of day, an instant, or shift; none: when it is lifted"),
]
_Parameter = Annotated[Annotated[str, Field(max_length=64)], Field(description="its name")]


class Freeze(CommandBase):
    """Keep a parameter at a value for a while: no setting is proposed that has another."""

    parameter: _Parameter
    value: _VALUE = Field(description="the value to keep")
    reason: Needed = Field(description="why, for the record")
    until: _Until = None


class Narrow(CommandBase):
    """Narrow a parameter for a while: no setting is proposed outside."""

    parameter: _Parameter
    reason: Needed = Field(description="why, for the record")
    low: _VALUE | None = Field(None, description="the lowest value; none: as it is")
    high: _VALUE | None = Field(None, description="the highest value; none: as it is")
    options: Annotated[tuple[Annotated[str, Field(max_length=200)], ...], Field(max_length=200)] = Field(
        (), description="of a choice: the options that are allowed"
    )
    until: _Until = None


class Free(CommandBase):
    """Lift the restriction of a parameter."""

    parameter: _Parameter
    reason: Text = Field("", description="why, for the record")


class Acknowledge(CommandBase):
    """Say that somebody has seen an alarm."""

    alarm: Number = Field(description="its number")


class AskAgain(CommandBase):
    """Ask for the comparison of two parts again, because answers contradict each other."""

    judgment: Number = Field(description="number of the judgment that is asked again")


# what makes a machine safer: nothing else may delay these
URGENT = (Hold, Stop, Abort, GoHome)
