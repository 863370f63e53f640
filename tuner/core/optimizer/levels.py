"""Which options of choices, and levels of coarse numbers, a proposal takes.

A gradient cannot move them, and a level that lost once, far from the best numbers, would never be tried again. So one
function is drawn from the posterior and looked at around the champion under every combination of levels: each is taken
as often as it has a chance to be the best there.
"""

from itertools import combinations, product

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.acquisition import Acquisition
from tuner.core.optimizer.changes import Changes
from tuner.core.optimizer.search import Kept, around, untried
from tuner.core.optimizer.strategy import Levels, Strategy
from tuner.core.posterior.skewgp import SkewGP
from tuner.core.space.parameters import Choice, Continuous, Parameter
from tuner.core.space.space import Space


def has_levels(parameter: Parameter, most: int) -> bool:
    """Say whether a parameter is a choice, or has so few values that each is looked at."""
    return isinstance(parameter, Choice) or (not isinstance(parameter, Continuous) and parameter.levels <= most)


def promising_levels(
    model: SkewGP,
    space: Space,
    champion: FloatArray,
    tried: FloatArray,
    strategy: Strategy,
    floor: Acquisition | None,
    changes: Changes | None,
    rng: np.random.Generator,
) -> Kept | None:
    """Return the levels that one drawn function likes best around the champion; None where there is nothing to choose.

    Settings where `floor`, the threshold on P(valid), costs much are not looked at while there are others. Where
    changes cost something, what counts is the gain over the champion a part that it costs, and what is held stays.
    """
    numbers = strategy.levels
    places = [place for place, p in enumerate(space.parameters) if has_levels(p, numbers.most)]
    if not model.data.m or not (places or changes):
        return None
    held = None if changes is None else changes.kept(space)
    mask = np.isin(space.groups, places)
    levels = level_rows(space, champion, places, numbers, rng) if places else champion[None]
    count = min(numbers.near, max(1, numbers.rows // len(levels)))
    scale = numbers.reach * model.hyper.kernel.lengthscales
    near = around(space, champion, count, scale, rng, strategy.search)
    U = np.where(mask, levels[:, None, :], np.vstack([champion, space.snap(near)])).reshape(-1, space.dimension)
    if changes is not None:
        unchanged = Kept((changes.costs > 0)[space.groups], changes.last)
        U = np.vstack([unchanged.put(U), U if held is None else held.put(U)])
    U = untried(U[space.feasible(U)], tried)
    if floor is not None and len(U):
        firm = floor.values(U) >= strategy.search.floor
        U = U[firm] if firm.any() else U
    if not len(U):
        return None
    drawn = model.function_draw(seed=int(rng.integers(2**31)))
    if changes is None:
        return Kept(mask, U[int(np.argmax(drawn(U)))])
    gain, moved = drawn(U) - drawn(champion[None]), changes.changed(space, U)
    price = 1.0 + moved @ changes.costs
    best = int(np.argmax(np.where(gain > 0.0, gain / price, gain * price)))
    stays = (changes.costs > 0) & ~moved[best]
    return Kept(mask | stays[space.groups], U[best])


def level_rows(
    space: Space, champion: FloatArray, places: list[int], numbers: Levels, rng: np.random.Generator
) -> FloatArray:
    """Return the champion under every combination of levels, or under the nearest where there are too many."""
    values = [_coordinates(space.parameters[place]) for place in places]
    if np.prod([float(len(one)) for one in values]) <= numbers.combinations:
        found = [dict(zip(places, one, strict=True)) for one in product(*values)]
    else:
        own = {place: champion[space.groups == place].tolist() for place in places}
        levels = [(place, one) for place, all_of in zip(places, values, strict=True) for one in all_of]
        single = [{place: one} for place, one in levels if one != own[place]]
        double = [{**one, **other} for one, other in combinations(single, 2) if one.keys() != other.keys()]
        single, double = ([group[i] for i in rng.permutation(len(group))] for group in (single, double))
        found = ([{}, *single, *double])[: numbers.combinations]
    rows = np.repeat(champion[None], len(found), axis=0)
    for row, changed in zip(rows, found, strict=True):
        for place, coordinates in changed.items():
            row[space.groups == place] = coordinates
    return rows


def _coordinates(parameter: Parameter) -> list[list[float]]:
    if isinstance(parameter, Continuous):
        raise TypeError(f"{parameter.name} has no levels")
    return [parameter.encode(parameter.level(index)) for index in range(parameter.levels)]
