"""Who is champion by the judgments; plain Python, for the daemon's own process, which computes nothing."""

from collections.abc import Sequence

from tuner.core.optimizer.records import Judgment


def standing(leader: int | None, candidates: Sequence[int], judgments: Sequence[Judgment]) -> int | None:
    """Return whom the model believed best, if it still may reign: what was said of it may have been taken back."""
    return leader if leader in candidates and any(leader in judgment.pair for judgment in judgments) else None


def champion_of(candidates: Sequence[int], judgments: Sequence[Judgment]) -> tuple[int | None, Judgment | None]:
    """Return the champion of trials in their order, and the judgment that made it one, if one did.

    A champion falls to a trial that won more of their duels than it lost, whenever they were judged, or as many
    and the last; where judgments go in a circle, to none that reigned before.
    """
    champion, deciding = candidates[0] if candidates else None, None
    reigned, allowed = {champion}, set(candidates)
    said: dict[int | None, list[Judgment]] = {}  # what was said of each trial, in order
    for judgment in judgments:
        for number in () if judgment.tie else judgment.pair:
            said.setdefault(number, []).append(judgment)
    while True:
        lead: dict[int, int] = {}
        latest: dict[int, bool] = {}
        last: dict[int, Judgment] = {}
        for judgment in said.get(champion, ()):
            winner, loser = judgment.order
            won = loser == champion
            other = winner if won else loser
            lead[other] = lead.get(other, 0) + (1 if won else -1)
            latest[other] = won
            if won:
                last[other] = judgment
        beaten_by = [t for t in last if lead[t] > 0 or (lead[t] == 0 and latest[t])]
        ahead = [t for t in beaten_by if t not in reigned and t in allowed]
        if not ahead:
            return champion, deciding
        champion = max(ahead, key=lambda t: last[t].number)
        deciding = last[champion]
        reigned.add(champion)
