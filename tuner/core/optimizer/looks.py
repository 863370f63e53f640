"""A duel and its looks: an answer is one look, and the majority of the looks is the judgment that counts.

Plain Python, for the daemon's own process, which computes nothing. Two looks that agree are no two independent facts:
the model sees one judgment a duel.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tuner.core.optimizer.records import Judgment


@dataclass(frozen=True)
class Looks:
    """All looks at one duel, in their order."""

    answers: tuple[Judgment, ...]

    @property
    def pair(self) -> frozenset[int]:
        """The two trials."""
        return self.answers[0].pair

    @property
    def verdict(self) -> Judgment | None:
        """The majority as one judgment, under the number of the first look; None while the looks are a draw.

        It is clear if most of those were that saw the same.
        """
        if len(self.answers) == 1:
            return self.answers[0]  # what most duels are: a proposal looks at hundreds
        ranked = Counter(answer.winner for answer in self.answers).most_common(2)
        if len(ranked) == 2 and ranked[0][1] == ranked[1][1]:
            return None
        agreeing = [answer for answer in self.answers if answer.winner == ranked[0][0]]
        grades = [answer.clearly for answer in agreeing if answer.clearly is not None]
        clearly = 2 * sum(grades) > len(grades) if grades else None
        return replace(agreeing[-1], number=self.answers[0].number, clearly=clearly)

    @property
    def outvoted(self) -> list[Judgment]:
        """The looks that the verdict is not; of a draw none."""
        verdict = self.verdict
        return [] if verdict is None else [one for one in self.answers if one.winner != verdict.winner]


def duels_of(judgments: Sequence[Judgment]) -> list[Looks]:
    """Group answers by their duel, in the order of the first looks."""
    found: dict[frozenset[int], list[Judgment]] = {}
    for judgment in judgments:
        found.setdefault(judgment.pair, []).append(judgment)
    return [Looks(tuple(answers)) for answers in found.values()]
