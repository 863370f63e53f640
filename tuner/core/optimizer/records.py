"""Proposal, trial, judgment and an optimiser's state: each has one shape, from the library to the screen.

Plain Python: the daemon's own process and its clients read these, and compute nothing. A campaign's trials and
judgments are the same records with more fields; `of` builds a record from whatever has fields of the same names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from tuner.basics.sentences import TOLD, codes_of, sentence_in
from tuner.core.space.values import Setting as Setting
from tuner.core.space.values import Value as Value

JudgeKey = tuple[str | None, float]  # the operator, and what an answer counts for

STATE_VERSION = 2
FITS = ("preference", "validity", "unsteady")
REJECTED = "rejected"  # why a trial is left out that an engineer refused: it made no scrap, and nobody wants its like
LATER = (
    "tray",
    "hand",
    "looks_per_part",
    "scrap_rate",
    "strictness",
    "confidence",
)  # a state that was written before has none of these


@dataclass(frozen=True, kw_only=True)
class Record:
    """Base of all records: frozen, with a JSON form that has every field."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data; the codes of sentences, if there are any, under `told`."""
        own = [(one.name, getattr(self, one.name)) for one in fields(self)]
        codes = codes_of(own)
        return {name: _plain(value) for name, value in own} | ({TOLD: codes} if codes else {})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a record; fields that are not there are as by default.

        Raises:
            TypeError: A field is unknown, or one is missing that must be there.
        """
        told = {name: sentence_in(data, name) for name in data.get(TOLD, ())}
        return cls(**{name: value for name, value in data.items() if name != TOLD} | told)

    @classmethod
    def of(cls, source: object, **changes: Any) -> Self:
        """Take from a source what it has under the names of the fields, but for the changes."""
        names = {one.name for one in fields(cls)} - changes.keys()
        return cls(**{name: getattr(source, name) for name in names if hasattr(source, name)}, **changes)


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_json()
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


@dataclass(frozen=True, kw_only=True)
class Candidate(Record):
    """What a proposal and the trial that comes of it share.

    Attributes:
        number: The trial's number, from 1 on.
        setting: A value for every parameter, by name.
        kind: How it came about: design, improve, refine, an acquisition's name, told, earlier or fallback; or rejected:
            nobody wants it made, its outcome never comes, and it counts neither as trial nor as scrap.
        opponent: The number of the trial to judge it against; None while there is none.
    """

    number: int
    setting: Setting
    kind: str = "told"
    opponent: int | None = None


@dataclass(frozen=True, kw_only=True)
class Assured(Record):
    """What was known of a proposal under its contract when it was made: the journal keeps it.

    Attributes:
        allowed: The risk that it may run.
        risk: The risk that it runs: its chance to be scrap, chance scrap included.
        low: With the contract's confidence its setting gives at least this share of parts.
        sure: How certain it is that its setting keeps the rate.
        caution: The conformal floor's normal score.
        base: The share of parts that is scrap by chance, whatever the setting.
        parts: Parts made before it.
        scrap: Scrap before it.
        left: How much more scrap there may be.
        stage: "grow", "inside", "known ground" or "again".
        refused: The most promising setting that is not tried under the contract, and its risk there.
        refused_risk: That risk; None if there is none.
        refused_better: Its chance to be better than the champion.
        unreached: The share of the likely valid ground that cannot be reached under the contract as far as is known.
    """

    allowed: float
    risk: float
    low: float
    sure: float
    caution: float
    base: float
    parts: int
    scrap: int
    left: int
    stage: str
    refused: dict[str, float | int | str] | None = None
    refused_risk: float | None = None
    refused_better: float | None = None
    unreached: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Proposal(Candidate):
    """A setting to try, and the trial to compare it with.

    Attributes:
        reason: One plain sentence.
        p_better: P(better than the opponent), if there is one.
        p_valid: P(valid); None if no model was asked.
        distance: Distance to the nearest setting tried, in the unit cube.
        assured: What was known of it under the scrap contract; None: there is none.
    """

    reason: str = ""
    p_better: float | None = None
    p_valid: float | None = None
    distance: float | None = None
    assured: Assured | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a proposal with what its contract knew of it."""
        assured = data.get("assured")
        return super().from_json({**data, "assured": None if assured is None else Assured.from_json(assured)})


