"""Maps of two parameters as SVG: chance to win as colour, borders of P(valid), process window, what was tried."""

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise

from markupsafe import Markup

from tuner.console.language import Words
from tuner.web.drawing import Drawn, Frame, mark, svg
from tuner.wire.messages import ParameterView, TrialView
from tuner.wire.model_answers import MapView, WindowView

SHADES = 10  # of the chance to win
BORDERS = (("half", 0.5), ("sure", 0.95))  # of P(valid)
_FRAME = Frame(wide=360.0, high=300.0, left=58.0, right=12.0, top=10.0, bottom=44.0)
_UNLIKELY = 0.5


class Scale:
    """Values of one parameter to places between 0 and 1: the model's own grid, even or logarithmic as it is."""

    def __init__(self, values: Sequence[float | int | str]) -> None:
        self.choice = any(isinstance(value, str) for value in values)
        self._values = list(values)

    def place(self, value: float | int | str) -> float:
        """Where a value is."""
        if self.choice or len(self._values) == 1:
            known = [str(one) for one in self._values]
            return (known.index(str(value)) + 0.5) / len(known) if str(value) in known else 0.5
        grid, at = [float(one) for one in self._values], float(value)
        for step, (low, high) in enumerate(pairwise(grid)):
            if at <= high:
                return max(0.0, step + (at - low) / (high - low)) / (len(grid) - 1)
        return 1.0

    def cell(self, index: int) -> tuple[float, float]:
        """From where to where the colour of a value goes."""
        count = len(self._values)
        if self.choice or count == 1:
            return index / count, (index + 1) / count
        return max(0.0, (index - 0.5) / (count - 1)), min(1.0, (index + 0.5) / (count - 1))

    def ticks(self, words: Words, parameter: ParameterView) -> list[tuple[float, str]]:
        """What the axis says."""
        if self.choice:
            return [(self.place(value), str(value)) for value in self._values]
        chosen = {0, len(self._values) // 2, len(self._values) - 1}
        return [(self.place(self._values[i]), words.value(self._values[i], parameter, unit=False)) for i in chosen]


def map_picture(
    words: Words,
    drawn: MapView,
    parameters: tuple[ParameterView, ParameterView],
    trials: Sequence[TrialView],
    champion: int | None,
    recommended: tuple[Mapping[str, float | int | str] | None, Mapping[str, WindowView]],
) -> Drawn:
    """What the model believes of two parameters, all else as in the champion, and what was tried."""
    across, down = Scale(drawn.columns), Scale(drawn.lines)
    pieces = [*_colours(drawn, across, down), *_borders(drawn, across, down)]
    setting, windows = recommended
    pieces += _window(windows, drawn, across, down)
    for trial in sorted(trials, key=lambda trial: trial.number == champion):
        place = across.place(trial.setting[drawn.across]), down.place(trial.setting[drawn.down])
        pieces.append(mark(trial, champion, _FRAME.x(place[0]), _FRAME.y(place[1])))
    if setting is not None:
        x, y = _FRAME.x(across.place(setting[drawn.across])), _FRAME.y(down.place(setting[drawn.down]))
        pieces.append(Markup('<path class="recommended" d="M{:g} {:g}l7 7-7 7-7-7z"/>').format(x, y - 7))
    pieces += _axes(words, (across, down), parameters)
    return svg(_FRAME, words("page.map", across=drawn.across, down=drawn.down), *pieces)


def _colours(drawn: MapView, across: Scale, down: Scale) -> list[Markup]:
    """Cells of equal shade in a line are one rectangle: the picture stays small."""
    found = []
    for line, (chances, allowed) in enumerate(zip(drawn.better, drawn.feasible, strict=True)):
        low, high = down.cell(line)
        shades = [
            f"shade{min(SHADES - 1, int(chance * SHADES))}" if fine else "forbidden"
            for chance, fine in zip(chances, allowed, strict=True)
        ]
        for shade, cells in groupby(range(len(shades)), key=shades.__getitem__):
            indices = list(cells)
            left, right = across.cell(indices[0])[0], across.cell(indices[-1])[1]
            found.append(_FRAME.rectangle(shade, left, low, right, high))
    return found


def _borders(drawn: MapView, across: Scale, down: Scale) -> list[Markup]:
    """Lines where P(valid) passes a level; where a side is a choice, cells that hardly make a part."""
    if across.choice or down.choice or min(len(drawn.columns), len(drawn.lines)) < 2:
        return [
            _FRAME.rectangle(
                "unlikely", *_corner(across, down, column, line, 0), *_corner(across, down, column, line, 1)
            )
            for line, chances in enumerate(drawn.valid)
            for column, chance in enumerate(chances)
            if chance < _UNLIKELY
        ]
    found = []
    for kind, level in BORDERS:
        steps = " ".join(
            f"M{_FRAME.x(a[0] / (len(drawn.columns) - 1)):g} {_FRAME.y(a[1] / (len(drawn.lines) - 1)):g}"
            f"L{_FRAME.x(b[0] / (len(drawn.columns) - 1)):g} {_FRAME.y(b[1] / (len(drawn.lines) - 1)):g}"
            for a, b in crossings(drawn.valid, level)
        )
        if steps:
            found.append(Markup('<path class="border {}" d="{}"/>').format(kind, steps))
    return found


def _corner(across: Scale, down: Scale, column: int, line: int, end: int) -> tuple[float, float]:
    return across.cell(column)[end], down.cell(line)[end]


Point = tuple[float, float]


def crossings(values: Sequence[Sequence[float]], level: float) -> list[tuple[Point, Point]]:
    """Pieces of the line where values on a grid pass a level: from (column, line) to (column, line)."""
    found = []
    for line in range(len(values) - 1):
        for column in range(len(values[0]) - 1):
            corners = [(column, line), (column + 1, line), (column + 1, line + 1), (column, line + 1)]
            heights = [values[y][x] - level for x, y in corners]
            ends = []
            for (a, b), (low, high) in zip(
                pairwise([*corners, corners[0]]), pairwise([*heights, heights[0]]), strict=True
            ):
                if (low < 0) != (high < 0):
                    share = low / (low - high)
                    ends.append((a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])))
            found += list(zip(ends[::2], ends[1::2], strict=True))
    return found


