"""Helpers for tests of the compute backends: a small campaign, payloads, and waiting for conditions."""

import asyncio
from pathlib import Path

from tests.core.helpers import MIXED
from tests.patience import PATIENT_S
from tuner import Optimizer
from tuner.compute.tasks import space_json

LIGHT = {"draws": 60, "uniform": 100, "near": [30, 10]}
SETTINGS = [
    {"x": -0.2 + 0.2 * place, "k": 3 + place % 4, "s": (0.1, 0.3, 0.5, 0.7)[place % 4], "c": "abc"[place % 3]}
    for place in range(8)
]


def told(**options) -> Optimizer:
    """A campaign of eight trials by hand: one non-valid, the third the best, one answer that contradicts others."""
    optimizer = Optimizer(MIXED, looks_per_part=1.0, **options)  # so that what comes next is a proposal
    for setting in SETTINGS:
        trial = optimizer.add(setting)
        optimizer.tell_outcome(trial, trial != 5)
    for winner, loser in ((2, 1), (3, 2), (3, 4), (6, 7), (3, 6), (7, 6), (1, 3), (3, 1), (3, 8)):
        optimizer.tell_judgment(winner, loser, operator="ann" if winner < 4 else "bob")
    return optimizer


def payload(optimizer: Optimizer, **more):
    return {"space": space_json(optimizer.space), "state": optimizer.state(), "strategy": LIGHT, **more}


def minutes_of_work(**more):
    """A payload for `slices` that keeps a worker busy for longer than any test."""
    return payload(told(), points=50_000, **more)


async def until(condition, deadline_s: float = PATIENT_S) -> None:
    """Wait for a condition that no event tells of."""
    async with asyncio.timeout(deadline_s):
        while not condition():  # noqa: ASYNC110 - other processes set no events of ours
            await asyncio.sleep(0.005)


def gone(pid: int) -> bool:
    """Whether a process ended; one that nobody has waited for is gone too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
