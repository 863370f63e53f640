"""One parameter through the champion in one line of text: the chance to be better, from low to high."""

import math
from collections.abc import Sequence

from tuner.console.language import Words
from tuner.core.space.values import Value
from tuner.wire.messages import ParameterView
from tuner.wire.model_answers import SliceView

LEVELS = " ▁▂▃▄▅▆▇█"
CHAMPION = "│"


def place(cut: SliceView, value: Value) -> float | None:
    """Where a value lies on the axis, 0 to 1; None if it is not on it."""
    values = cut.values
    if cut.kind == "choice" or any(isinstance(v, str) for v in values):
        return values.index(value) / max(1, len(values) - 1) if value in values else None
    first, last, here = (float(v) for v in (values[0], values[-1], value))
    if cut.log and min(first, last, here) > 0:
        first, last, here = math.log(first), math.log(last), math.log(here)
    if last == first:
        return 0.5
    share = (here - first) / (last - first)
    return share if -1e-9 <= share <= 1 + 1e-9 else None


def resampled(cut: SliceView, numbers: Sequence[float], columns: int) -> list[float]:
    """The numbers at evenly spaced columns, by the nearest point."""
    spots = [place(cut, value) or 0.0 for value in cut.values]
    found = []
    for column in range(columns):
        share = column / max(1, columns - 1)
        found.append(numbers[min(range(len(spots)), key=lambda i: abs(spots[i] - share))])
    return found


def blocks(numbers: Sequence[float]) -> str:
    """Shares, 0 to 1, as blocks."""
    return "".join(LEVELS[round(min(max(one, 0.0), 1.0) * (len(LEVELS) - 1))] for one in numbers)


def strip(cut: SliceView, columns: int) -> str:
    """The chance to be better and to be a part at all, from low to high; a line stands where the champion is."""
    both = [better * valid for better, valid in zip(cut.better, cut.valid, strict=True)]
    drawn = list(blocks(resampled(cut, both, columns)))
    at = place(cut, cut.at)
    if at is not None:
        drawn[round(at * (columns - 1))] = CHAMPION
    return "".join(drawn)


def best_of(words: Words, cut: SliceView, parameter: ParameterView) -> str:
    """The value with the best chance, and that chance."""
    best = max(range(len(cut.values)), key=lambda i: cut.better[i] * cut.valid[i])
    return f"{words.value(cut.values[best], parameter)} {words.percent(cut.better[best] * cut.valid[best])}"
