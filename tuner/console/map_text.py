"""Two parameters through the champion as a map of block characters: the chance to win as a part, and what was tried."""

from collections.abc import Sequence
from itertools import pairwise

from rich.cells import cell_len

from tuner.console.campaign_text import fit, folded, pad
from tuner.console.language import Words
from tuner.core.space.values import Value
from tuner.wire.messages import CampaignView, ParameterView, TrialView
from tuner.wire.model_answers import MapView

SHADES = " ░▒▓█"
CHAMPION, PART, SCRAP, FORBIDDEN = "★", "+", "x", "/"
_LEAST_ROWS = 6
_MOST_ROWS, _MOST_COLUMNS = 14, 60
_AROUND = 5  # lines besides the picture: title, axis and its values, two of the legend
LEAST_LINES = _LEAST_ROWS + _AROUND


def map_lines(
    words: Words, one: MapView, view: CampaignView, trials: Sequence[TrialView], width: int, height: int
) -> list[str]:
    """Title, picture, axes and legend, not more than there is room for; nothing where a map would be too small."""
    known = {parameter.name: parameter for parameter in view.parameters}
    rows = min(_MOST_ROWS, height - _AROUND)
    across, down = known.get(one.across), known.get(one.down)
    if across is None or down is None or rows < _LEAST_ROWS:
        return []
    labels = {row: words.value(one.lines[at], down) for row, at in ((0, -1), (rows - 1, 0))}
    label = max(cell_len(text) for text in labels.values())
    columns = min(_MOST_COLUMNS, width - label - 2)
    canvas = _marked(one, view, trials, _shaded(one, rows, columns))
    title = words("panel.map", across=across.called, down=down.called)
    lines = [f"{pad(labels.get(row, ''), label)} │{''.join(canvas[row])}" for row in range(rows)]
    lines.append(f"{'':{label}} └{'─' * columns}")
    lines.append(f"{'':{label}}  {_ends(words, one, across, columns)}")
    shades = "  ".join(f"{shade} {25 * level} %" for level, shade in enumerate(SHADES) if level)
    legend = [fit(shades, width), *folded(words("panel.map_legend"), width, 1)]
    return [fit(title, width), *(fit(line, width) for line in lines), *legend]


def _shaded(one: MapView, rows: int, columns: int) -> list[list[str]]:
    """The picture without marks; the highest value of what goes down is at the top."""
    canvas = []
    for row in range(rows):
        line = round((rows - 1 - row) / (rows - 1) * (len(one.lines) - 1))
        places = [round(column / max(1, columns - 1) * (len(one.columns) - 1)) for column in range(columns)]
        canvas.append([_shade(one, line, place) for place in places])
    return canvas


def _shade(one: MapView, line: int, place: int) -> str:
    if not one.feasible[line][place]:
        return FORBIDDEN
    share = one.better[line][place] * one.valid[line][place]
    return SHADES[round(min(max(share, 0.0), 1.0) * (len(SHADES) - 1))]


def _marked(one: MapView, view: CampaignView, trials: Sequence[TrialView], canvas: list[list[str]]) -> list[list[str]]:
    """The same with what was tried, scrap first, so that parts are over it, and the champion over all."""
    counted = [trial for trial in trials if trial.valid is not None and trial.excluded is None]
    marks = [(trial, PART if trial.valid else SCRAP) for trial in sorted(counted, key=lambda trial: bool(trial.valid))]
    if view.champion is not None:
        marks.append((view.champion, CHAMPION))
    for trial, mark in marks:
        if one.across in trial.setting and one.down in trial.setting:
            right = share_of(one.columns, trial.setting[one.across])
            up = share_of(one.lines, trial.setting[one.down])
            canvas[len(canvas) - 1 - round(up * (len(canvas) - 1))][round(right * (len(canvas[0]) - 1))] = mark
    return canvas


def share_of(values: Sequence[Value], value: Value) -> float:
    """Where a value is among the model's own, from 0 to 1: even or logarithmic, as they are."""
    if any(isinstance(known, str) for known in values) or len(values) == 1:
        return values.index(value) / max(1, len(values) - 1) if value in values else 0.0
    grid, at = [float(known) for known in values], float(value)
    for step, (low, high) in enumerate(pairwise(grid)):
        if at <= high:
            return max(0.0, step + (at - low) / (high - low)) / (len(grid) - 1)
    return 1.0


def _ends(words: Words, one: MapView, across: ParameterView, columns: int) -> str:
    first, last = words.value(one.columns[0], across, unit=False), words.value(one.columns[-1], across)
    return f"{pad(first, max(cell_len(first) + 1, columns - cell_len(last)))}{last}"
