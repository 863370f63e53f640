"""Text plots of one parameter: the chance to be better, P(valid), and what was tried; plain characters only."""

from collections.abc import Sequence

from rich.cells import cell_len

from tuner.console.campaign_text import fit, pad
from tuner.console.language import Words
from tuner.console.slice_text import blocks, place, resampled
from tuner.wire.messages import ParameterView, TrialView
from tuner.wire.model_answers import SliceView


def plot(
    words: Words, cut: SliceView, parameter: ParameterView, trials: Sequence[TrialView], width: int, height: int
) -> list[str]:
    """The lines of a plot: the picture, what was tried, P(valid), and the axis."""
    rows = max(5, height - 5)
    valid_row, tried_row = words("parameters.valid_row"), words("parameters.tried_row")
    zero = (rows - 1) // 2
    labels = {0: "100 %", zero: "50 %", rows - 1: "0 %"}
    label = max(cell_len(text) for text in (valid_row, tried_row, *labels.values()))
    columns = max(10, width - label - 2)
    canvas = [[" "] * columns for _ in range(rows)]
    canvas[zero] = ["-"] * columns
    at = place(cut, cut.at)
    if at is not None:
        for row in range(rows):
            canvas[row][round(at * (columns - 1))] = "|"
    for column, better in enumerate(resampled(cut, cut.better, columns)):
        share = min(max(better, 0.0), 1.0)
        # one half is on its line also where the rows are even in number
        down = round((1.0 - share) * 2.0 * zero) if share >= 0.5 else rows - 1 - round(share * 2.0 * (rows - 1 - zero))
        canvas[down][column] = "o"
    lines = [f"{labels.get(row, ''):>{label}} │{''.join(canvas[row])}" for row in range(rows)]
    valid = blocks(resampled(cut, cut.valid, columns))
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
