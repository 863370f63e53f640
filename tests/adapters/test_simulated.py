import math
import subprocess
import sys

import pytest

from adapters.simulated import SimulatedAdapter
from adapters.simulated.adapter import CRASH_EXIT_CODE, SimulatedSettings
from tests.patience import PATIENT_S
from tuner.adapter import DeadlineError, LinkError, Outcome, ParameterInfo, RefusedError
from tuner.config.plugins import load_adapter
from tuner.testing import AdapterConformance

X1, X2 = (ParameterInfo(name, "continuous", start, 0.0, 5.0) for name, start in (("x1", 3.5), ("x2", 1.5)))
GOOD = {"x1": 3.5, "x2": 1.5}
OPTIMUM = {"x1": 2.74495108, "x2": 2.35225194}


class TestConformance(AdapterConformance):
    adapter = SimulatedAdapter
    parameters = (X1, X2)

    @pytest.fixture
    def settings(self):
        return SimulatedSettings()


class TestConformanceWithMemory(TestConformance):
    @pytest.fixture
    def settings(self, tmp_path):
        return SimulatedSettings(memory=tmp_path / "memory.json", noise=0.1)


@pytest.fixture
def slept():
    return []


@pytest.fixture
def machine(slept):
    adapter = SimulatedAdapter(SimulatedSettings(seconds_per_trial=2.0), [X1, X2], sleep=slept.append)
    adapter.open(1.0)
    yield adapter
    adapter.close()


def switched_on(slept=None, **settings):
    """An open machine with a good setting; what sleeps is told, what crashes raises."""

    def crash(code):
        raise SystemExit(code)

    sleep = (lambda _: None) if slept is None else slept.append
    adapter = SimulatedAdapter(SimulatedSettings(**settings), [X1, X2], sleep=sleep, crash=crash)
    adapter.open(1.0)
    return adapter


def fault(call):
    """What a call came to, in a word."""
    try:
        answer = call()
    except LinkError:
        return "dropout"
    except DeadlineError:
        return "hang"
    except SystemExit:
        return "crash"
    sound = isinstance(answer, Outcome) or answer is None or all(isinstance(v, float) for v in answer.values())
    return "fine" if sound else "garbage"


def test_it_is_found_by_its_entry_point():
    assert load_adapter("simulated") is SimulatedAdapter


def test_a_valid_setting_makes_a_part_with_the_problems_objective(machine):
    machine.apply(OPTIMUM, 1.0)
    outcome = machine.run_trial("a", 5.0)
    assert outcome.valid
    assert outcome.measurements["objective"] == pytest.approx(-1.1743, abs=1e-4)


def test_a_non_valid_setting_makes_none_and_says_why(machine):
    machine.apply({"x1": 2.5, "x2": 2.6}, 1.0)
    outcome = machine.run_trial("a", 5.0)
    assert not outcome.valid
    assert outcome.reason
    assert not outcome.measurements


def test_a_trial_takes_its_time_but_never_longer_than_the_deadline(machine, slept):
    machine.apply(GOOD, 1.0)
    machine.run_trial("a", 5.0)
    with pytest.raises(DeadlineError) as caught:
        machine.run_trial("b", 1.0)
    assert caught.value.retry
    assert slept == [2.0, 1.0]


def test_the_same_tag_is_the_same_part_and_made_once(machine, slept):
    machine.apply(GOOD, 1.0)
    first = machine.run_trial("a", 5.0)
    machine.apply(OPTIMUM, 1.0)
    assert machine.run_trial("a", 5.0) == first != machine.run_trial("b", 5.0)
    assert slept == [2.0, 2.0]


def test_what_was_applied_is_read_back(machine):
    machine.apply(GOOD, 1.0)
    machine.go_to({"x1": 1.0, "x2": 0.5}, 1.0)
    assert machine.read_back(1.0) == {"x1": 1.0, "x2": 0.5}


