"""What rehearsals let one expect, as data and as text."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tuner.basics.text import counted
from tuner.lab.rehearse.run import Pace, Rehearsal

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
        better: The share of them that ended better than the known-good setting.
        gain: The share of what there was to gain, in the middle of them.
    """

    trials: int
    runs: int
    better: float
    gain: float


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

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def expectation(
    about: tuple[str, str, int],
    pace: Pace,
    runs: Sequence[Rehearsal],
    larger: Sequence[Rehearsal],
    traps: Sequence[str],
) -> Expectation:
    """Put rehearsals with the campaign's budget and with larger ones together; `about` is name, machine, parameters."""
    half = runs[0].budget // 2
    bought = [_bought(half, [run.gains[min(half, len(run.gains)) - 1] for run in runs])] if half else []
    bought.append(_bought(runs[0].budget, [run.gain for run in runs]))
    for budget in sorted({run.budget for run in larger}):
        bought.append(_bought(budget, [run.gain for run in larger if run.budget == budget]))
    counts = {name: _range([float(getattr(run, name)) for run in runs]) for name in _COUNTS}
    return Expectation(*about, len(runs), pace, counts, tuple(bought), tuple(traps))


def _bought(trials: int, gains: Sequence[float]) -> Bought:
    better = sum(gain > BETTER for gain in gains) / len(gains)
    return Bought(trials, len(gains), better, max(0.0, statistics.median(gains)))


def _range(values: Sequence[float]) -> Range:
    ordered = sorted(values)
    last = len(ordered) - 1
    return Range(ordered[round(0.1 * last)], statistics.median(ordered), ordered[round(0.9 * last)])


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
    lines += ["", "what a budget buys"]
    for bought in found.bought:
        few = "" if bought.runs == found.runs else f" ({counted(bought.runs, 'rehearsal')})"
        lines.append(
            f"  {bought.trials:>4} trials: better than the known-good setting in {bought.better:.0%}; "
            f"{bought.gain:.0%} of what there is to gain{few}"
        )
    lines += ["", "traps"] if found.traps else ["", "no traps found"]
    lines += [f"  - {trap}" for trap in found.traps]
    return "\n".join(lines) + "\n"
