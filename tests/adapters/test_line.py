import contextlib
import json
import os
import re
import shutil
import signal
import socket as sockets
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import zmq
import zmq.auth
from hypothesis import given
from hypothesis import strategies as st

from adapters.line import LineAdapter, LineSettings
from adapters.line_protocol import NonsenseError, Reply, Request, message_from, report_from
from tuner.adapter import AdapterError, DeadlineError, LinkError, Outcome, ParameterInfo, RefusedError
from tuner.plugins import load_adapter
from tuner.testing import LinkConformance

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "line_controller.py"
SPEED = ParameterInfo("speed", "integer", 120, 60, 240)
HEAT = ParameterInfo("heat", "continuous", 180.0, 120.0, 250.0, tolerance=1e-9)
NOZZLE = ParameterInfo("nozzle", "choice", "round", choices=("round", "flat", "wide"))
PARAMETERS = (SPEED, HEAT, NOZZLE)
GOOD = {"speed": 120, "heat": 180.0, "nozzle": "round"}
PATIENT_S = 20.0
MODES = ("listen", "connect")
both_ways = pytest.mark.parametrize("mode", MODES)


def eventually(condition):
    """Wait for something another process or thread does."""
    end = time.monotonic() + PATIENT_S
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)
    return found


@dataclass
class Controller:
    """The example controller in a process of its own, with its state file."""

    mode: str
    address: str
    directory: Path
    options: tuple[str, ...] = ()
    processes: list = field(default_factory=list)

    def start(self):
        way = "--connect" if self.mode == "listen" else "--bind"
        arguments = [way, self.address, "--state", str(self.directory / "state.json"), "--patience", "0.5"]
        with (self.directory / "stderr.txt").open("ab") as stderr:
            self.processes.append(subprocess.Popen([sys.executable, EXAMPLE, *arguments, *self.options], stderr=stderr))

    def kill(self):
        for process in self.processes:
            process.kill()
            process.wait()

    def freeze(self):
        self.processes[-1].send_signal(signal.SIGSTOP)

    def started(self):
        """How many parts the machine has begun."""
        with contextlib.suppress(FileNotFoundError):
            return json.loads((self.directory / "state.json").read_text())["started"]
        return 0


