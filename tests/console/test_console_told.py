"""What a real daemon says, told in the reader's language: reasons, faults, refusals, waiting, the model's words."""

import re
from html import unescape

import pytest

from tests.console.helpers import LARGE, console
from tests.daemon.running import campaign_text, daemon, tune, until
from tests.web.helpers import Forms, served
from tuner.basics.sentences import LANGUAGES, Sentence, sentence_in, tell
from tuner.errors import TunerError
from tuner.wire.client import Client

ENGLISH = re.compile(r"\b(the|is|not|by|for|and|waits|sent|read back|machine|must|there|trial|setting)\b")


@pytest.fixture(scope="module")
def running():
    text = campaign_text("press", trials=500)
    text += campaign_text("mill", machine="read_back_error = 0.5", policy="waiting = {verify_s = 0.1}")
    text += campaign_text("kiln", machine="not_ready_s = 3600", policy="waiting = {ready_s = 3600}")
    text += campaign_text("oven").replace("approval = false", "approval = true")
    text += campaign_text("saw", autostart=False)
    with daemon(text.replace("-machine", "-1")) as one:
        one.start()
        with one.client() as client:
            tune(client, "press", lambda view: len(view.judgments) >= 1 and view.duel is not None)
            until(client, "mill", lambda view: view.fault is not None and view.machine.home_failed is not None)
            until(client, "kiln", lambda view: view.waiting is not None)
            until(client, "oven", lambda view: view.trial is not None)
            client.hold("press")
        yield one


def refused(request, *arguments, **named):
    with pytest.raises(TunerError) as caught:
        request(*arguments, **named)
    return str(caught.value)


def all_said(client, tmp_path):
    """What the daemon says in its main refusals, faults, waits and reasons."""
    press, mill, kiln = (client.snapshot(name) for name in ("press", "mill", "kiln"))
    trials = client.trials("press").trials
    judged = press.judgments[0]
    yield from (press.reason, press.phase_text, mill.fault, mill.machine.home_failed, mill.phase_text)
    yield from (kiln.waiting.text, kiln.phase_text, client.snapshot("oven").phase_text)
    yield from {trial.source: trial.reason for trial in trials}.values()
    yield from {trial.outcome_reason for trial in trials if trial.valid is False}
    yield from client.plan("oven").texts
    held = [event for event in client.history("mill").events if event.type in ("campaign_held", "home_delayed")]
    yield from (sentence_in(event.body, "reason" if "reason" in event.body else "text") for event in held)
    yield refused(client.approve, "press", 1)
    yield refused(client.approve, "oven", 7)
    yield refused(client.start, "press")
    yield refused(client.plan, "press", {"x1": 99.5, "x2": 1.0})
    yield refused(client.plan, "press", {"x1": 1.0})
    yield refused(client.judge, "press", judged.duel, judged.left)
    yield refused(client.judge, "press", 999, 1)
    yield refused(client.retract, "press", 999)
    yield refused(client.tell_outcome, "press", 1, False)
    yield refused(client.confirm_change, "press", 1)
    yield refused(client.snapshot, "nowhere")
    yield refused(client.create, "nothing")
    yield refused(client.repeat, "saw", 1)
    with Client.local(tmp_path, find_s=0.1) as nobody:
        yield refused(nobody.ping)


def test_the_main_refusals_faults_and_reasons_have_codes_and_are_told_in_every_language(running, tmp_path):
    with running.client() as client:
        said = list(all_said(client, tmp_path))
    assert [text for text in said if not (isinstance(text, Sentence) and text.code)] == []
    assert [text for text in said if tell(text, "en") != text] == []
    for language in LANGUAGES[1:]:
        told = [tell(text, language) for text in said]
        remnants = [
            text for text in told if ENGLISH.search(re.sub(r"ipc://\S+|`[^`]*`|\[[\w.]+\]|[\w.]+_\w+", "", text))
        ]
        assert remnants == [], language


def test_what_was_answered_to_a_request_comes_with_its_code_again(running):
    with running.client() as client:
        first = refused(client.start, "press")
        assert isinstance(first, Sentence)
        assert first.code == "move.cannot_be"


@pytest.mark.asyncio
async def test_a_german_console_shows_no_english_of_the_daemon(running):
    async with console(running, "mill", LARGE, language="de") as hands:
        await hands.until(lambda: hands.view is not None and hands.view.fault, "the fault")
        await hands.until(lambda: "Einstellung unbestätigt: gesendet, aber zurückgelesen" in hands.text())
        assert "x1 ist 4,0" in hands.text()
        await hands.press("m")
        await hands.until(lambda: "Störung: Einstellung unbestätigt" in hands.text(), "the alarms")
        assert not ENGLISH.search(hands.text())
    async with console(running, "kiln", LARGE, language="de") as hands:
        await hands.until(lambda: "nach dem vorigen Teil noch nicht bereit" in hands.text(), "what is waited for")
        assert not ENGLISH.search(hands.text())
    async with console(running, "press", LARGE, language="de") as hands:
        await hands.until(lambda: "angehalten von anna" in hands.text(), "why it is held")
        await hands.press("question_mark")
        await hands.until(lambda: "gegenüber dem besten Teil ändert sich" in hands.text(), "the model's words")
        assert not ENGLISH.search(hands.text())


def test_a_german_page_shows_no_english_of_the_daemon(running):
    with served(running.state, "--language", "de", "--campaign", "mill") as address:
        forms = Forms(address)
        forms.sign_in("nora")
        for path in ("/", "/engineer", "/alarms"):
            while "Einstellung unbestätigt" not in (shown := unescape(forms.open(path))):
                pass
            body = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", shown, flags=re.DOTALL)
            assert not ENGLISH.search(body), path
