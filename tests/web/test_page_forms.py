"""The page over plain HTTP: forms without script, and all that must not get through."""

import random
import socket
import string
from contextlib import closing
from html import unescape
from urllib.parse import urlencode

import pytest

from tests.daemon.running import campaign_text, daemon, until
from tests.web.helpers import Forms, served
from tuner.console.keyboard import GRADES, MAIN
from tuner.web import shown
from tuner.web.serve import Listening

FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def running():
    mill = campaign_text("mill", machine="read_back_error = 0.5", policy="operators_restrict = true")
    with daemon(campaign_text("press", trials=500) + mill) as one:
        yield one.start()


@pytest.fixture(scope="module")
def address(running):
    with served(running.state, "--language", "en", "--campaign", "press") as found:
        yield found


@pytest.fixture
def forms(address):
    return Forms(address)


def asked(running):
    with running.client() as client:
        return until(client, "press", lambda view: view.duel is not None)


def test_a_question_is_answered_without_any_script(running, forms):
    forms.sign_in("nora")
    view = asked(running)
    while f"Question {view.duel.number}:" not in forms.open("/").replace('<span class="quiet">', ""):
        pass
    forms.send("/press", key="0")
    while forms.said == "Too fast: this question is new. Look, then press again.":
        forms.send("/press", key="0")
    assert forms.said == "can't tell: taken"
    with running.client() as client:
        given = client.snapshot("press").judgments[0]
    assert (given.duel, given.operator) == (view.duel.number, "nora")


def test_a_form_of_an_older_question_is_not_taken_for_the_new_one(running, forms):
    forms.sign_in("nora")
    view = asked(running)
    forms.open("/")
    with running.client("ben") as client:
        client.tie("press", view.duel.number)
        until(client, "press", lambda now: now.duel is not None and now.duel.number != view.duel.number)
        n = client.snapshot("press").n
        forms.html = forms.html.replace(f'value="{forms.field("seen")}"', f'value="{view.duel.number}.0"')
        forms.send("/press", key="1")
        assert forms.said == "This question is closed."
        assert client.snapshot("press").n == n


def test_an_answer_is_taken_although_a_part_was_made_while_its_form_was_open(running, forms):
    forms.sign_in("nora")
    number = asked(running).duel.number
    while not forms.field("seen").startswith(f"{number}."):
        forms.open("/")
    forms.html = forms.html.replace(f'value="{forms.field("seen")}"', f'value="{number}.999"')
    forms.send("/press", key="0")
    while forms.said == "Too fast: this question is new. Look, then press again.":
        forms.send("/press", key="0")
    assert forms.said == "can't tell: taken"


def test_whoever_only_gives_a_name_has_an_operators_rights(forms):
    forms.sign_in("nora")
    forms.send("/press", key="a")
    assert forms.said in ("No setting waits for approval.", "Your key may not do this (operator).")
    assert "approve" not in forms.open("/engineer")


def test_an_alarm_says_since_when_what_to_do_and_what_the_journal_knows_of_it(running, forms):
    with running.client() as client:
        view = until(client, "mill", lambda view: view.fault is not None and view.mode == "Held")
    forms.sign_in("nora")
    forms.send("/show", campaign="mill")
    while "<td>hold</td><td>tuner</td>" not in forms.open("/alarms"):
        pass
    text = unescape(forms.html)
    assert f"Fault: {view.fault}" in text
    assert "Mend the cause at the machine" in text
    assert view.fault in text.partition("<td>hold</td>")[2]


def test_somebody_acknowledges_an_alarm(running, forms):
    with running.client() as client:
        until(client, "mill", lambda view: view.alarms and view.mode == "Held")
    forms.sign_in("nora")
    forms.send("/show", campaign="mill")
    while 'action="/acknowledge"' not in forms.open("/alarms"):
        pass
    forms.send("/acknowledge", number="1")
    assert forms.said == "alarm 1 acknowledged"
    while "acknowledged by nora" not in forms.open("/alarms"):
        pass
    forms.send("/acknowledge", number="99")
    assert forms.said == "Every alarm is acknowledged."