@pytest.fixture
def directory():
    """Short: an ipc path must fit in 107 characters."""
    path = Path(tempfile.mkdtemp(prefix="line"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def start_controller(directory):
    started = []

    def start(mode, address=None, *, seconds=0.1, options=()):
        address = address or f"ipc://{directory}/link"
        started.append(Controller(mode, address, directory, ("--seconds", str(seconds), *options)))
        started[-1].start()
        return started[-1]

    yield start
    for controller in started:
        controller.kill()


@pytest.fixture
def make_adapter(directory):
    made = []

    def make(mode, address=None, **settings):
        address = address or f"ipc://{directory}/link"
        settings = {"beat_s": 0.1, "silent_s": 5.0, **settings}
        made.append(LineAdapter(LineSettings(mode=mode, address=address, **settings), PARAMETERS))
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()


@pytest.fixture
def pool():
    with ThreadPoolExecutor(4) as executor:
        yield executor


def free_port():
    with sockets.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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


# ---- the example controller, in a process of its own ---------------------------------------------------------------


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
        "from tests.adapters.test_line import *\n"
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


# ---- keys --------------------------------------------------------------------------------------------------------


@pytest.fixture
def keys(directory):
    """Certificates of tuner, of the controller and of a stranger; public keys alone in their directories."""
    umask = os.umask(0o077)
    found = {}
    for name in ("tuner", "controller", "stranger"):
        home = directory / name
        home.mkdir()
        public, secret = zmq.auth.create_certificates(home, name)
        shutil.move(secret, directory / f"{name}.key_secret")
        found[name] = (Path(public), directory / f"{name}.key_secret")
    os.umask(umask)
    return found


@both_ways
def test_with_the_right_keys_the_link_works_over_tcp(mode, keys, start_controller, make_adapter):
    address = f"tcp://127.0.0.1:{free_port()}"
    options = ("--key", str(keys["controller"][1]), "--tuner-key", str(keys["tuner"][0]))
    start_controller(mode, address, options=options)
    adapter = make_adapter(mode, address, secret_key=keys["tuner"][1], controller_keys=(keys["controller"][0],))
    adapter.open(PATIENT_S)
    adapter.apply(GOOD, PATIENT_S)
    assert adapter.run_trial("T1", PATIENT_S).valid


@pytest.mark.parametrize(
    ("mode", "ours", "expected", "its", "explanation"),
    [
        ("listen", "tuner", "controller", "stranger", "a controller with the unknown key .{40} was turned away"),
        ("connect", "stranger", "controller", "controller", "the handshake failed"),
        ("connect", "tuner", "stranger", "controller", "has not been heard yet"),
    ],
)
def test_a_wrong_key_is_not_let_in(mode, ours, expected, its, explanation, keys, start_controller, make_adapter):
    address = f"tcp://127.0.0.1:{free_port()}"
    start_controller(mode, address, options=("--key", str(keys[its][1]), "--tuner-key", str(keys["tuner"][0])))
    adapter = make_adapter(mode, address, secret_key=keys[ours][1], controller_keys=(keys[expected][0],))

    def told():
        with pytest.raises(LinkError) as caught:
            adapter.open(2.0)
        return re.search(explanation, str(caught.value))

    eventually(told)  # the controller needs time to start
    with pytest.raises(LinkError):
        adapter.apply(GOOD, 0.5)


def test_a_controller_without_keys_is_not_let_in_where_keys_are_needed(keys, start_controller, make_adapter):
    controller = start_controller("listen")
    adapter = make_adapter("listen", secret_key=keys["tuner"][1], controller_keys=(keys["controller"][0],))
    with pytest.raises(LinkError, match="has not been heard yet"):
        adapter.open(1.5)
    assert controller.processes[0].poll() is None


def test_a_secret_key_that_others_can_read_is_refused(keys, make_adapter):
    public, secret = keys["tuner"]
    secret.chmod(0o640)
    with pytest.raises(AdapterError, match=r"can be read by others \(mode 640\)") as caught:
        make_adapter("listen", secret_key=secret, controller_keys=(public,)).open(1.0)
    assert not caught.value.retry
    with pytest.raises(AdapterError, match="has no secret key"):
        make_adapter("listen", secret_key=public, controller_keys=(public,)).open(1.0)
    with pytest.raises(AdapterError, match="cannot be used"):
        make_adapter("listen", secret_key=secret.with_name("none"), controller_keys=(public,)).open(1.0)


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"address": "tcp://127.0.0.1:5571"}, "tcp needs secret_key and controller_keys"),
        ({"address": "ipc://x", "secret_key": Path("k")}, "need each other"),
        ({"address": "ipc://x", "controller_keys": (Path("k"),)}, "need each other"),
        ({"insecure": True, "secret_key": Path("k"), "controller_keys": (Path("k"),)}, "leave it out"),
        ({"mode": "connect", "secret_key": Path("k"), "controller_keys": (Path("k"), Path("l"))}, "the one key"),
        ({"address": "udp://127.0.0.1:5571"}, "match pattern"),
        ({"address": "ipc://x", "beat_s": 1.0, "silent_s": 1.5}, "at least twice beat_s"),
    ],
)
def test_settings_that_are_unsafe_or_contradict_each_other_are_refused(settings, wrong):
    with pytest.raises(ValueError, match=wrong):
        LineSettings(**{"mode": "listen", "address": "tcp://127.0.0.1:5571", **settings})


def test_tcp_without_keys_needs_to_be_asked_for(start_controller, make_adapter):
    address = f"tcp://127.0.0.1:{free_port()}"
    start_controller("listen", address)
    adapter = make_adapter("listen", address, insecure=True)
    adapter.open(PATIENT_S)
    adapter.apply(GOOD, PATIENT_S)


# ---- controllers that connect, played by the test -------------------------------------------------------------------


class Asker:
    """A controller that connects, word by word."""

    def __init__(self, address, kind=zmq.REQ):
        self.context = zmq.Context()
        self.socket = self.context.socket(kind)
        self.socket.linger = 0
        self.socket.rcvtimeo = int(PATIENT_S * 1000)
        self.socket.connect(address)

    def send(self, payload):
        self.socket.send_multipart([payload] if isinstance(payload, bytes) else payload)
        return json.loads(self.socket.recv())

    def ask(self, op, **body):
        return self.send(json.dumps({"v": 1, "id": "q1", "op": op, "body": body}).encode())

    def next_job(self):
        return eventually(lambda: self.ask("next")["body"])

    def report(self, job, state, **body):
        return self.ask("report", job=job["job"] if isinstance(job, dict) else job, state=state, **body)

    def close(self):
        self.context.destroy(linger=0)


