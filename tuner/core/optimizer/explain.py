"""Plain words and numbers about proposals, parameters, when to stop, and answers that contradict each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtri

from tuner.basics.sentences import Sentence, say
from tuner.core.linalg import FloatArray
from tuner.core.optimizer.ledger import Ledger
from tuner.core.optimizer.proposer import Choice as Chosen
from tuner.core.optimizer.proposer import Knowledge, centres
from tuner.core.optimizer.records import Judgment, Proposal
from tuner.core.optimizer.search import candidates
from tuner.core.optimizer.strategy import Strategy, Telling
from tuner.core.space.parameters import Choice
from tuner.core.space.space import Space

_KINDS = frozenset({"design", "improve", "refine", "grow", "again"})


def chance_better(known: Knowledge, row: FloatArray, opponent: FloatArray, numbers: Telling, *, best: bool) -> float:
    """Return P(better than the opponent) as it is said; `best`: the row is the one with the largest posterior mean.

    The largest of many guesses is one of the lucky ones, and was found by one fit: its log-odds are too large.
    """
    chance = float(known.model.win_probability(row[None], opponent)[0])
    return float(expit(numbers.lucky * logit(chance))) if best else chance


def proposal_of(known: Knowledge, chosen: Chosen, numbers: Telling) -> Proposal:
    """Return what was chosen, as people see it: with its chances and the reason."""
    # a chooser of somebody else may not know of a restriction
    row = chosen.row if known.ground is None else known.ground.snap(chosen.row[None])[0]
    against, trials, space = chosen.opponent or known.champion_id, known.ledger.trials, known.ledger.space
    before = None if against is None else trials[against].setting
    at = None if before is None else space.encode(before)
    best, better = chosen.kind == "refine", None
    if at is not None and known.data.m:
        better = chance_better(known, row, at, numbers, best=best)
    assured = chosen.assured
    valid = float(known.valid_probability(row[None])[0]) if assured is None else 1.0 - assured.risk
    gaps = np.sqrt(((known.tried - row) ** 2).sum(axis=1))
    distance = float(gaps.min()) if len(gaps) else None
    setting = known.space.decode(row)
    return Proposal(
        number=len(trials) + 1,
        setting=setting,
        kind=chosen.kind,
        opponent=against,
        reason=sentence(chosen.kind, setting, before, better, valid, distance, space),
        p_better=better,
        p_valid=valid,
        distance=distance,
        assured=assured,
    )


def sentence(
    kind: str,
    setting: Mapping[str, Any],
    champion: Mapping[str, Any] | None,
    better: float | None,
    valid: float,
    distance: float | None,
    space: Space,
) -> Sentence:
    """Return one plain sentence on why a setting is proposed."""
    why = say(f"why.{kind}") if kind in _KINDS else say("why.acquisition", kind=kind)
    if distance is not None and distance < 1e-9 and kind != "again":
        why = say("why.none_left")
    return say(
        "why.proposed",
        why=why,
        against="" if champion is None else say("why.against", changes=_changes(setting, champion, space)),
        better="" if better is None else say("why.better", better=better),
        valid=say("why.valid", valid=valid),
        near="" if distance is None else say("why.near", distance=distance),
    )


def _changes(setting: Mapping[str, Any], champion: Mapping[str, Any], space: Space) -> list[Sentence]:
    parts = []
    for parameter in space.parameters:
        new, old = setting[parameter.name], champion[parameter.name]
        if new == old:
            continue
        if isinstance(parameter, Choice):
            parts.append(say("why.to", name=parameter.name, value=new))
        elif parameter.unit:
            parts.append(say("why.by_unit", name=parameter.name, difference=float(new - old), unit=parameter.unit))
        else:
            parts.append(say("why.by", name=parameter.name, difference=float(new - old)))
    return parts or [say("why.nothing")]


def importance(known: Knowledge, strategy: Strategy, rng: np.random.Generator) -> dict[str, float]:
    """Return each parameter's share of what moves the expected quality, 0 to 1 (total effects, normalised)."""
    space = known.ledger.space
    equal = dict.fromkeys(space.names, 1.0 / len(space.names))
    if not known.data.m:
        return equal
    count = strategy.telling.importance_points
    U, other = (space.sample(count, rng, known.tried) for _ in range(2))
    size = min(len(U), len(other))
    U, other = U[:size], other[:size]
    base = known.mean.mean(U)
    effects = []
    for group in range(len(space.parameters)):
        changed = np.where(space.groups == group, other, U)
        effects.append(float(np.mean((known.mean.mean(changed) - base) ** 2)))
    total = sum(effects)
    if not total > 0.0:
        return equal
    return dict(zip(space.names, (effect / total for effect in effects), strict=True))


