"""A run of the suite with BoTorch or Optuna: they propose points of the cube; a part that was not made has lost."""

import math
import time

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.core.space.space import Setting
from tuner.lab.bench.rivals.all_rivals import get_rival, warm_up
from tuner.lab.bench.rivals.rival import Duel
from tuner.lab.bench.suite.instances import Instance
from tuner.lab.bench.suite.people import PEOPLE
from tuner.lab.bench.suite.runs import CHECKED, WORTH, Given, SuiteRun, judge_rng

_PEER = 24  # stream of random numbers
NEAR = 2000  # feasible settings among which the nearest takes the place of one that breaks a constraint


def run_peer(name: str, instance: Instance, seed: int, budget: int) -> SuiteRun:
    """Do one run with a rival of the extra `peers`, which has been imported and compiled before."""
    warm_up(name)
    propose = get_rival(name).start()
    rng = np.random.default_rng([seed, _PEER])
    bench = _Bench(instance, seed)
    bench.make(instance.start)
    opening = min(2 * len(instance.space.parameters) + 1, budget // 4)
    given, seconds = [], 0.0
    for part in range(1, budget + 1):
        step_seed = int(rng.integers(2**31))
        begin = time.process_time()
        if part <= opening or not bench.duels:
            point = instance.space.sample(1, rng)[0]
        else:
            point = propose(np.array(bench.points), bench.duels, bench.champion, step_seed)
        seconds += time.process_time() - begin
        bench.make(_legal(instance, point, rng))
        if part in CHECKED or part == budget:
            given.append(bench.given(part))
    return SuiteRun(tuple(given), (), seconds)


def _legal(instance: Instance, point: FloatArray, rng: np.random.Generator) -> Setting:
    """Return the setting of a point, or the nearest feasible one of many."""
    row = instance.space.snap(point[None])
    if not instance.space.feasible(row)[0]:
        rows = instance.space.sample(NEAR, rng)
        row = rows[((rows - row) ** 2).sum(axis=1).argmin()][None]
    return instance.space.decode(row[0])


class _Bench:
    """Makes the parts and has each one judged against the champion's."""

    def __init__(self, instance: Instance, seed: int) -> None:
        self.instance, self.seed = instance, seed
        self.person = PEOPLE[instance.group.people]()
        self.settings: list[Setting] = []
        self.points: list[FloatArray] = []
        self.costs: list[float] = []
        self.duels: list[Duel] = []
        self.champion = self.looks = self.scrap = 0

    def make(self, setting: Setting) -> None:
        """Make a part and have it judged."""
        new = len(self.costs)
        valid = new == 0 or self.instance.makes_part(setting, new + 1)
        self.settings.append(setting)
        self.points.append(self.instance.space.encode(setting))
        self.costs.append(self.instance.cost(setting) if valid else math.inf)
        self.scrap += not valid
        if new == 0:
            return
        better = "old"
        if valid:
            rng = judge_rng(self.seed, self.looks)
            self.looks += 1
            better, _ = self.person.answer(self.costs[new], self.costs[self.champion], rng)
        if better != "tie":
            self.duels.append((new, self.champion) if better == "new" else (self.champion, new))
            self.champion = self.duels[-1][0]

    def given(self, parts: int) -> Given:
        """Return what the user is given: the champion."""
        setting = self.settings[self.champion]
        regret, right = self.instance.regret(setting), self.instance.right_levels(setting, WORTH)
        return Given(parts, regret, regret, self.looks, self.scrap, sum(right), len(right))