def test_a_parameter_is_kept_and_freed_by_a_form_where_the_policy_lets_operators(running, forms):
    forms.sign_in("nora")
    for name in ("press", "mill"):
        forms.open_until(name, "/board")  # the page hears of its campaigns one by one
    forms.send("/show", campaign="press")
    forms.send("/restrict", parameter="x1", allowed="2..4", until="shift", reason="worn")
    assert forms.said.startswith("Only engineers restrict parameters here"), "the press has no such policy"
    forms.send("/show", campaign="mill")
    assert 'action="/restrict"' in forms.open("/engineer")
    forms.send("/restrict", parameter="x1", allowed="9..12", until="shift", reason="worn")
    assert "must lie between 0 and 5" in forms.said
    forms.send("/restrict", parameter="x1", allowed="2..4", until="shift", reason="worn")
    assert forms.said == "x1 2..4: kept for now"
    forms.open_until("x1 is kept between 2.000 and 4.000 mm until", "/engineer")
    forms.send("/restrict", parameter="x1", lift="yes")
    assert forms.said == "x1 is not restricted any more"
    forms.send("/restrict", parameter="nothing", allowed="1", reason="x")
    assert forms.said == "Nothing is chosen."


def test_nobody_acts_before_signing_in(running, forms):
    forms.open("/")
    with running.client() as client:
        n = client.snapshot("press").n
    forms.send("/press", key="h")
    assert forms.said == "Sign in first."
    with running.client() as client:
        assert client.snapshot("press").n >= n
        assert client.snapshot("press").mode == "Execute"


def test_signing_in_changes_the_cookie_and_signing_out_ends_the_rights(forms):
    forms.open("/")
    before = forms.cookie
    forms.sign_in("nora")
    assert forms.cookie != before
    status, headers, _ = forms.request("GET", "/", Cookie=before)
    assert (status, headers["Location"]) == (303, "/"), "the cookie from before is worth nothing"
    assert "Set-Cookie" not in headers, "and drives out no other"
    forms.send("/sign-out")
    assert "nora" not in forms.html


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {"Host": "evil.example"}, 403),
        ("GET", "/", {"Origin": "http://evil.example"}, 403),
        ("GET", "/events", {"Sec_Fetch_Site": "cross-site"}, 403),
        ("GET", "/?campaign=press", {}, 400),
        ("POST", "/press", {"Content_Type": FORM}, 403),
        ("POST", "/press", {"Content_Type": FORM, "Origin": "null"}, 403),
        ("POST", "/press", {"Content_Type": FORM, "Origin": "OURS", "Sec_Fetch_Site": "same-site"}, 403),
        ("POST", "/press", {"Content_Type": "multipart/form-data; boundary=x", "Origin": "OURS"}, 400),
        ("POST", "/press", {"Content_Type": "text/plain", "Origin": "OURS"}, 400),
        ("PUT", "/press", {"Origin": "OURS"}, 405),
        ("GET", "/static/../app.py", {}, 404),
        ("GET", "/static/%2e%2e%2fapp.py", {}, 404),
        ("GET", "/photo/" + "a" * 64, {}, 404),
        ("GET", "/" + "a" * 200, {}, 400),
        ("GET", "/events", {}, 403),
    ],
    ids=str,
)
def test_what_does_not_come_from_our_page_is_refused(address, method, path, headers, status):
    forms = Forms(address)
    given = {name: address if value == "OURS" else value for name, value in headers.items()}
    assert forms.request(method, path, b"key=h" if method == "POST" else None, **given)[0] == status


def test_a_form_without_its_secret_or_with_anothers_does_nothing(running, address):
    mine, other = Forms(address), Forms(address)
    mine.sign_in("nora")
    other.open("/")
    for token in ("", "x", other.field("token")):
        body = urlencode({"token": token, "key": "h"})
        status, _, _ = mine.request("POST", "/press", body, Origin=address, Content_Type=FORM)
        assert status == 403
    with running.client() as client:
        assert client.snapshot("press").mode == "Execute"


