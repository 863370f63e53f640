"""The whole of `tuner bench scrap`: run what is not finished yet, then count scrap against the contract."""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

from tuner.lab.bench.ratios import paired_ratio
from tuner.lab.bench.scrap.methods import OURS
from tuner.lab.bench.scrap.processes import FAMILIES
from tuner.lab.bench.scrap.runs import Cell, ScrapRun, Task, code, run_file, run_task
from tuner.lab.bench.workers import run_all

Progress = Callable[[str, int], AbstractContextManager[Callable[[], None]]]
WRONG = 1.5  # times the rate that a model that is wrong may cost
LEAST_REGRET = 1e-4  # less makes no difference
RESAMPLES = 2000


@dataclass(frozen=True)
class Plan:
    """What is run: every family, rate, judge and method, seed by seed."""

    families: tuple[str, ...]
    rates: tuple[float, ...]
    judges: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    parts: int

    @property
    def cells(self) -> list[Cell]:
        """What runs are counted together."""
        return [
            Cell(family, rate, judge, method)
            for family in self.families
            for rate in self.rates
            for judge in self.judges
            for method in self.methods
        ]

    @property
    def tasks(self) -> list[Task]:
        """All runs, seed by seed, so that an interrupted bench has about as many of each cell."""
        return [Task(cell, seed, self.parts) for seed in self.seeds for cell in self.cells]


@dataclass(frozen=True)
class Counted:
    """What the runs of a cell come to.

    Attributes:
        cell: Which.
        runs: How many.
        made: Parts made in all.
        scrap: How many of them were scrap.
        scrap_rate: Scrap per part; the contract's rate is the cell's.
        low: The lower end of its 95 % interval, by resampling whole runs: parts of one run depend on each other.
        high: The upper end; where no part was scrap, that of the exact binomial interval.
        said: Scrap per part that was expected when the parts were proposed.
        over: Share of the runs with more scrap than the rate allows them, or than one.
        held: Share of the runs in which tuning held.
        failed: Runs that ended because a proposal could not be computed.
        reachable: Median regret against the best that can be reached within the rate, in units of the start's.
        free: Median regret against the best of all.
    """

    cell: Cell
    runs: int
    made: int
    scrap: int
    scrap_rate: float
    low: float
    high: float
    said: float
    over: float
    held: float
    failed: int
    reachable: float
    free: float

    @property
    def verdict(self) -> str:
        """Whether the contract held: by its interval where the model fits, within 1.5 times the rate where not."""
        fits = FAMILIES[self.cell.family].fits
        limit = self.cell.rate * (1.0 if fits else WRONG)
        if (self.low if fits else self.scrap_rate) <= limit:
            return "held"
        return "broken" if self.low > limit else "not shown"

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        numbers = {name: value for name, value in vars(self).items() if name != "cell"}
        return {**vars(self.cell), **numbers, "fits": FAMILIES[self.cell.family].fits, "verdict": self.verdict}


def counted(cell: Cell, runs: Sequence[ScrapRun]) -> Counted:
    """Return what the runs of a cell come to."""
    made, scrap = (np.array([getattr(run, name) for run in runs]) for name in ("made", "scrap"))
    total, bad = int(made.sum()), int(scrap.sum())
    drawn = np.random.default_rng(0).integers(len(runs), size=(RESAMPLES, len(runs)))
    shares = scrap[drawn].sum(axis=1) / np.maximum(made[drawn].sum(axis=1), 1)
    low, high = (float(np.quantile(shares, level)) for level in (0.025, 0.975))
    if bad == 0:
        high = float(beta.ppf(0.975, 1, max(total, 1)))
    allowed = max(cell.rate * runs[0].task.parts, 1.0)
    return Counted(
        cell,
        len(runs),
        total,
        bad,
        bad / max(total, 1),
        low,
        high,
        float(sum(run.said for run in runs)) / max(total, 1),
        float(np.mean(scrap > allowed)),
        float(np.mean([run.held for run in runs])),
        sum(run.failed for run in runs),
        float(np.median([run.reachable for run in runs])),
        float(np.median([run.free for run in runs])),
    )