@pytest.fixture
def make_asker(directory):
    made = []

    def make(kind=zmq.REQ):
        made.append(Asker(f"ipc://{directory}/link", kind))
        return made[-1]

    yield make
    for asker in made:
        asker.close()


@pytest.fixture
def listening(make_adapter, make_asker, pool):
    """An adapter that listens, and a controller it has heard."""
    adapter, asker = make_adapter("listen"), make_asker()
    opening = pool.submit(adapter.open, PATIENT_S)
    assert asker.ask("beat") == {"v": 1, "id": "q1", "body": {}}
    opening.result(PATIENT_S)
    return adapter, asker


def test_a_session_is_what_the_document_shows(listening, pool):
    adapter, asker = listening
    applying = pool.submit(adapter.apply, GOOD, PATIENT_S)
    job = asker.next_job()
    assert job == {"job": job["job"], "do": "apply", "setting": GOOD}
    assert asker.report(job, "applied") == {"v": 1, "id": "q1", "body": {"wanted": True}}
    applying.result(PATIENT_S)
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    assert asker.next_job() == {"job": "run-T1", "do": "run", "tag": "T1"}
    assert asker.report("run-T1", "running")["body"] == {"wanted": True}
    assert asker.report("run-T1", "non-valid", reason="torn", measurements={"width_mm": 3})["body"] == {"wanted": True}
    assert trial.result(PATIENT_S) == Outcome(False, "torn", {"width_mm": 3.0})
    assert asker.ask("next")["body"] == {}


def test_a_controller_that_asks_again_gets_the_same_job(listening, make_asker, pool):
    adapter, asker = listening
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    first = asker.next_job()
    assert asker.ask("next")["body"] == first
    asker.close()
    again = make_asker(zmq.DEALER)
    assert again.next_job() == first
    again.report(first, "valid")
    assert trial.result(PATIENT_S).valid


def test_a_report_for_a_job_already_reported_is_acknowledged_and_ignored(listening, pool):
    adapter, asker = listening
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    asker.report(asker.next_job(), "valid", measurements={"mm": 1.0})
    assert asker.report("run-T1", "non-valid", reason="changed its mind")["body"] == {"wanted": False}
    assert trial.result(PATIENT_S) == adapter.run_trial("T1", PATIENT_S) == Outcome(True, "", {"mm": 1.0})


def test_an_outcome_that_comes_when_nobody_waits_is_not_lost(listening):
    adapter, asker = listening
    assert asker.report("run-T1", "valid", photo="T1.jpg")["body"] == {"wanted": False}
    assert adapter.run_trial("T1", PATIENT_S) == Outcome(True, photo="T1.jpg")


def test_a_tag_comes_back_as_it_was_given_whatever_is_in_it(listening, pool):
    adapter, asker = listening
    trial = pool.submit(adapter.run_trial, "é  \n7", PATIENT_S)
    job = asker.next_job()
    assert job["tag"] == "é  \n7"
    asker.report(job, "valid")
    assert trial.result(PATIENT_S).valid


def test_a_job_that_nobody_waits_for_is_not_handed_out(listening):
    adapter, asker = listening
    with pytest.raises(LinkError, match="silent since"):
        adapter.apply(GOOD, 0.05)
    assert asker.ask("next")["body"] == {}


def test_a_controller_that_lives_but_does_not_take_the_job_is_late(listening, pool):
    adapter, asker = listening
    applying = pool.submit(adapter.apply, GOOD, 0.5)
    while not applying.done():
        asker.ask("beat")
    with pytest.raises(DeadlineError, match=r"did not finish apply-\w+ within 0.5 s"):
        applying.result()


def test_a_controller_that_makes_a_part_is_not_well_enough_for_a_setting(listening, pool):
    adapter, asker = listening
    asking = pool.submit(adapter.health, PATIENT_S)
    while not asking.done():
        asker.report("run-T9", "running", text="step 3 of 5")
    assert (asking.result().ok, asking.result().text) == (False, "the controller is busy with run-T9")


def test_a_second_controller_is_turned_away_until_the_first_has_gone(listening, make_asker, pool):
    adapter, asker = listening
    second = make_asker()
    assert second.ask("next") == {
        "v": 1,
        "id": "q1",
        "error": "another controller is connected; only one can be served",
    }
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    asker.next_job()
    assert "error" in second.report("run-T1", "non-valid", reason="an impostor")
    assert "error" in second.send(b"garbage")
    asker.report("run-T1", "valid")
    assert trial.result(PATIENT_S).valid
    asker.close()
    eventually(lambda: "error" not in second.ask("next"))


