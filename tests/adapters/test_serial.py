import os
import re
import select
import socket
import threading
import tty
from pathlib import Path

import pytest
from pydantic import ValidationError

from adapters.serial import SerialAdapter
from adapters.serial.adapter import SerialSettings
from tuner.adapter import DeadlineError, LinkError, Outcome, ParameterInfo, RefusedError
from tuner.config import load_config
from tuner.config.parameters import parameter_info
from tuner.config.plugins import load_adapter
from tuner.testing import LinkConformance

ROOT = Path(__file__).parents[2]
SPEED = ParameterInfo("speed", "integer", 120, 60, 240)
HEAT = ParameterInfo("heat", "continuous", 180.0, 120.0, 260.0, tolerance=0.001)
COLOUR = ParameterInfo("colour", "choice", "red", choices=("red", "blue"))
GOOD = {"speed": 120, "heat": 180.0}


class PtyMachine:
    """A machine at the far end of a pseudo terminal, in a thread; `path` leads to it while it is there."""

    def __init__(self, path):
        self.path = path
        self.values = {"speed": "0", "heat": "0.0", "colour": "red"}
        self.parts = {}
        self.lines = []
        self.special = {}  # line -> bytes that are sent instead of the usual answer
        self.mute = False
        self.start()

    def start(self):
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.wake, self._waker = os.pipe()
        self.path.symlink_to(os.ttyname(self.slave))
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def stop(self):
        if not self.thread.is_alive():
            return
        self.path.unlink()
        os.write(self._waker, b"x")
        self.thread.join()
        for descriptor in (self.master, self.slave, self.wake, self._waker):
            os.close(descriptor)

    def send(self, text):
        os.write(self.master, text if isinstance(text, bytes) else text.encode() + b"\r\n")

    def _work(self):
        received = b""
        while True:
            ready, _, _ = select.select([self.master, self.wake], [], [])
            if self.wake in ready:
                return
            received += os.read(self.master, 4096)
            *lines, received = received.split(b"\r\n")
            for line in lines:
                text = line.decode()
                self.lines.append(text)
                if text in self.special:
                    self.send(self.special[text])
                elif not self.mute:
                    self.send(self.answer(text))

    def answer(self, line):
        word, *rest = line.split()
        if word == "SET":
            self.values[rest[0]] = rest[1]
            return "OK"
        if word == "GET":
            return self.values[rest[0]]
        if word == "RUN":
            self.parts.setdefault(rest[0], len(self.parts))
            return f"VALID {rest[0]} weight={self.parts[rest[0]]}.5"
        if word == "GUARD?":
            return "CLOSED"
        return "OK"


@pytest.fixture
def pty(tmp_path):
    machine = PtyMachine(tmp_path / "port")
    yield machine
    machine.stop()


@pytest.fixture
def opened(pty):
    """An open adapter with settings of the test's choice."""
    adapters = []

    def make(parameters=(SPEED, HEAT), **settings):
        settings.setdefault("valid", r"VALID (?P<tag>\S+) weight=(?P<weight>\S+)")
        adapter = SerialAdapter(SerialSettings(port=str(pty.path), **settings), parameters)
        adapters.append(adapter)
        adapter.open(60.0)
        return adapter

    yield make
    for adapter in adapters:
        adapter.close()


class TestConformance(LinkConformance):
    adapter = SerialAdapter
    parameters = (SPEED, HEAT, COLOUR)

    @pytest.fixture
    def settings(self, pty):
        self.pty = pty
        return SerialSettings(port=str(pty.path), valid=r"VALID (?P<tag>\S+) weight=(?P<weight>\S+)", health="STATE?")

    def lose_machine(self):
        self.pty.stop()

    def return_machine(self):
        self.pty.start()

    def mute_machine(self):
        self.pty.mute = True


def test_it_is_found_by_its_entry_point():
    assert load_adapter("serial") is SerialAdapter


