"""The shift handover as text and as a page, made from a real campaign."""

import re
import subprocess
import sys

import pytest

from tests.daemon.running import campaign_text, daemon, tune
from tests.patience import PATIENT_S


@pytest.fixture(scope="module")
def running():
    text = campaign_text("press", trials=500) + campaign_text("saw", autostart=False)
    with daemon(text) as one:
        one.start()
        with one.client("anna") as client:
            ready = lambda view: len(view.judgments) >= 2 and view.budget.scrap and view.duel is not None  # noqa: E731
            view = tune(client, "press", ready)
            client.retract("press", view.judgments[0].number, "mixed up")
            scrap = next(trial for trial in client.trials("press").trials if trial.valid is False)
            client.exclude("press", scrap.number, "<wet> material")
        yield one


def handover(running, *options):
    return subprocess.run(
        [sys.executable, "-m", "tuner", "handover", "--state", str(running.state), *options],
        capture_output=True,
        text=True,
        timeout=PATIENT_S,
        check=False,
    )


def test_the_handover_tells_what_was_tried_undone_and_is_pending(running):
    done = handover(running, "--campaign", "press", "--language", "en")
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert text.startswith("Shift handover: press (press-machine)\n")
    assert re.search(r"judgment \d+ taken back by anna: mixed up", text)
    assert re.search(r"part P\d+ excluded by anna: <wet> material", text)
    assert re.search(r"question \d+: compare P\d+ and P\d+", text)
    assert re.search(r"Champion\n  P\d+: x1 [\d.]+ mm · x2 [\d.]+ \(new in this shift\)", text)
    assert re.search(r"anna: \d+ answers, 1\.0 s each", text)
    assert re.search(r"trials: \d+, valid: \d+, scrap: \d+", text)
    assert "No fault." in text


def test_the_page_has_the_same_needs_nothing_from_outside_and_escapes_what_people_wrote(running, tmp_path):
    page = tmp_path / "handover.html"
    done = handover(running, "--language", "de", "--html", str(page))
    assert done.returncode == 0, done.stderr
    html = page.read_text("utf-8")
    assert "Schichtübergabe: press" in html
    assert "Schichtübergabe: saw" in html  # no campaign named: all of them
    assert "&lt;wet&gt; material" in html
    assert "<wet>" not in html
    assert not re.search(r"https?://|<script|<link", html)
    assert done.stdout.count("Schichtübergabe") == 2


def test_what_was_before_the_shift_is_left_out(running):
    text = handover(running, "--campaign", "press", "--language", "en", "--hours", "0.000001").stdout
    assert "Nothing was tried." in text
    assert "Nothing was undone." in text
