"""Every message on the sockets: one JSON object in one frame, versioned; `tuner schema` prints these as JSON Schema."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tuner.basics.telling import Said, Telling
from tuner.basics.vocabulary import Mode, Phase, Role, Status
from tuner.wire.machine_views import ChangeView as ChangeView
from tuner.wire.machine_views import MachineView as MachineView
from tuner.wire.machine_views import ParameterView as ParameterView
from tuner.wire.machine_views import WaitingView as WaitingView
from tuner.wire.steering_views import AlarmsBody as AlarmsBody
from tuner.wire.steering_views import AlarmView as AlarmView
from tuner.wire.steering_views import ContractView as ContractView
from tuner.wire.steering_views import RestrictionView as RestrictionView
from tuner.wire.told import Moment
from tuner.wire.told import Told as Told

VERSION = 1
LARGEST_BYTES = 256_000
RequestId = Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{8,64}$")]
Count = Annotated[int, Field(ge=1, le=2**53)]  # whole numbers that every JSON library reads without loss
Value = (
    Annotated[float, Field(ge=-1e300, le=1e300)]
    | Annotated[int, Field(ge=-(2**53), le=2**53)]
    | Annotated[str, Field(max_length=200)]
)
AtMost = Literal[Role.VIEWER, Role.OPERATOR]  # the roles that some other has more rights than
# what the daemon says of a campaign: a newer one may have other words, which stay what they are
ModeWord = Annotated[Mode | str, Field(union_mode="left_to_right")]
PhaseWord = Annotated[Phase | str, Field(union_mode="left_to_right")]


class Message(BaseModel):
    """Base of what clients send: nothing unknown, frozen, no NaN nor infinities."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


class Request(Message):
    """What a client sends to the requests' socket."""

    v: Annotated[int, Field(ge=0, le=2**31)] = Field(VERSION, description="version of this protocol")
    id: RequestId = Field(description="chosen by the client, new for each request; a retry has the same")
    op: Annotated[str, Field(max_length=64)] = Field(description="what to do")
    campaign: Annotated[str, Field(max_length=64)] | None = Field(None, description="which campaign, if it needs one")
    actor: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="the person at the client; default: the client's key name"
    )
    session: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="from `session.open`: the person who signed in there stands for the actor"
    )
    role: AtMost | None = Field(
        None, description="act with no more than this role's rights; left out: with all that key and session have"
    )
    body: dict[str, Any] = Field(default_factory=dict, description="as the operation needs it")


class Reply(Telling, Told):
    """What the daemon answers."""

    v: int = Field(VERSION, description="version of this protocol")
    id: str = Field(description="the request's")
    status: Status = Field(
        description="done; accepted: it will be done; refused: it will not, and trying again does not help as things "
        "are; failed: it was not done, trying again may help"
    )
    code: str = Field("", description="why it was refused or failed, for programs")
    text: Said = Field("", description="the same in a sentence for people")
    body: dict[str, Any] = Field(default_factory=dict, description="what was asked for")


class EventMessage(Told):
    """What the daemon publishes: a frame with the campaign's name, then a frame with this."""

    v: int = VERSION
    n: int = Field(description="number of the event in its campaign: 1, 2, ...; a gap means that messages were lost")
    seq: int = Field(description="number of the event in the whole journal")
    campaign: str
    at: str = Field(description="UTC, ISO 8601")
    actor: str
    type: str
    body: dict[str, Any]


class Beat(Told):
    """Published on the topic `~beat` every two seconds: a client that hears none has lost the daemon."""

    v: int = VERSION
    type: Literal["beat"] = "beat"
    at: str
    heads: dict[str, int] = Field(description="the last event's number of every campaign in memory")


class Progress(Telling, Told):
    """Published on the topic `~progress`: passing news, not kept."""

    v: int = VERSION
    type: Literal["progress"] = "progress"
    at: str
    campaign: str
    text: Said = Field(description="what the machine or the model does now")
    done: float | None = Field(None, description="0 to 1, if it is known")
    waiting: WaitingView | None = Field(None, description="what is waited for, if that is the news")


BEAT_TOPIC = b"~beat"
PROGRESS_TOPIC = b"~progress"


