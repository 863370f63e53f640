"""The console in a real terminal: a vt100 of 80 by 24, without colours, driven by the bytes of its keys."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time

import pyte
import pytest

from tests.daemon.running import campaign_text, daemon
from tests.patience import PATIENT_S

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def running():
    with daemon(campaign_text("press", trials=500)) as one:
        yield one.start()


class Screen:
    """A console in a terminal that shows what it is sent."""

    def __init__(self, running, **environ):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        command = [sys.executable, "-m", "tuner", "console", "--state", str(running.state)]
        self.process = subprocess.Popen(
            [*command, "--operator", "vera", "--language", "en"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "LANG": "C.UTF-8", **environ},
            start_new_session=True,
        )
        os.close(slave)
        self.sent = b""
        self._screen = pyte.Screen(80, 24)
        self._stream = pyte.ByteStream(self._screen)

    def shows(self, part, within_s):
        """Wait until a text is on the screen; whether it came."""
        end = time.monotonic() + within_s
        while part not in "\n".join(self._screen.display):
            ready, _, _ = select.select([self.master], [], [], max(0.0, end - time.monotonic()))
            if not ready or time.monotonic() > end:
                return False
            data = os.read(self.master, 65536)
            self.sent += data
            self._stream.feed(data)
        return True

    def expect(self, part):
        assert self.shows(part, PATIENT_S), f"{part!r} did not come:\n" + "\n".join(self._screen.display)

    def press(self, key):
        os.write(self.master, key.encode())

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.mark.parametrize("environ", [{"TERM": "vt100", "NO_COLOR": "1"}, {"TERM": "xterm-256color"}], ids=str)
def test_a_question_is_answered_on_a_terminal(running, environ, capsys):
    screen = Screen(running, **environ)
    try:
        screen.expect("Which part is better?")
        screen.expect("1 LEFT")
        screen.expect("link ok  vera")
        painted = len(screen.sent)
        screen.press("0")
        while not screen.shows("can't tell: taken", 1.0):
            screen.expect("Too fast")  # a key is for a question that has been seen
            screen.press("0")
        screen.press("q")
        assert screen.process.wait(PATIENT_S) == 0
    finally:
        screen.close()
    with running.client() as client:
        assert client.snapshot("press").judgments[0].operator == "vera"
    with capsys.disabled():
        print(f" [{painted} bytes to the first question]", end="")  # noqa: T201 - a measurement