REPORT = {"job": "run-T1", "state": "valid"}
GARBAGE = {
    "no JSON": (b"\xff\xfe\x00", "Invalid JSON"),
    "nothing": (b"", "Invalid JSON"),
    "another version": (b'{"v":2,"id":1,"op":"next"}', "v: Input should be 1"),
    "no id": (b'{"v":1,"op":"next"}', "id: Field required"),
    "an unknown operation": (b'{"v":1,"id":1,"op":"stop"}', "op: Input should be"),
    "the wrong operation": (b'{"v":1,"id":1,"op":"job"}', 'asks "next"'),
    "an unknown field": (b'{"v":1,"id":1,"op":"next","x":1}', "x: Extra inputs are not permitted"),
    "a body too many": (b'{"v":1,"id":1,"op":"next","body":{"x":1}}', "must be empty"),
    "a list": (b"[" * 100_000, "the controller sent"),
    "too much": (b" " * 300_000, "sent 300000 bytes at once; at most 256000 are allowed"),
    "two frames": ([b"{}", b"{}"], "a message of 3 frames instead of one"),
}
WRONG_REPORTS = {
    "NaN": ({**REPORT, "measurements": {"mm": float("nan")}}, "mm: Input should be a finite number"),
    "an infinity": ({**REPORT, "measurements": {"mm": float("inf")}}, "mm: Input should be a finite number"),
    "a text as number": ({**REPORT, "measurements": {"mm": "1"}}, "mm: Input should be a valid number"),
    "a huge number": ({**REPORT, "measurements": {"mm": 10**400}}, "wrong report: valid.measurements.mm"),
    "an unknown field": ({**REPORT, "reason": "?"}, "reason: Extra inputs are not permitted"),
    "an unknown state": ({**REPORT, "state": "done"}, "does not match any of the expected tags"),
    "no state": ({"job": "run-T1"}, "Unable to extract tag"),
    "no job": ({"state": "valid"}, "job: Field required"),
    "no reason": ({**REPORT, "state": "non-valid"}, "reason: Field required"),
    "an empty reason": ({**REPORT, "state": "non-valid", "reason": " "}, "reason: Value error, must not be empty"),
    "a long reason": ({**REPORT, "state": "non-valid", "reason": "?" * 2000}, "reason: String should have at most"),
    "another job's answer": ({**REPORT, "state": "applied"}, 'says "applied" about run-T1, which is no answer'),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_from_a_controller_that_connects_is_told_to_both_sides(kind, listening, pool):
    adapter, asker = listening
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    asker.next_job()
    payload, wrong = GARBAGE[kind]
    assert wrong in asker.send(payload)["error"]
    with pytest.raises(LinkError) as caught:
        trial.result(PATIENT_S)
    assert wrong in str(caught.value)
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    asker.report(asker.next_job(), "valid")
    assert trial.result(PATIENT_S).valid


@pytest.mark.parametrize("kind", WRONG_REPORTS)
def test_a_wrong_report_of_a_controller_that_connects_fails_the_call_and_not_the_adapter(kind, listening, pool):
    adapter, asker = listening
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    asker.next_job()
    body, wrong = WRONG_REPORTS[kind]
    asker.ask("report", **body)
    with pytest.raises(LinkError) as caught:
        trial.result(PATIENT_S)
    assert wrong in str(caught.value)
    assert asker.ask("beat")["body"] == {}


def test_a_message_that_libzmq_does_not_take_ends_the_connection_and_the_next_one_works(listening, make_asker, pool):
    adapter, asker = listening
    asker.socket.send(b" " * 2_000_000)
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    again = make_asker()
    eventually(lambda: "error" not in again.ask("beat"))
    again.report(again.next_job(), "valid")
    assert trial.result(PATIENT_S).valid


@pytest.mark.parametrize(
    ("setting", "wrong"),
    [
        ({"speed": 120}, "it must have exactly"),
        ({**GOOD, "x": 1}, "it must have exactly"),
        ({**GOOD, "speed": 120.5}, "speed is 120.5, which is not a whole number"),
        ({**GOOD, "speed": True}, "setting.speed"),
        ({**GOOD, "heat": None}, "setting.heat"),
        ({**GOOD, "heat": float("nan")}, "setting.heat"),
        ({**GOOD, "heat": 10**400}, "setting.heat"),
        ({**GOOD, "nozzle": 3}, "nozzle is 3, which is not a text"),
    ],
)
def test_a_setting_that_makes_no_sense_is_not_believed(setting, wrong, listening, pool):
    adapter, asker = listening
    reading = pool.submit(adapter.read_back, PATIENT_S)
    asker.report(asker.next_job(), "setting", setting=setting)
    with pytest.raises(LinkError) as caught:
        reading.result(PATIENT_S)
    assert wrong in str(caught.value)


def test_whole_numbers_may_be_read_back_as_floats_and_the_other_way_round(listening, pool):
    adapter, asker = listening
    reading = pool.submit(adapter.read_back, PATIENT_S)
    asker.report(asker.next_job(), "setting", setting={**GOOD, "speed": 120.0, "heat": 180})
    assert repr(reading.result(PATIENT_S)) == repr(GOOD)


def test_a_job_that_failed_may_be_tried_again(listening, pool):
    adapter, asker = listening
    applying = pool.submit(adapter.apply, GOOD, PATIENT_S)
    asker.report(asker.next_job(), "failed", reason="the PLC\x1b[2J\ndid not answer")
    with pytest.raises(LinkError, match=r"could not do apply: the PLC \[2J did not answer"):
        applying.result(PATIENT_S)


def test_interlocks_and_a_refusal_are_passed_on_as_health(listening, pool):
    adapter, asker = listening
    asking = pool.submit(adapter.health, PATIENT_S)
    asker.report(asker.next_job(), "health", ok=True, interlocks={"guard closed": False})
    assert asking.result(PATIENT_S).interlocks == {"guard closed": False}
    asking = pool.submit(adapter.health, PATIENT_S)
    asker.report(asker.next_job(), "refused", reason="in service")
    assert (asking.result().ok, asking.result().text) == (False, "the controller refuses health: in service")


def test_an_ipc_path_that_another_process_listens_at_is_not_taken_over(listening, make_adapter):
    _, asker = listening
    with pytest.raises(LinkError, match=r"link\.lock: Resource temporarily unavailable"):
        make_adapter("listen").open(1.0)
    assert asker.ask("beat")["body"] == {}


def test_an_address_that_cannot_be_bound_is_told(make_adapter):
    with pytest.raises(LinkError, match="cannot be used"):
        make_adapter("listen", "tcp://no-such-interface:1", insecure=True).open(1.0)


def test_a_fault_of_ours_in_the_link_is_told_to_whoever_waits(listening, monkeypatch, pool):
    adapter, _ = listening

    def broken():
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(adapter._link, "_turn", broken)
    with pytest.raises(LinkError, match="the link to the controller has failed: RuntimeError"):
        adapter.apply(GOOD, PATIENT_S)


# ---- controllers that listen, played by the test --------------------------------------------------------------------


class Answerer:
    """A controller that listens, word by word."""

    def __init__(self, address):
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.REP)
        self.socket.linger = 0
        self.socket.rcvtimeo = int(PATIENT_S * 1000)
        self.socket.bind(address)

    def take(self):
        """The next request, whatever it is."""
        return json.loads(self.socket.recv())

    def answer(self, request, **body):
        self.socket.send_json({"v": 1, "id": request["id"], "body": body})

    def next_job(self):
        while (request := self.take())["op"] == "beat":
            self.answer(request)
        return request

    def close(self):
        self.context.destroy(linger=0)


