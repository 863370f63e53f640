"""How long a proposal takes beside the rivals', on the same duels, in turn, in the same run.

A campaign is under way: all but the last settings are uniform, each was judged against the champion, and the last were
asked of the optimiser. In each turn the rivals and the optimiser propose from the same duels; the optimiser's proposal
is then judged, so that the next turn knows one duel more, as in a real campaign. Processor time, one thread.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.space.parameters import Continuous
from tuner.core.space.space import Space
from tuner.lab.bench.ratios import Ratio, paired_ratio
from tuner.lab.bench.rivals.all_rivals import get_rival
from tuner.lab.bench.rivals.rival import Duel, Propose

MOST_RATIO = 0.1
_ASKED = 2  # the optimiser's own proposals before the first turn: its fit is warm from then on


@dataclass(frozen=True)
class Turns:
    """The turns with one rival from one number of duels on.

    Attributes:
        rival: Its name.
        duels: At the first turn.
        dimensions: Of the space.
        ours_s: Seconds of the optimiser's proposal, per turn.
        theirs_s: Seconds of the rival's.
    """

    rival: str
    duels: int
    dimensions: int
    ours_s: tuple[float, ...]
    theirs_s: tuple[float, ...]

    @property
    def ratio(self) -> Ratio:
        """The median over the turns of ours over the rival's."""
        return paired_ratio(self.ours_s, self.theirs_s, centre="median")

    @property
    def reached(self) -> bool:
        """Whether the goal is reached."""
        return self.ratio.value <= MOST_RATIO

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "rival": self.rival,
            "duels": self.duels,
            "dimensions": self.dimensions,
            "ours_s": float(np.median(self.ours_s)),
            "theirs_s": float(np.median(self.theirs_s)),
            "ratio": self.ratio.to_json(),
            "goal": MOST_RATIO,
            "reached": self.reached,
            "turns": [{"ours_s": a, "theirs_s": b} for a, b in zip(self.ours_s, self.theirs_s, strict=True)],
        }


def quality(point: FloatArray) -> float:
    """Return a smooth function of the unit cube with its maximum inside, to be maximised."""
    return float(np.mean(np.sin(6 * point) / 3 + 2 * point - 3 * point**2))


class Campaign:
    """Champion duels of the smooth function, known to the optimiser and, as plain numbers, to its rivals."""

    def __init__(self, duels: int, dimensions: int, seed: int) -> None:
        if duels <= _ASKED:
            raise ValueError(f"at least {_ASKED + 1} duels are needed, not {duels}")
        self.optimizer = Optimizer(Space([Continuous(f"p{i}", 0.0, 1.0) for i in range(dimensions)]), seed=seed)
        self.points: list[FloatArray] = []
        self.duels: list[Duel] = []
        self.champion = 0
        self._trials: list[int] = []
        rng = np.random.default_rng(seed)
        for point in rng.random((duels + 1 - _ASKED, dimensions)):
            self._judge(self.optimizer.add(dict(zip(self.optimizer.space.names, point.tolist(), strict=True))), point)
        for _ in range(_ASKED):
            self.go_on()

    def go_on(self) -> float:
        """Ask the optimiser, judge its proposal, and return the seconds it took to propose."""
        begin = time.process_time()
        proposal = self.optimizer.ask()
        seconds = time.process_time() - begin
        self._judge(proposal.number, np.array([float(value) for value in proposal.setting.values()]))
        return seconds

    def _judge(self, number: int, point: FloatArray) -> None:
        self.optimizer.tell_outcome(number, valid=True)
        self.points.append(point)
        self._trials.append(number)
        new = len(self.points) - 1
        if not new:
            return
        wins = quality(point) > quality(self.points[self.champion])
        duel = (new, self.champion) if wins else (self.champion, new)
        self.optimizer.tell_judgment(self._trials[duel[0]], self._trials[duel[1]])
        self.duels.append(duel)
        self.champion = duel[0]


def measure_turns(
    duels: int, dimensions: int, rivals: Mapping[str, Propose], *, repeats: int, seed: int = 0
) -> list[Turns]:
    """Time all in turn, so many times; a first turn that pays for memory and caches does not count."""
    campaign = Campaign(duels, dimensions, seed)
    for propose in rivals.values():
        _peer_seconds(campaign, propose, seed)
    ours: list[float] = []
    theirs: dict[str, list[float]] = {name: [] for name in rivals}
    for turn in range(repeats):
        for name, propose in rivals.items():
            theirs[name].append(_peer_seconds(campaign, propose, seed + turn))
        ours.append(campaign.go_on())
    return [Turns(name, duels, dimensions, tuple(ours), tuple(seconds)) for name, seconds in theirs.items()]


def measure_speed(
    rivals: Sequence[str], duels: Sequence[int], dimensions: Sequence[int], *, repeats: int, done: Callable[[], None]
) -> list[Turns]:
    """Time every number of duels in every number of dimensions, rival by rival; `done` is called after each size."""
    found = []
    for d in dimensions:
        for m in duels:
            found += measure_turns(m, d, {name: get_rival(name).start() for name in rivals}, repeats=repeats)
            done()
    return sorted(found, key=lambda row: rivals.index(row.rival))


def _peer_seconds(campaign: Campaign, propose: Propose, seed: int) -> float:
    points = np.array(campaign.points)
    begin = time.process_time()
    propose(points, campaign.duels, campaign.champion, seed)
    return time.process_time() - begin