@dataclass(frozen=True)
class Paired:
    """How ours and a rival end on the same processes: decades of regret, below zero ours is ahead.

    Attributes:
        rate: Of ours.
        rival_rate: The rival's: the same, or the one at which it made about as much scrap as ours. Then the regret is
            that against the best of all, because what can be reached depends on the rate.
        scrap: Ours and the rival's scrap per run.
    """

    ours: str
    rival: str
    fits: bool
    rate: float
    rival_rate: float
    pairs: int
    decades: float
    low: float | None
    high: float | None
    scrap: tuple[float, float]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class Results:
    """What came of a plan."""

    plan: Plan
    runs: dict[Cell, list[ScrapRun]]

    @property
    def cells(self) -> list[Counted]:
        """What each cell that has runs comes to."""
        return [counted(cell, self.runs[cell]) for cell in self.plan.cells if self.runs.get(cell)]

    @property
    def pairs(self) -> list[Paired]:
        """Ours against each rival, where the model fits and where not: at the same rate, and at equal scrap."""
        found = []
        for mine in (name for name in OURS if name in self.plan.methods):
            for rival in (name for name in self.plan.methods if name not in OURS):
                for rate in self.plan.rates:
                    for fits in (True, False):
                        other = self._like(mine, rate, rival, fits=fits)
                        found += [self._paired(mine, rate, rival, one, fits=fits) for one in sorted({rate, other})]
        return [one for one in found if one is not None]

    def _of(self, method: str, rate: float, *, fits: bool) -> dict[tuple[str, str, int], ScrapRun]:
        return {
            (cell.family, cell.judge, run.task.seed): run
            for cell, runs in self.runs.items()
            if cell.method == method and cell.rate == rate and FAMILIES[cell.family].fits is fits
            for run in runs
        }

    def _like(self, mine: str, rate: float, rival: str, *, fits: bool) -> float:
        """Return the rate at which a rival's scrap is nearest to ours at this rate."""
        ours = self._of(mine, rate, fits=fits)
        gaps = {rate: math.inf}
        for other in self.plan.rates:
            theirs = self._of(rival, other, fits=fits)
            both = [key for key in ours if key in theirs]
            if both:
                gaps[other] = abs(sum(ours[key].scrap - theirs[key].scrap for key in both)) / len(both)
        return min(gaps, key=gaps.__getitem__)

    def _paired(self, mine: str, rate: float, rival: str, rival_rate: float, *, fits: bool) -> Paired | None:
        a, b = self._of(mine, rate, fits=fits), self._of(rival, rival_rate, fits=fits)
        both = [key for key in a if key in b]
        if not both:
            return None
        measure = "reachable" if rate == rival_rate else "free"
        ours, theirs = ([max(getattr(side[key], measure), LEAST_REGRET) for key in both] for side in (a, b))
        ratio = paired_ratio(ours, theirs, centre="geometric mean")
        low, high = (None if math.isnan(end) else math.log10(end) for end in (ratio.low, ratio.high))
        scrap = tuple(float(np.mean([side[key].scrap for key in both])) for side in (a, b))
        decades = math.log10(ratio.value)
        return Paired(mine, rival, fits, rate, rival_rate, len(both), decades, low, high, (scrap[0], scrap[1]))

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        plan = {"parts": self.plan.parts, "seeds": list(self.plan.seeds), "code": code()}
        cells, pairs = [one.to_json() for one in self.cells], [one.to_json() for one in self.pairs]
        return {**plan, "cells": cells, "paired": pairs}


def run_bench(plan: Plan, out: Path, *, jobs: int, progress: Progress, show_only: bool = False) -> Results:
    """Do every run that the file of finished runs lacks, unless it is only to be shown, and return what came of all."""
    store = run_file(out)
    done = store.load()
    missing = [] if show_only else [task for task in plan.tasks if task.key not in done]
    if missing:
        with store.writing() as writer, progress("runs", len(missing)) as advance:
            for _, finished in run_all(run_task, [(task,) for task in missing], jobs):
                writer.append(finished)
                done[finished.task.key] = finished
                advance()
    runs: dict[Cell, list[ScrapRun]] = {}
    for task in plan.tasks:
        if task.key in done:
            runs.setdefault(task.cell, []).append(done[task.key])
    return Results(plan, runs)
