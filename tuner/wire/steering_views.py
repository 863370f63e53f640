"""What people steer a campaign by: parameters restricted for a while, alarms with their history, the scrap contract."""

from pydantic import Field

from tuner.basics.telling import Said, Telling
from tuner.wire.told import Moment, Told


class RestrictionView(Telling, Told):
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
    text: Said = Field("", description="all of this in a sentence")

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


class ContractView(Telling, Told):
    """The scrap contract: what was agreed, what happened, and what is known of the newest proposal under it."""

    rate: float = Field(description="largest share of the parts that may be scrap")
    strictness: str = Field(description="expected or certain")
    confidence: float = Field(description="of `certain`, and of `low`")
    budget: int | None = Field(description="largest number of scrap parts in all; None: as the rate says")
    parts: int = Field(description="parts made so far, scrap among them")
    scrap: int
    left: int = Field(description="how much more scrap there may be")
    planned: int = Field(0, description="planned parts, which the rate is a share of")
    most: int = Field(0, description="how much scrap there may be in all, by rate and budget")
    allowed: float = Field(
        description="the risk that the next part may run on new ground: it follows what really happened. Known ground "
        "may be used up to `rate`"
    )
    known_ground: bool = Field(description="whether only known ground is used: another scrap part would break it")
    held: bool = Field(
        False,
        description="whether tuning is held by the contract: also after it was changed, until somebody resumes it",
    )
    trial: int | None = Field(None, description="the newest proposal of the model; what follows is about it")
    p_valid: float | None = Field(None, description="its chance to give a part")
    risk: float | None = Field(None, description="its chance to be scrap: on known ground it may be above `allowed`")
    low: float | None = Field(None, description="with the confidence its setting gives at least this share of parts")
    base: float | None = Field(None, description="the share of scrap by chance, whatever the setting")
    stage: str | None = Field(None, description="grow, inside, known ground or again")
    refused: dict[str, float | int | str] | None = Field(
        None, description="the most promising setting that is not tried under the contract"
    )
    refused_better: float | None = Field(None, description="its chance to be better than the champion")
    refused_risk: float | None = Field(None, description="its chance to be scrap")
    unreached: float | None = Field(
        None, description="share of the likely valid ground that cannot be reached under this contract"
    )
    texts: list[Said] = Field(default_factory=list, description="all of this in sentences")
