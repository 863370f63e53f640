"""A page that other machines can reach: only with TLS and people, and nothing is seen before somebody signed in."""

import socket
import ssl
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest

from tests.daemon.running import campaign_text, daemon, until
from tests.patience import PATIENT_S
from tests.web.helpers import PATIENT_MS, Forms, chromium, served
from tuner.basics.vocabulary import Role

EVERYWHERE = "0.0.0.0:0"
PINS = {"ines": "4711", "anna": "2580"}


@pytest.fixture(scope="module")
def running():
    text = campaign_text("press", trials=500, policy='identify = "pin"').replace("approval = false", "approval = true")
    with daemon(text) as one:
        yield one.start()


def tuner(*words):
    return subprocess.run(
        [sys.executable, "-m", "tuner", *map(str, words)], capture_output=True, text=True, timeout=PATIENT_S
    )


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    assert tuner("web", "certificate", "--name", "127.0.0.1", "--out", folder).returncode == 0
    again = tuner("web", "certificate", "--name", "127.0.0.1", "--out", folder)
    assert (again.returncode, "is there already" in again.stderr) == (1, True)
    assert (folder / "tuner-web.key").stat().st_mode & 0o077 == 0
    return folder / "tuner-web.crt", folder / "tuner-web.key"


@pytest.fixture(scope="module")
def forms(running, certificate):
    """What another machine's browser sees, after it was refused what is not safe."""
    state, (crt, key) = ("--state", running.state), certificate
    tls = ("--certificate", crt, "--certificate-key", key)
    bare = tuner("web", *state, "--listen", EVERYWHERE)
    assert (bare.returncode, "needs TLS" in bare.stderr) == (78, True)
    half = tuner("web", *state, "--listen", EVERYWHERE, "--certificate", crt)
    assert (half.returncode, "needs its key" in half.stderr) == (78, True)
    nobody = tuner("web", *state, "--listen", EVERYWHERE, *tls)
    assert (nobody.returncode, "tuner people add" in nobody.stderr) == (78, True)
    with running.client() as client:
        client.add_person("ines", Role.ENGINEER, "de", PINS["ines"])
        client.add_person("anna", Role.OPERATOR, "", PINS["anna"])
    with served(running.state, *tls, "--name", "127.0.0.1", "--language", "en", listen=EVERYWHERE) as address:
        port = address.rpartition(":")[2]
        trusted = ssl.create_default_context(cafile=str(crt))
        yield lambda: Forms(f"https://127.0.0.1:{port}", trusted)


def test_nothing_of_a_campaign_is_seen_or_done_before_a_pin_was_given(running, forms):
    stranger = forms()
    for path in ("/", "/engineer", "/history", "/alarms", "/board"):
        assert "press" not in stranger.open(path).replace("/press", "")
        assert "Who are you?" in stranger.html
    assert stranger.request("GET", "/events")[0] == 403
    stranger.open("/")
    stranger.send("/press", key="h")
    stranger.sign_in("ines")
    assert stranger.said == "This page needs your PIN or your badge."
    stranger.sign_in("ines", pin="0815")
    assert stranger.said.startswith("Name, PIN or badge is wrong.")
    assert "press-machine" not in stranger.html
    with running.client() as client:
        assert client.snapshot("press").mode == "Execute"


def test_a_right_pin_after_a_wrong_one_leads_to_the_question(running, forms):
    anna = forms()
    anna.sign_in("anna", pin="0815")
    assert (anna.said.startswith("Name, PIN or badge is wrong."), "<nav" in anna.html) == (True, False)
    anna.sign_in_here("anna", pin=PINS["anna"])
    assert (anna.said, "Who are you?" in anna.html) == ("signed in: anna", False)
    assert ("<nav" in anna.html, "press-machine" in anna.html) == (True, True)
    assert "<nav" in anna.open("/sign-in")  # whoever comes back there has a way on


def test_a_sign_in_on_a_page_from_before_a_restart_says_that_nothing_was_done(running, forms):
    anna = forms()
    anna.open("/")
    anna.cookie = "__Host-tuner=of-a-seat-that-is-gone"
    anna.sign_in_here("anna", pin=PINS["anna"])
    assert anna.said == "This page was too old: nothing was done. Please do it again."
    assert "press-machine" not in anna.html
    anna.sign_in_here("anna", pin=PINS["anna"])
    assert anna.said == "signed in: anna"


def test_an_engineer_approves_an_operator_cannot_and_the_answer_bears_the_name_that_was_proved(running, forms):
    anna, ines = forms(), forms()
    _, headers, _ = ines.request("GET", "/")
    assert headers["Set-Cookie"].startswith("__Host-tuner=")
    assert "Secure" in headers["Set-Cookie"]
    ines.sign_in("INES", pin=PINS["ines"])
    assert ines.said == "angemeldet: ines"
    anna.sign_in("anna", pin=PINS["anna"])
    with running.client("nobody") as client:
        while True:
            view = until(client, "press", lambda view: view.duel is not None or view.phase == "awaiting_approval")
            if view.duel is not None:
                break
            anna.open_when_seen(f"0.{view.trial.number}")
            anna.send("/press", key="a", given="yes")
            assert anna.said == "Your key may not do this (operator)."
            ines.open_when_seen(f"0.{view.trial.number}")
            ines.send("/press", key="a")
            assert 'class="asked"' in ines.html
            ines.send("/press", key="a", given="yes")
            waited = (view.trial.number, "awaiting_approval")  # the next one may wait by the time that we look
            until(client, "press", lambda now, old=waited: (now.trial and now.trial.number, now.phase) != old)
        anna.open_when_seen(f"{view.duel.number}.0")
        anna.send("/press", key="0")
        while anna.said.startswith("Too fast"):
            anna.send("/press", key="0")
        assert anna.said == "can't tell: taken"
        assert client.snapshot("press").judgments[0].operator == "anna"


