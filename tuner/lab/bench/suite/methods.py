"""Who tunes the processes of the suite: the optimiser, with numbers of one's own if wanted, and its rivals.

A method is a text: "tuner", "tuner islands=0.3 draws=500", or a rival's name.
"""

import math
from collections.abc import Sequence

import numpy as np

from tuner.basics.text import listed, nearest, shown
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.optimizer.strategy import Strategy
from tuner.core.space.space import Setting
from tuner.errors import TunerError
from tuner.lab.bench.rivals.all_rivals import RIVALS as PEERS
from tuner.lab.bench.suite.ground import Everywhere
from tuner.lab.bench.suite.instances import Instance
from tuner.lab.bench.suite.overrides import parsed
from tuner.lab.bench.suite.peers import run_peer
from tuner.lab.bench.suite.runs import Campaign, SuiteRun
from tuner.lab.paper.rivals import paper_optimizer

OURS = "tuner"
PUBLISHED = ("hb-ei", "eiig", "ucb")  # of the paper and of Takeno, on our exact posterior
_OPENING = 23  # stream of random numbers
_PAPER = {"eiig": "eiig-0.1", "ucb": "ucb"}


class UnknownMethodError(TunerError):
    """No method has this name."""


def method_of(overrides: Sequence[str]) -> str:
    """Return the text of our method with these numbers, in an order of its own.

    Raises:
        OverrideError: There is no such number, or it cannot have this value.
    """
    parsed(overrides)
    return " ".join((OURS, *sorted(overrides)))


def checked_rival(name: str) -> str:
    """Return a rival's name, or that of the optimiser as it is.

    Raises:
        UnknownMethodError: With the nearest name and all names.
    """
    known = {"default": OURS, **{rival: rival for rival in (*PUBLISHED, *PEERS)}}
    if name not in known:
        raise UnknownMethodError(
            f"no method is called {shown(name)}{nearest(name, known) or ','} known: {listed(known)}"
            ", or the directory of another suite's runs"
        )
    return known[name]


def run_method(method: str, instance: Instance, seed: int, budget: int) -> SuiteRun:
    """Do one run with the method of this name."""
    if method in PEERS:
        return run_peer(method, instance, seed, budget)
    name, *overrides = method.split(" ")
    if name == OURS:
        ours = parsed(overrides)
        optimizer = Optimizer(instance.space, seed=seed, budget=budget + 1, strategy=ours.strategy, **ours.options)
        return Campaign(instance, optimizer, seed).run(budget)
    if name == "hb-ei":
        # never doubts the judge, and asks once of each part: its authors' does so
        trusting = Strategy(doubt=math.inf)
        optimizer = Optimizer(
            instance.space,
            seed=seed,
            budget=budget + 1,
            looks_per_part=1.0,
            strategy=trusting,
            acquisition="hb-ei",
        )
        return Campaign(instance, optimizer, seed, repeats=False, recommends=False).run(budget)
    mixed = not isinstance(instance.ground, Everywhere) or instance.group.scrap > 0.0
    optimizer = paper_optimizer(instance.space, "skewgp", _PAPER[name], seed=seed, mixed=mixed)
    brought = uniform_opening(instance, seed, budget)
    campaign = Campaign(instance, optimizer, seed, repeats=False, recommends=False, opening=brought)
    return campaign.run(budget)


def uniform_opening(instance: Instance, seed: int, budget: int) -> tuple[Setting, ...]:
    """Return the uniform settings with which a rival that has no design of its own begins, as in its paper."""
    count = min(2 * len(instance.space.parameters) + 1, budget // 4)
    rows = instance.space.sample(count, np.random.default_rng([seed, _OPENING]))
    return tuple(instance.space.decode(row) for row in rows)
