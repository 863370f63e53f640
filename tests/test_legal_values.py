"""One definition of a legal value: configuration, optimiser, gate and adapters give the same answer about any value."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from adapters.shared.values import value_from_json
from tests.patience import PATIENT_S
from tuner.adapter import LinkError, RefusedError, check_setting
from tuner.campaign.terms import Terms
from tuner.config.parameters import Parameter, parameter_info
from tuner.config.to_space import core_parameter
from tuner.core.space.parameters import SpaceError
from tuner.gate.plan import GateRefusal, checked

PARAMETER = TypeAdapter(Parameter)
NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-20, 20),
    st.integers(-20, 20),
    st.integers(),
    st.sampled_from([10**400, True, False, None, "a", "1.0", [1.0], 1j, math.nan, Fraction(1, 3)]),
)


@st.composite
def numeric(draw):
    """The table of a parameter that is a number, as a configuration has it."""
    kind = draw(st.sampled_from(["continuous", "integer", "stepped"]))
    if kind == "integer":
        low = draw(st.integers(-1000, 1000))
        return {"kind": kind, "low": low, "high": low + draw(st.integers(1, 1000)), "start": low}
    low = draw(st.decimals(-1000, 1000, places=3))
    if kind == "continuous":
        high = low + draw(st.decimals(min_value="0.001", max_value=1000, places=3))
        return {"kind": kind, "low": float(low), "high": float(high), "start": float(low)}
    step = draw(st.decimals(min_value="0.0001", max_value=10, places=4))
    high = low + step * draw(st.integers(1, 2000))
    return {"kind": kind, "low": float(low), "high": float(high), "step": float(step), "start": float(low)}


def near(table, draw):
    """A value that may or may not be legal: on the grid, a little off it, or far."""
    share = draw(st.floats(-0.1, 1.1))
    value = table["low"] + share * (table["high"] - table["low"])
    step = table.get("step", 1.0)
    on = table["low"] + step * round((value - table["low"]) / step)
    return draw(st.sampled_from([value, on, on + 1e-7 * step, on + 1e-3 * step, round(on), float(round(on))]))


def config_takes(table, value):
    """Whether a configuration takes it as the known-good value; it wants the kind's own type."""
    try:
        PARAMETER.validate_python({**table, "name": "p", "start": value})
    except ValidationError:
        return False
    return True


def gate_takes(parameter, value):
    terms = Terms.model_construct(parameters=(parameter,), constraints=())
    try:
        return checked(terms, {"p": value})["p"]
    except GateRefusal:
        return None


def optimiser_takes(parameter, value):
    try:
        return core_parameter(parameter).checked(value)
    except SpaceError:
        return None


@given(st.data(), numeric())
def test_config_gate_optimiser_and_adapters_agree_about_any_number(data, table):
    parameter = PARAMETER.validate_python({**table, "name": "p"})
    value = data.draw(NUMBERS) if data.draw(st.booleans()) else near(table, data.draw)
    info = parameter_info(parameter)
    taken = optimiser_takes(parameter, value)
    assert gate_takes(parameter, value) == taken
    assert (info.domain.problem(value) == "") is (taken is not None)
    if taken is None:
        if isinstance(value, float | int | str | None) and not isinstance(value, bool):
            assert not config_takes(table, value)
        return
    own = float(value) if table["kind"] != "integer" else int(value)
    assert config_takes(table, own)
    sent = check_setting({"p": value}, [info])["p"]
    assert info.domain.same(sent, taken, info.domain.grid_error)
    assert type(sent) is type(taken) is (int if table["kind"] == "integer" else float)
    assert gate_takes(parameter, taken) == optimiser_takes(parameter, taken) == taken, "a legal value stays as it is"


@given(st.one_of(st.text(max_size=3), NUMBERS))
def test_all_agree_about_any_choice(value):
    table = {"kind": "choice", "choices": ("a", "b", "é"), "start": "a"}
    parameter = PARAMETER.validate_python({**table, "name": "p"})
    info = parameter_info(parameter)
    legal = value in ("a", "b", "é") if isinstance(value, str) else False
    assert optimiser_takes(parameter, value) == value if legal else optimiser_takes(parameter, value) is None
    assert gate_takes(parameter, value) == optimiser_takes(parameter, value)
    assert config_takes(table, value) is legal
    if legal:
        assert check_setting({"p": value}, [info]) == {"p": value}
    else:
        with pytest.raises(RefusedError, match="p must be one of"):
            check_setting({"p": value}, [info])


@given(numeric(), NUMBERS)
def test_what_a_machine_says_is_a_value_of_the_kind_or_nonsense(table, value):
    info = parameter_info(PARAMETER.validate_python({**table, "name": "p"}))
    try:
        said = value_from_json(info, value)
    except LinkError:
        assert info.domain.not_a(value)
    else:
        assert not info.domain.not_a(value)
        assert check_setting({"p": said}, [info]) == {"p": said}, "what was read can be sent again"


@given(numeric(), st.floats(-1e6, 1e6))
def test_the_nearest_legal_number_is_legal_and_the_optimisers(table, number):
    parameter = PARAMETER.validate_python({**table, "name": "p"})
    domain, core = parameter.domain, core_parameter(parameter)
    nearest = domain.snapped(number)
    assert domain.problem(nearest) == ""
    assert core.checked(nearest) == nearest
    if domain.levels:
        assert core.levels == domain.levels
        assert nearest in {core.level(0), core.level(domain.levels - 1)} or domain.low < nearest < domain.high


@pytest.mark.slow
def test_a_fine_grid_far_from_zero_has_the_same_values_for_all():
    table = {"kind": "stepped", "low": 100000.1, "high": 100000.2, "step": 1e-7, "start": 100000.15}
    parameter = PARAMETER.validate_python({**table, "name": "p"})
    core = core_parameter(parameter)
    for index in (0, 1, 12345, 777777, 1_000_000):
        assert gate_takes(parameter, core.level(index)) == core.level(index)


def test_numbers_of_numpy_are_numbers_and_truths_are_not():
    parameter = PARAMETER.validate_python({"kind": "integer", "low": 0, "high": 5, "start": 1, "name": "p"})
    for value in (np.float32(2), np.int8(2), np.float64(2), 2, 2.0):
        assert gate_takes(parameter, value) == optimiser_takes(parameter, value) == 2
    for value in (np.True_, True, np.float32("nan"), np.array([2])):
        assert gate_takes(parameter, value) is optimiser_takes(parameter, value) is None


def test_authors_of_adapters_import_no_numpy():
    program = "import sys, tuner.adapter; sys.exit('numpy' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=PATIENT_S).returncode == 0