@dataclass(frozen=True)
class Outlook:
    """Whether going on is worth it.

    Attributes:
        left: Probability that some setting exists whose part would win at least `against` of its duels.
        against: That share of duels.
        next_better: Probability that the most promising next setting beats the champion.
        stop: Whether `left` is below what is worth going on for.
    """

    left: float
    against: float
    next_better: float
    stop: bool


def outlook(known: Knowledge, strategy: Strategy, rng: np.random.Generator, *, against: float) -> Outlook:
    """Judge by joint draws of the posterior over candidates whether more than a given improvement is left."""
    if not 0.5 < against < 1.0:
        raise ValueError(f"an improvement is a share of duels between 0.5 and 1, got {against}")
    if known.champion is None or not known.data.m:
        return Outlook(1.0, against, 0.5, stop=False)
    numbers = strategy.telling
    around, counts = centres(known, strategy)
    fewer = [count // numbers.outlook_share for count in counts]
    lengthscales = known.model.hyper.kernel.lengthscales
    U = candidates(known.ledger.space, around, fewer, lengthscales, numbers.outlook_uniform, rng, strategy.search)
    U = U[known.passable(U) > numbers.likely_valid]
    if not len(U):
        return Outlook(0.0, against, 0.0, stop=True)
    f = known.model.sample(np.vstack([known.champion, U]), numbers.outlook_draws, seed=int(rng.integers(2**31)))
    gain = f[:, 1:] - f[:, :1]
    left = float((gain.max(axis=1) > float(ndtri(against))).mean())
    return Outlook(left, against, float((gain > 0).mean(axis=0).max()), stop=left < numbers.worth)


def cycles(ledger: Ledger) -> list[list[int]]:
    """Return the groups of trials whose judgments go round in a circle, each in order of number."""
    beats: dict[int, set[int]] = {}
    for judgment in ledger.active:
        if not judgment.tie:
            winner, loser = judgment.order
            beats.setdefault(winner, set()).add(loser)
    reach = {trial: _reachable(trial, beats) for trial in beats}
    groups = {tuple(sorted(o for o in reach[t] if t in reach.get(o, ()))) for t in beats if t in reach[t]}
    return sorted(list(group) for group in groups)


def _reachable(start: int, beats: Mapping[int, set[int]]) -> set[int]:
    seen: set[int] = set()
    stack = list(beats.get(start, ()))
    while stack:
        trial = stack.pop()
        if trial not in seen:
            seen.add(trial)
            stack.extend(beats.get(trial, ()))
    return seen


def resolving_duel(known: Knowledge, cycle: list[int]) -> Judgment:
    """Return the judgment of a circle that the rest of the evidence supports least: ask that duel again."""
    members = set(cycle)
    inside = [j for j in known.ledger.active if not j.tie and j.pair <= members]
    rows = {t: known.ledger.space.encode(known.ledger.trials[t].setting) for t in members}

    def p_right(judgment: Judgment) -> float:
        winner, loser = judgment.order
        return float(known.model.win_probability(rows[winner][None], rows[loser])[0])

    return min(inside, key=p_right)
