"""What the model believes of two parameters together, and where each trial stands among all settings, to draw.

Glossary:
    rows    (p, D) settings in the unit cube that differ from the champion in two parameters
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.proposer import Knowledge
from tuner.core.space.parameters import Choice, Parameter
from tuner.core.space.space import Space

POINTS = 25
MOST_MAPS = 6  # all pairs of the four parameters that matter most
SAMPLE = 4000  # settings among which a trial is placed
_SEED = 20
_DIGITS = 3  # of a chance: nobody sees more in a picture, and the answer stays small


def pairs(importance: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return all pairs of parameters, those that matter most together first."""
    ordered = sorted(importance, key=lambda name: -importance[name])
    return sorted(combinations(ordered, 2), key=lambda pair: -(importance[pair[0]] + importance[pair[1]]))


def coordinates(parameter: Parameter, points: int) -> FloatArray:
    """Return where to look along one parameter, (p, width), in order: every level where there are few."""
    levels = parameter.levels
    if isinstance(parameter, Choice) or (levels is not None and levels <= points):
        return np.array([parameter.encode(parameter.level(i)) for i in range(levels or 0)])  # type: ignore[union-attr]
    return np.unique(parameter.snap(np.linspace(0.0, 1.0, points)[:, None]), axis=0)


def plane(
    space: Space, champion: FloatArray, pair: tuple[str, str], points: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the coordinates of both parameters and the rows of all their pairs, the first parameter's fastest."""
    first, second = (space.names.index(name) for name in pair)
    across, down = (coordinates(space.parameters[index], points) for index in (first, second))
    rows = np.repeat(champion[None], len(across) * len(down), axis=0)
    rows[:, space.groups == first] = np.tile(across, (len(down), 1))
    rows[:, space.groups == second] = np.repeat(down, len(across), axis=0)
    return across, down, rows


def maps(known: Knowledge, importance: Mapping[str, float], points: int = POINTS) -> list[dict[str, Any]]:
    """Return a map for each pair of the parameters that matter most, all else as in the champion.

    `better` is P(better than the champion), `valid` P(valid), `feasible` whether all constraints hold: a list for each
    value of `down`, with a number for each value of `across`. Without a champion there is no map.
    """
    if known.champion is None:
        return []
    space = known.ledger.space
    found = []
    for pair in pairs(importance)[:MOST_MAPS]:
        across, down, rows = plane(space, known.champion, pair, points)
        shape = (len(down), len(across))
        one, other = (space.parameters[space.names.index(name)] for name in pair)
        found.append(
            {
                "across": pair[0],
                "down": pair[1],
                "columns": [one.value(row) for row in across],
                "lines": [other.value(row) for row in down],
                "better": known.model.win_probability(rows, known.champion).round(_DIGITS).reshape(shape).tolist(),
                "valid": known.valid_probability(rows).round(_DIGITS).reshape(shape).tolist(),
                "feasible": space.feasible(rows).reshape(shape).tolist(),
            }
        )
    return found


def standing(known: Knowledge, trials: Sequence[int]) -> dict[int, float]:
    """Return for each trial the share of likely valid settings that are believed to be better than it."""
    space = known.ledger.space
    rows = space.sample(SAMPLE, np.random.default_rng(_SEED), known.tried)
    likely = rows[known.valid_probability(rows) > 0.5]
    quality = known.mean.mean(likely if len(likely) else rows)
    own = known.mean.mean(known.ledger.rows([known.ledger.trials[number] for number in trials]))
    return {number: float((quality > one).mean()) for number, one in zip(trials, own, strict=True)}
