"""A campaign's state: what the fold of its events knows, as frozen data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from tuner.basics.telling import Kept
from tuner.basics.vocabulary import Mode as Mode
from tuner.basics.vocabulary import Stage as Stage
from tuner.campaign.alarms import Alarms
from tuner.campaign.earlier import EarlierJudgment, EarlierTrial
from tuner.campaign.events import Source
from tuner.campaign.terms import Terms
from tuner.core.optimizer.champion import champion_of, standing
from tuner.core.optimizer.contract import Account, outcomes_of, settle
from tuner.core.optimizer.questions import Question, Why
from tuner.core.optimizer.records import Judgment, Memory, Proposal, Setting, Trial
from tuner.core.space.restriction import Allowed, outside

NO_MEMORY = Memory()
OPEN_STAGES = frozenset({Stage.PROPOSED, Stage.APPROVED, Stage.SENT, Stage.APPLIED, Stage.RUNNING})
MOVED_STAGES = frozenset({Stage.SENT, Stage.APPLIED, Stage.RUNNING})


@dataclass(frozen=True, kw_only=True)
class CampaignTrial(Trial, Proposal):
    """A setting that was proposed, and what became of it."""

    tag: str
    source: Source
    lot: str
    reason: Kept = ""
    outcome_reason: Kept = ""
    proposed_at: datetime
    staged_at: datetime
    repeats: int | None = None
    stage: Stage = Stage.PROPOSED
    started_at: datetime | None = None
    ended_at: datetime | None = None
    measurements: Mapping[str, float] = field(default_factory=dict)
    photo: str | None = None

    @property
    def open(self) -> bool:
        """Whether it is still on its road."""
        return self.stage in OPEN_STAGES

    @property
    def usable(self) -> bool:
        """Whether it made a part that may be judged."""
        return self.stage is Stage.DONE and super().usable


@dataclass(frozen=True)
class Duel:
    """A question to the operators; open until it is judged or closed."""

    number: int
    left: int
    right: int
    why: Why
    asked_at: datetime
    judgment: int | None = None
    closed: Kept | None = None

    @property
    def open(self) -> bool:
        """Whether an answer is awaited."""
        return self.judgment is None and self.closed is None

    @property
    def pair(self) -> frozenset[int]:
        """The two trials, whichever side they are on."""
        return frozenset((self.left, self.right))


@dataclass(frozen=True, kw_only=True)
class CampaignJudgment(Judgment):
    """An operator's answer to a question. `by` is its signature: the operator, and the key that said so."""

    retracted: Kept | None = None
    duel: int
    operator: str
    at: datetime
    took_s: float | None
    by: str


@dataclass(frozen=True)
class Change:
    """What somebody is asked to change by hand, for a trial or for the known-good setting."""

    number: int
    setting: Setting
    trial: int | None
    asked_at: datetime


@dataclass(frozen=True)
class Restriction:
    """What is allowed of a parameter for a while, until when, and who says so."""

    parameter: str
    low: float | int | None
    high: float | int | None
    options: tuple[str, ...]
    until: datetime | None
    reason: str
    by: str
    by_engineer: bool
    at: datetime

    @property
    def allowed(self) -> Allowed:
        """The lowest and the highest number, or the options."""
        return self.options if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class Imported:
    """What was imported from an earlier campaign, and what it counts for; 1: it became the campaign's own."""

    source: str
    discount: float
    at: datetime
    trials: tuple[EarlierTrial, ...]
    judgments: tuple[EarlierJudgment, ...]

    @property
    def rows(self) -> int:
        """How many trials and judgments it has."""
        return len(self.trials) + len(self.judgments)


@dataclass(frozen=True)
class MachineState:
    """What is known about the machine's setting.

    Attributes:
        requested: The setting sent last.
        read_back: The setting the machine said it has, when it was asked last.
        verified: Whether the two agree; a setting that may or may not have arrived is not verified.
        home: Whether it is at the known-good setting, verified.
        home_wanted: Why it is to return there, if it is.
        home_failed: Why it could not.
        home_since: Since when it is to return there.
    """

    requested: Setting | None = None
    read_back: Setting | None = None
    verified: bool = False
    home: bool = False
    home_wanted: Kept | None = None
    home_failed: Kept | None = None
    home_since: datetime | None = None


