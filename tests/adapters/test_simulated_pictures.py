"""Pictures of simulated parts: as bad to look at as the part is, and not all alike."""

import re

import numpy as np
import pytest

from adapters.simulated import SimulatedAdapter
from adapters.simulated.picture import FLAWS, pixels, plate, shares, svg, ugliness
from tuner.adapter import ParameterInfo
from tuner.problems import get_problem

SASENA = get_problem("sasena")


def test_a_worse_part_looks_worse_and_the_best_has_no_flaw():
    costs = SASENA.minimum + np.array([0.0, 0.1, 1.0, 5.0, 20.0])
    looks = [ugliness(SASENA, float(cost)) for cost in costs]
    assert looks[0] == 0.0
    assert looks == sorted(looks)
    assert looks[2] - looks[1] > 0.1, "a regret of one is seen beside one of a tenth"
    plates = [plate(one, (0, 0, 0, 1), 1) for one in looks]
    sizes = [float(re.findall(r'rx="([\d.]+)" ry="[\d.]+" fill="url\(#burn', svg(one))[0]) for one in plates]
    assert sizes == sorted(sizes)
    best = np.frombuffer(pixels(plates[0])[-3 * 120 * 85 :], np.uint8).astype(float)
    worse = [
        np.abs(np.frombuffer(pixels(one)[-3 * 120 * 85 :], np.uint8).astype(float) - best).mean() for one in plates
    ]
    assert worse == sorted(worse), "and so it is in the terminal's picture"


def test_parts_of_equal_cost_have_different_flaws_by_their_settings():
    found = {FLAWS[int(np.argmax(shares((a / 8, b / 8))))] for a in range(9) for b in range(9)}
    assert found == set(FLAWS)
    assert sum(shares((0.3, 0.8, 0.1))) == pytest.approx(1.0)
    assert plate(0.5, shares((0.1, 0.2)), 1) != plate(0.5, shares((0.1, 0.2)), 2)


def test_the_machine_says_where_the_picture_is_and_does_not_tell_the_cost(tmp_path):
    parameters = [ParameterInfo(name, "continuous", "", 3.5, 0.0, 5.0) for name in ("x1", "x2")]
    folder = tmp_path / "pictures"
    adapter = SimulatedAdapter(SimulatedAdapter.Settings(pictures=folder), parameters)
    adapter.open(1.0)
    adapter.apply({"x1": 3.5, "x2": 1.5}, 1.0)
    outcome = adapter.run_trial("../P1", 1.0)
    assert outcome.valid
    assert outcome.measurements == {}
    assert outcome.photo == str(folder / "P1.svg")
    assert (folder / "P1.svg").read_text().startswith("<svg")
    assert (folder / "P1.ppm").read_bytes().startswith(b"P6 120 85 255\n")
