"""Pictures of a campaign as SVG: colours come from the page's style, every picture says in words what it shows."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from tuner.console.language import Words
from tuner.wire.messages import ParameterView, TrialView
from tuner.wire.model_answers import SliceView

_WIDE, _HIGH = 360.0, 190.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 10.0, 12.0, 30.0


@dataclass(frozen=True, slots=True)
class Axis:
    """Values of one parameter to places between 0 and 1."""

    parameter: ParameterView
    log: bool = False

    def place(self, value: float | int | str) -> float:
        """Where a value is."""
        one = self.parameter
        if isinstance(value, str) or one.low is None or one.high is None:
            names = [str(choice) for choice in one.choices]
            return (names.index(str(value)) + 0.5) / len(names) if str(value) in names else 0.5
        from math import log

        low, high, at = (log(x) for x in (one.low, one.high, value)) if self.log else (one.low, one.high, value)
        return 0.5 if high == low else min(1.0, max(0.0, (at - low) / (high - low)))


def _x(share: float) -> float:
    return round(_LEFT + share * (_WIDE - _LEFT - _RIGHT), 1)


def _y(share: float) -> float:
    return round(_HIGH - _BOTTOM - share * (_HIGH - _TOP - _BOTTOM), 1)


def _svg(title: str, *pieces: Markup) -> Markup:
    head = Markup('<svg viewBox="0 0 {:g} {:g}" role="img" aria-label="{}" class="drawn">').format(_WIDE, _HIGH, title)
    return head + Markup("").join(pieces) + Markup("</svg>")


def _text(x: float, y: float, text: str, anchor: str = "middle") -> Markup:
    return Markup('<text x="{:g}" y="{:g}" text-anchor="{}">{}</text>').format(x, y, anchor, text)


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return Markup('<line class="{}" x1="{:g}" y1="{:g}" x2="{:g}" y2="{:g}"/>').format(kind, x1, y1, x2, y2)


def _path(kind: str, points: Sequence[tuple[float, float]]) -> Markup:
    steps = " L".join(f"{x:g} {y:g}" for x, y in points)
    return Markup('<path class="{}" d="M{}"/>').format(kind, steps) if points else Markup("")


def _mark(trial: TrialView, champion: int | None, x: float, y: float) -> Markup:
    """A trial: a dot, a cross where it was scrap, a star for the champion."""
    title = Markup("<title>{}</title>").format(trial.tag)
    if trial.number == champion:
        return (
            Markup(
                '<path class="star" d="M{:g} {:g}l2 5 5.5 .4-4.2 3.5 1.4 5.3-4.7-3-4.7 3 1.4-5.3-4.2-3.5 5.5-.4z">'
            ).format(x, y - 7)
            + title
            + Markup("</path>")
        )
    if trial.valid is False:
        return (
            Markup('<path class="scrap" d="M{:g} {:g}l8 8m0-8l-8 8">').format(x - 4, y - 4) + title + Markup("</path>")
        )
    return Markup('<circle class="part" cx="{:g}" cy="{:g}" r="3.5">').format(x, y) + title + Markup("</circle>")


def _percents(words: Words) -> Markup:
    """The axis of percents."""
    found = [_line("rule", _x(0), _y(share), _x(1), _y(share)) for share in (0.0, 0.5, 1.0)]
    found += [_text(_LEFT - 6, _y(share) + 4, f"{words.number(share * 100)} %", "end") for share in (0.0, 0.5, 1.0)]
    return Markup("").join(found)


def progress(words: Words, trials: Sequence[TrialView], champion: int | None, won: Sequence[int]) -> Markup:
    """Each trial's chance to beat the champion, as the model saw it before; who did is filled, scrap is crossed."""
    ordered = sorted(trials, key=lambda one: one.number)
    pieces = [_percents(words)]
    last = max(len(ordered), 2)
    for place, trial in enumerate(ordered):
        chance = 0.5 if trial.p_better is None else trial.p_better
        x, y = _x((place + 0.5) / last), _y(0.0 if trial.valid is False else chance)
        if trial.number in won and trial.number != champion:
            pieces.append(Markup('<circle class="won" cx="{:g}" cy="{:g}" r="6"/>').format(x, y))
        pieces.append(_mark(trial, champion, x, y))
    if ordered:
        pieces += [_text(_x(0), _HIGH - 8, ordered[0].tag, "start"), _text(_x(1), _HIGH - 8, ordered[-1].tag, "end")]
    return _svg(words("page.progress"), *pieces)


def slice_picture(words: Words, cut: SliceView, parameter: ParameterView, trials: Sequence[TrialView]) -> Markup:
    """Chance to win against the champion and chance of a part along one parameter, in percent, and what was tried."""
    axis = Axis(parameter, cut.log)
    places = [axis.place(value) for value in cut.values]
    pieces = [_percents(words)]
    if cut.kind == "choice":
        for place, better, valid in zip(places, cut.better, cut.valid, strict=True):
            pieces += [_line("better bar", _x(place) - 5, _y(0), _x(place) - 5, _y(better))]
            pieces += [_line("valid bar", _x(place) + 5, _y(0), _x(place) + 5, _y(valid))]
    else:
        for kind, values in (("valid", cut.valid), ("better", cut.better)):
            pieces.append(_path(kind, [(_x(p), _y(v)) for p, v in zip(places, values, strict=True)]))
    pieces.append(_line("champion", _x(axis.place(cut.at)), _y(0), _x(axis.place(cut.at)), _y(1)))
    for trial in trials:
        place = _x(axis.place(trial.setting[cut.name]))
        pieces.append(_line("tried scrap" if trial.valid is False else "tried", place, _y(0), place, _y(0) + 6))
    first, final = words.value(cut.values[0], parameter), words.value(cut.values[-1], parameter)
    pieces += [_text(_x(0), _HIGH - 8, first, "start"), _text(_x(1), _HIGH - 8, final, "end")]
    return _svg(words("page.slice", name=cut.name), *pieces)


def map_picture(
    words: Words, across: ParameterView, down: ParameterView, trials: Sequence[TrialView], champion: int | None
) -> Markup:
    """What was tried in two parameters: parts, scrap, the champion."""
    one, other = Axis(across), Axis(down)
    pieces = [
        Markup('<rect class="field" x="{:g}" y="{:g}" width="{:g}" height="{:g}"/>').format(
            _x(0), _y(1), _x(1) - _x(0), _y(0) - _y(1)
        )
    ]
    for trial in sorted(trials, key=lambda trial: trial.number == champion):
        x, y = _x(one.place(trial.setting[across.name])), _y(other.place(trial.setting[down.name]))
        pieces.append(_mark(trial, champion, x, y))
    pieces += [_text(_x(0.5), _HIGH - 8, f"{across.name} {across.unit}".strip())]
    pieces.append(
        Markup('<text transform="translate(14 {:g}) rotate(-90)" text-anchor="middle">{}</text>').format(
            _y(0.5), escape(f"{down.name} {down.unit}".strip())
        )
    )
    return _svg(words("page.map", across=across.name, down=down.name), *pieces)
