"""Every adapter that comes with tuner is tested by the conformance suite, and the suite finds what is wrong."""

import contextlib
import importlib.util
import inspect
import json
import math
import re
import subprocess
import sys
import threading
import types
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import entry_points
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from pydantic import Field

from tuner.adapter import Adapter, AdapterSettings, Health, LinkError, Outcome, ParameterInfo, RefusedError
from tuner.plugins import GROUP, load_adapter
from tuner.testing import AdapterConformance, LinkConformance, sample_settings

HERE = Path(__file__).parent
README = HERE.parents[1] / "adapters" / "README.md"
OURS = sorted(point.name for point in entry_points(group=GROUP) if point.dist and point.dist.name == "process-tuner")


@pytest.fixture(scope="module")
def covered():
    """Classes of adapters that the tests in this folder put to the conformance suite.

    The files are read here once more, under other names, so that this does not depend on what else is being run.
    """
    found = set()
    for file in sorted(HERE.glob("test_*.py")):
        if file == Path(__file__):
            continue
        name = f"conformance_scan_{file.stem}"
        specification = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(specification)
        sys.modules[name] = module
        specification.loader.exec_module(module)
        for suite in vars(module).values():
            # pytest collects classes whose name begins with Test, and only those
            if isinstance(suite, type) and issubclass(suite, AdapterConformance) and suite.__name__.startswith("Test"):
                found.add(suite.adapter)
    return found


@pytest.mark.parametrize("name", OURS)
def test_every_adapter_that_comes_with_tuner_is_put_to_the_conformance_suite(name, covered):
    adapter = load_adapter(name)
    names = {f"{each.__module__}.{each.__qualname__}" for each in covered}
    assert f"{adapter.__module__}.{adapter.__qualname__}" in names, f"no TestConformance for the adapter {name}"


def test_the_adapters_of_the_project_are_known():
    assert {"command", "mqtt", "serial", "simulated"} <= set(OURS)


# ---- the adapter of the README ---------------------------------------------------------------------------------------


class Oven(ThreadingHTTPServer):
    """The machine the README's adapter speaks to."""

    daemon_threads = False  # so that closing the server waits for them

    def __init__(self, port=0):
        self.values, self.speaks = {"heat": 20.0, "fan": 0.0}, threading.Event()
        self.speaks.set()
        super().__init__(("127.0.0.1", port), OvenPages)
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self.thread.start()

    def stop(self):
        self.speaks.set()
        self.shutdown()
        self.thread.join()
        self.server_close()


class OvenPages(BaseHTTPRequestHandler):
    def do_GET(self):
        page = urlsplit(self.path)
        if page.path == "/set":
            self.server.values = {name: float(value) for name, value in parse_qsl(page.query)}
        answers = {"/setting": self.server.values, "/run": {"valid": True}, "/health": {"ok": True, "text": "warm"}}
        self.server.speaks.wait()
        with contextlib.suppress(OSError):  # nobody may be waiting any more
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answers.get(page.path, {})).encode())

    def log_message(self, *_):
        """Be quiet."""


def readme_adapter():
    code = re.search(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)[1]
    module = types.ModuleType("readme_oven")
    exec(compile(code, str(README), "exec"), vars(module))  # noqa: S102 - our own text
    return module


class TestConformanceOfTheReadme(LinkConformance):
    adapter = readme_adapter().OvenAdapter
    parameters = (
        ParameterInfo("heat", "continuous", 180.0, 100.0, 250.0),
        ParameterInfo("fan", "stepped", 20.0, 0.0, 100.0, step=10.0),
    )

    @pytest.fixture
    def settings(self):
        self.oven = Oven()
        yield self.adapter.Settings(address=f"http://127.0.0.1:{self.oven.server_port}")
        self.oven.stop()

    def lose_machine(self):
        self.oven.stop()

    def return_machine(self):
        self.oven = Oven(self.oven.server_port)

    def mute_machine(self):
        self.oven.speaks.clear()


# ---- what is wrong is found ------------------------------------------------------------------------------------------


class GoodSettings(AdapterSettings):
    depth: int = Field(3, description="how deep")