def test_an_engineer_lists_and_ends_sessions_and_the_page_then_asks_again(running, forms):
    anna = forms()
    anna.sign_in("anna", pin=PINS["anna"])
    listed = tuner("people", "sessions", "--state", running.state)
    assert "anna" in listed.stdout
    with running.client("ines") as client:
        for one in client.list_sessions().sessions:
            client.end_session(one.number)
    anna.open("/")
    anna.send("/press", key="r", given="x")
    anna.send("/press", key="g", given="lot 7")
    assert anna.said.startswith("Signed out")
    assert "Who are you?" in anna.html


def test_who_is_disabled_sees_nothing_more_and_an_open_window_ends(running, forms):
    carl = forms()
    with running.client("ines") as client:
        client.add_person("carl", Role.OPERATOR, "en", "6172")
        carl.sign_in("carl", pin="6172")
        assert "press-machine" in carl.open("/board")
        window = stream_of(carl)
        client.disable_person("carl")
        end = time.monotonic() + PATIENT_S
        while "Who are you?" not in carl.open("/board"):
            carl.send("/language", language="en", back="board")
            assert time.monotonic() < end, "who asks the daemon for nothing is never signed out"
        assert "press-machine" not in carl.html
        while window.recv(4096):
            pass  # until it ends
        window.close()
        assert carl.request("GET", "/events")[0] == 403
        for path in ("/", "/engineer", "/history", "/alarms"):
            assert "Who are you?" in carl.open(path)


def test_a_session_ends_at_the_page_as_at_the_daemon_whatever_is_looked_at(certificate):
    text = "[daemon]\nsession_idle_minutes = 0.05\n" + campaign_text("press", autostart=False)
    crt, key = certificate
    with daemon(text) as running:
        running.start()
        with running.client() as client:
            client.add_person("carl", Role.VIEWER, "en", "6172")
        tls = ("--certificate", crt, "--certificate-key", key)
        with served(running.state, *tls, "--name", "127.0.0.1", listen=EVERYWHERE) as address:
            port = address.rpartition(":")[2]
            carl = Forms(f"https://127.0.0.1:{port}", ssl.create_default_context(cafile=str(crt)))
            carl.sign_in("carl", pin="6172")
            end = time.monotonic() + PATIENT_S
            while "Who are you?" not in carl.open("/board"):
                carl.send("/language", language="de", back="board")
                carl.send("/language", language="en", back="board")
                carl.send("/show", campaign="press", back="board")
                assert time.monotonic() < end, "a session that is only looked with never ends"
            assert "press-machine" not in carl.html


def stream_of(browser):
    """A window of this browser that follows what happens."""
    connection = socket.create_connection((browser.place.hostname, browser.place.port), timeout=PATIENT_S)
    window = browser.context.wrap_socket(connection, server_hostname=browser.place.hostname)
    host = browser.place.netloc
    window.sendall(f"GET /events HTTP/1.1\r\nHost: {host}\r\nCookie: {browser.cookie}\r\n\r\n".encode())
    assert window.recv(12) == b"HTTP/1.1 200"
    return window


def test_a_form_that_is_sent_twice_at_once_signs_in_once(running, forms):
    browser = forms()
    browser.open("/sign-in")
    fields = {"token": browser.field("token"), "name": "anna", "pin": PINS["anna"], "back": "question"}

    def send(_):
        one = forms()
        one.cookie = browser.cookie
        kind = "application/x-www-form-urlencoded"
        status, _, _ = one.request("POST", "/sign-in", urlencode(fields), Origin=one.origin, Content_Type=kind)
        return status, one

    with running.client() as client:
        before = len(client.list_sessions().sessions)
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(send, range(4)))
        assert {status for status, _ in answers} == {303}
        assert len(client.list_sessions().sessions) == before + 1
    inside = [one for _, one in answers if "anna" in one.request("GET", "/")[2]]
    assert len(inside) == 1, "the cookie of the last sign-in is worth something, and no other"


def test_a_window_follows_what_happens_after_signing_in_again_and_where_no_stream_is_to_be_had(running, forms):
    def signs_in(page):
        page.fill("#name", "anna")
        page.fill("#pin", PINS["anna"])
        page.click("form.sign button")
        page.locator("#said", has_text="signed in: anna").wait_for()

    def sees(page, mode):
        page.locator(".mode", has_text=mode).wait_for()

    with chromium() as browser, running.client("ines") as client:
        client.session = client.open_session("ines", PINS["ines"]).session
        context = browser.new_context(ignore_https_errors=True)
        page = context.new_page()
        page.set_default_timeout(PATIENT_MS)
        page.goto(forms().origin)
        signs_in(page)
        client.hold("press")
        sees(page, "Held")
        with page.expect_response(lambda answer: answer.url.endswith("/events") and answer.status == 403):
            for one in client.list_sessions().sessions:
                if one.name == "anna":
                    client.end_session(one.number)
        page.locator("form.sign").wait_for()
        signs_in(page)
        client.resume("press")
        sees(page, "Tuning")
        page.route("**/events", lambda route: route.fulfill(status=429))
        page.goto(forms().origin)
        client.hold("press")
        sees(page, "Held")
        client.resume("press")
        context.close()