@pytest.fixture
def answerer(directory):
    controller = Answerer(f"ipc://{directory}/link")
    yield controller
    controller.close()


@pytest.fixture
def connected(answerer, make_adapter, pool):
    adapter = make_adapter("connect")
    opening = pool.submit(adapter.open, PATIENT_S)
    request = answerer.take()
    assert request == {"v": 1, "id": request["id"], "op": "beat", "body": {}}
    answerer.answer(request)
    opening.result(PATIENT_S)
    return adapter


def test_a_controller_that_listens_hears_the_same_job_until_it_has_an_outcome(connected, answerer, pool):
    trial = pool.submit(connected.run_trial, "T1", PATIENT_S)
    for _ in range(3):
        request = answerer.next_job()
        assert request["body"] == {"job": "run-T1", "do": "run", "tag": "T1"}
        answerer.answer(request, job="run-T1", state="running")
    answerer.answer(answerer.next_job(), job="run-T1", state="valid", measurements={"mm": 2})
    assert trial.result(PATIENT_S) == Outcome(True, "", {"mm": 2.0})


def test_a_controller_that_listens_hears_beats_while_nobody_has_a_job(connected, answerer):
    for _ in range(3):
        request = answerer.take()
        assert request["op"] == "beat"
        answerer.answer(request)


