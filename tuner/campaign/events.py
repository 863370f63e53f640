"""What happened in a campaign: frozen models, one for each kind of row in the journal."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from tuner.basics.telling import Said, Telling
from tuner.campaign.earlier import EarlierJudgment, EarlierTrial
from tuner.campaign.terms import Terms
from tuner.core.optimizer.questions import Why
from tuner.core.optimizer.records import Assured, Memory, Setting

SettingMap = Setting  # the name that the road to the machine uses
GateResult = Literal["applied", "refused", "failed", "unverified"]
Source = Literal["start", "model", "fallback", "repeat", "remake", "lot"]


class EventBase(BaseModel):
    """Base of all events; where a field has another name in the journal, that is its alias."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, serialize_by_alias=True, validate_by_name=True
    )


class Spoken(Telling, EventBase):
    """Base of events with sentences, whose codes are in `told`; those of earlier versions have none."""


class CampaignCreated(EventBase):
    """A campaign begins to exist, idle."""

    type: Literal["campaign_created"] = "campaign_created"
    terms: Terms


class TermsChanged(EventBase):
    """Budget, policy or limits are different from now on."""

    type: Literal["terms_changed"] = "terms_changed"
    terms: Terms


class CampaignStarted(EventBase):
    """Tuning begins, or begins again after a stop."""

    type: Literal["campaign_started"] = "campaign_started"


class CampaignHeld(Spoken):
    """Tuning pauses: somebody said so, or the machine is at fault and is brought home."""

    type: Literal["campaign_held"] = "campaign_held"
    reason: Said
    fault: bool = False
    contract: bool = False  # the scrap contract cannot hold with the next part, which is not made


class CampaignResumed(EventBase):
    """Tuning goes on after a pause."""

    type: Literal["campaign_resumed"] = "campaign_resumed"


class CampaignStopped(Spoken):
    """Somebody stopped tuning: the part under way is finished, then the machine goes home."""

    type: Literal["campaign_stopped"] = "campaign_stopped"
    reason: Said = ""


class CampaignAborted(Spoken):
    """Tuning lets go of the machine at once and sends it nothing more."""

    type: Literal["campaign_aborted"] = "campaign_aborted"
    reason: Said = ""


class CampaignCompleted(Spoken):
    """The budget is used up."""

    type: Literal["campaign_completed"] = "campaign_completed"
    reason: Said
    model: Memory | None = None  # what the model knew at the end: it may say who is champion; clients are not told


class ProposalMade(Spoken):
    """A setting to try; it becomes a trial with a short part tag."""

    type: Literal["proposal_made"] = "proposal_made"
    trial: int
    tag: str
    setting: Setting
    source: Source
    kind: str = "told"
    repeats: int | None = None
    opponent: int | None = Field(None, alias="champion")
    reason: Said = ""
    p_better: float | None = Field(None, alias="better")
    p_valid: float | None = Field(None, alias="valid")
    distance: float | None = None
    assured: Assured | None = None
    model: Memory | None = None
    engine: str = ""


class ProposalApproved(EventBase):
    """The setting may be sent."""

    type: Literal["proposal_approved"] = "proposal_approved"
    trial: int


class ProposalRejected(Spoken):
    """The setting will not be sent; the model learns to stay away from it, and it counts neither as trial nor scrap."""

    type: Literal["proposal_rejected"] = "proposal_rejected"
    trial: int
    reason: Said


class SettingSent(EventBase):
    """The setting is on its way; until it is answered nobody knows whether it reached the machine."""

    type: Literal["setting_sent"] = "setting_sent"
    trial: int


class SettingAnswered(Spoken):
    """What the gate says came of sending a setting."""

    type: Literal["setting_answered"] = "setting_answered"
    trial: int
    result: GateResult
    text: Said = ""
    read_back: Setting | None = None


class TrialStarted(EventBase):
    """The machine makes the part."""

    type: Literal["trial_started"] = "trial_started"
    trial: int


class TrialInterrupted(Spoken):
    """The daemon or the adapter went away in between: the same trial is sent and run again."""

    type: Literal["trial_interrupted"] = "trial_interrupted"
    trial: int
    reason: Said


class TrialDropped(Spoken):
    """The trial ends without an outcome and is left out of account."""

    type: Literal["trial_dropped"] = "trial_dropped"
    trial: int
    reason: Said


class OutcomeTold(Spoken):
    """Whether the trial made a part; told again it corrects what was told before."""

    type: Literal["outcome_told"] = "outcome_told"
    trial: int
    valid: bool
    reason: Said = ""
    measurements: dict[str, float] = Field(default_factory=dict)
    photo: str | None = None


class DuelWanted(EventBase):
    """The model wants two parts compared: an answer again that may be a slip, or a further comparison."""

    type: Literal["duel_wanted"] = "duel_wanted"
    trial: int
    opponent: int
    why: Literal["again", "compare"]
    model: Memory | None = None  # clients are not told
    engine: str = ""


