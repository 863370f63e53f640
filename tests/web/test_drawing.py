"""Pictures of the engineer's window: right places, small, and every letter escaped."""

import re

import pytest

from tests.console.test_console_pieces import X, cut, trial
from tuner.console.language import Words
from tuner.web.drawing import progress, slice_picture
from tuner.web.maps import Scale, crossings, map_picture
from tuner.wire.messages import ParameterView
from tuner.wire.model_answers import MapView, WindowView

WORDS = Words("en")
EVIL = '<script>&"'


def like_x(**changes):
    return ParameterView.model_validate({**X.model_dump(), **changes})


def test_a_scale_follows_the_grid_even_where_it_is_logarithmic():
    scale = Scale([1.0, 10.0, 100.0])
    assert [scale.place(value) for value in (0.5, 1.0, 10.0, 100.0, 1000.0)] == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert scale.cell(0) == (0.0, 0.25)
    assert scale.cell(1) == (0.25, 0.75)
    gates = Scale(["edge", "fan"])
    assert (gates.place("edge"), gates.place("fan"), gates.place("new")) == (0.25, 0.75, 0.5)
    assert gates.cell(1) == (0.5, 1.0)


def test_a_border_is_where_the_level_is_passed():
    values = [[0.0, 0.5, 1.0]] * 3
    found = crossings(values, 0.25)
    assert {end for piece in found for end in piece} == {(0.5, 0.0), (0.5, 1.0), (0.5, 2.0)}
    assert crossings(values, 2.0) == []


def test_a_map_shows_chances_borders_the_window_and_what_was_tried():
    grid = [float(value) for value in range(11)]
    drawn = MapView(
        across="x",
        down=EVIL,
        columns=grid,
        lines=grid,
        better=[[column / 10 for column in range(11)] for _ in grid],
        valid=[[line / 10] * 11 for line in range(11)],
        feasible=[[column < 9 for column in range(11)] for _ in grid],
    )
    trials = [trial(1, setting={"x": 5.0, EVIL: 5.0}), trial(2, setting={"x": 2.0, EVIL: 2.0}, valid=False)]
    windows = {
        name: WindowView(name=name, low=4.0, high=6.0, below="valid", above="better", options=[])
        for name in ("x", EVIL)
    }
    picture = map_picture(WORDS, drawn, (X, like_x(name=EVIL)), trials, 1, ({"x": 6.0, EVIL: 6.0}, windows))
    assert "<script>" not in picture
    for kind in (
        "shade0",
        "shade8",
        "forbidden",
        "border half",
        "border sure",
        "window",
        "star",
        "scrap",
        "recommended",
    ):
        assert f'class="{kind}"' in picture, kind
    assert picture.count("<rect") < 11 * 11 + 3, "cells of one shade are one field"


def test_a_map_of_choices_marks_what_hardly_makes_a_part():
    gate = like_x(name="gate", kind="choice", choices=["edge", "fan"])
    drawn = MapView(
        across="x",
        down="gate",
        columns=[0.0, 10.0],
        lines=["edge", "fan"],
        better=[[0.1, 0.9]] * 2,
        valid=[[0.1, 0.9]] * 2,
        feasible=[[True, True]] * 2,
    )
    picture = map_picture(WORDS, drawn, (X, gate), [], None, (None, {}))
    assert picture.count('class="unlikely"') == 2
    assert ">edge<" in picture


def test_the_progress_falls_with_each_better_part_and_marks_scrap():
    trials = [trial(number, valid=number != 3) for number in (1, 2, 3, 4)]
    picture = progress(WORDS, trials, 4, {1: 0.5, 2: 0.7, 4: 0.002})
    (line,) = re.findall(r'class="better" d="M([^"]*)"', picture)
    heights = [float(point.split()[1]) for point in line.split("L")]
    assert heights == sorted(heights), "lower on the page is better, and it never rises"
    assert len(set(heights)) == 2
    assert picture.count('class="scrap"') == 1
    assert picture.count('class="star"') == 1
    assert progress(WORDS, trials, 4, {}) is None


@pytest.mark.parametrize("kind", ["continuous", "choice"])
def test_a_slice_is_in_percent_and_shows_the_window(kind):
    values = [0.0, 5.0, 10.0] if kind == "continuous" else ["a", EVIL, "c"]
    parameter = X if kind == "continuous" else like_x(kind=kind, choices=values)
    along = cut(kind=kind, at=values[1], values=values)
    window = WindowView(name="x", low=4.0, high=6.0, below="", above="", options=[]) if kind == "continuous" else None
    picture = slice_picture(WORDS, along, parameter, [], window)
    assert ">100 %<" in picture
    assert ('class="window"' in picture) == (window is not None)
    assert "<script>" not in picture
