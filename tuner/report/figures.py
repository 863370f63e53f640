"""The report's figures as data URIs: matplotlib's Figure without pyplot, nothing outside of the page is needed."""

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tuner.campaign.state import Stage, State
from tuner.compute.maps import SAMPLE
from tuner.core.linalg import FloatArray
from tuner.errors import TunerError
from tuner.report.beliefs import Axis, Beliefs, Map
from tuner.report.story import Story
from tuner.report.truth import Setting, Truth

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, GREEN, GREY, ORANGE = "#1f5fbf", "#c0392b", "#1b7837", "#777777", "#e08214"
# their lightness tells the value too: for print without colours, and for the colour-blind
PREFERENCE_COLOURS, VALID_COLOURS = "viridis", "cividis"
LEAST_REGRET = 1e-6
_DECADES = 500.0  # largest over smallest value from which on powers of ten are marks enough
LEAST_SPAN = 3.0  # largest over smallest value from which on an axis is logarithmic
STYLE: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.linewidth": 0.6,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "lines.linewidth": 1.3,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
}


def has_matplotlib() -> bool:
    """Whether figures can be drawn."""
    try:
        import matplotlib.figure  # noqa: F401 - only asked for
    except ImportError:
        return False
    return True


def require_matplotlib() -> None:
    """Say that figures cannot be drawn."""
    if not has_matplotlib():
        raise TunerError('figures need matplotlib: pip install "process-tuner[report]"')


@contextmanager
def _figure(width_in: float, height_in: float) -> Iterator["Figure"]:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        yield Figure(figsize=(width_in, height_in), layout="constrained")


def _svg(figure: "Figure") -> str:
    from matplotlib import rc_context

    data = io.BytesIO()
    # letters as outlines: the page looks the same wherever it is read; a fixed salt and no date: the same bytes
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": "tuner"}):
        figure.savefig(data, format="svg", metadata={"Date": None, "Creator": None})
    return "data:image/svg+xml;base64," + base64.b64encode(data.getvalue()).decode()


def _png(figure: "Figure") -> str:
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=110, metadata={"Software": None})
    return "data:image/png;base64," + base64.b64encode(data.getvalue()).decode()


def progress_figures(story: Story, beliefs: Beliefs, truth: Truth | None) -> list[str]:
    """How the champion came to be what it is; a simulated machine's also by its true cost."""
    trials = np.array([trial for trial, _ in story.champions])
    champions = [champion for _, champion in story.champions]
    shares = np.array([beliefs.better.get(champion, np.nan) for champion in champions])
    panels = [("settings believed better than the champion", np.maximum(shares, 1.0 / SAMPLE), True)]
    if truth is not None:
        settings = [story.state.trials[champion - 1].setting for champion in champions]
        regrets = np.array([truth.regret(setting) for setting in settings])
        regrets[~np.isfinite(regrets)] = np.nan
        panels.append(("the champion's true cost above the known optimum", np.maximum(regrets, LEAST_REGRET), False))
    found = []
    for title, values, percent in panels:
        with _figure(4.6, 2.9) as figure:
            axes = figure.add_subplot()
            _steps(axes, trials, values, story.state)
            axes.set_title(title)
            if percent:
                _percents(axes)
            found.append(_svg(figure))
    return found


def _percents(axes: "Axes") -> None:
    """Marks in percent; where they are logarithmic some between the powers, if those are few."""
    if axes.get_yscale() == "log":
        low, high = axes.get_ylim()
        powers = [10.0**-place for place in range(5)]
        wanted = powers if high > _DECADES * low else [part * one for one in powers for part in (1.0, 0.5, 0.2)]
        axes.set_yticks([one for one in wanted if low <= one <= high], minor=False)
        axes.set_yticks([], minor=True)
    axes.yaxis.set_major_formatter(_percent)


def _percent(share: float, place: float | None = None) -> str:
    return f"{100.0 * share:g} %"


def _steps(axes: "Axes", trials: FloatArray, values: FloatArray, state: State) -> None:
    last = len([trial for trial in state.trials if trial.stage is Stage.DONE])
    axes.step([*trials, max(last, trials[-1])], [*values, values[-1]], where="post", color=BLUE)
    scrap = [t.number for t in state.trials if t.stage is Stage.DONE and t.valid is False]
    known = values[np.isfinite(values)]
    if len(known) and known.max() < LEAST_SPAN * known.min():  # the marks of a logarithm would all be the same number
        axes.set_ylim(0.0, 1.1 * known.max())
    else:
        axes.set_yscale("log")
    axes.plot(scrap, np.full(len(scrap), 0.03), "|", color=RED, transform=axes.get_xaxis_transform(), label="scrap")
    axes.set_xlabel("trials")
    axes.grid(visible=True, linewidth=0.3)
    if scrap:
        axes.legend(loc="upper right")


def slice_figures(beliefs: Beliefs, called: Mapping[str, str]) -> list[str]:
    """The chance to be better along each parameter through the champion, and P(valid): a figure each."""
    found = []
    for cut in beliefs.slices:
        with slices_drawn([{**cut, "name": called.get(cut["name"], cut["name"])}]) as figure:
            found.append(_svg(figure))
    return found