class DuelAsked(EventBase):
    """A question to the operators: is the left or the right part better?"""

    type: Literal["duel_asked"] = "duel_asked"
    duel: int
    left: int
    right: int
    why: Why = "new"


class DuelClosed(Spoken):
    """The question needs no answer any more."""

    type: Literal["duel_closed"] = "duel_closed"
    duel: int
    reason: Said


class JudgmentGiven(EventBase):
    """An operator's answer; without a winner it is "can't tell"."""

    type: Literal["judgment_given"] = "judgment_given"
    judgment: int
    duel: int
    winner: int | None
    clearly: bool | None = None  # None: nobody was asked, or nobody won
    operator: str
    took_s: float | None = None


class JudgmentRetracted(Spoken):
    """The answer is taken back and counts no more."""

    type: Literal["judgment_retracted"] = "judgment_retracted"
    judgment: int
    reason: Said = ""


class TrialExcluded(Spoken):
    """A trial and everything said about it is left out of account."""

    type: Literal["trial_excluded"] = "trial_excluded"
    trial: int
    reason: Said


class RepeatWanted(EventBase):
    """Somebody wants a part made again at an old setting."""

    type: Literal["repeat_wanted"] = "repeat_wanted"
    trial: int


class ReduelDue(EventBase):
    """The champion is to be judged again."""

    type: Literal["reduel_due"] = "reduel_due"


class LotChanged(EventBase):
    """The material is another one from now on."""

    type: Literal["lot_changed"] = "lot_changed"
    lot: str


class ChangeAsked(EventBase):
    """A person is to change manual parameters: for a trial, or, without one, for the known-good setting.

    Until it is confirmed nobody knows which values they have.
    """

    type: Literal["change_asked"] = "change_asked"
    change: int
    setting: Setting
    trial: int | None = None


class ChangeConfirmed(EventBase):
    """A person has changed manual parameters as it was asked."""

    type: Literal["change_confirmed"] = "change_confirmed"
    change: int
    setting: Setting


class EarlierImported(EventBase):
    """Trials and judgments of an earlier campaign: with a discount they inform the model, without one they are own."""

    type: Literal["earlier_imported"] = "earlier_imported"
    source: str
    discount: float
    trials: tuple[EarlierTrial, ...]
    judgments: tuple[EarlierJudgment, ...] = ()
    model: Memory | None = None  # clients are not told
    more: bool = False  # a piece: nothing is imported before the last one
    after: int = 0  # rows of the pieces before


class ParameterRestricted(EventBase):
    """A parameter is kept at a value, or within narrower limits, until it is lifted or its time has come."""

    type: Literal["parameter_restricted"] = "parameter_restricted"
    parameter: str
    low: float | int | None = None
    high: float | int | None = None
    options: tuple[str, ...] = ()
    until: datetime | None = None
    reason: str = ""
    by_engineer: bool = True


class RestrictionLifted(Spoken):
    """All values of a parameter may be proposed again; `ended`: because its time has come."""

    type: Literal["restriction_lifted"] = "restriction_lifted"
    parameter: str
    reason: Said = ""
    ended: bool = False


class AlarmAcknowledged(EventBase):
    """Somebody has seen an alarm."""

    type: Literal["alarm_acknowledged"] = "alarm_acknowledged"
    alarm: int


class LookWanted(EventBase):
    """Somebody wants two parts compared again, because answers contradict each other."""

    type: Literal["look_wanted"] = "look_wanted"
    judgment: int
    left: int
    right: int


class HomeWanted(Spoken):
    """The machine is to return to its known-good setting."""

    type: Literal["home_wanted"] = "home_wanted"
    reason: Said


class HomeAnswered(Spoken):
    """What came of returning to the known-good setting."""

    type: Literal["home_answered"] = "home_answered"
    result: GateResult
    text: Said = ""
    read_back: Setting | None = None


class HomeDelayed(Spoken):
    """The machine is not at its known-good setting, for this reason; it is tried again, as long as it takes."""

    type: Literal["home_delayed"] = "home_delayed"
    text: Said
    read_back: Setting | None = None


Event = Annotated[
    CampaignCreated
    | TermsChanged
    | CampaignStarted
    | CampaignHeld
    | CampaignResumed
    | CampaignStopped
    | CampaignAborted
    | CampaignCompleted
    | ProposalMade
    | ProposalApproved
    | ProposalRejected
    | SettingSent
    | SettingAnswered
    | TrialStarted
    | TrialInterrupted
    | TrialDropped
    | OutcomeTold
    | DuelWanted
    | DuelAsked
    | DuelClosed
    | JudgmentGiven
    | JudgmentRetracted
    | TrialExcluded
    | RepeatWanted
    | ReduelDue
    | LotChanged
    | ChangeAsked
    | ChangeConfirmed
    | EarlierImported
    | ParameterRestricted
    | RestrictionLifted
    | AlarmAcknowledged
    | LookWanted
    | HomeWanted
    | HomeAnswered
    | HomeDelayed,
    Field(discriminator="type"),
]

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
