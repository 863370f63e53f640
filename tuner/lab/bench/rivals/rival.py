"""What a rival is: it proposes settings from the same duels; its packages (extra `peers`) are imported when asked."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from tuner.core.linalg import FloatArray
from tuner.errors import TunerError

Duel = tuple[int, int]


class MissingPeerError(TunerError):
    """A rival's packages are not installed; trying again without installing them does not help."""

    def __init__(self, rival: str, package: str, cause: ImportError) -> None:
        super().__init__(
            f"{rival} needs {package}, which cannot be imported ({cause}): install it with "
            "the CPU build of torch first (plain torch may bring gigabytes for graphics cards), then "
            '`pip install "process-tuner[peers]"`'
        )
        self._made_of = (rival, package, cause)

    def __reduce__(self) -> tuple[type["MissingPeerError"], tuple[str, str, ImportError]]:
        """Cross from a worker process to the one that asks."""
        return MissingPeerError, self._made_of


def imported(title: str, needs: str, packages: Sequence[str]) -> dict[str, str]:
    """Import a rival's packages, or modules of them, and return the versions of what is compared.

    Raises:
        MissingPeerError: One is not installed; the text says how to install it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch is told of its own deprecations
            modules = {package: import_module(package.replace("-", "_")) for package in (*packages, "numpy")}
    except ImportError as error:
        raise MissingPeerError(title, needs, error) from error
    return {name: str(module.__version__) for name, module in modules.items() if "." not in name}


class Propose(Protocol):
    """Proposes the next setting of one campaign, whose points and duels only grow from one call to the next."""

    def __call__(self, points: FloatArray, duels: Sequence[Duel], champion: int, seed: int) -> FloatArray:
        """Return a point of the unit cube, (d,).

        Args:
            points: Settings tried, in the unit cube, (n, d).
            duels: (winner, loser) of each duel, as rows of `points`; at least one.
            champion: The row that the proposal will be compared with.
            seed: Of all random numbers.
        """


@dataclass(frozen=True)
class Rival:
    """One that we are compared with.

    Attributes:
        name: On the command line and in plain data.
        label: At the head of a column.
        title: In a sentence.
        timed: What its seconds are spent on.
        require: Imports its packages and returns their versions; raises MissingPeerError, which says what to install.
        start: Returns the proposer of a new campaign; call `require` first.
    """

    name: str
    label: str
    title: str
    timed: str
    require: Callable[[], dict[str, str]]
    start: Callable[[], Propose]