def test_the_sample_configuration_fits_its_own_parameters():
    campaign = load_config(ROOT / "configs" / "serial.toml").campaigns[0]
    infos = [parameter_info(parameter) for parameter in campaign.parameters]
    assert SerialAdapter.complaints(campaign.adapter.settings, infos) == []


def test_an_answer_that_comes_too_late_is_not_taken_for_that_to_the_next_question(opened, pty):
    adapter = opened()
    pty.mute = True
    with pytest.raises(DeadlineError):
        adapter.run_trial("a", 0.05)
    pty.mute = False
    pty.special["SET speed 105"] = b"VALID a weight=0.5\r\nOK\r\n"
    adapter.apply({**GOOD, "speed": 105}, 60.0)
    with pytest.raises(LinkError, match="which no pattern matches"):  # it was owed once
        adapter.apply({**GOOD, "speed": 105}, 60.0)


def test_templates_and_names_say_what_is_sent(opened, pty):
    adapter = opened(
        set="SET {name} {value:.3f}",
        set_for={"speed": "SET {name} {value:04d}"},
        names={"heat": "T1"},
        trigger="RUN {tag}",
    )
    adapter.apply(GOOD, 60.0)
    assert adapter.read_back(60.0) == GOOD
    assert adapter.run_trial("a-1", 60.0).measurements == {"weight": 0.5}
    assert pty.lines == ["SET speed 0120", "SET T1 180.000", "GET speed", "GET T1", "RUN a-1"]


def test_all_parameters_can_be_set_and_read_at_once(opened, pty):
    pty.special = {"ALL 120 180.0": b"DONE\r\n", "ALL?": b"speed 120, heat 1.8e2\r\n"}
    adapter = opened(
        set="ALL {speed} {heat:.1f}",
        accepted="DONE",
        read="ALL?",
        read_reply=r"speed (?P<speed>\d+), heat (?P<heat>\S+)",
    )
    adapter.apply(GOOD, 60.0)
    assert repr(adapter.read_back(60.0)) == "{'speed': 120, 'heat': 180.0}"


def test_a_refused_value_says_why_and_what_had_been_set_before(opened, pty):
    pty.special = {"SET heat 180.0": b"ERR too hot\r\n"}
    with pytest.raises(RefusedError, match=r"refuses 'SET heat 180.0': too hot \(speed had been set before\)"):
        opened().apply(GOOD, 60.0)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"nan\r\n", "heat is nan, which is not a finite number"),
        (b"1e999\r\n", "heat is inf"),
        (b"warm\r\n", 'heat is "warm", which is not a number'),
        (b"what is heat?\r\n", "which no pattern matches"),
        (b"\xff\xfe\r\n", "which is not ascii text"),
        (b"x" * 70_000, "65536 bytes without the end of a line"),
    ],
)
def test_a_value_that_is_none_is_a_fault_of_the_link(opened, pty, answer, complaint):
    pty.special = {"GET heat": answer}
    adapter = opened()
    with pytest.raises(LinkError, match=complaint):
        adapter.read_back(60.0)


def test_a_fraction_of_a_whole_number_is_a_fault_of_the_link(opened, pty):
    pty.special = {"GET speed": b"120.5\r\n"}
    with pytest.raises(LinkError, match=r"speed is 120\.5, which is not a whole number"):
        opened().read_back(60.0)


def test_the_next_call_works_after_garbage(opened, pty):
    adapter = opened()
    adapter.apply(GOOD, 60.0)
    pty.special = {"GET heat": b"warm\r\nlukewarm\r\nhot"}
    with pytest.raises(LinkError):
        adapter.read_back(60.0)
    pty.special = {}
    assert adapter.read_back(60.0) == GOOD


def test_silence_and_half_a_line_are_missed_deadlines(opened, pty):
    adapter = opened()
    pty.special = {"GET speed": b"12"}
    with pytest.raises(DeadlineError, match=r"'GET speed': no answer within 0.2 s; it sent '12' without the end"):
        adapter.read_back(0.2)
    pty.special = {"GET speed": b""}
    with pytest.raises(DeadlineError, match=r"'GET speed': no answer within 0.2 s$"):
        adapter.read_back(0.2)


