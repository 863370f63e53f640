"""What the model believes at the end of a campaign: computed here from its state, for figures and tables.

Glossary:
    rows    (p, D) settings in the unit cube        mean    (p,) expected quality, its zero and unit without meaning
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from tuner.campaign.model_input import model_input
from tuner.campaign.state import State
from tuner.compute.maps import MOST_MAPS, pairs, plane, standing
from tuner.compute.slices import slices
from tuner.compute.tasks import optimizer_of
from tuner.core.linalg import FloatArray
from tuner.core.optimizer.proposer import Knowledge
from tuner.core.optimizer.records import Recommended
from tuner.core.space.parameters import Choice, Parameter

GRID = 61
SLICE_POINTS = 61


@dataclass(frozen=True, eq=False)
class _Beside(Knowledge):
    """The same knowledge beside the champion of the page.

    Where answers are doubted the champion is whom the model believed best at the last proposal; now that it knows the
    last answers too, it may believe in another one.
    """

    number: int

    @cached_property
    def champion_id(self) -> int | None:
        return self.number


@dataclass(frozen=True, eq=False)
class Axis:
    """One side of a map: places to draw at, and the names of choices."""

    name: str
    unit: str
    log: bool
    places: FloatArray
    choices: tuple[str, ...]
    label: str = ""  # what people call it

    def place(self, value: float | int | str) -> float:
        """Where a value is drawn."""
        return float(self.choices.index(str(value))) if self.choices else float(value)


@dataclass(frozen=True, eq=False)
class Map:
    """Two parameters, everything else as in the champion; arrays have a row for each place of `down`.

    Attributes:
        quality: For each setting, the share of the map's settings that are believed to be worse.
        valid: P(valid).
        feasible: Whether the constraints hold.
    """

    across: Axis
    down: Axis
    quality: FloatArray
    valid: FloatArray
    feasible: np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Everything a report shows of the model; without a champion there is nothing to show.

    Attributes:
        recommended: The setting for the master recipe.
        importance: Each parameter's share of what moves the quality, the largest first.
        operators: Each operator's noise beside the first one's, by number.
        slices: See `tuner.compute.slices.slices`.
        maps: Of the most important pairs of parameters.
        left_out: How many pairs have no map.
        better: For each trial that made a part, the share of all settings believed to be better than it.
    """

    recommended: Recommended
    importance: dict[str, float]
    operators: tuple[float, ...]
    slices: list[dict[str, Any]]
    maps: tuple[Map, ...]
    left_out: int
    better: dict[int, float]


def believe(state: State) -> Beliefs | None:
    """Fit the model to a campaign; None while there is no champion."""
    if state.champion is None:
        return None
    optimizer = optimizer_of(model_input(state))
    learned = optimizer.learned()
    known = _Beside(**{one.name: getattr(learned, one.name) for one in fields(Knowledge)}, number=state.champion)
    champion = known.champion
    if champion is None:
        return None
    shares = dict(sorted(optimizer.importance().items(), key=lambda item: -item[1]))
    ordered = pairs(shares)
    return Beliefs(
        optimizer.recommendation(known),
        shares,
        tuple(optimizer.operators().values()),
        slices(known, SLICE_POINTS),
        tuple(map_of(known, champion, pair) for pair in ordered[:MOST_MAPS]),
        max(0, len(ordered) - MOST_MAPS),
        standing(known, [trial.number for trial in state.trials if trial.usable]),
    )


def map_of(known: Knowledge, champion: FloatArray, pair: tuple[str, str]) -> Map:
    """What is believed of two parameters, all else as in the champion."""
    space = known.ledger.space
    first, second = (space.parameters[space.names.index(name)] for name in pair)
    one, other, rows = plane(space, champion, pair, GRID)
    shape = (len(other), len(one))
    mean = known.mean.mean(rows)
    feasible = space.feasible(rows)
    return Map(
        _axis(first, one),
        _axis(second, other),
        _worse(mean, feasible).reshape(shape),
        known.valid_probability(rows).reshape(shape),
        feasible.reshape(shape),
    )


def _worse(mean: FloatArray, feasible: np.ndarray[Any, np.dtype[np.bool_]]) -> FloatArray:
    """For each value the share of the feasible ones below it; equal ones count half."""
    ordered = np.sort(mean[feasible]) if feasible.any() else np.sort(mean)
    below, upto = np.searchsorted(ordered, mean, "left"), np.searchsorted(ordered, mean, "right")
    return np.asarray((below + upto) / (2.0 * len(ordered)))


def _axis(parameter: Parameter, coordinates: FloatArray) -> Axis:
    if isinstance(parameter, Choice):
        places = np.arange(len(coordinates), dtype=np.float64)
        return Axis(parameter.name, parameter.unit, False, places, tuple(parameter.choices))
    return Axis(parameter.name, parameter.unit, parameter.log, parameter.column(coordinates), ())
