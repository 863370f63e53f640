"""What an optimiser has been told: trials with their outcomes, and judgments; plain data with a JSON form.

A ledger never forgets: a judgment is retracted and a trial excluded by a mark, and the rest is computed anew from what
is left. The champion is the first valid trial until another one beats it. Trials and judgments of an earlier campaign
may be entered with a discount; they inform the model and are never champion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.champion import champion_of
from tuner.core.optimizer.looks import duels_of
from tuner.core.optimizer.records import REJECTED, Candidate, JudgeKey, Judgment, Trial
from tuner.core.posterior.observations import Observations
from tuner.core.space.parameters import SpaceError
from tuner.core.space.space import Space


class TellError(ValueError):
    """What was told does not fit what is known; nothing was changed."""


@dataclass
class Ledger:
    """Trials and judgments, by their numbers from 1 on."""

    space: Space
    trials: dict[int, Trial] = field(default_factory=dict)
    judgments: dict[int, Judgment] = field(default_factory=dict)
    _rows: dict[int, FloatArray] = field(default_factory=dict, repr=False, compare=False)

    def add(self, setting: Mapping[str, Any], *, kind: str = "told", opponent: int | None = None) -> Trial:
        """Enter a trial; its setting must lie in the space."""
        number = len(self.trials) + 1
        return self._enter(Trial(number=number, setting=self.space.checked(setting), kind=kind, opponent=opponent))

    def add_proposal(self, proposal: Candidate) -> Trial:
        """Enter what was proposed."""
        return self.add(proposal.setting, kind=proposal.kind, opponent=proposal.opponent)

    def _enter(self, trial: Trial) -> Trial:
        self.trials[trial.number] = trial
        return trial

    def outcome(self, number: int, valid: bool, reason: str | None = None) -> None:
        """Note that a trial made a part, or none."""
        trial = self._trial(number)
        if not isinstance(valid, bool | np.bool_):
            raise TellError(f"an outcome is True (valid) or False (non-valid), not {valid!r}")
        if reason is not None and not isinstance(reason, str):
            raise TellError(f"a reason is a text, not {reason!r}")
        if trial.valid is not None and trial.valid != valid:
            known = "valid" if trial.valid else "non-valid"
            raise TellError(f"trial {number} was {known} before; exclude it if that was wrong")
        reason = reason or trial.outcome_reason
        self.trials[trial.number] = replace(trial, valid=bool(valid), outcome_reason=reason)

    def judge(
        self,
        winner: int,
        loser: int,
        *,
        tie: bool = False,
        clearly: bool | None = None,
        operator: str | None = None,
        discount: float = 1.0,
    ) -> int:
        """Note an answer to a duel and return its number."""
        pair = [self._trial(winner), self._trial(loser)]
        for trial in pair:
            if trial.excluded is not None:
                raise TellError(f"trial {trial.number} is excluded and cannot be judged")
            if trial.valid is None:
                raise TellError(f"trial {trial.number} has no outcome yet and cannot be judged")
            if not trial.valid:
                raise TellError(f"trial {trial.number} is non-valid: there is no part to judge")
        if pair[0] is pair[1]:
            raise TellError(f"trial {winner} cannot be compared with itself")
        if operator is not None and not isinstance(operator, str):
            raise TellError(f"an operator is named by a text, not {operator!r}")
        if clearly is not None and (tie or not isinstance(clearly, bool | np.bool_)):
            raise TellError(f"a winner is clearly better (True) or not (False), a tie has none: not {clearly!r}")
        number = len(self.judgments) + 1
        left, right = (trial.number for trial in pair)
        self.judgments[number] = Judgment(
            number=number,
            left=left,
            right=right,
            winner=None if tie else left,
            clearly=None if clearly is None else bool(clearly),
            operator=operator,
            discount=discount,
        )
        return number

    def retract(self, number: int) -> None:
        """Take a judgment back."""
        judgment = self.judgments.get(_number("judgment", number))
        if judgment is None:
            raise TellError(f"there is no judgment {number!r}")
        if judgment.retracted is not None:
            raise TellError(f"judgment {number} was retracted before")
        self.judgments[judgment.number] = replace(judgment, retracted="retracted")

    def exclude(self, number: int) -> None:
        """Leave a trial and everything said about it out of account."""
        trial = self._trial(number)
        if trial.excluded is not None:
            raise TellError(f"trial {number} was excluded before")
        self.trials[trial.number] = replace(trial, excluded="excluded")

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
                entered = draft.add(setting, kind="earlier")
                draft._enter(replace(entered, earlier=True, discount=float(discount)))
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

    def _trial(self, number: int) -> Trial:
        trial = self.trials.get(_number("trial", number))
        if trial is None:
            raise TellError(f"there is no trial {number!r}")
        return trial

    @property
    def usable(self) -> list[Trial]:
        """The trials that made a part that may be judged, of this campaign."""
        return [t for t in self.trials.values() if t.usable and not t.earlier]

    @property
    def pending(self) -> list[Trial]:
        """The trials whose outcome is awaited."""
        return [t for t in self.trials.values() if t.valid is None and t.excluded is None]

    @property
    def avoided(self) -> list[Trial]:
        """The trials that proposals keep away from: those under way, and those that an engineer rejected."""
        return [t for t in self.trials.values() if t.valid is None and t.excluded in (None, REJECTED)]

    @property
    def scrap(self) -> int:
        """How many trials made no part."""
        return sum(t.valid is False and not t.earlier for t in self.trials.values())

    @property
    def warned(self) -> bool:
        """Whether a trial was non-valid, also in an earlier campaign."""
        return any(t.valid is False and t.excluded is None for t in self.trials.values())

    @property
    def active(self) -> list[Judgment]:
        """The judgments that count."""
        return [
            j
            for j in self.judgments.values()
            if j.retracted is None and self.trials[j.left].usable and self.trials[j.right].usable
        ]

    @property
    def verdicts(self) -> list[Judgment]:
        """What the judgments come to: of each duel the majority of its looks; a draw says nothing.

        An earlier campaign's count as they were brought along: what they rest on is not known here.
        """
        earlier, own = list[Judgment](), list[Judgment]()
        for judgment in self.active:
            (earlier if self._earlier(judgment) else own).append(judgment)
        verdicts = [verdict for duel in duels_of(own) if (verdict := duel.verdict) is not None]
        return sorted([*earlier, *verdicts], key=lambda one: one.number)

    def _earlier(self, judgment: Judgment) -> bool:
        return self.trials[judgment.left].earlier or self.trials[judgment.right].earlier

    @property
    def champion(self) -> int | None:
        """The best trial so far: the first valid one until another beats it."""
        return self.decided[0]

    @property
    def known_good(self) -> int | None:
        """A part of the setting that people brought along first, if it made any: what any other setting has to beat."""
        own = [t for t in self.trials.values() if not t.earlier]
        brought = next((t.setting for t in own if t.kind in ("start", "told")), None)
        return next((t.number for t in own if t.usable and t.setting == brought), None)

    @property
    def decided(self) -> tuple[int | None, Judgment | None]:
        """The champion, and the judgment that made it one, if one did."""
        return champion_of([trial.number for trial in self.usable], self.active)

    @property
    def contested(self) -> bool:
        """Whether the champion lost a duel itself: answers go in a circle, and some of them were slips."""
        champion = self.champion
        return any(verdict.loser == champion for verdict in self.verdicts if not verdict.tie)

    @property
    def judges(self) -> list[JudgeKey]:
        """Whose noise is fitted; the place is the judge's index in the model."""
        return self._judges(self.verdicts)

    def _judges(self, verdicts: Sequence[Judgment]) -> list[JudgeKey]:
        """Return the judges of verdicts.

        The first is the first operator of this campaign to judge: the unit that the others' noise is measured in.
        """
        earlier = [(None, t.discount) for t in self.trials.values() if t.discount < 1.0 and t.excluded is None]
        seen: dict[JudgeKey, None] = dict.fromkeys([*earlier, *(j.judge for j in verdicts)])
        first = next((judge for judge in seen if judge[1] == 1.0), (None, 1.0))
        return [first, *(judge for judge in seen if judge != first)]

    @property
    def noise(self) -> tuple[float, ...]:
        """What noise to expect of each judge but the first, relative to the first: more in an earlier campaign."""
        return tuple(1.0 / discount for _, discount in self.judges[1:])

    def rows(self, trials: list[Trial]) -> FloatArray:
        """Return the encoded settings of trials, (p, D)."""
        for trial in trials:
            if trial.number not in self._rows:  # a trial's setting was checked, and never changes
                self._rows[trial.number] = self.space.row_of(trial.setting)
        return np.array([self._rows[t.number] for t in trials]).reshape(-1, self.space.dimension)

    def preferences(self) -> tuple[list[Trial], Observations]:
        """Return the usable trials and what was said about them, in the same order."""
        trials = [t for t in self.trials.values() if t.usable]
        return trials, self._observations(trials)

    def preferences_and_labels(self) -> tuple[list[Trial], Observations]:
        """Return every trial with an outcome and all that was said, for one latent function (the paper's model)."""
        return self._known, self._observations(self._known, self._known)

    def labels(self, most: int | None = None) -> Observations:
        """Return every known outcome, or of more than `most` those of trials far from each other."""
        known = self._known
        if most is not None and len(known) > most:
            known = [known[i] for i in spread_out(self.rows(known), most)]
        return self._observations(known, known, judgments=False)

    @property
    def _known(self) -> list[Trial]:
        return [t for t in self.trials.values() if t.valid is not None and t.excluded is None]

    def _observations(
        self, trials: list[Trial], labelled: Sequence[Trial] = (), *, judgments: bool = True
    ) -> Observations:
        place = {t.number: i for i, t in enumerate(trials)}
        every = self.verdicts
        judge = {who: i for i, who in enumerate(self._judges(every))}
        verdicts = every if judgments else []
        duels = [j for j in verdicts if not j.tie]
        ties = [j for j in verdicts if j.tie]
        return Observations(
            self.rows(trials),
            [(place[t.number], bool(t.valid)) for t in labelled],
            duels=[(place[a], place[b]) for a, b in (j.order for j in duels)],
            ties=[(place[a], place[b]) for a, b in (j.order for j in ties)],
            label_judges=[judge[None, t.discount] if t.discount < 1.0 else 0 for t in labelled],
            duel_judges=[judge[j.judge] for j in duels],
            duel_grades=[j.clearly for j in duels],
            tie_judges=[judge[j.judge] for j in ties],
        )

    @classmethod
    def rebuilt(cls, space: Space, trials: Sequence[Trial], judgments: Sequence[Judgment]) -> "Ledger":
        """Rebuild a ledger by telling it everything again, so that nothing enters that could not be told."""
        ledger = cls(space)
        for trial in trials:
            if trial.number != len(ledger.trials) + 1:
                raise TellError(f"trial {trial.number!r} stands where trial {len(ledger.trials) + 1} should")
            try:
                plain = replace(trial, setting=space.checked(trial.setting), valid=None, excluded=None)
            except SpaceError as error:
                raise SpaceError(f"trial {trial.number}: {error}") from None
            if trial.opponent is not None:
                ledger._trial(trial.opponent)
            ledger._enter(plain)
            if trial.valid is not None:
                ledger.outcome(trial.number, trial.valid, trial.outcome_reason)
        for judgment in judgments:
            if judgment.winner not in (None, judgment.left, judgment.right):
                raise TellError(f"the winner of judgment {judgment.number!r} is none of its trials")
            winner, loser = judgment.order
            # says what is wrong with it
            number = ledger.judge(winner, loser, tie=judgment.tie, clearly=judgment.clearly, operator=judgment.operator)
            if judgment.number != number:
                raise TellError(f"judgment {judgment.number!r} stands where judgment {number} should")
            ledger.judgments[number] = judgment
        for trial in trials:
            if trial.excluded is not None:
                ledger.trials[trial.number] = replace(ledger.trials[trial.number], excluded=trial.excluded)
        return ledger


def _number(what: str, given: Any) -> int:
    """Return the number of a trial or judgment, or say that it is none."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise TellError(f"a {what} is named by its number, not {given!r}")
    return int(given)


def spread_out(rows: FloatArray, most: int) -> list[int]:
    """Return the places of so many rows, in their order: the last, then always the one farthest from those taken."""
    taken = [len(rows) - 1]
    gap = np.full(len(rows), np.inf)
    while len(taken) < most:
        gap = np.minimum(gap, ((rows - rows[taken[-1]]) ** 2).sum(axis=1))
        taken.append(int(np.argmax(gap)))
    return sorted(set(taken))
