"""What people steer a campaign by: parameters restricted for a while, and alarms with their history."""

from pydantic import Field

from tuner.basics.telling import Said, Telling
from tuner.wire.told import Moment, Told


class RestrictionView(Told):
    """What is allowed of a parameter for a while."""

    parameter: str
    low: float | int | None = Field(description="the lowest value of a number; the same as `high`: it is kept")
    high: float | int | None
    options: list[str] = Field(description="of a choice: the options that are allowed")
    until: Moment | None = Field(description="when it ends by itself, UTC; None: when it is lifted")
    reason: str
    by: str = Field(description="who says so")
    by_engineer: bool = Field(True, description="whether only an engineer may lift it")
    at: Moment

    @property
    def kept(self) -> float | int | str | None:
        """The one value that is allowed; None: there are several."""
        if self.options:
            return self.options[0] if len(self.options) == 1 else None
        return self.low if self.low == self.high else None

    def holds(self, value: float | int | str) -> bool:
        """Whether a value is allowed."""
        if isinstance(value, str):
            return value in self.options
        return self.low is None or self.high is None or self.low <= value <= self.high


class AlarmView(Telling, Told):
    """Something that a person has to know, and what became of it."""

    number: int
    cause: str = Field(
        description="`refused`: by the gate; `unverified`: not read back; `failed`: not sent; `fault`: another fault "
        "of the machine or its adapter; `home`: the machine does not come home"
    )
    text: Said = Field(description="what happened, in a sentence")
    at: Moment
    cleared_at: Moment | None = Field(description="when it was over: tuning went on, or the machine was home")
    acknowledged_by: str | None
    acknowledged_at: Moment | None


class AlarmsBody(Told):
    """The answer to `alarms`: the newest first."""

    alarms: list[AlarmView]
    more: bool
