"""What an optimiser has been told: trials with their outcomes, and judgments; plain data with a JSON form.

A ledger never forgets: a judgment is retracted and a trial excluded by a mark, and the rest is computed anew from what
is left. The champion is the first valid trial until another one beats it. Trials and judgments of an earlier campaign
may be entered with a discount; they inform the model and are never champion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.champion import Judge, Judgment, crown
from tuner.core.posterior.observations import Observations
from tuner.core.space.parameters import SpaceError
from tuner.core.space.space import Setting, Space


class TellError(ValueError):
    """What was told does not fit what is known; nothing was changed."""


@dataclass(frozen=True)
class Trial:
    """A setting that was proposed or run.

    Attributes:
        trial_id: Its number.
        setting: A value for every parameter, by name.
        kind: How it came about.
        valid: Whether it made a part; None until its outcome is known.
        reason: Why it made none, if anybody said.
        excluded: Whether it is left out of account.
        earlier: Whether it belongs to an earlier campaign.
        discount: What an earlier trial's outcome counts for, beside one of this campaign.
        opponent_id: The trial it was proposed against, if any.
    """

    trial_id: int
    setting: Setting
    kind: str = "told"
    valid: bool | None = None
    reason: str | None = None
    excluded: bool = False
    earlier: bool = False
    discount: float = 1.0
    opponent_id: int | None = None

    @property
    def usable(self) -> bool:
        """Whether it made a part that may be judged."""
        return self.valid is True and not self.excluded


@dataclass
class Ledger:
    """Trials and judgments, by their numbers from 1 on."""

    space: Space
    trials: dict[int, Trial] = field(default_factory=dict)
    judgments: dict[int, Judgment] = field(default_factory=dict)
    _rows: dict[int, FloatArray] = field(default_factory=dict, repr=False, compare=False)

    def add(self, setting: Mapping[str, Any], *, kind: str = "told", opponent_id: int | None = None) -> Trial:
        """Enter a trial; its setting must lie in the space."""
        return self._enter(Trial(len(self.trials) + 1, self.space.checked(setting), kind, opponent_id=opponent_id))

    def _enter(self, trial: Trial) -> Trial:
        self.trials[trial.trial_id] = trial
        return trial

    def outcome(self, trial_id: int, valid: bool, reason: str | None = None) -> None:
        """Note that a trial made a part, or none."""
        trial = self._trial(trial_id)
        if not isinstance(valid, bool | np.bool_):
            raise TellError(f"an outcome is True (valid) or False (non-valid), not {valid!r}")
        if reason is not None and not isinstance(reason, str):
            raise TellError(f"a reason is a text, not {reason!r}")
        if trial.valid is not None and trial.valid != valid:
            known = "valid" if trial.valid else "non-valid"
            raise TellError(f"trial {trial_id} was {known} before; exclude it if that was wrong")
        self.trials[trial.trial_id] = replace(trial, valid=bool(valid), reason=reason or trial.reason)

    def judge(
        self, winner: int, loser: int, *, tie: bool = False, operator: str | None = None, discount: float = 1.0
    ) -> int:
        """Note an answer to a duel and return its number."""
        pair = [self._trial(winner), self._trial(loser)]
        for trial in pair:
            if trial.excluded:
                raise TellError(f"trial {trial.trial_id} is excluded and cannot be judged")
            if trial.valid is None:
                raise TellError(f"trial {trial.trial_id} has no outcome yet and cannot be judged")
            if not trial.valid:
                raise TellError(f"trial {trial.trial_id} is non-valid: there is no part to judge")
        if pair[0] is pair[1]:
            raise TellError(f"trial {winner} cannot be compared with itself")
        if operator is not None and not isinstance(operator, str):
            raise TellError(f"an operator is named by a text, not {operator!r}")
        number = len(self.judgments) + 1
        first, second = (trial.trial_id for trial in pair)
        self.judgments[number] = Judgment(number, first, second, bool(tie), operator, discount=discount)
        return number

    def retract(self, judgment_id: int) -> None:
        """Take a judgment back."""
        judgment = self.judgments.get(_number("judgment", judgment_id))
        if judgment is None:
            raise TellError(f"there is no judgment {judgment_id!r}")
        if judgment.retracted:
            raise TellError(f"judgment {judgment_id} was retracted before")
        self.judgments[judgment.judgment_id] = replace(judgment, retracted=True)

    def exclude(self, trial_id: int) -> None:
        """Leave a trial and everything said about it out of account."""
        trial = self._trial(trial_id)
        if trial.excluded:
            raise TellError(f"trial {trial_id} was excluded before")
        self.trials[trial.trial_id] = replace(trial, excluded=True)

    def warm_start(
        self,
        trials: Sequence[tuple[Mapping[str, Any], bool]],
        judgments: Sequence[tuple[int, int]],
        discount: float,
    ) -> list[int]:
        """Enter an earlier campaign's (setting, valid) and (winner, loser), these by place; return the new numbers."""
        if isinstance(discount, bool) or not isinstance(discount, int | float) or not 0.0 < discount <= 1.0:
            raise TellError(f"a discount is more than 0 and at most 1, not {discount!r}")
        draft = Ledger(self.space, dict(self.trials), dict(self.judgments))
        numbers: list[int] = []
        for place, (setting, valid) in enumerate(trials):
            number = len(draft.trials) + 1
            try:
                entered = Trial(number, self.space.checked(setting), "earlier", earlier=True, discount=float(discount))
                draft._enter(entered)
                draft.outcome(number, valid)
            except ValueError as error:
                raise TellError(f"earlier trial {place}: {error}") from None
            numbers.append(number)
        for place, (winner, loser) in enumerate(judgments):
            for index in (winner, loser):
                if not 0 <= _number("earlier trial", index) < len(numbers):
                    raise TellError(f"earlier judgment {place}: there is no earlier trial {index!r}")
            try:
                draft.judge(numbers[winner], numbers[loser], discount=float(discount))
            except TellError as error:
                raise TellError(f"earlier judgment {place}: {error}") from None
        self.trials, self.judgments = draft.trials, draft.judgments
        return numbers

    def _trial(self, trial_id: int) -> Trial:
        trial = self.trials.get(_number("trial", trial_id))
        if trial is None:
            raise TellError(f"there is no trial {trial_id!r}")
        return trial

    @property
    def usable(self) -> list[Trial]:
        """The trials that made a part that may be judged, of this campaign."""
        return [t for t in self.trials.values() if t.usable and not t.earlier]

    @property
    def pending(self) -> list[Trial]:
        """The trials whose outcome is awaited."""
        return [t for t in self.trials.values() if t.valid is None and not t.excluded]

    @property
    def scrap(self) -> int:
        """How many trials made no part."""
        return sum(t.valid is False and not t.earlier for t in self.trials.values())

    @property
    def active(self) -> list[Judgment]:
        """The judgments that count."""
        return [
            j
            for j in self.judgments.values()
            if not j.retracted and self.trials[j.winner].usable and self.trials[j.loser].usable
        ]

    @property
    def champion_id(self) -> int | None:
        """The best trial so far: the first valid one until another beats it."""
        return self.crowned[0]

    @property
    def crowned(self) -> tuple[int | None, Judgment | None]:
        """The champion, and the judgment that made it one, if one did."""
        return crown([trial.trial_id for trial in self.usable], self.active)

    @property
    def judges(self) -> list[Judge]:
        """Whose noise is fitted; the place is the judge's index in the model.

        The first is the first operator of this campaign to judge: the unit that the others' noise is measured in.
        """
        earlier = [(None, t.discount) for t in self.trials.values() if t.discount < 1.0 and not t.excluded]
        seen: dict[Judge, None] = dict.fromkeys([*earlier, *(j.judge for j in self.active)])
        first = next((judge for judge in seen if judge[1] == 1.0), (None, 1.0))
        return [first, *(judge for judge in seen if judge != first)]

    @property
    def noise(self) -> tuple[float, ...]:
        """What noise to expect of each judge but the first, relative to the first: more in an earlier campaign."""
        return tuple(1.0 / discount for _, discount in self.judges[1:])

    def rows(self, trials: list[Trial]) -> FloatArray:
        """Return the encoded settings of trials, (p, D)."""
        for trial in trials:
            if trial.trial_id not in self._rows:  # a trial's setting never changes
                self._rows[trial.trial_id] = self.space.encode(trial.setting)
        return np.array([self._rows[t.trial_id] for t in trials]).reshape(-1, self.space.dimension)

    def preferences(self) -> tuple[list[Trial], Observations]:
        """Return the usable trials and what was said about them, in the same order."""
        trials = [t for t in self.trials.values() if t.usable]
        return trials, self._observations(trials)

    def preferences_and_labels(self) -> tuple[list[Trial], Observations]:
        """Return every trial with an outcome and all that was said, for one latent function (the paper's model)."""
        return self._known, self._observations(self._known, self._known)

    def labels(self) -> Observations:
        """Return every known outcome."""
        return self._observations(self._known, self._known, judgments=False)

    @property
    def _known(self) -> list[Trial]:
        return [t for t in self.trials.values() if t.valid is not None and not t.excluded]

    def _observations(
        self, trials: list[Trial], labelled: Sequence[Trial] = (), *, judgments: bool = True
    ) -> Observations:
        place = {t.trial_id: i for i, t in enumerate(trials)}
        judge = {who: i for i, who in enumerate(self.judges)}
        duels = [j for j in self.active if not j.tie and judgments]
        ties = [j for j in self.active if j.tie and judgments]
        return Observations(
            self.rows(trials),
            [(place[t.trial_id], bool(t.valid)) for t in labelled],
            duels=[(place[j.winner], place[j.loser]) for j in duels],
            ties=[(place[j.winner], place[j.loser]) for j in ties],
            label_judges=[judge[None, t.discount] if t.discount < 1.0 else 0 for t in labelled],
            duel_judges=[judge[j.judge] for j in duels],
            tie_judges=[judge[j.judge] for j in ties],
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "trials": [asdict(t) for t in self.trials.values()],
            "judgments": [asdict(j) for j in self.judgments.values()],
        }

    @classmethod
    def from_json(cls, space: Space, data: Mapping[str, Any]) -> "Ledger":
        """Rebuild a ledger by telling it everything again, so that nothing enters that could not be told."""
        ledger = cls(space)
        for item in data["trials"]:
            trial = Trial(**item)
            if trial.trial_id != len(ledger.trials) + 1:
                raise TellError(f"trial {trial.trial_id!r} stands where trial {len(ledger.trials) + 1} should")
            try:
                plain = replace(trial, setting=space.checked(trial.setting), valid=None, excluded=False)
            except SpaceError as error:
                raise SpaceError(f"trial {trial.trial_id}: {error}") from None
            if trial.opponent_id is not None:
                ledger._trial(trial.opponent_id)
            ledger._enter(plain)
            if trial.valid is not None:
                ledger.outcome(trial.trial_id, trial.valid, trial.reason)
        for item in data["judgments"]:
            judgment = Judgment(**item)
            number = ledger.judge(
                judgment.winner,
                judgment.loser,
                tie=judgment.tie,
                operator=judgment.operator,
                discount=judgment.discount,
            )
            if judgment.judgment_id != number:
                raise TellError(f"judgment {judgment.judgment_id!r} stands where judgment {number} should")
            if judgment.retracted:
                ledger.retract(number)
        for item in data["trials"]:
            if item.get("excluded"):
                ledger.exclude(item["trial_id"])
        return ledger


def _number(what: str, given: Any) -> int:
    """Return the number of a trial or judgment, or say that it is none."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise TellError(f"a {what} is named by its number, not {given!r}")
    return int(given)