def test_an_answer_about_another_parameter_is_a_fault_of_the_link(opened, pty):
    pty.special = {"GET speed": b"heat=120\r\n"}
    with pytest.raises(LinkError, match='answered "GET speed" with a value of "heat"'):
        opened(read_reply=r"(?P<name>\w+)=(?P<value>\S+)").read_back(60.0)


def test_scrap_has_a_reason(opened, pty):
    pty.special = {"RUN a": b"SCRAP short shot\r\n", "RUN b": b"SCRAP\r\n"}
    adapter = opened()
    assert adapter.run_trial("a", 60.0).reason == "short shot"
    assert adapter.run_trial("b", 60.0).reason == "the machine gave no reason"


def test_the_result_of_an_earlier_part_is_not_taken_for_the_new_one(opened, pty):
    pty.special = {"RUN b": b"VALID a weight=1\r\nVALID b weight=2\r\n"}
    assert opened().run_trial("b", 60.0).measurements == {"weight": 2.0}


def test_a_photo_and_lines_without_meaning(opened, pty):
    pty.special = {"RUN a": b"heating\r\n\r\npressing\r\nVALID /parts/a.jpg\r\n"}
    outcome = opened(valid=r"VALID (?P<photo>\S+)", ignore="[a-z]+").run_trial("a", 60.0)
    assert (outcome.photo, outcome.measurements) == ("/parts/a.jpg", {})


@pytest.mark.parametrize("weight", [b"nan", b"heavy"])
def test_a_measurement_that_is_no_number_is_a_fault_of_the_link(opened, pty, weight):
    pty.special = {"RUN a": b"VALID a weight=" + weight + b"\r\n"}
    with pytest.raises(LinkError, match="the measurement weight is"):
        opened().run_trial("a", 60.0)


def test_an_alarm_ends_a_trial_and_is_bad_health_until_it_is_over(opened, pty):
    adapter = opened(alarm="ALARM (?P<reason>.*)", alarm_over="ALARM OFF")
    pty.special = {"RUN a": b"ALARM overpressure\r\n"}
    assert adapter.run_trial("a", 60.0) == Outcome(valid=False, reason="alarm: overpressure")
    assert adapter.health(60.0).text == "alarm: overpressure"
    pty.special = {"GET speed": b"ALARM OFF\r\n120\r\n"}
    assert adapter.health(60.0).ok


def test_an_alarm_between_two_calls_is_heard(opened, pty):
    adapter = opened(alarm="ALARM .*", alarm_over="ALARM OFF")
    pty.special = {"GET heat": b"180.0\r\nALARM door\r\n"}
    adapter.read_back(60.0)
    pty.special = {}
    health = adapter.health(60.0)
    assert not health.ok
    assert "ALARM door" in health.text


def test_an_alarm_is_over_when_the_machine_says_that_it_is_well(opened, pty):
    adapter = opened(alarm="ALARM .*", health="STATE?")
    pty.special = {"RUN a": b"ALARM door\r\n", "STATE?": b"E17\r\n"}
    assert not adapter.run_trial("a", 60.0).valid
    assert adapter.health(60.0).text == "the machine says 'E17'"
    pty.special = {}
    assert adapter.health(60.0).ok


def test_interlocks_are_asked_for(opened, pty):
    adapter = opened(
        interlocks={"guard": {"query": "GUARD?", "holds": "CLOSED"}, "air": {"query": "AIR?", "holds": "ON"}}
    )
    assert adapter.health(60.0).interlocks == {"guard": True, "air": False}
    pty.special = {"AIR?": b"ERR unknown\r\n"}
    assert adapter.health(60.0).text == "the machine refuses 'AIR?': unknown"


