"""Pictures of a campaign as SVG: colours come from the page's style, every picture says in words what it shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, log10

from markupsafe import Markup

from tuner.console.language import Words
from tuner.wire.messages import ParameterView, TrialView
from tuner.wire.model_answers import SliceView, WindowView

Drawn = Markup
LEAST_SHARE = 0.001  # of settings that are believed better: what is less is drawn here


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture's size and the room for its axes; shares from 0 to 1 to places in it."""

    wide: float = 360.0
    high: float = 190.0
    left: float = 48.0
    right: float = 10.0
    top: float = 12.0
    bottom: float = 30.0

    def x(self, share: float) -> float:
        """From left to right."""
        return round(self.left + share * (self.wide - self.left - self.right), 1)

    def y(self, share: float) -> float:
        """From below upwards."""
        return round(self.high - self.bottom - share * (self.high - self.top - self.bottom), 1)

    def text(self, x: float, y: float, text: str, anchor: str = "middle") -> Markup:
        """Letters."""
        return Markup('<text x="{:g}" y="{:g}" text-anchor="{}">{}</text>').format(x, y, anchor, text)

    def line(self, kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
        """One stroke."""
        return Markup('<line class="{}" x1="{:g}" y1="{:g}" x2="{:g}" y2="{:g}"/>').format(kind, x1, y1, x2, y2)

    def path(self, kind: str, points: Sequence[tuple[float, float]]) -> Markup:
        """A line through shares."""
        steps = " L".join(f"{self.x(x):g} {self.y(y):g}" for x, y in points)
        return Markup('<path class="{}" d="M{}"/>').format(kind, steps) if points else Markup("")

    def rectangle(self, kind: str, left: float, low: float, right: float, high: float) -> Markup:
        """A field between shares."""
        return Markup('<rect class="{}" x="{:g}" y="{:g}" width="{:g}" height="{:g}"/>').format(
            kind,
            self.x(left),
            self.y(high),
            round(self.x(right) - self.x(left), 1),
            round(self.y(low) - self.y(high), 1),
        )


_FRAME = Frame()


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
        low, high, at = (log(x) for x in (one.low, one.high, value)) if self.log else (one.low, one.high, value)
        return 0.5 if high == low else min(1.0, max(0.0, (at - low) / (high - low)))


def svg(frame: Frame, title: str, *pieces: Markup) -> Drawn:
    """A picture with its words."""
    head = Markup('<svg viewBox="0 0 {:g} {:g}" role="img" aria-label="{}" class="drawn">').format(
        frame.wide, frame.high, title
    )
    return head + Markup("").join(pieces) + Markup("</svg>")


def mark(trial: TrialView, champion: int | None, x: float, y: float) -> Markup:
    """A trial: a dot, a cross where it was scrap, a star for the champion."""
    title = Markup("<title>{}</title>").format(trial.tag)
    if trial.number == champion:
        star = Markup(
            '<path class="star" d="M{:g} {:g}l2 5 5.5 .4-4.2 3.5 1.4 5.3-4.7-3-4.7 3 1.4-5.3-4.2-3.5 5.5-.4z">'
        )
        return star.format(x, y - 7) + title + Markup("</path>")
    if trial.valid is False:
        cross = Markup('<path class="scrap" d="M{:g} {:g}l8 8m0-8l-8 8">').format(x - 4, y - 4)
        return cross + title + Markup("</path>")
    return Markup('<circle class="part" cx="{:g}" cy="{:g}" r="3.5">').format(x, y) + title + Markup("</circle>")


def _percents(words: Words, places: Mapping[float, float]) -> Markup:
    """An axis of percents: shares and their places."""
    f = _FRAME
    found = [f.line("rule", f.x(0), f.y(place), f.x(1), f.y(place)) for place in places.values()]
    found += [
        f.text(f.left - 6, f.y(place) + 4, words.number(share * 100, 1 if share and share < 0.01 else 0) + " %", "end")
        for share, place in places.items()
    ]
    return Markup("").join(found)


def progress(
    words: Words, trials: Sequence[TrialView], champion: int | None, standing: Mapping[int, float]
) -> Drawn | None:
    """How many settings are believed better than each trial, and than the best of those so far; scrap is crossed."""
    ordered = sorted(trials, key=lambda one: one.number)
    if not any(trial.number in standing for trial in ordered):
        return None
    decades = round(-log10(LEAST_SHARE))

    def place(share: float) -> float:
        return 0.08 + 0.92 * (1 + log10(max(LEAST_SHARE, share)) / decades)

    f, last = _FRAME, max(len(ordered), 2)
    pieces = [_percents(words, {share: place(share) for share in (1.0, 0.1, 0.01, LEAST_SHARE)})]
    best = 1.0
    line: list[tuple[float, float]] = []
    marks: list[Markup] = []
    for index, trial in enumerate(ordered):
        x, share = (index + 0.5) / last, standing.get(trial.number)
        if share is not None and (share < best or not line):
            line += [(x, place(best))] if line else []
            best = share
            line.append((x, place(best)))
        if trial.valid is False:
            marks.append(mark(trial, champion, f.x(x), f.y(0.0)))
        elif share is not None:
            marks.append(mark(trial, champion, f.x(x), f.y(place(share))))
    pieces += [f.path("better", [*line, (1.0, place(best))]), *marks]
    pieces += [
        f.text(f.x(0), f.high - 8, ordered[0].tag, "start"),
        f.text(f.x(1), f.high - 8, ordered[-1].tag, "end"),
    ]
    return svg(f, words("page.progress"), *pieces)


def slice_picture(
    words: Words,
    cut: SliceView,
    parameter: ParameterView,
    trials: Sequence[TrialView],
    window: WindowView | None = None,
) -> Drawn:
    """Chance to win against the champion and chance of a part along one parameter, in percent, and what was tried."""
    f, axis = _FRAME, Axis(parameter, cut.log)
    places = [axis.place(value) for value in cut.values]
    pieces = []
    if window is not None and window.low is not None and window.high is not None:
        pieces.append(f.rectangle("window", axis.place(window.low), 0.0, axis.place(window.high), 1.0))
    pieces.append(_percents(words, {share: share for share in (0.0, 0.5, 1.0)}))
    if cut.kind == "choice":
        for place, better, valid in zip(places, cut.better, cut.valid, strict=True):
            pieces += [f.line("better bar", f.x(place) - 5, f.y(0), f.x(place) - 5, f.y(better))]
            pieces += [f.line("valid bar", f.x(place) + 5, f.y(0), f.x(place) + 5, f.y(valid))]
    else:
        for kind, values in (("valid", cut.valid), ("better", cut.better)):
            pieces.append(f.path(kind, list(zip(places, values, strict=True))))
    pieces.append(f.line("champion", f.x(axis.place(cut.at)), f.y(0), f.x(axis.place(cut.at)), f.y(1)))
    for trial in trials:
        place = f.x(axis.place(trial.setting[cut.name]))
        pieces.append(f.line("tried scrap" if trial.valid is False else "tried", place, f.y(0), place, f.y(0) + 6))
    if cut.kind == "choice":
        pieces += [f.text(f.x(p), f.high - 8, str(value)) for p, value in zip(places, cut.values, strict=True)]
    else:
        first, final = words.value(cut.values[0], parameter), words.value(cut.values[-1], parameter)
        pieces += [f.text(f.x(0), f.high - 8, first, "start"), f.text(f.x(1), f.high - 8, final, "end")]
    return svg(f, words("page.slice", name=cut.name), *pieces)
