"""What rehearsals let one expect, as data and as text."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tuner.basics.text import counted
from tuner.lab.rehearse.run import Pace, Rehearsal
from tuner.lab.simulate.contract import Kept

SURE = 1.96  # standard deviations: the intervals of what rehearsals say hold in 95 of 100
FEW = 6  # of fewer no interval of their median holds in 95 of 100
BETTER = 0.02  # of what there is to gain: less is the same for all practical purposes
_COUNTS = ("trials", "scrap", "looks", "hours", "machine_hours", "changes", "change_parts")
_SELDOM = ("changes", "change_parts")  # told where there are any
_NAMES = {
    "trials": "parts tried",
    "scrap": "scrap",
    "looks": "looks",
    "hours": "hours",
    "machine_hours": "of the machine",
    "changes": "changes by hand",
    "change_parts": "cost of changes",
}


@dataclass(frozen=True)
class Range:
    """What is usual: the median, and what nine of ten are above and below."""

    low: float
    usual: float
    high: float


@dataclass(frozen=True)
class Bought:
    """What a budget buys.

    Attributes:
        trials: The budget.
        runs: How many rehearsals say so.
        better: The share of them that ended better than the known-good setting, with its 95 % interval.
        gain: The share of what there was to gain, in the middle of them, with its 95 % interval (of six or more).
    """

    trials: int
    runs: int
    better: Range
    gain: Range


@dataclass(frozen=True)
class Expectation:
    """All that is told."""

    campaign: str
    machine: str
    parameters: int
    runs: int
    pace: Pace
    counts: dict[str, Range]
    bought: tuple[Bought, ...]
    traps: tuple[str, ...]
    contract: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def expectation(
    about: tuple[str, str, int],
    pace: Pace,
    runs: Sequence[Rehearsal],
    larger: Sequence[Rehearsal],
    traps: Sequence[str],
    contract: Kept | None = None,
) -> Expectation:
    """Put rehearsals with the campaign's budget and with larger ones together; `about` is name, machine, parameters."""
    half = runs[0].budget // 2
    bought = [_bought(half, [run.gains[min(half, len(run.gains)) - 1] for run in runs])] if half else []
    bought.append(_bought(runs[0].budget, [run.gain for run in runs]))
    for budget in sorted({run.budget for run in larger}):
        bought.append(_bought(budget, [run.gain for run in larger if run.budget == budget]))
    counts = {name: _range([float(getattr(run, name)) for run in runs]) for name in _COUNTS}
    said = () if contract is None else tuple(contract.lines(runs))
    return Expectation(*about, len(runs), pace, counts, tuple(bought), tuple(traps), said)


def _bought(trials: int, gains: Sequence[float]) -> Bought:
    return Bought(trials, len(gains), _share(sum(gain > BETTER for gain in gains), len(gains)), _middle(gains))


def _share(hits: int, of: int) -> Range:
    """How often something happens, by Wilson's interval: it says little where little was seen."""
    middle, spread = (hits + SURE**2 / 2), SURE * math.sqrt(hits * (of - hits) / of + SURE**2 / 4)
    low, high = ((middle + sign * spread) / (of + SURE**2) for sign in (-1.0, 1.0))
    return Range(max(0.0, low), hits / of, min(1.0, high))


def _middle(gains: Sequence[float]) -> Range:
    """The median of all such processes, by those of the gains that are so far from the middle by chance."""
    ordered = sorted(max(0.0, gain) for gain in gains)
    count = len(ordered)
    from_end = max(0, math.floor((count - 1 - SURE * math.sqrt(count)) / 2))
    return Range(ordered[from_end], statistics.median(ordered), ordered[count - 1 - from_end])


def _range(values: Sequence[float]) -> Range:
    ordered = sorted(values)
    last = len(ordered) - 1
    return Range(ordered[round(0.1 * last)], statistics.median(ordered), ordered[round(0.9 * last)])


def _percent(one: Range) -> str:
    return f"{one.usual:.0%} ({one.low:.0%} to {one.high:.0%})"


def as_text(found: Expectation) -> str:
    """For people."""
    pace = found.pace
    lines = [
        f"{found.campaign} on {found.machine}: {counted(found.runs, 'rehearsal')}, each on a process drawn for its "
        f"{counted(found.parameters, 'parameter')}",
        f"(a part takes {pace.part_min:g} min, a look {pace.look_min:g} min, an approval {pace.approve_min:g} min, "
        f"a change by hand {pace.change_min:g} min: see --help to say otherwise)",
        "",
        f"{'what to expect':<16}{'usual':>9}{'from':>9}{'to':>9}",
    ]
    for name, one in found.counts.items():
        if name in _SELDOM and not one.high:
            continue
        digits = 1 if "hours" in name or name == "change_parts" else 0
        lines.append(
            f"{_NAMES[name]:<16}" + "".join(f"{value:>9.{digits}f}" for value in (one.usual, one.low, one.high))
        )
    lines += ["", *found.contract] if found.contract else []
    lines += ["", f"{'what a budget buys':<20}{'better than known-good':>26}{'of what there is to gain':>28}"]
    for bought in found.bought:
        few = "" if bought.runs == found.runs else f"   ({counted(bought.runs, 'rehearsal')})"
        gain = _percent(bought.gain) if bought.runs >= FEW else f"{bought.gain.usual:.0%} or so"
        lines.append(f"{bought.trials:>7} trials      {_percent(bought.better):>26}{gain:>28}{few}")
    if found.runs < FEW:
        lines.append("so few rehearsals say little: --minutes or --runs make more of them")
    lines += ["", "traps"] if found.traps else ["", "no traps found"]
    lines += [f"  - {trap}" for trap in found.traps]
    return "\n".join(lines) + "\n"
