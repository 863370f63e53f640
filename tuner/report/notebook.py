"""Plots of what an optimiser believes, for notebooks: no display, no pyplot and no magic words are needed.

    from tuner.report.notebook import plot_map, plot_slices

    plot_slices(optimizer)                          # along each parameter through the champion
    plot_map(optimizer, "pressure", "speed")        # two of them
    plot_slices(optimizer).save("slices.png")

The extra `report` has matplotlib: pip install "process-tuner[report]".
"""

import io
from pathlib import Path

from tuner.basics.text import listed, nearest, shown
from tuner.compute.slices import slices
from tuner.core.linalg import FloatArray
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.optimizer.proposer import Knowledge
from tuner.errors import TunerError
from tuner.report.beliefs import SLICE_POINTS, map_of
from tuner.report.figures import Marked, map_drawn, require_matplotlib, slices_drawn

_DPI = 110


class Drawing:
    """A figure that a notebook shows by itself."""

    def __init__(self, png: bytes) -> None:
        """Keep the picture."""
        self.png = png

    def _repr_png_(self) -> bytes:
        return self.png

    def save(self, path: str | Path) -> None:
        """Write it as a PNG file."""
        Path(path).write_bytes(self.png)


def plot_slices(optimizer: Optimizer) -> Drawing:
    """Along each parameter through the champion: the chance to be better than it, and P(valid).

    Raises:
        TunerError: There is no valid trial yet, or matplotlib is not installed.
    """
    known, _ = _learned(optimizer)
    data = io.BytesIO()
    with slices_drawn(slices(known, SLICE_POINTS)) as figure:
        figure.savefig(data, format="png", dpi=_DPI)
    return Drawing(data.getvalue())


def plot_map(optimizer: Optimizer, across: str, down: str) -> Drawing:
    """Two parameters, all else as in the champion: what is preferred and, after scrap, what makes a part.

    Raises:
        TunerError: There is no valid trial yet, no such parameter, or matplotlib is not installed.
    """
    names = optimizer.space.names
    for name in (across, down):
        if name not in names:
            raise TunerError(
                f"there is no parameter {shown(name)}{nearest(name, names) or ';'} there are {listed(names)}"
            )
    if across == down:
        raise TunerError("a map has two different parameters")
    known, champion = _learned(optimizer)
    ledger = known.ledger
    own = [trial for trial in ledger.trials.values() if not trial.earlier and trial.excluded is None]
    marked = Marked(
        [trial.setting for trial in own if trial.usable],
        [trial.setting for trial in own if trial.valid is False],
        ledger.trials[known.champion_id or 0].setting,
        optimizer.recommendation(known).setting,
    )
    data = io.BytesIO()
    with map_drawn(map_of(known, champion, (across, down)), marked) as figure:
        figure.savefig(data, format="png", dpi=_DPI)
    return Drawing(data.getvalue())


def _learned(optimizer: Optimizer) -> tuple[Knowledge, FloatArray]:
    require_matplotlib()
    known = optimizer.learned()
    if known.champion is None:
        raise TunerError("there is no valid trial yet, so there is nothing to draw")
    return known, known.champion