def test_a_question_without_an_answer_is_asked_again_and_a_late_answer_to_it_ignored(connected, directory, pool):
    """The controller has several connections here: the one that did not answer, and the new one."""
    address = f"ipc://{directory}/other"
    context = zmq.Context()
    router = context.socket(zmq.ROUTER)
    router.linger, router.rcvtimeo = 0, int(PATIENT_S * 1000)
    router.bind(address)
    adapter = LineAdapter(LineSettings(mode="connect", address=address, beat_s=0.1, silent_s=3.0), PARAMETERS)

    def take():
        *envelope, payload = router.recv_multipart()
        return envelope, json.loads(payload)

    def answer(envelope, request, **body):
        router.send_multipart([*envelope, json.dumps({"v": 1, "id": request["id"], "body": body}).encode()])

    opening = pool.submit(adapter.open, PATIENT_S)
    answer(*take())
    opening.result(PATIENT_S)
    trial = pool.submit(adapter.run_trial, "T1", PATIENT_S)
    while (taken := take())[1]["op"] == "beat":
        answer(*taken)
    again = take()
    assert again[1]["body"] == taken[1]["body"]
    assert again[0] != taken[0]
    answer(*taken, job="run-T1", state="non-valid", reason="too late")
    answer(*again, job="run-T1", state="valid")
    assert trial.result(PATIENT_S).valid
    adapter.close()
    context.destroy(linger=0)


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (b"\xff", "Invalid JSON"),
        (b'{"v":1,"id":null,"error":"what?"}', ""),
        (b'{"v":1,"id":ID,"error":"what?"}', "the controller did not understand: what?"),
        (b'{"v":1,"id":ID,"body":{"job":"run-T2","state":"valid"}}', "asked about run-T1 and answered about run-T2"),
        (b'{"v":1,"id":ID,"body":{"job":"run-T1","state":"valid","measurements":{"mm":NaN}}}', "finite number"),
        (b'{"v":1,"id":ID,"body":{"job":"run-T1","state":"valid","measurements":{"mm":1e999}}}', "finite number"),
        (b'{"v":1,"id":ID,"body":{"job":"run-T1","state":"applied"}}', "which is no answer to it"),
        (b'{"v":1,"id":ID,"body":{}}', "Unable to extract tag"),
        (b" " * 300_000, "sent 300000 bytes at once"),
    ],
)
def test_garbage_from_a_controller_that_listens_fails_the_call_and_not_the_adapter(
    answer, wrong, connected, answerer, pool
):
    trial = pool.submit(connected.run_trial, "T1", PATIENT_S)
    request = answerer.next_job()
    answerer.socket.send(answer.replace(b"ID", str(request["id"]).encode()))
    if wrong:
        with pytest.raises(LinkError) as caught:
            trial.result(PATIENT_S)
        assert wrong in str(caught.value)
        trial = pool.submit(connected.run_trial, "T1", PATIENT_S)
    answerer.answer(answerer.next_job(), job="run-T1", state="valid")
    assert trial.result(PATIENT_S).valid


def test_a_beat_answered_with_a_body_is_told(answerer, make_adapter, pool):
    opening = pool.submit(make_adapter("connect").open, PATIENT_S)
    answerer.answer(answerer.take(), ok=True)
    with pytest.raises(LinkError, match=r'answered "beat" with a body'):
        opening.result(PATIENT_S)


@given(st.binary() | st.text().map(str.encode))
def test_no_bytes_can_do_more_than_be_called_nonsense(payload):
    for kind in (Request, Reply):
        with contextlib.suppress(NonsenseError):
            message_from(payload, kind)


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
bodies = st.fixed_dictionaries(
    {"job": st.just("run-T1") | leaves, "state": st.sampled_from(["valid", "non-valid", "setting", "health"]) | leaves},
    optional={
        name: leaves | st.dictionaries(st.text(), leaves)
        for name in ("setting", "measurements", "interlocks", "ok", "text", "reason", "photo")
    },
)


@given(bodies)
def test_no_report_can_do_more_than_be_called_nonsense(body):
    with contextlib.suppress(NonsenseError):
        report_from(body)
