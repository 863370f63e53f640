"""The rivals there are, and which of them take part."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from tuner.basics.text import listed, nearest, shown
from tuner.errors import TunerError
from tuner.lab.bench.rivals.botorch import BOTORCH
from tuner.lab.bench.rivals.optuna import OPTUNA
from tuner.lab.bench.rivals.rival import MissingPeerError, Rival

RIVALS = {rival.name: rival for rival in (BOTORCH, OPTUNA)}


class UnknownRivalError(TunerError):
    """No rival has this name."""


@dataclass(frozen=True)
class Field:
    """Who takes part.

    Attributes:
        rivals: Their names, in the order of the tables.
        versions: Of their packages.
        left_out: A sentence for each of the others, by name.
    """

    rivals: tuple[str, ...]
    versions: dict[str, str]
    left_out: dict[str, str]


def get_rival(name: str) -> Rival:
    """The rival of this name.

    Raises:
        UnknownRivalError: With the nearest name and all names.
    """
    if name not in RIVALS:
        raise UnknownRivalError(
            f"no rival is called {shown(name)}{nearest(name, RIVALS) or ','} known: {listed(RIVALS)}"
        )
    return RIVALS[name]


def gather(names: Sequence[str] | None) -> Field:
    """Import the rivals' packages. Those named must be there; None: all that are installed, at least one.

    Raises:
        MissingPeerError: One that was named, or every one, is not installed.
        UnknownRivalError: No rival has one of these names.
    """
    found: list[str] = []
    versions: dict[str, str] = {}
    missing: dict[str, MissingPeerError] = {}
    for name in RIVALS if names is None else dict.fromkeys(names):
        try:
            versions |= get_rival(name).require()
            found.append(name)
        except MissingPeerError as error:
            if names is not None:
                raise
            missing[name] = error
    if not found:
        raise next(iter(missing.values()))
    return Field(tuple(found), versions, {name: f"left out: {error}" for name, error in missing.items()})


@cache
def warm_up(name: str) -> None:
    """Import the rival and have it propose once, once in a process: what is compiled then is no proposal's time."""
    rival = get_rival(name)
    rival.require()
    rival.start()(np.array([[0.2, 0.3], [0.6, 0.4], [0.5, 0.9]]), [(1, 0), (1, 2)], 1, 0)
