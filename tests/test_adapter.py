import math
from importlib.metadata import EntryPoint

import pytest

from tuner.adapter import API_VERSION, Adapter, Outcome
from tuner.config import plugins
from tuner.config.plugins import AdapterNotFoundError, adapter_names, load_adapter


class FutureAdapter(Adapter):
    api_version = API_VERSION + 1


NOT_AN_ADAPTER = 3


@pytest.fixture
def installed(monkeypatch):
    """Pretend that adapters of third parties are installed."""
    points = {
        "broken": EntryPoint("broken", "no_such_module:Adapter", plugins.GROUP),
        "number": EntryPoint("number", f"{__name__}:NOT_AN_ADAPTER", plugins.GROUP),
        "future": EntryPoint("future", f"{__name__}:FutureAdapter", plugins.GROUP),
    }
    monkeypatch.setattr(
        plugins, "entry_points", lambda group, name=None: [p for p in points.values() if name in (None, p.name)]
    )


def test_an_unknown_adapter_is_answered_with_the_nearest_and_all_installed_ones():
    with pytest.raises(AdapterNotFoundError, match=r'did you mean "simulated"\? installed: .*"simulated"'):
        load_adapter("simulate")


def test_names_are_told_without_importing_any_adapter(installed):
    assert adapter_names() == ("broken", "future", "number")


@pytest.mark.parametrize(
    ("name", "reason"),
    [("broken", "cannot be imported"), ("number", "not a subclass"), ("future", "version 2 of the adapter contract")],
)
def test_an_adapter_that_cannot_be_used_says_why(installed, name, reason):
    with pytest.raises(AdapterNotFoundError, match=reason):
        load_adapter(name)


def test_a_non_valid_outcome_needs_a_reason():
    with pytest.raises(ValueError, match="reason"):
        Outcome(valid=False)


def test_measurements_are_finite():
    with pytest.raises(ValueError, match="finite"):
        Outcome(valid=True, measurements={"objective": math.nan})


def test_there_are_no_more_measurements_than_journal_and_tables_take():
    with pytest.raises(ValueError, match="at most 200 measurements, not 201"):
        Outcome(valid=True, measurements={f"m{number}": 1.0 for number in range(201)})
