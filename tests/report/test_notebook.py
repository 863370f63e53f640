"""Plots of an optimiser in a notebook, without a display."""

import subprocess
import sys

import pytest

from tests.core.helpers import LIGHT
from tuner import Choice, Continuous, Optimizer, Space, TunerError
from tuner.report.notebook import plot_map, plot_slices

PNG = b"\x89PNG\r\n\x1a\n"
SPACE = Space([Continuous("x", 0, 1, unit="bar"), Continuous("y", 1, 100, log=True), Choice("c", ["a", "b"])])


@pytest.fixture(scope="module")
def optimizer():
    made = Optimizer(SPACE, strategy=LIGHT)
    for place, x in enumerate((0.2, 0.5, 0.8, 0.95)):
        made.tell_outcome(made.add({"x": x, "y": 10.0 + place, "c": "ab"[place % 2]}), x < 0.9)
    made.tell_judgment(2, 1)
    made.tell_judgment(2, 3)
    return made


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(PNG)
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def test_slices_and_maps_are_pictures_that_a_notebook_shows_by_itself(optimizer, tmp_path):
    before = optimizer.state()
    slices, wide = plot_slices(optimizer), plot_map(optimizer, "x", "y")
    assert size(slices._repr_png_())[0] > 900  # three parameters beside each other
    assert size(wide._repr_png_())[0] > 900  # preference, and parts or scrap
    assert size(plot_map(optimizer, "c", "x")._repr_png_())
    slices.save(tmp_path / "slices.png")
    assert size((tmp_path / "slices.png").read_bytes()) == size(slices.png)
    assert optimizer.state() == before  # to look changes nothing


def test_without_scrap_a_map_has_no_second_half():
    made = Optimizer(SPACE, strategy=LIGHT)
    for x in (0.2, 0.5):
        made.tell_outcome(made.add({"x": x, "y": 10.0, "c": "a"}), True)
    made.tell_judgment(2, 1)
    assert size(plot_map(made, "x", "y").png)[0] < 600


def test_what_cannot_be_drawn_is_told(optimizer):
    with pytest.raises(TunerError, match="there is no valid trial yet"):
        plot_slices(Optimizer(SPACE, strategy=LIGHT))
    with pytest.raises(TunerError, match='there is no parameter "z"'):
        plot_map(optimizer, "x", "z")
    with pytest.raises(TunerError, match="two different parameters"):
        plot_map(optimizer, "x", "x")


def test_neither_a_display_nor_pyplot_is_needed():
    program = "import sys, tuner.report.notebook; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], env={}, check=False).returncode == 0
