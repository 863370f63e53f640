"""The paper's figures from our results, as SVG text: matplotlib's Figure without pyplot, the same bytes every time."""

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.errors import TunerError
from tuner.lab.paper.compare import Runs, mean_curve, of
from tuner.lab.paper.examples import VALID_ABOVE, Band, Mixed, Section4, Step, g
from tuner.lab.paper.tasks import ACQUISITIONS, AUTO, FUNCTIONS, MIXED_ACQUISITIONS, START
from tuner.problems import get_problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"gpl": "#1f5fbf", "skewgp": "#c0392b"}
NAMES = {"gpl": "GPL", "skewgp": "SkewGP"}
ACQUISITION_COLOURS = {"ucb": "#1b7837", "eiig-0.1": "#c0392b", "eiig-0.5": "#e08214", "thompson": "#5e4fa2"}
DRAWN = 175  # points of a line that are drawn at most: smaller files, the same picture
STYLE: dict[Any, Any] = {"font.size": 8.0, "axes.linewidth": 0.6, "lines.linewidth": 1.1, "legend.frameon": False}


def require_matplotlib() -> None:
    """Say at once, and not after hours of runs, that figures cannot be drawn.

    Raises:
        TunerError: matplotlib is not installed.
    """
    try:
        import matplotlib.figure  # noqa: F401 - only asked for
    except ImportError:
        raise TunerError("figures need matplotlib: install process-tuner with the extra `report`") from None


def _figure(width_in: float, height_in: float) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in, height_in), layout="constrained")