@dataclass(frozen=True)
class State:
    """One campaign.

    Attributes:
        since: When it came to this mode.
        created_at: When it began to exist.
        series: Makes its part tags unlike those of any other campaign, also of one with the same name elsewhere.
        reason: Why it is held, stopped, aborted or complete.
        fault: The first fault since it last ran.
        count: How many events have made this state.
        seq: The journal's number of the last of them.
        trials: In their order; the n-th has number n.
        duels: Likewise.
        judgments: Likewise.
        memory: What the optimiser carries from proposal to proposal.
        repeat: The trials whose settings somebody wants made again, in order.
        reduel: Whether the champion is to be judged again.
        wanted: What the model wants asked, until it is.
        manual: The values of manual parameters, as far as somebody has confirmed them.
        change: What somebody is asked to change by hand.
        changes: How often somebody was asked.
        imports: What was imported from earlier campaigns.
        restrictions: What is allowed of parameters for now.
        alarms: In their order; the n-th has number n.
        looks: The pairs of trials that somebody wants compared again, the older one first.
        idle_since: When the last trial or question ended: since then the next is looked for.
        arriving: The pieces of an import whose last one has not come.
        contract_hold: Whether it was last held because no setting is known that keeps the scrap contract.
        hand: The trials whose parts are still there to be compared, oldest first; a part that was made again stands
            for the trial that it repeats.
    """

    name: str
    terms: Terms
    mode: Mode
    since: datetime
    created_at: datetime
    series: str = ""
    reason: Kept = ""
    fault: Kept | None = None
    count: int = 0
    seq: int = 0
    lot: str = ""
    trials: tuple[CampaignTrial, ...] = ()
    duels: tuple[Duel, ...] = ()
    judgments: tuple[CampaignJudgment, ...] = ()
    machine: MachineState = MachineState()
    memory: Memory = NO_MEMORY
    repeat: tuple[int, ...] = ()
    reduel: bool = False
    wanted: Question | None = None
    manual: Setting = field(default_factory=dict)
    change: Change | None = None
    changes: int = 0
    imports: tuple[Imported, ...] = ()
    restrictions: tuple[Restriction, ...] = ()
    alarms: Alarms = ()
    looks: tuple[tuple[int, int], ...] = ()
    idle_since: datetime | None = None
    arriving: Imported | None = None
    contract_hold: bool = False
    hand: tuple[int, ...] = ()

    @property
    def trial(self) -> CampaignTrial | None:
        """The trial on its road, if there is one."""
        return self.trials[-1] if self.trials and self.trials[-1].open else None

    @property
    def begun(self) -> bool:
        """Whether a part was made: the first is that of the known-good setting."""
        return any(t.stage is Stage.DONE for t in self.trials)

    @property
    def duel(self) -> Duel | None:
        """The question that is open, if there is one."""
        return self.duels[-1] if self.duels and self.duels[-1].open else None

    @cached_property
    def active(self) -> tuple[CampaignJudgment, ...]:
        """The judgments that count."""
        return tuple(
            j
            for j in self.judgments
            if j.retracted is None and self.trials[j.left - 1].usable and self.trials[j.right - 1].usable
        )

    @cached_property
    def remade(self) -> dict[int, int]:
        """The parts that stand for another trial's: of a champion from a new lot, or of a question that was open."""
        return {t.number: t.repeats for t in self.trials if t.source in ("lot", "remake") and t.repeats is not None}

    def original(self, number: int) -> int:
        """The trial itself, or the one that its part stands for."""
        return self.remade.get(number, number)

    @cached_property
    def told(self) -> tuple[CampaignJudgment, ...]:
        """The judgments that count, about settings: what was said of a part remade counts for the one it stands for."""
        if not self.remade:
            return self.active
        return tuple(
            replace(
                one,
                left=self.original(one.left),
                right=self.original(one.right),
                winner=None if one.winner is None else self.original(one.winner),
            )
            for one in self.active
            if all(self.trials[self.original(number) - 1].usable for number in one.pair)
        )

    @cached_property
    def candidates(self) -> list[int]:
        """The trials that may be champion: usable ones, of which none stands for another."""
        return [t.number for t in self.trials if t.usable and t.number not in self.remade]

    @cached_property
    def decided(self) -> tuple[int | None, Judgment | None]:
        """The trial that won its duels, and the judgment that made it the best, if one did."""
        return champion_of(self.candidates, self.told)

    @cached_property
    def champion(self) -> int | None:
        """The best trial so far.

        Where the judges' answers are doubted, go in a circle, or some were ties, it is the one that the model believed
        best.
        """
        leader = None if self.memory.leader is None else self.original(self.memory.leader)
        return standing(leader, self.candidates, self.told) or self.decided[0]

    @cached_property
    def at_hand(self) -> tuple[int, ...] | None:
        """The trials whose parts are still there to be compared; None: all, for nothing was put away."""
        everything = self.terms.policy.tray is None and set(self.candidates) <= set(self.hand)
        return None if everything else self.hand

    @cached_property
    def within(self) -> dict[str, Allowed]:
        """What is allowed of each restricted parameter now."""
        return {one.parameter: one.allowed for one in self.restrictions}

    @property
    def to_repeat(self) -> int | None:
        """The next trial to be made again; one whose setting is not allowed now waits."""
        return next((one for one in self.repeat if not outside(self.within, self.trials[one - 1].setting)), None)

    @property
    def spent(self) -> int:
        """How many trials of the budget are used: those run or on their road."""
        return sum(t.stage not in (Stage.REJECTED, Stage.DROPPED) for t in self.trials)

    @property
    def account(self) -> Account | None:
        """What happened under the scrap contract, and what the next part may risk; None: there is none."""
        agreed = self.terms.scrap
        return None if agreed is None else settle(agreed.agreed, outcomes_of(self.trials), self.terms.budget.trials)

    @property
    def contract_held(self) -> bool:
        """Whether tuning is held because no setting is known that keeps the scrap contract."""
        return self.mode is Mode.HELD and self.contract_hold

    @property
    def scrap(self) -> int:
        """How many trials made no part."""
        return sum(t.stage is Stage.DONE and t.valid is False for t in self.trials)