class GoodAdapter(Adapter[GoodSettings]):
    """Keeps a machine in memory; the subclasses below each have one defect."""

    Settings = GoodSettings
    reachable = True

    def __init__(self, settings, parameters):
        super().__init__(settings, parameters)
        self.opened, self.parts = False, {}
        self.values = {parameter.name: parameter.start for parameter in parameters}

    def need(self):
        if not (self.opened and self.reachable):
            raise LinkError("not connected")

    def check(self, setting):
        if set(setting) != {p.name for p in self.parameters}:
            raise RefusedError("incomplete")
        for p in self.parameters:
            value = setting[p.name]
            number = type(value) in (int, float) and math.isfinite(value)
            if not (value in p.choices if p.choices else number):
                raise RefusedError(f"not a value: {value!r}")

    def open(self, deadline_s):
        self.opened = True
        self.need()

    def apply(self, setting, deadline_s):
        self.need()
        self.check(setting)
        self.values = dict(setting)

    def read_back(self, deadline_s):
        self.need()
        return dict(self.values)

    def run_trial(self, tag, deadline_s):
        self.need()
        return self.parts.setdefault(tag, Outcome(True, measurements={"number": len(self.parts)}))

    def health(self, deadline_s):
        return Health(self.opened and self.reachable, "memory")

    def close(self):
        self.opened = False


class NoDescription(GoodAdapter):
    """Has a setting nobody explains."""

    class Settings(GoodSettings):
        width: int = 3


class SecretSettings(GoodAdapter):
    """Its settings do not survive the way to another process."""

    class Settings(GoodSettings):
        width: int = Field(4, description="how wide", exclude=True)


class Grumpy(GoodAdapter):
    """Complains about everything."""

    @classmethod
    def complaints(cls, settings, parameters):
        return ["no"]


class Undocumented(GoodAdapter):
    __doc__ = None


class Outdated(GoodAdapter):
    """Is written for another contract."""

    api_version = 0


class ClosesOnce(GoodAdapter):
    """Cannot be closed twice."""

    def close(self):
        if not self.opened:
            raise RuntimeError("not open")
        self.opened = False


class AnswersWhenClosed(GoodAdapter):
    """Reads back what it remembers."""

    def read_back(self, deadline_s):
        return dict(self.values)


class WellWhenClosed(GoodAdapter):
    """Is always well."""

    def health(self, deadline_s):
        return Health(True, "fine")


class WrongError(GoodAdapter):
    """Raises what nobody expects when it is closed."""

    def need(self):
        if not (self.opened and self.reachable):
            raise ConnectionError("not connected")


class ForgetsOne(GoodAdapter):
    """Does not read all parameters back."""

    def read_back(self, deadline_s):
        return dict(list(super().read_back(deadline_s).items())[:-1])


class Rounds(GoodAdapter):
    """Is off by more than the tolerance."""

    def read_back(self, deadline_s):
        return {n: v + 0.02 if isinstance(v, float) else v for n, v in super().read_back(deadline_s).items()}


class ReadsText(GoodAdapter):
    """Reads numbers back as text."""

    def read_back(self, deadline_s):
        return {n: str(v) for n, v in super().read_back(deadline_s).items()}


class IntegersAsFloats(GoodAdapter):
    """Reads whole numbers back as fractions."""

    def read_back(self, deadline_s):
        return {n: v if isinstance(v, str) else float(v) for n, v in super().read_back(deadline_s).items()}


class StaysAway(GoodAdapter):
    """Does not go home."""

    def go_to(self, known_good, deadline_s):
        self.need()


class TakesAnything(GoodAdapter):
    """Checks nothing."""

    def check(self, setting):
        pass


class ChecksTooLate(GoodAdapter):
    """Refuses, but after it has changed something."""

    def apply(self, setting, deadline_s):
        self.need()
        self.values = dict(setting)
        self.check(setting)


class NoOutcome(GoodAdapter):
    """Says yes instead of giving an outcome."""

    def run_trial(self, tag, deadline_s):
        self.need()
        return True