@pytest.mark.parametrize("bad", [math.nan, math.inf, "3", True])
def test_what_is_not_a_finite_number_is_refused_and_nothing_changes(machine, bad):
    machine.apply(GOOD, 1.0)
    with pytest.raises(RefusedError) as caught:
        machine.apply({"x1": bad, "x2": 1.0}, 1.0)
    assert not caught.value.retry
    assert machine.read_back(1.0) == GOOD


@pytest.mark.parametrize("setting", [{}, {"x1": 1.0}, {"x1": 1.0, "x2": 1.0, "x3": 1.0}])
def test_an_incomplete_setting_is_refused(machine, setting):
    with pytest.raises(RefusedError):
        machine.apply(setting, 1.0)


def test_before_any_setting_the_machine_runs_at_the_known_good_one(machine):
    assert machine.read_back(1.0) == GOOD
    assert machine.run_trial("a", 5.0).valid


def test_a_machine_that_is_switched_off_does_not_answer(machine):
    assert machine.health(1.0).ok
    machine.close()
    machine.close()
    assert not machine.health(1.0).ok
    with pytest.raises(LinkError) as caught:
        machine.read_back(1.0)
    assert caught.value.retry


def test_the_noise_is_the_same_for_the_same_seed():
    def measured(seed, **faults):
        adapter = switched_on(problem="branin", noise=1.0, seed=seed, **faults)
        adapter.apply({"x1": 1.0, "x2": 1.0}, 1.0)
        return [adapter.run_trial(str(number), 1.0).measurements["objective"] for number in range(3)]

    assert measured(1) == measured(1) != measured(2)
    assert len(set(measured(1))) == 3
    assert measured(1) == measured(1, open_guard_every=2, read_back_error=1.0)


def test_parameters_that_do_not_fit_the_problem_are_complained_about():
    hue = ParameterInfo("hue", "choice", "red", choices=("red", "blue"))
    assert not SimulatedAdapter.complaints(SimulatedSettings(), [X1, X2])
    found = SimulatedAdapter.complaints(SimulatedSettings(), [X1, X2, hue])
    assert list(found) == ["the problem sasena has 2 variables, the campaign 3 parameters"]


def test_choices_stand_for_evenly_spaced_values_of_a_variable():
    size = ParameterInfo("x2", "choice", "s", choices=("s", "m", "l"))
    mixed = SimulatedAdapter(SimulatedSettings(problem="branin"), [X1, size])
    plain = SimulatedAdapter(SimulatedSettings(problem="branin"), [X1, X2])
    for adapter, value in ((mixed, "m"), (plain, 7.5)):
        adapter.open(1.0)
        adapter.apply({"x1": 1.0, "x2": value}, 1.0)
    assert mixed.run_trial("a", 1.0) == plain.run_trial("a", 1.0)
    with pytest.raises(RefusedError, match='"s", "m", "l"'):
        mixed.apply({"x1": 1.0, "x2": "xl"}, 1.0)


def test_drift_moves_the_objective_with_every_part():
    adapter = switched_on(drift=0.5)
    adapter.apply(GOOD, 1.0)
    first, *others = (adapter.run_trial(str(number), 1.0).measurements["objective"] for number in range(3))
    assert others == [pytest.approx(first + 0.5), pytest.approx(first + 1.0)]


def test_scrap_by_chance_says_so_and_is_as_frequent_as_configured():
    adapter = switched_on(non_valid_probability=0.3, seed=5)
    adapter.apply(GOOD, 1.0)
    outcomes = [adapter.run_trial(str(number), 1.0) for number in range(200)]
    scrap = [outcome for outcome in outcomes if not outcome.valid]
    assert 40 <= len(scrap) <= 80
    assert {outcome.reason for outcome in scrap} == {"the machine made scrap by chance"}