class TrialView(Telling, Told):
    """A trial on the screen."""

    number: int
    tag: str
    setting: dict[str, float | int | str]
    source: str
    stage: str
    reason: Said
    opponent: int | None = Field(alias="champion")
    p_better: float | None = Field(alias="better")
    p_valid: float | None = Field(alias="expected_valid")
    distance: float | None
    lot: str
    proposed_at: Moment
    started_at: Moment | None
    ended_at: Moment | None
    valid: bool | None
    outcome_reason: Said
    measurements: dict[str, float]
    photo: str | None
    excluded: str | None


class DuelView(Told):
    """A question on the screen: left or right, or can't tell."""

    number: int
    left: TrialView
    right: TrialView
    asked_at: str


class JudgmentView(Telling, Told):
    """An answer on the screen."""

    number: int
    duel: int
    left: int
    right: int
    winner: int | None
    clearly: bool | None = Field(None, description="whether the winner is clearly better; None: nobody was asked")
    operator: str
    at: Moment
    took_s: float | None
    retracted: Said | None
    looks: int = Field(1, description="how many looks at this duel count by now; a judgment rests on their majority")
    agreeing: int = Field(1, description="how many of them say the same as this one, itself among them")

    def of_other(self, trial: int) -> str:
        """What it says of the other part than this trial's: the name of a text."""
        if self.winner is None:
            return "tie"
        worse, better = ("clearly_worse", "clearly_better") if self.clearly else ("worse", "better")
        return worse if self.winner == trial else better


class BudgetView(Told):
    """What is used of the budget."""

    trials: int
    spent: int
    scrap: int
    scrap_limit: int | None
    questions_left_this_hour: int | None
    estimated_s: float | None = Field(description="seconds to the end at the present pace; None: not known")


class PolicyView(Told):
    """What a client must know of a campaign's policy."""

    dry_run: bool
    approval: bool
    undo_minutes: float
    graded: bool = Field(False, description='whether "clearly better" is taken')
    identify: str = Field("name", description="pin: people sign in with PIN or badge before they answer")
    operators_restrict: bool = Field(False, description="whether operators too may restrict parameters for a while")


class EarlierView(Told):
    """What was imported from an earlier campaign."""

    source: str = Field(description="the file or the campaign that it comes from")
    trials: int
    judgments: int
    discount: float = Field(description="what an earlier answer counts for; 1: all of it is the campaign's own")


class CampaignView(Telling, PolicyView):
    """A campaign as a client sees it; the answer to `snapshot`."""

    name: str
    machine_name: str
    adapter: str
    mode: ModeWord
    phase: PhaseWord
    phase_text: Said = Field(description="the same in a sentence")
    phase_since: str
    phase_expected_s: float | None = Field(description="how long the phase usually takes; None: not known")
    waiting: WaitingView | None = Field(None, description="what it waits for at its machine, if it does")
    wake_at: str | None = Field(description="when a question that waits for its window may be asked")
    since: str
    reason: Said
    fault: Said | None
    n: int = Field(description="number of the last event in it; events after it are newer")
    lot: str
    parameters: list[ParameterView]
    machine: MachineView
    trial: TrialView | None = Field(description="the trial on its road")
    duel: DuelView | None = Field(description="the open question")
    change: ChangeView | None = Field(None, description="what somebody is asked to change by hand")
    champion: TrialView | None
    budget: BudgetView
    contract: ContractView | None = Field(None, description="the scrap contract; None: there is none")
    earlier: list[EarlierView] = Field(default_factory=list, description="what was imported from earlier campaigns")
    judgments: list[JudgmentView] = Field(description="the last ten, newest first")
    restrictions: list[RestrictionView] = Field(default_factory=list, description="what is allowed for a while")
    alarms: list[AlarmView] = Field(
        default_factory=list, description="those not over or not acknowledged, newest first"
    )
    now: str = Field(description="the daemon's clock")


class Nothing(Message):
    """An empty body."""


class Accepted(Told):
    """An empty answer: it will be done."""


class Pong(Told):
    """The answer to `ping`."""

    now: str


