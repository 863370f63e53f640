"""The setting for a master recipe, the evidence for it, and how far each parameter may wander from it.

Glossary:
    U    (p, D) settings near tried ones        row    (D,) the recommended one
"""

from collections.abc import Callable

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.acquisition import Acquisition, Sum, Threshold
from tuner.core.optimizer.explain import chance_better
from tuner.core.optimizer.proposer import Knowledge
from tuner.core.optimizer.records import Recommended, Setting, Trial, Window
from tuner.core.optimizer.search import candidates, maximise
from tuner.core.optimizer.strategy import Strategy, Telling
from tuner.core.space.parameters import Choice, Continuous, Parameter, SpaceError
from tuner.core.space.space import BoolArray


def recommended_setting(known: Knowledge, strategy: Strategy, rng: np.random.Generator) -> Setting:
    """Return the setting for the master recipe: the known-good one unless another is believed better."""
    trials = known.ledger.trials
    row, trial = _best(known, strategy, rng)
    start = known.ledger.known_good
    if start is not None and trial != start:
        at = known.ledger.rows([trials[start]])[0]
        if float(known.model.win_probability(row[None], at)[0]) < strategy.telling.believed:
            trial = start
    # a trial's own setting: to the row and back may move it out of a constraint by a rounding
    return known.ledger.space.decode(row) if trial is None else dict(trials[trial].setting)


def recommended(known: Knowledge, strategy: Strategy, rng: np.random.Generator) -> Recommended:
    """Return the recommended setting with the evidence for it and its process window."""
    if known.champion is None or known.champion_id is None:
        raise ValueError("there is no champion yet")
    setting = recommended_setting(known, strategy, rng)
    ledger, numbers = known.ledger, strategy.telling
    row = ledger.space.encode(setting)
    own = {t.number for t in ledger.usable if t.setting == setting}
    start = ledger.known_good
    keep = start in own
    better = None if start is None or keep else known.model.win_probability
    at = None if start is None else ledger.rows([ledger.trials[start]])[0]

    def beats(rows: FloatArray) -> FloatArray:
        return np.ones(len(rows)) if better is None or at is None else better(rows, at)

    p_valid, p_better = float(known.valid_probability(row[None])[0]), float(beats(row[None])[0])
    levels = (
        _level(p_valid, numbers.window_valid, numbers),
        _level(p_better, numbers.window_better, numbers),
    )
    duels = [j for j in ledger.verdicts if len(j.pair & own) == 1]  # whatever number of looks each rests on
    won = sum(j.winner in own for j in duels)
    tied = sum(j.tie for j in duels)
    return Recommended(
        setting=setting,
        champion=known.champion_id,
        p_better=chance_better(known, row, known.champion, numbers, best=not own),
        p_valid=p_valid,
        known_good=start,
        better_than_known_good=None if better is None else p_better,
        keep=keep,
        parts=len(own),
        won=won,
        lost=len(duels) - won - tied,
        tied=tied,
        window=window(known, setting, beats, levels, numbers.window_points),
        window_valid=levels[0],
        window_better=None if better is None else levels[1],
    )


def _level(own: float, wanted: float, numbers: Telling) -> float:
    """Return what is kept in a window: what is wanted, or a little less than the setting has if that is less."""
    return wanted if own >= wanted else max(own - numbers.window_slack, 0.0)


def _best(known: Knowledge, strategy: Strategy, rng: np.random.Generator) -> tuple[FloatArray, int | None]:
    """Return the best row near a good trial where a part is likely, and the trial whose setting it is, if one's.

    A recommendation goes to a master recipe: it must not extrapolate, so it stays within a part of the lengthscales.
    Where a part is not likely enough at the champion, ground beside it may be safer, and better than the best of the
    trials where one is. Where none of the trials is likely enough, it is one of the likeliest.
    """
    if known.champion is None:
        raise ValueError("there is no champion yet")
    numbers, usable = strategy.telling, known.ledger.usable
    rows = known.ledger.rows(usable)
    goal: Acquisition = known.expected
    least, valid = numbers.recommended_validity, known.valid_probability(rows)
    if valid.max() < least:
        trial = _first(known, usable, rows, valid >= valid.max() - numbers.window_slack)
        return known.ledger.rows([trial])[0], trial.number
    if known.validity is not None:
        # a climb ends on the floor, within a rounding on either side of it
        goal = Sum((goal, Threshold(known.validity, least + 1e-9, strategy.acquiring.steepness)))
    trial = _first(known, usable, rows, valid >= least)
    centre = known.ledger.rows([trial])[0]
    beside = _beside(known, strategy, centre, goal, rng)
    if trial.number != known.champion_id:
        beside += _beside(known, strategy, known.champion, goal, rng)
    found = [centre, *(row for row in beside if known.valid_probability(row[None])[0] >= least)]
    place = int(np.argmax(goal.values(np.array(found))))
    return (centre, trial.number) if not place or (found[place] == centre).all() else (found[place], None)


