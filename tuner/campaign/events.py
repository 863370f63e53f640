"""What happened in a campaign: frozen models, one for each kind of row in the journal."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from tuner.campaign.earlier import EarlierJudgment, EarlierTrial
from tuner.campaign.terms import Terms
from tuner.core.optimizer.questions import Why
from tuner.core.optimizer.records import Memory, Setting

SettingMap = Setting  # the name that the road to the machine uses
GateResult = Literal["applied", "refused", "failed", "unverified"]
Source = Literal["start", "model", "fallback", "repeat", "lot"]


class EventBase(BaseModel):
    """Base of all events; where a field has another name in the journal, that is its alias."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, serialize_by_alias=True, validate_by_name=True
    )


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


class CampaignHeld(EventBase):
    """Tuning pauses: somebody said so, or the machine is at fault and is brought home."""

    type: Literal["campaign_held"] = "campaign_held"
    reason: str
    fault: bool = False


class CampaignResumed(EventBase):
    """Tuning goes on after a pause."""

    type: Literal["campaign_resumed"] = "campaign_resumed"


class CampaignStopped(EventBase):
    """Somebody stopped tuning: the part under way is finished, then the machine goes home."""

    type: Literal["campaign_stopped"] = "campaign_stopped"
    reason: str = ""


class CampaignAborted(EventBase):
    """Tuning lets go of the machine at once and sends it nothing more."""

    type: Literal["campaign_aborted"] = "campaign_aborted"
    reason: str = ""


class CampaignCompleted(EventBase):
    """The budget is used up."""

    type: Literal["campaign_completed"] = "campaign_completed"
    reason: str
    model: Memory | None = None  # what the model knew at the end: it may say who is champion; clients are not told


class ProposalMade(EventBase):
    """A setting to try; it becomes a trial with a short part tag."""

    type: Literal["proposal_made"] = "proposal_made"
    trial: int
    tag: str
    setting: Setting
    source: Source
    kind: str = "told"
    repeats: int | None = None
    opponent: int | None = Field(None, alias="champion")
    reason: str = ""
    p_better: float | None = Field(None, alias="better")
    p_valid: float | None = Field(None, alias="valid")
    distance: float | None = None
    model: Memory | None = None
    engine: str = ""


class ProposalApproved(EventBase):
    """The setting may be sent."""

    type: Literal["proposal_approved"] = "proposal_approved"
    trial: int


class ProposalRejected(EventBase):
    """The setting will not be sent; the model learns to stay away from it, and it counts neither as trial nor scrap."""

    type: Literal["proposal_rejected"] = "proposal_rejected"
    trial: int
    reason: str


class SettingSent(EventBase):
    """The setting is on its way; until it is answered nobody knows whether it reached the machine."""

    type: Literal["setting_sent"] = "setting_sent"
    trial: int


class SettingAnswered(EventBase):
    """What the gate says came of sending a setting."""

    type: Literal["setting_answered"] = "setting_answered"
    trial: int
    result: GateResult
    text: str = ""
    read_back: Setting | None = None


class TrialStarted(EventBase):
    """The machine makes the part."""

    type: Literal["trial_started"] = "trial_started"
    trial: int


class TrialInterrupted(EventBase):
    """The daemon or the adapter went away in between: the same trial is sent and run again."""

    type: Literal["trial_interrupted"] = "trial_interrupted"
    trial: int
    reason: str


class TrialDropped(EventBase):
    """The trial ends without an outcome and is left out of account."""

    type: Literal["trial_dropped"] = "trial_dropped"
    trial: int
    reason: str


class OutcomeTold(EventBase):
    """Whether the trial made a part; told again it corrects what was told before."""

    type: Literal["outcome_told"] = "outcome_told"
    trial: int
    valid: bool
    reason: str = ""
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


class DuelClosed(EventBase):
    """The question needs no answer any more."""

    type: Literal["duel_closed"] = "duel_closed"
    duel: int
    reason: str


class JudgmentGiven(EventBase):
    """An operator's answer; without a winner it is "can't tell"."""

    type: Literal["judgment_given"] = "judgment_given"
    judgment: int
    duel: int
    winner: int | None
    clearly: bool | None = None  # None: nobody was asked, or nobody won
    operator: str
    took_s: float | None = None


class JudgmentRetracted(EventBase):
    """The answer is taken back and counts no more."""

    type: Literal["judgment_retracted"] = "judgment_retracted"
    judgment: int
    reason: str = ""


class TrialExcluded(EventBase):
    """A trial and everything said about it is left out of account."""

    type: Literal["trial_excluded"] = "trial_excluded"
    trial: int
    reason: str


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


class HomeWanted(EventBase):
    """The machine is to return to its known-good setting."""

    type: Literal["home_wanted"] = "home_wanted"
    reason: str


class HomeAnswered(EventBase):
    """What came of returning to the known-good setting."""

    type: Literal["home_answered"] = "home_answered"
    result: GateResult
    text: str = ""
    read_back: Setting | None = None


class HomeDelayed(EventBase):
    """The machine is not at its known-good setting, for this reason; it is tried again, as long as it takes."""

    type: Literal["home_delayed"] = "home_delayed"
    text: str
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
    | HomeWanted
    | HomeAnswered
    | HomeDelayed,
    Field(discriminator="type"),
]

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
