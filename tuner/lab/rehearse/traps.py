"""What will go wrong with a campaign as it is configured: seen from the configuration, and from its rehearsals."""

import statistics
from collections.abc import Iterator, Sequence

import numpy as np

from tuner.basics.text import counted
from tuner.campaign.contract_words import told_why
from tuner.config import Campaign, Choice, Integer, Stepped
from tuner.config.to_space import campaign_space, narrow
from tuner.core.space.parameters import SpaceError
from tuner.core.space.space import Space
from tuner.gate.plan import MOST_MOVES, RAMP_S
from tuner.lab.rehearse.run import Rehearsal
from tuner.lab.simulate.contract import by_reason

LEAST_TRIALS = 5  # for each parameter; a choice counts one less than it has options
LEAST_TRIES = 4  # of each option of a choice
LONGEST_RAMP_MIN = 30.0
LEAST_ROOM = 0.02  # of all settings, that satisfy the constraints
_SAMPLE = 4000


def configured(campaign: Campaign, trials: int) -> Iterator[str]:
    """Sentences on what the configuration alone shows."""
    yield from _room(campaign)
    size = sum(len(p.choices) - 1 if isinstance(p, Choice) else 1 for p in campaign.parameters)
    if trials < LEAST_TRIALS * size:
        yield (
            f"{counted(trials, 'trial')} for {counted(len(campaign.parameters), 'parameter')}: plan "
            f"{LEAST_TRIALS * size} or more, or tune fewer parameters first"
        )
    for p in campaign.parameters:
        least = LEAST_TRIES * len(p.choices) if isinstance(p, Choice) else 0
        if isinstance(p, Choice) and trials < least:
            yield (
                f"{p.name}: {counted(len(p.choices), 'option')} in {counted(trials, 'trial')}: hardly {LEAST_TRIES} "
                f"tries for each; leave options out, or plan {least} trials"
            )
    yield from _ramps(campaign)
    for p in campaign.parameters:
        if p.cost * 4 > trials:
            yield (
                f"{p.name}: a change costs {p.cost:g} parts of a budget of {trials}: it will hardly be changed four "
                "times; plan more trials, or leave it as it is and tune the others"
            )


def _room(campaign: Campaign) -> Iterator[str]:
    if not campaign.constraints:
        return
    space = campaign_space(campaign)
    try:
        said = narrow(campaign)
    except SpaceError as error:
        said = str(error)
    share = float(space.feasible(Space(space.parameters).sample(_SAMPLE, np.random.default_rng(0))).mean())
    if said:
        yield said
    elif share < LEAST_ROOM:
        yield f"the constraints leave {share:.1%} of all settings: most of the search will be along their borders"


def _ramps(campaign: Campaign) -> Iterator[str]:
    for p in campaign.parameters:
        if isinstance(p, Choice):
            continue
        distance = float(p.high) - float(p.low)
        minutes = distance / p.rate_limit if p.rate_limit else 0.0
        grid = p.step if isinstance(p, Stepped) else 1.0 if isinstance(p, Integer) else 0.0
        ramp = max(p.rate_limit * RAMP_S / 60.0, grid) if p.rate_limit else distance
        moves = distance / min(float(p.step_limit or distance), ramp)
        if moves > MOST_MOVES:
            yield (
                f"{p.name}: from one end to the other are {moves:.0f} moves, and more than {MOST_MOVES} are refused: "
                "widen step_limit or rate_limit, or narrow low and high"
            )
        elif minutes > LONGEST_RAMP_MIN:
            yield (
                f"{p.name}: its rate_limit makes a ramp of up to {minutes:.0f} min for one change; widen it, or narrow "
                "low and high"
            )


def rehearsed(campaign: Campaign, runs: Sequence[Rehearsal]) -> Iterator[str]:
    """Sentences on what the rehearsals with the campaign's own budget show."""
    for alike in by_reason([run for run in runs if run.mode != "Complete"]):
        yield f"{len(alike)} of {len(runs)} rehearsals were held, such as this one: {told_why(alike[0].reason)}"
    short = [run for run in runs if run.mode == "Complete" and run.trials < run.budget]
    if len(short) * 4 >= len(runs):
        yield (
            f"{len(short)} of {len(runs)} rehearsals ended early, by the budget for scrap of {campaign.budget.scrap}: "
            "raise it, or narrow the limits of the parameters to where parts are made"
        )
    for name in runs[0].tries:
        for option in runs[0].tries[name]:
            few = sum(run.tries[name][option] <= 1 for run in runs)
            if few * 2 > len(runs):
                yield f"{name}: {option!r} was tried at most once in {few} of {len(runs)} rehearsals"
    changes, parts = (statistics.median(one) for one in ([r.changes for r in runs], [r.trials for r in runs]))
    if changes * 2 > parts:
        yield (
            f"somebody has to change something by hand for {changes:g} of {parts:g} parts: raise the change_cost of "
            "manual parameters, and they are changed less often"
        )
    if statistics.median(run.gain for run in runs) <= 0.0:
        yield "most rehearsals ended no better than the known-good setting: plan more trials, or tune fewer parameters"
