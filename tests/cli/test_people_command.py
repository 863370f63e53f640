"""`tuner people`: PINs come from the terminal or the input, never from the command line, and are never printed."""

import subprocess
import sys

import pytest

from tests.daemon.running import campaign_text, daemon
from tests.patience import PATIENT_S


@pytest.fixture(scope="module")
def running():
    with daemon(campaign_text("press", autostart=False)) as one:
        yield one.start()


def people(running, *words, given=""):
    command = [sys.executable, "-m", "tuner", "people", *words, "--state", str(running.state)]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=PATIENT_S)


def test_a_person_is_added_changed_and_turned_away(running):
    assert "there is nobody yet" in people(running, "list").stdout
    done = people(running, "add", "ines", "--role", "engineer", "--language", "de", given="4711\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].split()[:5] == ["ines", "engineer", "de", "yes", "no"]
    assert "4711" not in done.stdout + done.stderr
    for words, given, code, said in (
        (("add", "INES"), "2580\n", 1, "there is a person INES already"),
        (("add", "ben"), "1234\n", 1, "the first that anybody tries"),
        (("add", "ben"), "", 2, "first line of the input"),
        (("pin", "nobody"), "2580\n", 1, 'there is no person "nobody"'),
        (("badge", "ines"), "04A2\n", 0, "ines"),
        (("disable", "ines"), "", 0, "no"),
        (("sessions", "--end", "7"), "", 1, "there is no session 7"),
        (("sessions",), "", 0, "nobody is signed in"),
    ):
        done = people(running, *words, given=given)
        assert (done.returncode, said in done.stdout + done.stderr) == (code, True), (words, done)
    with running.client() as client:
        one = client.list_people().people
    assert [(person.name, person.pin, person.badge, person.disabled) for person in one] == [("ines", True, True, True)]