@pytest.mark.parametrize("body", ["key=h&key=s", "a" * 20_000, "&".join(f"a{n}=1" for n in range(50)), "%ff=%fe"])
def test_a_form_that_no_page_of_ours_has_is_refused(address, body):
    forms = Forms(address)
    forms.open("/")
    assert forms.request("POST", "/press", body, Origin=address, Content_Type=FORM)[0] == 400


def test_every_answer_closes_the_browsers_doors(address):
    forms = Forms(address)
    nonces = set()
    for path in ("/", "/static/page.js", "/nothing"):
        _, headers, _ = forms.request("GET", path)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        nonces.add(policy.partition("nonce-")[2].partition("'")[0])
    assert len(nonces) == 3
    _, headers, _ = Forms(address).request("GET", "/")
    assert "HttpOnly" in headers["Set-Cookie"]
    assert "SameSite=strict" in headers["Set-Cookie"]


def test_what_people_type_is_text_and_nothing_else(forms):
    forms.sign_in('<script>alert("x")</script>')
    assert "<script>alert" not in forms.html
    assert "&lt;script&gt;" in forms.html


def test_whatever_a_key_of_the_console_does_has_a_button():
    offered = {key.shown for key in (*shown._BIG, *shown._SMALL, *GRADES)}
    of_its_own = {"k"}  # parameters are kept and narrowed by a form of the engineer's window
    assert {key.shown for key in MAIN if key.ops} <= offered | of_its_own


def test_small_answers_are_sent_at_once():
    with closing(Listening("127.0.0.1", 0).bind()) as bound:
        assert bound.proto == socket.IPPROTO_TCP, "else asyncio leaves Nagle's wait of 40 ms on"


def nonsense(luck):
    """A request that nobody means: parts of real ones, and letters."""
    letters = string.printable + "äß\u202e\0"
    text = "".join(luck.choice(letters) for _ in range(luck.randrange(60)))
    path = luck.choice(["/", "/press", "/show", "/sign-in", "/photo/x", "/static/page.js", "/language", "/events/x"])
    path += luck.choice(["", "", "/..", "%00", "?a=b", "//"])
    fields = {luck.choice(["token", "key", "seen", "given", "number", "campaign", text[:9]]): text for _ in range(4)}
    body = luck.choice([urlencode(fields).encode(), text.encode(), bytes(luck.randrange(256) for _ in range(40)), b""])
    headers = {
        "Origin": luck.choice([None, "OURS", "OURS", "null", "http://x"]),
        "Content_Type": luck.choice([FORM, FORM, "text/plain", "multipart/form-data"]),
        "Sec_Fetch_Site": luck.choice([None, "none", "cross-site", "same-origin"]),
        "Accept_Language": luck.choice(["de", "xx;q=0.1,,,;", None]),
    }
    return luck.choice(["GET", "POST", "POST", "HEAD", "PUT", "OPTIONS"]), path, body, headers


def fuzz(running, address, count):
    with running.client() as client:
        before = client.snapshot("press").mode
    luck, forms = random.Random(11), Forms(address)  # noqa: S311 - the same nonsense each time
    forms.sign_in("nora")
    for _ in range(count):
        method, path, body, headers = nonsense(luck)
        given = {name: address if value == "OURS" else value for name, value in headers.items()}
        cookie = forms.cookie
        status, _, text = forms.request(method, path, body if method in ("POST", "PUT") else None, **given)
        forms.cookie = cookie
        assert status < 500, (method, path, body, headers, text)
    with running.client() as client:
        assert client.snapshot("press").mode == before
        events = client.history("press", limit=500).events
    assert [event for event in events if event.actor == "nora" and event.type != "judgment_given"] == []


def test_nonsense_gains_nothing(running, address):
    fuzz(running, address, 150)


@pytest.mark.slow
def test_much_nonsense_gains_nothing(running, address):
    fuzz(running, address, 10_000)
