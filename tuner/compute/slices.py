"""What the model believes along each parameter through the champion, as plain lists to draw.

Glossary:
    rows    (p, D) settings in the unit cube that differ from the champion in one parameter
"""

from typing import Any

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.proposer import Knowledge
from tuner.core.space.parameters import Continuous, Parameter

POINTS = 41
MASS = 0.9


def slices(known: Knowledge, points: int = POINTS, mass: float = MASS) -> list[dict[str, Any]]:
    """Return for each parameter its values and what is believed of each, all else as in the champion.

    The quality is counted from the champion's, in units of the judge's noise: `mean`, and from `low` to `high` with
    the probability `mass`. `better` is P(better than the champion), `valid` P(valid), `feasible` whether all
    constraints hold. Without a champion there is nothing to cut through, and no slice.
    """
    if known.champion is None or known.champion_id is None:
        return []
    space, setting = known.ledger.space, known.ledger.trials[known.champion_id].setting
    found = []
    for index, parameter in enumerate(space.parameters):
        own = space.groups == index
        at = known.champion[own]
        coordinates = _grid(parameter, at, points)
        # to the row and back may move a value by a rounding: the champion's is given as it was
        values = [setting[parameter.name] if (row == at).all() else parameter.value(row) for row in coordinates]
        rows = np.repeat(known.champion[None], len(coordinates), axis=0)
        rows[:, own] = coordinates
        gain = known.model.difference(rows, known.champion)
        low, high = gain.interval(mass)
        found.append(
            {
                "name": parameter.name,
                "kind": parameter.domain.kind,
                "unit": parameter.unit,
                "log": parameter.log,
                "at": setting[parameter.name],
                "values": values,
                "mean": gain.mean.tolist(),
                "low": low.tolist(),
                "high": high.tolist(),
                "better": gain.probability_positive().tolist(),
                "valid": known.valid_probability(rows).tolist(),
                "feasible": space.feasible(rows).tolist(),
            }
        )
    return found


def _grid(parameter: Parameter, champion: FloatArray, points: int) -> FloatArray:
    """Return the coordinates to look at, (p, width) in order, with the champion's own among them."""
    levels = parameter.levels
    if not isinstance(parameter, Continuous) and levels is not None and levels <= max(points, parameter.width):
        return np.array([parameter.encode(parameter.level(i)) for i in range(levels)])
    even = parameter.snap(np.linspace(0.0, 1.0, points)[:, None])
    return np.unique(np.concatenate([even, champion[None]]), axis=0)