def _thinned(values: FloatArray) -> FloatArray:
    return values[:: max(1, len(values) // DRAWN)]


def _svg(figure: "Figure") -> str:
    from matplotlib import rc_context

    text = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "tuner", "path.simplify_threshold": 0.5}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    # two digits after the point are a hundredth of a point on paper, and half of the file
    return re.sub(r"(\d+\.\d\d)\d+", r"\1", text.getvalue())


def _draw_band(axes: "Axes", grid: FloatArray, band: Band, model: str) -> None:
    x = _thinned(grid)
    axes.plot(x, _thinned(band.mean), color=COLOURS[model], label=NAMES[model])
    for end in (band.low, band.high):
        axes.plot(x, _thinned(end), color=COLOURS[model], linestyle="--", linewidth=0.7)


def _draw_g(axes: "Axes", grid: FloatArray, queried: Sequence[float], reference: float | None = None) -> None:
    axes.plot(_thinned(grid), g(_thinned(grid)), color="#444444")
    axes.plot(queried, g(np.array(queried)), "o", color="#444444", markersize=3)
    if reference is not None:
        axes.plot([reference], g(np.array([reference])), "o", color="#e08214", markersize=5)
    axes.set_title("g(x) and the queried points")


def draw_section4(found: Section4, queried: Sequence[float]) -> str:
    """Draw g, both posteriors of f and two marginals."""
    from matplotlib import rc_context

    with rc_context(STYLE):
        figure = _figure(8, 4.4)
        grid = figure.add_gridspec(2, 3)
        _draw_g(figure.add_subplot(grid[0, :2]), found.grid, queried)
        below = figure.add_subplot(grid[1, :2])
        for model, band in found.bands.items():
            _draw_band(below, found.grid, band, model)
        below.set_title("posterior of f(x), mean and 95 % region")
        below.legend()
        for row, marginal in enumerate(found.marginals):
            axes = figure.add_subplot(grid[row, 2])
            for model, density in marginal.density.items():
                axes.plot(marginal.values, density, color=COLOURS[model], label=NAMES[model])
            axes.set_title(f"density of f({marginal.at:g})")
        return _svg(figure)


def draw_figure3(steps: Sequence[Step]) -> str:
    """Draw the four iterations: queries, both posteriors of f(x) - f(x_r), skewness."""
    from matplotlib import rc_context

    with rc_context(STYLE):
        figure = _figure(9, 2.1 * len(steps))
        for row, step in enumerate(steps):
            left, middle, right = (figure.add_subplot(len(steps), 3, 3 * row + k) for k in (1, 2, 3))
            _draw_g(left, step.grid, step.queried, step.reference)
            for model, band in step.bands.items():
                _draw_band(middle, step.grid, band, model)
                top = band.high[np.argmin(np.abs(step.grid - step.best[model]))]
                middle.plot([step.best[model]], [top], "*", color=COLOURS[model], markersize=8)
            middle.set_title("f(x) - f(x_r) and the largest UCB")
            right.plot(_thinned(step.grid), _thinned(step.bands["skewgp"].skewness), color=COLOURS["skewgp"])
            right.axhline(0.0, color="#999999", linewidth=0.5)
            right.set_title("skewness of f(x) - f(x_r)")
            left.set_ylabel(f"iteration {row + 1}")
        return _svg(figure)


def _draw_curves(axes: "Axes", runs: Runs, figure: int, problem: str | None, pairs: Sequence[tuple[str, str]]) -> None:
    """Draw every method that has a finished run: the first of a pair dashed, the second solid."""
    for acquisition in ACQUISITIONS:
        for (prefix, name), line in zip(pairs, ("--", "-"), strict=True):
            records = list(of(runs, figure, f"{prefix}-{acquisition}", problem).values())
            if records:
                values = mean_curve(records)
                duels = np.arange(len(values)) + START - 1
                label = f"{name} {acquisition}"
                axes.plot(duels, values, line, color=ACQUISITION_COLOURS[acquisition], label=label)
    records = list(of(runs, figure, AUTO.name, problem).values())
    if records:
        values = mean_curve(records)
        axes.plot(np.arange(len(values)) + START - 1, values, color="black", label="auto (ours)")
    axes.set_yscale("log")
    axes.grid(visible=True, linewidth=0.3)


def draw_figure4(runs: Runs) -> str:
    """Draw the mean regret on every function that has a finished run."""
    from matplotlib import rc_context

    shown = [name for name in FUNCTIONS if of(runs, 4, AUTO.name, name) or of(runs, 4, "gpl-ucb", name)]
    with rc_context(STYLE):
        figure = _figure(9, 0.6 + 2.6 * max(1, -(-len(shown) // 2)))
        axes = None
        for place, problem in enumerate(shown):
            axes = figure.add_subplot(-(-len(shown) // 2), 2, place + 1)
            _draw_curves(axes, runs, 4, problem, [("gpl", "GPL"), ("skewgp", "SkewGP")])
            axes.set_title(problem)
            axes.set_xlabel("duels")
            axes.set_ylabel("mean regret of x_r")
        if axes is not None:
            figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5)
        return _svg(figure)


def draw_figure5(runs: Runs) -> str:
    """Draw the mean regret of the one-dimensional race."""
    from matplotlib import rc_context

    with rc_context(STYLE):
        figure = _figure(7, 3.6)
        axes = figure.add_subplot()
        _draw_curves(axes, runs, 5, None, [("gpl", "GPL"), ("skewgp", "SkewGP")])
        axes.set_xlabel("duels")
        axes.set_ylabel("mean regret of x_r")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")
        return _svg(figure)


def draw_figure6(found: Mixed) -> str:
    """Draw g with the non-valid zone, the mixed posterior and P(valid)."""
    from matplotlib import rc_context

    with rc_context(STYLE):
        figure = _figure(9, 2.6)
        left, right, last = (figure.add_subplot(1, 3, k) for k in (1, 2, 3))
        _draw_g(left, found.grid, found.labelled)
        _draw_band(right, found.grid, found.band, "skewgp")
        right.set_title("mixed posterior of f(x)")
        last.plot(_thinned(found.grid), _thinned(found.valid), color=COLOURS["skewgp"])
        last.set_title("P(valid)")
        for axes in (left, right, last):
            axes.axvspan(float(found.grid[0]), VALID_ABOVE, color="#dddddd", zorder=0)
        right.axhline(0.0, color="#999999", linewidth=0.5)
        return _svg(figure)


def draw_figure7(runs: Runs) -> str:
    """Draw Sasena's level sets with the non-valid bands, and the median regret."""
    from matplotlib import rc_context

    problem = get_problem("sasena")
    axis = np.linspace(0.0, 5.0, 81)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    shape = (len(axis), len(axis))
    with rc_context(STYLE):
        figure = _figure(9, 3.8)
        left, right = (figure.add_subplot(1, 2, k) for k in (1, 2))
        invalid = (~problem.is_valid(points)).astype(float).reshape(shape)
        left.contourf(axis, axis, invalid, levels=[0.5, 1.5], colors=["#dddddd"])
        left.contour(axis, axis, problem.evaluate(points).reshape(shape), levels=12, linewidths=0.5)
        left.plot(*problem.minimisers[0], "*", color="#c0392b", markersize=9)
        left.set_title("cost, non-valid bands, minimum")
        _draw_curves(right, runs, 7, None, [("penalised", "penalised"), ("mixed", "mixed")])
        right.set_xlabel("trials after the first")
        right.set_ylabel("median regret of x_r")
        figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=len(MIXED_ACQUISITIONS) + 1)
        return _svg(figure)
