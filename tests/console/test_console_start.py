"""How the console's commands begin and end: terminals, names, keys, signals, exit codes."""

import os
import pty
import signal
import socket
import subprocess
import sys
import termios

import pytest

from tests.console.test_console_lines import Terminal
from tests.console.test_console_terminal import Screen
from tests.daemon.running import campaign_text, daemon, reached_at
from tests.patience import PATIENT_S
from tuner.console.requests import CannotError, person
from tuner.wire.key_ring import KeyRing


@pytest.fixture(scope="module")
def running():
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        requests, events = (f"tcp://127.0.0.1:{place.getsockname()[1]}" for place in (one, two))
    head = reached_at((requests, events))
    with daemon(head + campaign_text("press", trials=500)) as one:
        one.requests = requests
        yield one.start()


def tuner(*arguments, typed="", **environ):
    """Run a command without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "tuner", *map(str, arguments)],
        input=typed,
        capture_output=True,
        timeout=PATIENT_S,
        check=False,
        env={**os.environ, "LANG": "C.UTF-8", **environ},
        **({} if isinstance(typed, bytes) else {"text": True}),
    )


def test_without_a_terminal_the_console_ends_at_once_and_names_the_plain_lines(tmp_path):
    done = tuner("console", "--state", tmp_path)
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr
    assert "`tuner ask`" in done.stderr
    assert "\x1b" not in done.stderr + done.stdout


def test_a_terminal_that_can_only_print_is_sent_to_the_plain_lines(tmp_path):
    master, slave = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "tuner", "console", "--state", str(tmp_path)],
        stdin=slave,
        stderr=slave,
        stdout=slave,
        env={**os.environ, "TERM": "dumb"},
    )
    os.close(slave)
    try:
        assert done.wait(PATIENT_S) == 2
        assert b"TERM=dumb cannot show the screen" in os.read(master, 4096)
    finally:
        done.kill()
        os.close(master)


@pytest.mark.slow
def test_told_to_end_the_console_gives_the_terminal_back_as_it_was(running):
    screen = Screen(running)
    try:
        screen.expect("1 LEFT")
        assert not termios.tcgetattr(screen.master)[3] & termios.ECHO
        screen.process.send_signal(signal.SIGTERM)
        assert screen.process.wait(PATIENT_S) == 128 + signal.SIGTERM
        assert termios.tcgetattr(screen.master)[3] & termios.ECHO
        assert b"\x1b[?1049l" in os.read(screen.master, 65536)  # from the alternate screen
    finally:
        screen.close()


@pytest.mark.parametrize("typed", ["  anna  \t b.\n", "anna\x1d b.\x00"], ids=["spaces", "a badge's separators"])
def test_a_name_is_what_a_person_can_read_of_it(typed):
    assert person(typed) == "anna b."


def test_the_daemons_own_name_is_no_operators():
    with pytest.raises(CannotError) as caught:
        person(" tuner ")
    assert caught.value.key == "cannot.bad_name"


@pytest.mark.slow
def test_a_name_that_the_daemon_would_refuse_does_not_look_like_a_lost_link(running):
    done = tuner("ask", "--state", running.state, typed="tuner\nle\x1d\x1b na\n\nq\n")
    assert done.stdout.splitlines()[1:5] == [
        "Who are you? Name or badge:",
        "tuner is not a name for a person. Give your own.",
        "Who are you? Name or badge:",
        "signed in: le na",
    ]
    assert "NO LINK" not in done.stdout
    assert tuner("ask", "--state", running.state, "--operator", "tuner").returncode == 2


@pytest.mark.slow
def test_bytes_and_letters_that_the_terminal_does_not_know_do_not_end_the_plain_lines(running):
    options = ("ask", "--state", running.state, "--operator", "lena", "--language", "zh")
    done = tuner(*options, typed=b"\xff\xfe1\n?\nq\n", PYTHONIOENCODING="latin-1:strict")
    assert (done.returncode, done.stderr) == (0, b"")
    done = tuner(*options, typed=b"\xff\xfe1\nQ\n", PYTHONIOENCODING="utf-8:strict")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "再见" in done.stdout.decode()


@pytest.mark.slow
def test_in_plain_lines_a_role_is_told_before_anything_is_asked():
    with daemon('[daemon]\nlocal_role = "viewer"\n' + campaign_text("press", trials=500)) as one:
        one.start()
        (one.state / "requests.own").unlink()  # as for a member of the group, who may not open it
        lines = Terminal(one, "--operator", "lena")
        try:
            lines.expect("press: ")
            for key in ("h", "s", "g"):
                before = len(lines.text)
                lines.type(key)
                lines.expect(r"Your key may not do this \(viewer\)")
                assert "?" not in lines.text[before:]
        finally:
            lines.close()


@pytest.mark.slow
def test_interrupted_plain_lines_end_with_the_code_for_it(running):
    command = [sys.executable, "-m", "tuner", "ask", "--state", str(running.state), "--operator", "lena"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert "plain lines" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENT_S) == 130


@pytest.mark.slow
def test_a_key_that_is_missing_or_revoked_is_named_with_the_code_for_it(running, tmp_path):
    done = tuner("ask", "--connect", running.requests, "--operator", "lena")
    assert (done.returncode, "wants a key" in done.stderr) == (77, True)
    ring = KeyRing.open(running.state)
    file = tmp_path / "gone.key"
    ring.new("gone", "operator", requests=running.requests).save(file)
    ring.revoke("gone")
    done = tuner("ask", "--key", file, "--operator", "lena")
    assert (done.returncode, "unknown or was revoked" in done.stderr) == (77, True)
