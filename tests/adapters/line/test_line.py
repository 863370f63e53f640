"""The example controller both ways: conformance, and parts that are made once whatever is killed."""

import signal
import subprocess
import sys
import time

import pytest

from adapters.line import LineAdapter
from adapters.line.adapter import LineSettings
from tests.adapters.line.controllers import GOOD, PARAMETERS, PATIENT_S, ROOT, both_ways, eventually
from tuner.adapter import DeadlineError, LinkError, Outcome, RefusedError
from tuner.config.plugins import load_adapter
from tuner.testing import LinkConformance


class ConformanceOverALink(LinkConformance):
    adapter = LineAdapter
    parameters = PARAMETERS
    mode = ""

    @pytest.fixture
    def settings(self, start_controller):
        self.controller = start_controller(self.mode, seconds=0.02)
        return LineSettings(mode=self.mode, address=self.controller.address, beat_s=0.1, silent_s=5.0)

    def lose_machine(self):
        self.controller.kill()

    def return_machine(self):
        self.controller.start()

    def mute_machine(self):
        self.controller.freeze()


class TestConformanceOfListening(ConformanceOverALink):
    mode = "listen"


class TestConformanceOfConnecting(ConformanceOverALink):
    mode = "connect"


def test_it_is_found_by_its_entry_point():
    assert load_adapter("line") is LineAdapter


@both_ways
def test_a_part_is_made_and_told_with_measurements_and_photo(mode, start_controller, make_adapter):
    controller, adapter = start_controller(mode), make_adapter(mode)
    adapter.open(PATIENT_S)
    assert adapter.read_back(PATIENT_S) == {}
    adapter.apply(GOOD, PATIENT_S)
    assert adapter.read_back(PATIENT_S) == GOOD
    health = adapter.health(PATIENT_S)
    assert (health.ok, health.text, health.interlocks) == (True, "ready", {"guard closed": True})
    assert adapter.run_trial("T1", PATIENT_S) == Outcome(True, "", {"seconds": 0.1}, "T1.jpg")
    adapter.apply({**GOOD, "heat": 140.0}, PATIENT_S)
    assert adapter.run_trial("T2", PATIENT_S) == Outcome(False, "too cold")
    assert controller.started() == 2


@both_ways
def test_a_controller_that_says_no_is_believed(mode, start_controller, make_adapter):
    start_controller(mode)
    adapter = make_adapter(mode)
    adapter.open(PATIENT_S)
    with pytest.raises(RefusedError, match="refuses run: there is no setting"):
        adapter.run_trial("T1", PATIENT_S)
    adapter.apply(GOOD, PATIENT_S)
    with pytest.raises(RefusedError, match="refuses apply: the heater ends at 250"):
        adapter.apply({**GOOD, "heat": 251.0}, PATIENT_S)
    assert adapter.read_back(PATIENT_S) == GOOD


@both_ways
def test_a_controller_killed_in_the_middle_of_a_trial_goes_on_with_it_and_makes_the_part_once(
    mode, start_controller, make_adapter, pool
):
    controller, adapter = start_controller(mode, seconds=1.0), make_adapter(mode, silent_s=PATIENT_S)
    adapter.open(PATIENT_S)
    adapter.apply(GOOD, PATIENT_S)
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    eventually(lambda: controller.started() == 1)
    controller.kill()
    assert not trial.done()
    controller.start()
    assert trial.result(PATIENT_S).valid
    assert controller.started() == 1
    assert adapter.read_back(PATIENT_S) == GOOD


@both_ways
def test_a_controller_away_for_too_long_is_told_and_the_trial_tried_again_is_the_same_part(
    mode, start_controller, make_adapter, pool
):
    controller, adapter = start_controller(mode, seconds=0.5), make_adapter(mode, silent_s=2.0)
    adapter.open(PATIENT_S)
    adapter.apply(GOOD, PATIENT_S)
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    eventually(lambda: controller.started() == 1)
    controller.kill()
    with pytest.raises(LinkError, match=r"the controller is silent since \d"):
        trial.result(PATIENT_S)
    adapter.close()
    controller.start()
    patient = make_adapter(mode)
    patient.open(PATIENT_S)
    assert patient.run_trial("T1", PATIENT_S).valid
    assert controller.started() == 1


@both_ways
def test_a_new_adapter_after_a_crash_of_ours_gets_the_part_that_was_in_work(mode, start_controller, make_adapter):
    controller = start_controller(mode, seconds=1.0)
    program = (
        "from adapters.line.adapter import LineAdapter, LineSettings\n"
        "from tests.adapters.line.controllers import *\n"
        f"a = LineAdapter(LineSettings(mode={mode!r}, address={controller.address!r}, beat_s=0.1), PARAMETERS)\n"
        "a.open(PATIENT_S); a.apply(GOOD, PATIENT_S); a.run_trial('T1', PATIENT_S)"
    )
    crashing = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    try:
        eventually(lambda: controller.started() == 1)
    finally:
        crashing.kill()
        assert crashing.wait() == -signal.SIGKILL
    adapter = make_adapter(mode)
    adapter.open(PATIENT_S)
    assert adapter.run_trial("T1", PATIENT_S).valid
    assert adapter.read_back(PATIENT_S) == GOOD
    assert controller.started() == 1


@both_ways
def test_a_part_that_takes_too_long_is_late_and_the_same_one_later(mode, start_controller, make_adapter):
    controller, adapter = start_controller(mode, seconds=2.0), make_adapter(mode)
    adapter.open(PATIENT_S)
    adapter.apply(GOOD, PATIENT_S)
    with pytest.raises(DeadlineError, match=r"did not finish run-T1 within 1 s"):
        adapter.run_trial("T1", 1.0)
    assert adapter.run_trial("T1", PATIENT_S).valid
    assert controller.started() == 1


def test_the_same_tag_in_another_series_is_another_part(start_controller, make_adapter):
    controller = start_controller("connect")
    for series, parts in (("autumn", 1), ("winter", 2), ("autumn", 2)):
        adapter = make_adapter("connect", series=series)
        adapter.open(PATIENT_S)
        adapter.apply(GOOD, PATIENT_S)
        assert adapter.run_trial("T1", PATIENT_S).photo == "T1.jpg"
        assert controller.started() == parts


def test_a_controller_that_starts_slowly_is_waited_for_at_the_opening(make_adapter, make_asker, pool):
    opening = pool.submit(make_adapter("listen", beat_s=0.01, silent_s=0.05).open, PATIENT_S)
    begin = time.monotonic()
    eventually(lambda: time.monotonic() > begin + 0.2)
    assert not opening.done()
    asker = make_asker()
    eventually(lambda: asker.ask("beat") and opening.done())
    opening.result()
