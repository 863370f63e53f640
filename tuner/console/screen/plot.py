"""Text plots of one parameter: expected quality with its band, P(valid), and what was tried; plain characters only."""

import math
from collections.abc import Sequence

from rich.cells import cell_len

from tuner.console.campaign_text import fit, pad
from tuner.console.language import Words
from tuner.core.space.values import Value
from tuner.wire.messages import ParameterView, TrialView
from tuner.wire.model_answers import SliceView

_LEVELS = " ▁▂▃▄▅▆▇█"


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


def _resampled(cut: SliceView, numbers: Sequence[float], columns: int) -> list[float]:
    """The numbers at evenly spaced columns, by the nearest point."""
    spots = [place(cut, value) or 0.0 for value in cut.values]
    found = []
    for column in range(columns):
        share = column / max(1, columns - 1)
        found.append(numbers[min(range(len(spots)), key=lambda i: abs(spots[i] - share))])
    return found


def plot(
    words: Words, cut: SliceView, parameter: ParameterView, trials: Sequence[TrialView], width: int, height: int
) -> list[str]:
    """The lines of a plot: the picture, what was tried, P(valid), and the axis."""
    rows = max(5, height - 5)
    bottom, ceiling = min(0.0, *cut.low), max(0.0, *cut.high)
    valid_row, tried_row = words("parameters.valid_row"), words("parameters.tried_row")
    label = max(cell_len(text) for text in (valid_row, tried_row, words.short(bottom), words.short(ceiling)))
    columns = max(10, width - label - 2)
    mean, low, high = (_resampled(cut, numbers, columns) for numbers in (cut.mean, cut.low, cut.high))
    span = (ceiling - bottom) or 1.0

    def row_of(value: float) -> int:
        return min(rows - 1, max(0, round((ceiling - value) / span * (rows - 1))))

    canvas = [[" "] * columns for _ in range(rows)]
    for column in range(columns):
        for row in range(row_of(high[column]), row_of(low[column]) + 1):
            canvas[row][column] = ":"
    zero = row_of(0.0)
    for column in range(columns):
        canvas[zero][column] = "-" if canvas[zero][column] == " " else canvas[zero][column]
    at = place(cut, cut.at)
    if at is not None:
        for row in range(rows):
            canvas[row][round(at * (columns - 1))] = "|"
    for column in range(columns):
        canvas[row_of(mean[column])][column] = "o"
    labels = {0: words.short(ceiling), rows - 1: words.short(bottom), zero: words.short(0.0)}
    lines = [f"{labels.get(row, ''):>{label}} │{''.join(canvas[row])}" for row in range(rows)]
    valid = "".join(_LEVELS[round(v * (len(_LEVELS) - 1))] for v in _resampled(cut, cut.valid, columns))
    lines.append(f"{pad(tried_row, label)} │{_tried(cut, trials, columns)}")
    lines.append(f"{pad(valid_row, label)} │{valid}")
    first, last = (words.value(cut.values[i], parameter, unit=i == -1) for i in (0, -1))
    lines.append(f"{'':{label}} └{'─' * columns}")
    lines.append(f"{'':{label}}  {pad(first, columns - len(last))}{last}")
    return [fit(line, width) for line in lines]


def _tried(cut: SliceView, trials: Sequence[TrialView], columns: int) -> str:
    marks = [" "] * columns
    for trial in trials:
        share = place(cut, trial.setting[cut.name]) if cut.name in trial.setting else None
        if share is None or trial.valid is None or trial.excluded is not None:
            continue
        column = round(share * (columns - 1))
        if trial.valid or marks[column] == " ":
            marks[column] = "+" if trial.valid else "x"
    return "".join(marks)