@dataclass(frozen=True, kw_only=True)
class Window(Record):
    """How far one parameter may wander alone from a recommended setting, in its own units.

    Attributes:
        name: The parameter.
        low: Its least value; of a choice None.
        high: Its largest value; of a choice None.
        below: What ends the window there: "valid" (P(valid) falls), "better" (so does the chance to be better than the
            known-good setting), "constraint", or "limit" of the parameter; of a choice empty.
        above: The same at the upper end.
        options: The options of a choice that are inside; of a number empty.
    """

    name: str
    low: float | None = None
    high: float | None = None
    below: str = ""
    above: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Recommended(Record):
    """The setting for the master recipe, the evidence for it, and its process window.

    Attributes:
        setting: It may be the champion's, another one that the model believes better, or the known-good one.
        champion: The best trial.
        p_better: P(better than the champion); one half if it is that one's setting.
        p_valid: P(valid).
        known_good: The trial of the known-good setting; None if it was never made.
        better_than_known_good: P(better than the known-good setting).
        keep: Whether the known-good setting is to be kept, because nothing is believed better.
        parts: How many valid parts were made with this very setting.
        won: Duels that they won,
        lost: lost,
        tied: and that could not be told.
        window: How far each parameter may wander alone.
        window_valid: The P(valid) that is kept in the window.
        window_better: The chance to be better than the known-good setting that is kept there; None: it is that one.
    """

    setting: Setting
    champion: int
    p_better: float
    p_valid: float
    known_good: int | None = None
    better_than_known_good: float | None = None
    keep: bool = False
    parts: int = 0
    won: int = 0
    lost: int = 0
    tied: int = 0
    window: tuple[Window, ...] = ()
    window_valid: float | None = None
    window_better: float | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a recommendation with its window."""
        window = tuple(
            Window.from_json({**one, "options": tuple(one.get("options", ()))}) for one in data.get("window", ())
        )
        return super().from_json({**data, "window": window})


@dataclass(frozen=True, kw_only=True)
class Trial(Candidate):
    """A setting that was proposed or run.

    Attributes:
        valid: Whether it made a part; None until its outcome is known.
        outcome_reason: Why it made none, if anybody said.
        excluded: Why it is left out of account, if it is.
        earlier: Whether it belongs to an earlier campaign.
        discount: What an earlier trial's outcome counts for, beside one of this campaign.
    """

    valid: bool | None = None
    outcome_reason: str = ""
    excluded: str | None = None
    earlier: bool = False
    discount: float = 1.0

    @property
    def usable(self) -> bool:
        """Whether it made a part that may be judged."""
        return self.valid is True and self.excluded is None


@dataclass(frozen=True, kw_only=True)
class Judgment(Record):
    """An answer to a duel between the trials `left` and `right`; a tie has no winner.

    Attributes:
        number: Its number, from 1 on.
        clearly: Whether the winner is clearly better; None: nobody was asked, or it is a tie.
        operator: Who gave it, if anybody said.
        retracted: Why it was taken back, if it was.
        discount: Below 1 in an earlier campaign.
    """

    number: int
    left: int
    right: int
    winner: int | None
    clearly: bool | None = None
    operator: str | None = None
    retracted: str | None = None
    discount: float = 1.0

    @property
    def tie(self) -> bool:
        """Whether neither part could be told to be better."""
        return self.winner is None

    @property
    def loser(self) -> int | None:
        """The other one than the winner."""
        if self.winner is None:
            return None
        return self.right if self.winner == self.left else self.left

    @property
    def order(self) -> tuple[int, int]:
        """The winner and the loser; of a tie the left and the right one."""
        return (self.right, self.left) if self.winner == self.right else (self.left, self.right)

    def better(self, tags: Mapping[int, str]) -> str:
        """Which part is better, by the tags of the trials."""
        return "can't tell" if self.winner is None else tags[self.winner] + (", clearly" if self.clearly else "")

    @property
    def known(self) -> tuple[object, ...]:
        """All of it that a proposal depends on."""
        return self.number, self.left, self.right, self.winner, self.clearly, self.operator

    @property
    def pair(self) -> frozenset[int]:
        """The two trials, whoever won."""
        return frozenset((self.left, self.right))

    @property
    def judge(self) -> JudgeKey:
        """Whose noise the answer has."""
        return self.operator, self.discount


@dataclass(frozen=True, kw_only=True)
class Memory(Record):
    """What an optimiser carries from one proposal to the next; with the trials it gives the next one bit for bit.

    Attributes:
        asks: How many proposals were made.
        leader: The trial that the model believed best, where answers are doubted, tied or go in a circle.
        doubted: Whether they are.
        fits: Hyper-parameters by the names of `FITS`; empty before the first proposal.
    """

    asks: int = 0
    leader: int | None = None
    doubted: bool = False
    fits: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OptimizerState(Memory):
    """Everything an optimiser knows but the space; its JSON form is what `Optimizer.state` returns.

    Attributes:
        hand: The trials whose parts are still there to be compared, oldest first; None: all.
    """

    version: int = STATE_VERSION
    seed: int
    acquisition: str = "auto"
    validity: str = "auto"
    budget: int | None
    scrap_budget: int | None
    scrap_rate: float | None = None
    strictness: str = "expected"
    confidence: float = 0.95
    tray: int | None = None
    hand: tuple[int, ...] | None = None
    looks_per_part: float = 1.5
    trials: tuple[Trial, ...] = ()
    judgments: tuple[Judgment, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a state, also one of version 1.

        Raises:
            KeyError: Something is missing.
            TypeError: Something is not what it should be.
        """
        told = {one.name: data[one.name] for one in fields(cls) if one.name in data or one.name not in LATER}
        first = data["version"] == 1
        trials = tuple(Trial.from_json(_trial_of_1(one) if first else one) for one in told["trials"])
        judgments = tuple(Judgment.from_json(_judgment_of_1(one) if first else one) for one in told["judgments"])
        hand = None if told.get("hand") is None else tuple(told["hand"])
        return cls(**{**told, "version": STATE_VERSION, "hand": hand, "trials": trials, "judgments": judgments})


def _trial_of_1(data: Mapping[str, Any]) -> dict[str, Any]:
    kept = dict(data)
    kept |= {"number": kept.pop("trial_id"), "opponent": kept.pop("opponent_id")}
    return kept | {"outcome_reason": kept.pop("reason") or "", "excluded": "excluded" if kept["excluded"] else None}


def _judgment_of_1(data: Mapping[str, Any]) -> dict[str, Any]:
    kept = dict(data)
    left, tie = kept["winner"], kept.pop("tie")
    kept |= {"number": kept.pop("judgment_id"), "left": left, "right": kept.pop("loser")}
    return kept | {"winner": None if tie else left, "retracted": "retracted" if kept["retracted"] else None}