class Hello(Message):
    """Which versions of the protocol the client speaks."""

    versions: list[Annotated[int, Field(ge=0, le=2**31)]] = Field(min_length=1, max_length=20)


class Welcome(Told):
    """The answer to `hello`."""

    version: int = Field(description="the highest version that both speak")
    tuner: str = Field(description="the daemon's version")
    you: str = Field(description="how the journal signs what you do: the person, then ` via ` and the key's name")
    role: Role
    ops: list[str] = Field(description="the operations this role may use")
    events: str = Field(description="where events are published for who asks this way: a file, or the network")
    people: int = Field(0, description="how many people can sign in with PIN or badge")


class CampaignLine(Telling, Told):
    """One campaign in `status`."""

    name: str
    machine_name: str
    mode: ModeWord
    phase: PhaseWord
    phase_text: Said
    trials: int
    spent: int
    scrap: int
    champion: int | None
    duel: int | None
    fault: Said | None
    n: int
    contract: ContractView | None = Field(None, description="the scrap contract; None: there is none")
    earlier: list[EarlierView] = Field(default_factory=list, description="what was imported from earlier campaigns")
    restrictions: list[RestrictionView] = Field(default_factory=list, description="what is allowed for a while")
    champion_tag: str | None = Field(None, description="the tag on the champion's part")
    answers: int = Field(0, description="answers that count")


class SetAside(Telling, Told):
    """A campaign that cannot be read: it is left alone, and the others go on."""

    name: str
    why: Said


class StatusBody(Telling, Told):
    """The answer to `status`."""

    tuner: str
    pid: int
    started_at: str
    now: str
    seq: int
    state_directory: str
    campaigns: list[CampaignLine]
    over: int = Field(0, description="campaigns that are over and not in this list; `snapshot` knows them by name")
    set_aside: list[SetAside] = Field(default_factory=list, description="campaigns that cannot be read, and why")
    compute: dict[str, Any]
    troubles: int = Field(0, description="messages and events that raised an error of tuner's own; the log has each")
    busy: int = Field(0, description="requests that were answered with `busy`")
    alarms: list[Said] = Field(default_factory=list, description="what needs an administrator: disk, keys, audit")


class CreateBody(Message):
    """A campaign from the text of a configuration with exactly one table [[campaign]]."""

    config: Annotated[str, Field(max_length=200_000)] = Field(
        description="the text of a configuration with exactly one table [[campaign]]"
    )


class EventsAfter(Told):
    """Event numbers that a command led to: the campaign's `n` after it."""

    n: int


class HistoryBody(Message):
    """Which page of the history."""

    before: Count | None = Field(None, description="only events with a smaller number; None: the newest")
    limit: int = Field(50, ge=1, le=500, description="how many at most, up to 500")


class HistoryPage(Told):
    """Events, newest first."""

    events: list[EventMessage]
    more: bool


class TrialsBody(Message):
    """Which page of the trials."""

    before: Count | None = Field(None, description="only trials with a smaller number; None: the newest")
    limit: int = Field(100, ge=1, le=500, description="how many at most, up to 500")


class AlarmsPage(Message):
    """Which page of the alarms."""

    before: Count | None = Field(None, description="only alarms with a smaller number; None: the newest")
    limit: int = Field(100, ge=1, le=500, description="how many at most, up to 500")


class TrialsPage(Told):
    """Trials and the judgments about them, newest first."""

    trials: list[TrialView]
    judgments: list[JudgmentView]
    more: bool


class ChampionBody(Told):
    """The answer to `champion`."""

    champion: TrialView | None
    judgments: list[JudgmentView] = Field(description="the duels it has won, lost or drawn")


class PlanBody(Message):
    """Which setting the way to is asked for; None: the open proposal's."""

    setting: Annotated[dict[Annotated[str, Field(max_length=64)], Value], Field(max_length=200)] | None = Field(
        None, description="a value for every parameter; None: the open proposal's"
    )


class PlanView(Telling, Told):
    """The moves that lead to a setting."""

    steps: list[dict[str, float | int | str]]
    seconds: float
    texts: list[Said]


class ConfigBody(Told):
    """The answer to `config`: the terms of a campaign as it runs."""

    terms: Any