@pytest.mark.parametrize("kind", ["dropout", "hang", "garbage", "crash"])
def test_a_fault_strikes_as_often_as_configured_and_at_the_same_calls_for_the_same_seed(kind):
    def faults(seed):
        adapter = switched_on(seed=seed, **{f"{kind}_probability": 0.3})
        adapter._setting = dict(GOOD)
        calls = [lambda: adapter.read_back(1.0), lambda: adapter.run_trial("a", 1.0)]
        return [fault(calls[number % 2]) for number in range(200)]

    assert faults(1) == faults(1) != faults(2)
    assert set(faults(1)) == {kind, "fine"}
    assert 40 <= faults(1).count(kind) <= 80


def test_a_machine_that_hangs_blocks_far_beyond_the_deadline():
    slept = []
    adapter = switched_on(slept, hang_probability=1.0)
    with pytest.raises(DeadlineError):
        adapter.apply(GOOD, 2.0)
    assert slept[0] > 1000


def test_garbage_is_of_several_kinds():
    adapter = switched_on(garbage_probability=1.0)
    adapter.apply(GOOD, 1.0)
    read = [adapter.read_back(1.0)["x1"] for _ in range(8)]
    assert {type(value) for value in read} == {float, type(None), str, list}
    assert any(isinstance(value, float) and math.isnan(value) for value in read)
    assert not isinstance(adapter.run_trial("a", 1.0), Outcome)


def test_a_crash_ends_the_process():
    program = (
        "from adapters.simulated.adapter import *; from tuner.adapter import ParameterInfo;"
        "a = SimulatedAdapter(SimulatedSettings(crash_probability=1.0), [ParameterInfo('x', 'continuous', 0.0)]);"
        "a.open(1.0)\ntry: a.read_back(1.0)\nfinally: print('survived')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENT_S)
    assert (done.returncode, done.stdout, done.stderr) == (CRASH_EXIT_CODE, "", "")


def test_the_read_back_is_off_by_what_is_configured():
    turns = ParameterInfo("x2", "integer", 1, 0, 5)
    adapter = SimulatedAdapter(SimulatedSettings(read_back_error=1.25), [X1, turns])
    adapter.open(1.0)
    adapter.apply({"x1": 3.5, "x2": 1}, 1.0)
    assert adapter.read_back(1.0) == {"x1": 4.75, "x2": 2}
    assert isinstance(adapter.read_back(1.0)["x2"], int)


def test_every_nth_health_report_has_an_open_guard():
    adapter = switched_on(open_guard_every=3)
    assert [adapter.health(1.0).interlocks["guard closed"] for _ in range(6)] == [True, True, False, True, True, False]
    assert switched_on().health(1.0).interlocks == {}


def test_a_machine_with_a_memory_outlives_the_process_and_does_not_make_a_part_twice(tmp_path):
    memory = tmp_path / "memory.json"
    # a crash after the part was made and before anyone heard of it
    crashing = switched_on(memory=memory, noise=1.0, crash_probability=1.0)
    crashing._setting = dict(GOOD)
    with pytest.raises(SystemExit):
        crashing.run_trial("a", 1.0)
    later = switched_on(memory=memory, noise=1.0)
    assert later.read_back(1.0) == GOOD
    assert later.run_trial("a", 1.0) == crashing._parts["a"]
    assert later.run_trial("b", 1.0) != crashing._parts["a"]


def test_with_a_memory_a_crash_does_not_repeat_itself_for_ever(tmp_path):
    memory = tmp_path / "memory.json"
    faults = [fault(lambda: switched_on(memory=memory, crash_probability=0.5).read_back(1.0)) for _ in range(40)]
    assert set(faults) == {"crash", "fine"}


@pytest.mark.parametrize("text", ["", "[]", '{"setting": 3}', '{"setting": {}, "parts": {"a": {}}, "calls": 1}'])
def test_a_broken_memory_is_told_at_the_opening(tmp_path, text):
    memory = tmp_path / "memory.json"
    memory.write_text(text)
    with pytest.raises(LinkError, match=r"memory\.json of the simulated machine is broken"):
        switched_on(memory=memory)
    with pytest.raises(LinkError, match="cannot be written"):
        switched_on(memory=tmp_path / "missing" / "memory.json").apply(GOOD, 1.0)