@contextmanager
def slices_drawn(slices: Sequence[dict[str, Any]]) -> Iterator["Figure"]:
    """A figure of slices as `tuner.compute.slices.slices` gives them."""
    count = len(slices)
    columns = min(count, 3)
    rows = -(-count // columns)
    with _figure(3.1 * columns + 0.4, 3.3 * rows) as figure:
        outer = figure.add_gridspec(rows, columns)
        for place, cut in enumerate(slices):
            inner = outer[place // columns, place % columns].subgridspec(2, 1, height_ratios=(3, 1), hspace=0.05)
            upper = figure.add_subplot(inner[0])
            lower = figure.add_subplot(inner[1], sharex=upper)
            _draw_slice(upper, lower, cut)
        yield figure


def _draw_slice(upper: "Axes", lower: "Axes", cut: dict[str, Any]) -> None:
    choice = cut["kind"] == "choice"
    x = np.arange(len(cut["values"]), dtype=np.float64) if choice else np.array(cut["values"], dtype=np.float64)
    at = float(cut["values"].index(cut["at"])) if choice else float(cut["at"])
    better = np.array(cut["better"])
    if choice:
        upper.plot(x, better, "o", color=BLUE, markersize=5)
        lower.bar(x, cut["valid"], color=GREEN, width=0.5)
        lower.set_xticks(x, cut["values"])
    else:
        upper.plot(x, better, color=BLUE)
        lower.fill_between(x, 0.0, cut["valid"], color=GREEN, alpha=0.35, linewidth=0)
        if cut["log"]:
            upper.set_xscale("log")
    upper.set_ylim(-0.05, 1.05)
    upper.set_yticks([0.0, 0.5, 1.0], ["0 %", "50 %", "100 %"])
    upper.axhline(0.5, color=GREY, linewidth=0.5)
    for axes in (upper, lower):
        axes.axvline(at, color=ORANGE, linewidth=1.0, linestyle="--")
        axes.margins(x=0.02)
    upper.set_title(cut["name"])
    upper.tick_params(labelbottom=False)
    lower.set_ylim(0.0, 1.05)
    lower.set_yticks([0, 1])
    lower.set_ylabel("P(valid)", fontsize=7)
    lower.set_xlabel(_label(cut["name"], cut["unit"]))


def map_figures(drawn: Map, state: State, champion: Setting, recommended: Setting) -> list[str]:
    """One pair of parameters, with the trials of a campaign: what is preferred, and what makes a part."""
    called = {one.name: one.called for one in state.terms.parameters}
    across, down = (replace(side, label=called[side.name]) for side in (drawn.across, drawn.down))
    drawn = replace(drawn, across=across, down=down)
    made = [t.setting for t in state.trials if t.usable]
    scrap = [t.setting for t in state.trials if t.stage is Stage.DONE and t.valid is False]
    marked = Marked(made, scrap, champion, recommended)
    found = []
    for look in range(len(_looks(drawn, marked))):
        with map_drawn(drawn, marked, look) as figure:
            found.append(_png(figure))
    return found


@dataclass(frozen=True)
class Marked:
    """The settings that are marked on a map."""

    made: Sequence[Setting]
    scrap: Sequence[Setting]
    champion: Setting
    recommended: Setting


def _looks(drawn: Map, marked: Marked) -> list[tuple[Any, str, str, str]]:
    """What is preferred, and what makes a part if there was any scrap: values, colours, words for both."""
    looks = [(drawn.quality, PREFERENCE_COLOURS, "share of this map believed worse", "preference")]
    if marked.scrap:
        looks.append((drawn.valid, VALID_COLOURS, "P(valid)", "parts or scrap"))
    return looks


@contextmanager
def map_drawn(drawn: Map, marked: Marked, only: int | None = None) -> Iterator["Figure"]:
    """One pair of parameters: what is preferred on the left, what makes a part on the right; or one of them only."""
    valid = np.ma.masked_array(drawn.valid, ~drawn.feasible)
    looks = _looks(drawn, marked)
    looks = looks if only is None else [looks[only]]
    across, down = drawn.across.places, drawn.down.places
    with _figure(4.6 * len(looks), 3.9) as figure:
        axes = None
        for place, (values, colours, label, title) in enumerate(looks, 1):
            axes = figure.add_subplot(1, len(looks), place)
            allowed = np.ma.masked_array(values, ~drawn.feasible)
            shown = axes.pcolormesh(across, down, allowed, cmap=colours, shading="nearest", vmin=0.0, vmax=1.0)
            figure.colorbar(shown, ax=axes, label=label, format=_percent)
            if drawn.valid.min() < 0.5 < drawn.valid.max() and min(drawn.valid.shape) > 1:
                axes.contour(across, down, valid, levels=[0.5], colors="white", linewidths=1)
            axes.set_title(title)
            _points(axes, drawn, marked)
        if axes is not None:
            figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2 * len(looks))
        yield figure


def _points(axes: "Axes", drawn: Map, marked: Marked) -> None:
    def places(settings: Sequence[Setting]) -> tuple[list[float], list[float]]:
        return (
            [drawn.across.place(setting[drawn.across.name]) for setting in settings],
            [drawn.down.place(setting[drawn.down.name]) for setting in settings],
        )

    axes.plot(
        *places(marked.made), "o", color="white", markeredgecolor="black", markersize=4, label="part", linestyle=""
    )
    if marked.scrap:
        axes.plot(
            *places(marked.scrap), "X", color=RED, markeredgecolor="white", markersize=7, label="scrap", linestyle=""
        )
    axes.plot(
        *places([marked.champion]), "*", color=ORANGE, markeredgecolor="black", markersize=13, label="champion", ls=""
    )
    axes.plot(*places([marked.recommended]), "D", mfc="none", mec="black", mew=1.4, ms=8, label="recommended", ls="")
    for side, name in ((drawn.across, "x"), (drawn.down, "y")):
        _ticks(axes, side, name)


def _ticks(axes: "Axes", side: Axis, name: str) -> None:
    along = axes.xaxis if name == "x" else axes.yaxis
    along.set_label_text(_label(side.label or side.name, side.unit))
    if side.choices:
        along.set_ticks(side.places, labels=list(side.choices))
    elif side.log:
        (axes.set_xscale if name == "x" else axes.set_yscale)("log")


def _label(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name