def _beside(
    known: Knowledge, strategy: Strategy, centre: FloatArray, goal: Acquisition, rng: np.random.Generator
) -> list[FloatArray]:
    """Return the best rows within a part of the lengthscales around a trial's: of a sample, and of climbs from it."""
    space = known.ledger.space
    reach = strategy.telling.trusted * known.model.hyper.kernel.lengthscales
    try:
        U = candidates(space, centre[None], [strategy.near[0]], reach, 1, rng, strategy.search)
    except SpaceError:  # constraints that a search finds nothing in
        return []
    U = U[(np.abs(U - centre) <= reach).all(axis=1)]
    if not len(U):
        return []
    best = [U[int(np.argmax(goal.values(U)))]]
    row, _ = maximise(goal, space, U, np.empty((0, space.dimension)), numbers=strategy.search)
    if (np.abs(row - centre) <= reach).all():
        best.append(row)
    return best


def _first(known: Knowledge, usable: list[Trial], rows: FloatArray, likely: BoolArray) -> Trial:
    """Return the champion if a part is likely there, else the best of the trials where one is."""
    for trial, fine in zip(usable, likely, strict=True):
        if trial.number == known.champion_id and fine:
            return trial
    means = np.where(likely, known.expected.values(rows), -np.inf)
    return usable[int(np.argmax(means))]


def window(
    known: Knowledge,
    setting: Setting,
    beats: Callable[[FloatArray], FloatArray],
    levels: tuple[float, float],
    points: int,
) -> tuple[Window, ...]:
    """Return how far each parameter may wander alone before P(valid) or the chance to be better falls below levels."""
    space = known.ledger.space
    row = space.encode(setting)
    found = []
    for place, parameter in enumerate(space.parameters):
        own = space.groups == place
        coordinates = _values(parameter, row[own], points)
        rows = np.repeat(row[None], len(coordinates), axis=0)
        rows[:, own] = coordinates
        at = int(np.argmin(np.abs(coordinates - row[own]).sum(axis=1)))
        short = {
            "constraint": ~space.feasible(rows),
            "valid": known.valid_probability(rows) < levels[0],
            "better": beats(rows) < levels[1],
        }
        for one in short.values():
            one[at] = False  # a rounding must not shut the setting itself out
        fine = ~np.any(list(short.values()), axis=0)
        if isinstance(parameter, Choice):
            inside = tuple(parameter.level(int(i)) for i in np.flatnonzero(fine))
            found.append(Window(name=parameter.name, options=inside))
            continue
        outside = np.flatnonzero(~fine)
        low = int(max(outside[outside < at], default=-1)) + 1
        high = int(min(outside[outside > at], default=len(fine))) - 1
        values = parameter.column(coordinates)
        values[at] = float(setting[parameter.name])
        found.append(
            Window(
                name=parameter.name,
                low=float(values[low]),
                high=float(values[high]),
                below=_end(short, low - 1),
                above=_end(short, high + 1),
            )
        )
    return tuple(found)


def _end(short: dict[str, BoolArray], place: int) -> str:
    """Return what ends a window at the first place outside of it."""
    if not 0 <= place < len(short["valid"]):
        return "limit"
    return next(why for why, there in short.items() if there[place])


def _values(parameter: Parameter, at: FloatArray, points: int) -> FloatArray:
    """Return the coordinates to look at, (p, width), in order, with the setting's own among them."""
    levels = parameter.levels
    if not isinstance(parameter, Continuous) and levels is not None and levels <= max(points, parameter.width):
        return np.array([parameter.encode(parameter.level(i)) for i in range(levels)])
    return np.unique(np.concatenate([parameter.snap(np.linspace(0.0, 1.0, points)[:, None]), at[None]]), axis=0)
