"""What an optimiser has been told: trials with their outcomes, and judgments; plain data with a JSON form.

A ledger never forgets: a judgment is retracted and a trial excluded by a mark, and the rest is computed anew from what
is left. The champion is the first valid trial until another one beats it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.core.observations import Observations
from tuner.core.parameters import SpaceError
from tuner.core.space import Setting, Space


class TellError(ValueError):
    """What was told does not fit what is known; nothing was changed."""


@dataclass(frozen=True)
class Trial:
    """A setting that was proposed or run; `kind` says how it came about. `valid` is None until its outcome is known."""

    trial_id: int
    setting: Setting
    kind: str = "told"
    valid: bool | None = None
    reason: str | None = None
    excluded: bool = False
    earlier: bool = False

    @property
    def usable(self) -> bool:
        """Whether it made a part that may be judged."""
        return self.valid is True and not self.excluded


@dataclass(frozen=True)
class Judgment:
    """An answer to a duel: `winner` over `loser`, or neither if `tie`."""

    judgment_id: int
    winner: int
    loser: int
    tie: bool = False
    operator: str | None = None
    retracted: bool = False


@dataclass
class Ledger:
    """Trials and judgments, by their numbers from 1 on."""

    space: Space
    trials: dict[int, Trial] = field(default_factory=dict)
    judgments: dict[int, Judgment] = field(default_factory=dict)

    def add(self, setting: Mapping[str, Any], *, kind: str = "told", earlier: bool = False) -> Trial:
        """Enter a trial; its setting must lie in the space."""
        self.space.encode(setting)
        values = {name: setting[name] for name in self.space.names}
        trial = Trial(len(self.trials) + 1, values, kind, earlier=earlier)
        self.trials[trial.trial_id] = trial
        return trial

    def outcome(self, trial_id: int, valid: bool, reason: str | None = None) -> None:
        """Note that a trial made a part, or none."""
        trial = self._trial(trial_id)
        if not isinstance(valid, bool | np.bool_):
            raise TellError(f"an outcome is True (valid) or False (non-valid), not {valid!r}")
        if trial.valid is not None and trial.valid != valid:
            known = "valid" if trial.valid else "non-valid"
            raise TellError(f"trial {trial_id} was {known} before; exclude it if that was wrong")
        self.trials[trial_id] = replace(trial, valid=bool(valid), reason=reason or trial.reason)

    def judge(self, winner: int, loser: int, *, tie: bool = False, operator: str | None = None) -> int:
        """Note an answer to a duel and return its number."""
        for trial_id in (winner, loser):
            trial = self._trial(trial_id)
            if trial.excluded:
                raise TellError(f"trial {trial_id} is excluded and cannot be judged")
            if trial.valid is None:
                raise TellError(f"trial {trial_id} has no outcome yet and cannot be judged")
            if not trial.valid:
                raise TellError(f"trial {trial_id} is non-valid: there is no part to judge")
        if winner == loser:
            raise TellError(f"trial {winner} cannot be compared with itself")
        if operator is not None and not isinstance(operator, str):
            raise TellError(f"an operator is named by a text, not {operator!r}")
        judgment = Judgment(len(self.judgments) + 1, winner, loser, tie, operator)
        self.judgments[judgment.judgment_id] = judgment
        return judgment.judgment_id

    def retract(self, judgment_id: int) -> None:
        """Take a judgment back."""
        judgment = self.judgments.get(judgment_id)
        if judgment is None:
            raise TellError(f"there is no judgment {judgment_id!r}")
        if judgment.retracted:
            raise TellError(f"judgment {judgment_id} was retracted before")
        self.judgments[judgment_id] = replace(judgment, retracted=True)

    def exclude(self, trial_id: int) -> None:
        """Leave a trial and everything said about it out of account."""
        trial = self._trial(trial_id)
        if trial.excluded:
            raise TellError(f"trial {trial_id} was excluded before")
        self.trials[trial_id] = replace(trial, excluded=True)

    def _trial(self, trial_id: int) -> Trial:
        trial = self.trials.get(trial_id)
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
        usable = self.usable
        champion = usable[0].trial_id if usable else None
        for judgment in self.active:
            if not judgment.tie and judgment.loser == champion and not self.trials[judgment.winner].earlier:
                champion = judgment.winner
        return champion

    @property
    def operators(self) -> list[str | None]:
        """Who has judged, in order of their first judgment; the place is the judge's index in the model."""
        seen: dict[str | None, None] = {}
        for judgment in self.active:
            seen.setdefault(judgment.operator)
        return list(seen) or [None]

    def rows(self, trials: list[Trial]) -> FloatArray:
        """Return the encoded settings of trials, (p, D)."""
        return np.array([self.space.encode(t.setting) for t in trials]).reshape(-1, self.space.dimension)

    def preferences(self) -> tuple[list[Trial], Observations]:
        """Return the usable trials and what was said about them, in the same order."""
        trials = [t for t in self.trials.values() if t.usable]
        return trials, self._observations(trials)

    def _observations(self, trials: list[Trial], labels: Sequence[tuple[int, bool]] = ()) -> Observations:
        place = {t.trial_id: i for i, t in enumerate(trials)}
        judge = {operator: i for i, operator in enumerate(self.operators)}
        duels = [j for j in self.active if not j.tie]
        ties = [j for j in self.active if j.tie]
        return Observations(
            self.rows(trials),
            labels,
            duels=[(place[j.winner], place[j.loser]) for j in duels],
            ties=[(place[j.winner], place[j.loser]) for j in ties],
            duel_judges=[judge[j.operator] for j in duels],
            tie_judges=[judge[j.operator] for j in ties],
        )

    def preferences_and_labels(self) -> tuple[list[Trial], Observations]:
        """Return every trial with an outcome and all that was said, for one latent function (the paper's model)."""
        trials = [t for t in self.trials.values() if t.valid is not None and not t.excluded]
        return trials, self._observations(trials, labels=[(i, bool(t.valid)) for i, t in enumerate(trials)])

    def labels(self) -> Observations:
        """Return every known outcome."""
        trials = [t for t in self.trials.values() if t.valid is not None and not t.excluded]
        return Observations(self.rows(trials), labels=[(i, bool(t.valid)) for i, t in enumerate(trials)])

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "trials": [asdict(t) for t in self.trials.values()],
            "judgments": [asdict(j) for j in self.judgments.values()],
        }

    @classmethod
    def from_json(cls, space: Space, data: Mapping[str, Any]) -> "Ledger":
        """Rebuild a ledger; every setting must lie in the space."""
        ledger = cls(space)
        for item in data["trials"]:
            trial = Trial(**item)
            try:
                space.encode(trial.setting)
            except SpaceError as error:
                raise SpaceError(f"trial {trial.trial_id}: {error}") from None
            ledger.trials[trial.trial_id] = trial
        for item in data["judgments"]:
            judgment = Judgment(**item)
            ledger.judgments[judgment.judgment_id] = judgment
        return ledger
