"""The conformance suite finds what is wrong with an adapter."""

import inspect
import subprocess
import sys

import pytest

from tests.adapters.defects import DEFECTS, GoodAdapter, SecretSettings
from tests.patience import PATIENT_S
from tuner.adapter import ParameterInfo
from tuner.testing import LinkConformance, sample_settings

PARAMETERS = (
    ParameterInfo("speed", "continuous", 50.0, 0.0, 100.0, tolerance=0.01),
    ParameterInfo("turns", "integer", 3, 1, 9),
    ParameterInfo("tool", "choice", "fine", choices=("fine", "coarse")),
)


def failing_tests(adapter_class):
    """Run the whole suite on an adapter by hand; the names of the tests that failed."""

    class Suite(LinkConformance):
        adapter = type(adapter_class.__name__, (adapter_class,), {"__doc__": adapter_class.__doc__})
        parameters = PARAMETERS
        patience_s = 0.1

        def lose_machine(self):
            self.adapter.reachable = False

        def return_machine(self):
            self.adapter.reachable = True

        mute_machine = lose_machine

    failed = set()
    for name in dir(Suite):
        if not name.startswith("test_"):
            continue
        suite = Suite()
        Suite.adapter.reachable, Suite.adapter.holder = True, None
        settings = Suite.adapter.Settings() if adapter_class is not SecretSettings else SecretSettings.Settings(width=5)
        wanted = inspect.signature(getattr(suite, name)).parameters
        given = {"settings": settings} if "settings" in wanted else {}
        try:
            if "machine" in wanted:
                given["machine"] = suite.make(settings)
                given["machine"].open(1.0)
            getattr(suite, name)(**given)
        except Exception:  # noqa: BLE001 - a test fails by an assertion or by what the adapter raises
            failed.add(name)
    return failed


def test_a_good_adapter_passes_the_whole_suite():
    assert failing_tests(GoodAdapter) == set()


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_the_suite_finds_what_is_wrong(defect):
    assert DEFECTS[defect] in failing_tests(defect)


def test_every_test_of_the_suite_can_fail():
    assert set(DEFECTS.values()) == {name for name in dir(LinkConformance) if name.startswith("test_")}


def test_samples_are_within_the_bounds_on_the_grid_and_differ():
    parameters = (*PARAMETERS, ParameterInfo("dose", "stepped", 0.3, 0.1, 0.9, step=0.1))
    first, second, third = sample_settings(parameters)
    assert first == {"speed": 50.0, "turns": 3, "tool": "fine", "dose": 0.3}
    assert second == {"speed": 25.0, "turns": 7, "tool": "coarse", "dose": pytest.approx(0.7)}
    assert third == {"speed": 75.0, "turns": 5, "tool": "fine", "dose": pytest.approx(0.5)}
    assert isinstance(second["turns"], int)
    assert sample_settings([ParameterInfo("x", "continuous", 2.0)]) == [{"x": 2.0}, {"x": 2.25}, {"x": 2.75}]


def test_only_who_asks_for_the_suite_needs_pytest():
    program = (
        "import sys, tuner, tuner.adapter, tuner.config.plugins, tuner.cli.adapters; print('pytest' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENT_S, check=True
    )
    assert done.stdout == "False\n"
