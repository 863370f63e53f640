"""Judgments and who is champion by them; plain Python, for the daemon's own process, which computes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Judgment:
    """An answer to a duel: `winner` over `loser`, or neither if `tie`; `discount` below 1 in an earlier campaign."""

    judgment_id: int
    winner: int
    loser: int
    tie: bool = False
    operator: str | None = None
    retracted: bool = False
    discount: float = 1.0

    @property
    def pair(self) -> frozenset[int]:
        """The two trials, whoever won."""
        return frozenset((self.winner, self.loser))

    @property
    def judge(self) -> "Judge":
        """Whose noise the answer has."""
        return self.operator, self.discount


Judge = tuple[str | None, float]


def crown(candidates: Sequence[int], judgments: Sequence[Judgment]) -> tuple[int | None, Judgment | None]:
    """Return the champion of trials in their order, and the judgment that made it one, if one did.

    A champion falls to a trial that won more of their duels than it lost, whenever they were judged, or as many
    and the last; where judgments go in a circle, to none that reigned before.
    """
    champion, crowning = candidates[0] if candidates else None, None
    reigned = {champion}
    while True:
        lead: dict[int, int] = {}
        latest: dict[int, bool] = {}
        last: dict[int, Judgment] = {}
        for judgment in judgments:
            if judgment.tie or champion not in judgment.pair:
                continue
            won = judgment.loser == champion
            other = judgment.winner if won else judgment.loser
            lead[other] = lead.get(other, 0) + (1 if won else -1)
            latest[other] = won
            if won:
                last[other] = judgment
        beaten_by = [t for t in last if lead[t] > 0 or (lead[t] == 0 and latest[t])]
        ahead = [t for t in beaten_by if t not in reigned and t in candidates]
        if not ahead:
            return champion, crowning
        champion = max(ahead, key=lambda t: last[t].judgment_id)
        crowning = last[champion]
        reigned.add(champion)
