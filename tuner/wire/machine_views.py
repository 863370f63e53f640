"""A campaign's machine as clients see it: its parameters, its setting, what it is waited for, what people change."""

from pydantic import Field

from tuner.basics.telling import Said, Telling
from tuner.wire.told import Moment, Told


class WaitingView(Telling, Told):
    """What a campaign waits for at its machine."""

    awaited: str = Field(description="`verify`, `ready`, `link`, or `people`: somebody has to look at the machine")
    text: Said = Field(description="what is in the way, in a sentence")
    since: str = Field(description="UTC, ISO 8601")
    at_most_s: float | None = Field(description="after so many seconds it is a fault; None: it is tried for ever")


class MachineView(Telling, Told):
    """What is known about the machine's setting."""

    requested: dict[str, float | int | str] | None
    read_back: dict[str, float | int | str] | None
    verified: bool
    home: bool
    home_wanted: Said | None
    home_failed: Said | None


class ParameterView(Told):
    """A parameter, for tables and arrows."""

    name: str
    kind: str
    unit: str
    start: float | int | str
    low: float | None
    high: float | None
    step: float | None
    choices: list[str]
    label: str = Field("", description="what people call it; empty: its name")
    resolution: float = Field(0.0, description="a continuous value is a multiple of this; 0: any number")
    manual: bool = Field(False, description="whether a person changes it by hand")

    @property
    def called(self) -> str:
        """What people call it."""
        return self.label or self.name


class ChangeView(Told):
    """What somebody is asked to change by hand, and then to confirm."""

    number: int
    setting: dict[str, float | int | str] = Field(description="the values that manual parameters are to have")
    trial: int | None = Field(description="for which trial; None: for the known-good setting")
    asked_at: Moment