class MakesTwice(GoodAdapter):
    """Makes another part with the same tag."""

    made = 0

    def run_trial(self, tag, deadline_s):
        self.need()
        self.made += 1
        return Outcome(True, measurements={"number": self.made})


class TrueHealth(GoodAdapter):
    """Says yes instead of telling its health."""

    def health(self, deadline_s):
        return self.opened


class OddInterlock(GoodAdapter):
    """Has an interlock that is neither true nor false."""

    def health(self, deadline_s):
        return Health(self.opened, "memory", {"guard": "closed"})


class NeverLetsGo(GoodAdapter):
    """Keeps a lock, so that no other adapter can reach the machine."""

    holder = None

    def open(self, deadline_s):
        holder = type(self).holder
        if holder is not None and holder is not self:
            raise LinkError("somebody else has it")
        type(self).holder = self
        super().open(deadline_s)


class BeginsWithNothing(GoodAdapter):
    """Cannot say what the machine has before it was told."""

    def __init__(self, settings, parameters):
        super().__init__(settings, parameters)
        self.values = {}


class TakesItsTime(GoodAdapter):
    """Does not look at deadlines."""

    def run_trial(self, tag, deadline_s):
        threading.Event().wait(0.3)
        return super().run_trial(tag, deadline_s)


class Silent(GoodAdapter):
    """Does not say what went wrong."""

    def need(self):
        if not (self.opened and self.reachable):
            raise LinkError("")


class RemembersWhenLost(GoodAdapter):
    """Tells old values of a machine that is gone."""

    def read_back(self, deadline_s):
        if not self.opened:
            raise LinkError("not connected")
        return dict(self.values)


class GivesUpForGood(GoodAdapter):
    """Says that trying again does not help."""

    def need(self):
        if not self.opened:
            raise LinkError("not connected")
        if not self.reachable:
            raise RefusedError("gone")


class NeverReturns(GoodAdapter):
    """Does not find the machine again."""

    lost = False

    def need(self):
        self.lost = self.lost or not self.reachable
        if self.lost or not self.opened:
            raise LinkError("not connected")


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


DEFECTS = {
    NoDescription: "test_the_class_is_written_for_this_contract_and_documented",
    Undocumented: "test_the_class_is_written_for_this_contract_and_documented",
    Outdated: "test_the_class_is_written_for_this_contract_and_documented",
    SecretSettings: "test_the_settings_survive_the_way_to_another_process",
    Grumpy: "test_there_are_no_complaints_about_good_settings",
    ClosesOnce: "test_it_opens_and_closes_as_often_as_asked",
    AnswersWhenClosed: "test_what_is_not_open_does_not_answer",
    WellWhenClosed: "test_what_is_not_open_does_not_answer",
    WrongError: "test_what_is_not_open_does_not_answer",
    Silent: "test_what_is_not_open_does_not_answer",
    ForgetsOne: "test_what_was_applied_is_read_back",
    Rounds: "test_what_was_applied_is_read_back",
    ReadsText: "test_what_was_applied_is_read_back",
    IntegersAsFloats: "test_what_was_applied_is_read_back",
    StaysAway: "test_the_known_good_setting_is_found_again",
    TakesAnything: "test_a_wrong_setting_is_refused_and_nothing_changes",
    ChecksTooLate: "test_a_wrong_setting_is_refused_and_nothing_changes",
    NoOutcome: "test_a_trial_has_an_outcome",
    MakesTwice: "test_the_same_tag_is_the_same_part",
    TrueHealth: "test_it_says_how_the_machine_is",
    OddInterlock: "test_it_says_how_the_machine_is",
    NeverLetsGo: "test_a_new_adapter_takes_over",
    BeginsWithNothing: "test_a_new_adapter_takes_over",
    TakesItsTime: "test_a_short_deadline_is_met_or_missed_properly",
    RemembersWhenLost: "test_a_silent_machine_is_given_up_at_the_deadline",
    GivesUpForGood: "test_a_machine_that_was_never_there_is_told_and_found_later",
    NeverReturns: "test_a_lost_machine_is_told_and_found_again",
}


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
    program = "import sys, tuner, tuner.adapter, tuner.plugins, tuner.adapters_cli; print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n"