def test_the_greeting_is_waited_for_at_every_opening(pty):
    adapter = SerialAdapter(SerialSettings(port=str(pty.path), greeting="READY.*", ignore="[A-Za-z ]+"), [SPEED])
    with pytest.raises(DeadlineError):
        adapter.open(0.1)
    opened = threading.Event()

    def greet():  # again and again, because opening a port forgets what came before
        while not opened.wait(0.01):
            pty.send("booting\r\nREADY")

    greeter = threading.Thread(target=greet)
    greeter.start()
    adapter.open(60.0)
    opened.set()
    greeter.join()
    assert adapter.read_back(60.0) == {"speed": 0}
    adapter.close()


def test_an_echo_is_not_an_answer(opened, pty):
    pty.special = {"GET speed": b"GET speed\r\n120\r\n"}
    assert opened([SPEED], echo=True).read_back(60.0) == {"speed": 120}


@pytest.mark.parametrize("tag", ["a\r\nSET heat 999", "ä", "a\0"])
def test_a_tag_cannot_smuggle_a_second_line(opened, pty, tag):
    with pytest.raises(RefusedError, match="cannot be sent as one line of ascii text"):
        opened().run_trial(tag, 60.0)
    assert pty.lines == []


def test_two_cannot_have_the_port(opened, pty):
    opened()
    second = SerialAdapter(SerialSettings(port=str(pty.path)), [SPEED])
    with pytest.raises(LinkError, match="cannot be opened: another program uses it"):
        second.open(1.0)


def test_a_port_that_is_not_there_is_told_with_the_next_step():
    adapter = SerialAdapter(SerialSettings(port="/dev/serial/by-id/nothing"), [SPEED])
    with pytest.raises(LinkError, match=r"there is no device .* look whether the adapter is plugged in"):
        adapter.open(1.0)


def test_a_port_can_be_at_the_other_end_of_a_network():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection, connection.makefile("rw", newline="\r\n") as lines:
                for _ in lines:
                    lines.write("120\r\n")
                    lines.flush()

        machine = threading.Thread(target=answer)
        machine.start()
        adapter = SerialAdapter(SerialSettings(port=f"socket://127.0.0.1:{server.getsockname()[1]}"), [SPEED])
        adapter.open(60.0)
        assert adapter.read_back(60.0) == {"speed": 120}
        adapter.close()
        machine.join()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, None),
        ({"set": "S {name} {value:.3f}"}, 'set cannot write colour = "red"'),
        ({"set": "S {name} {value:.1f}", "set_for": {"colour": "C {value}"}}, "writes heat = .* more than its tol"),
        ({"set": "S {name} {val}"}, "has the field {name}; allowed: {speed}, {heat}, {colour}"),
        ({"set": "S {value.real}"}, "has the field {value.real}"),
        ({"set": "S {value"}, "is not a template"),
        ({"set": "S {speed} {heat}"}, "set has no {colour}"),
        ({"set": "S {speed} {heat} {colour}", "set_for": {"heat": "T {value}"}}, "set_for needs a template"),
        ({"set_for": {"hat": "T {value}"}}, 'set_for has "hat", which is no parameter'),
        ({"names": {"hat": "T"}}, 'names has "hat", which is no parameter'),
        ({"read": "GET {value}"}, "read: .* has the field {value}"),
        ({"read": "GET"}, r"read_reply needs a group \(\?P<speed>"),
        ({"read_reply": ".*"}, r"read_reply needs a group \(\?P<value>"),
        ({"alarm": "A"}, "alarm needs alarm_over or health"),
    ],
)
def test_what_cannot_work_is_complained_about(settings, complaint):
    found = SerialAdapter.complaints(SerialSettings(port="x", **settings), [SPEED, HEAT, COLOUR])
    if complaint is None:
        assert found == []
    else:
        assert re.search(complaint, "\n".join(found))


@pytest.mark.parametrize(
    "wrong",
    [{"accepted": "("}, {"encoding": "klingon"}, {"stop_bits": 3.0}, {"trigger": "RUN {part}"}, {"parity": "odd?"}],
)
def test_wrong_settings_are_not_accepted(wrong):
    with pytest.raises(ValidationError):
        SerialSettings(port="x", **wrong)