def _window(windows: Mapping[str, WindowView], drawn: MapView, across: Scale, down: Scale) -> list[Markup]:
    """How far both may wander, each alone: a box."""
    one, other = windows.get(drawn.across), windows.get(drawn.down)
    if one is None or other is None or one.low is None or one.high is None or other.low is None or other.high is None:
        return []
    return [
        _FRAME.rectangle(
            "window", across.place(one.low), down.place(other.low), across.place(one.high), down.place(other.high)
        )
    ]


def _axes(words: Words, scales: tuple[Scale, Scale], parameters: tuple[ParameterView, ParameterView]) -> list[Markup]:
    across, down = scales
    pieces = [_FRAME.rectangle("field", 0.0, 0.0, 1.0, 1.0)]
    for place, text in across.ticks(words, parameters[0]):
        anchor = "middle" if across.choice or 0.0 < place < 1.0 else "end" if place else "start"
        pieces.append(_FRAME.text(_FRAME.x(place), _FRAME.y(0.0) + 15, text, anchor))
    for place, text in down.ticks(words, parameters[1]):
        pieces.append(_FRAME.text(_FRAME.left - 5, _FRAME.y(place) + (10 if place == 1.0 else 3), text, "end"))
    names = [f"{one.called} {one.unit}".strip() for one in parameters]
    pieces.append(_FRAME.text(_FRAME.x(0.5), _FRAME.high - 8, names[0]))
    pieces.append(
        Markup('<text transform="translate(13 {:g}) rotate(-90)" text-anchor="middle">{}</text>').format(
            _FRAME.y(0.5), names[1]
        )
    )
    return pieces
