"""The line mode in a real terminal: plain lines, one key and Enter."""

import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest

from tests.console.helpers import plant
from tests.daemon.running import daemon
from tests.patience import PATIENT_S


@pytest.fixture(scope="module")
def running():
    with daemon(plant()) as one:
        yield one.start()


class Terminal:
    """`tuner ask` with a terminal of its own."""

    def __init__(self, running, *options):
        self._master, slave = pty.openpty()
        command = [sys.executable, "-m", "tuner", "ask", "--state", str(running.state), *options]
        environ = {**os.environ, "TERM": "vt100", "LANG": "C.UTF-8"}
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environ, close_fds=True)
        os.close(slave)
        self.text = ""
        self._at = 0

    def expect(self, pattern):
        """Wait for a text after the last one found."""
        end = time.monotonic() + PATIENT_S
        while (found := re.compile(pattern).search(self.text, self._at)) is None:
            ready, _, _ = select.select([self._master], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{pattern!r} did not come after:\n{self.text}"
            self.text += os.read(self._master, 4096).decode()
        self._at = found.end()
        return found

    def type(self, line):
        os.write(self._master, line.encode() + b"\n")

    def close(self):
        os.close(self._master)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@pytest.fixture
def terminal(running):
    made = []

    def start(*options):
        made.append(Terminal(running, *options))
        return made[-1]

    yield start
    for one in made:
        one.close()


def test_a_question_is_answered_and_taken_back_in_plain_lines(running, terminal):
    lines = terminal("--campaign", "press")
    lines.expect("Who are you")
    lines.type("lena")
    lines.expect("signed in: lena")
    number = int(lines.expect(r"Question (\d+): which part is better\?")[1])
    lines.expect(r"Left is part P\d+: x1 [\d.]+ mm \([+-][\d.]+\), x2 .*")
    lines.expect(r"measured: objective -?[\d.]+")
    lines.expect(r"Right is part P\d+: x1")
    lines.type("7")
    lines.expect("There is no key 7")
    lines.type("1")
    while lines.expect(r"P\d+ is better: taken|Too fast")[0] == "Too fast":  # a line typed ahead is not an answer
        lines.type("1")
    lines.type("u")
    lines.expect(r"judgment \d+ taken back")
    lines.type("q")
    lines.expect("Goodbye")
    assert lines.process.wait(PATIENT_S) == 0
    assert "\x1b" not in lines.text  # nothing but lines
    with running.client() as client:
        mine = next(j for j in client.snapshot("press").judgments if j.operator == "lena")
    assert mine.duel == number
    assert mine.took_s > 0
    assert mine.retracted is not None


def test_what_moves_the_machine_is_asked_twice(running, terminal):
    lines = terminal("--campaign", "saw", "--operator", "lena")
    lines.expect("Not started")
    lines.type("s")
    lines.expect("Start tuning")
    lines.expect("Type y")
    lines.type("no")
    lines.expect("Nothing was done")
    lines.type("s")
    lines.expect("Type y")
    lines.type("y")
    lines.expect("tuning started")
    lines.expect("which part is better")
    lines.type("h")
    lines.expect("held")
    lines.type("g")
    lines.expect("Which lot")
    lines.type("L7")
    lines.expect("lot L7 from now on")
    with running.client() as client:
        view = client.snapshot("saw")
    assert (view.mode, view.lot) == ("Held", "L7")


def test_all_that_moves_the_machine_can_be_chosen(running, terminal):
    lines = terminal("--campaign", "press", "--operator", "lena")
    lines.expect("press: ")
    lines.type("s")
    lines.expect(r"Stop tuning\? .*\s+b abort: .*\s+Type y and Enter for yes, b for what else there is")
    lines.type("no")
    lines.expect("Nothing was done")
    with running.client() as client:
        assert client.snapshot("press").mode == "Execute"


def test_the_other_screens_are_lines_too_in_every_language(terminal):
    lines = terminal("--campaign", "press", "--operator", "lena", "--language", "de")
    lines.expect(r"Frage \d+: welches Teil ist besser\?")
    lines.type("help")
    lines.expect("1 links besser, 2 rechts besser, 0 unklar")
    lines.type("c")
    lines.expect("Empfohlene Einstellung für das Stammrezept")
    lines.expect("Lohnt es sich weiterzumachen")
    lines.type("p")
    lines.expect(r"x1: bestes Erwartetes bei \d+,\d+ mm")
    lines.type("t")
    lines.expect(r"P\d.*gültig")
    lines.type("?")
    lines.expect("Was am meisten ausmacht")
    lines.type("m")
    lines.expect("Kein Alarm")
    lines.type("l")
    lines.expect("Español")


def test_several_campaigns_are_asked_for(terminal):
    lines = terminal("--operator", "lena")
    lines.expect(r"Which campaign\? 1 lathe, 2 oven, 3 press, 4 saw")
    lines.type("press")
    lines.expect("press: ")


@pytest.mark.slow
def test_without_a_daemon_it_ends_with_a_sentence_and_the_exit_code(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tuner", "ask", "--state", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=PATIENT_S,
        check=False,
        input="1\n",
    )
    assert done.returncode == 69
    assert "no daemon answers" in done.stderr


def test_a_campaign_that_is_not_there_is_named(running, terminal):
    lines = terminal("--campaign", "nowhere", "--operator", "lena")
    lines.expect('there is no campaign "nowhere"')
    assert lines.process.wait(PATIENT_S) == 1
