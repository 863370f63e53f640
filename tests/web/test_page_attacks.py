"""What somebody may try who can reach the page: each attack as it is done, and that nothing is gained."""

import re
import socket
from contextlib import ExitStack, suppress
from urllib.parse import urlencode, urlsplit

import pytest

from tests.daemon.running import campaign_text, daemon, until
from tests.patience import PATIENT_S
from tests.web.helpers import Forms, served

FORM = "application/x-www-form-urlencoded"
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
PAGES = ("/", "/engineer", "/history", "/alarms", "/board", "/sign-in")


@pytest.fixture(scope="module")
def running():
    text = campaign_text("press", trials=500).replace(
        'unit = "mm"', "unit = 'mm<b>'\nlabel = '<script>alert(3)</script>'"
    )
    mill = campaign_text("mill", autostart=False, policy="operators_restrict = true")
    with daemon(text + mill) as one:
        yield one.start()


@pytest.fixture(scope="module")
def address(running):
    with served(running.state, "--language", "en", "--campaign", "press") as found:
        yield found


@pytest.fixture
def forms(address):
    one = Forms(address)
    one.sign_in("nora")
    return one


def post(forms, path, **fields):
    body = urlencode({"token": forms.field("token"), **fields})
    return forms.request("POST", path, body, Origin=forms.origin, Content_Type=FORM)


def dialled(address):
    place = urlsplit(address)
    return socket.create_connection((place.hostname, place.port), timeout=PATIENT_S)


def heard(connection):
    """All that comes until the other side hangs up."""
    pieces = []
    while piece := connection.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def test_script_in_names_labels_units_lots_and_reasons_is_text(running, forms):
    with running.client(EVIL[:60]) as client:
        view = until(client, "press", lambda view: view.duel is not None)
        client.change_lot("press", EVIL[:40])
        client.exclude("press", max(view.duel.left.number, view.duel.right.number), EVIL)
        client.hold("press", EVIL)
        n = client.snapshot("press").n
    for path in PAGES:
        forms.open(path)
        while path == "/history" and "onerror" not in forms.html:  # the reason comes with the model's page
            forms.open(path)
        assert forms.html.count("<script") == 1, path
        assert re.search(r'<script src="/static/page.js" nonce="[\w-]+" defer></script>', forms.html)
        assert "<img src=x" not in forms.html
        assert "mm<b>" not in forms.html
    with running.client() as client:
        assert client.snapshot("press").n == n
        client.resume("press")


@pytest.mark.parametrize(
    "back",
    ["//evil.example", "https://evil.example", "/\\evil.example", "x\r\nSet-Cookie: tuner=1", "../..", "javascript:1"],
)
def test_no_form_leads_elsewhere_or_adds_a_header(forms, back):
    for path in ("/language", "/press", "/show", "/sign-out"):
        status, headers, _ = post(forms, path, back=back, language="en", campaign=back, key="")
        assert (status, headers["Location"]) == (303, "/")
        assert headers.get_all("Set-Cookie") in (None, [headers["Set-Cookie"]])
        assert "evil" not in str(headers)


def test_a_cookie_that_somebody_planted_is_not_taken(address):
    planted = Forms(address)
    planted.cookie = "tuner=planted-by-somebody-else"
    _, headers, _ = planted.request("GET", "/")
    assert "planted" not in headers["Set-Cookie"]
    planted.open("/sign-in")
    before = planted.cookie
    planted.send("/sign-in", name="nora")
    assert planted.cookie != before
    watcher = Forms(address)
    watcher.cookie = before
    status, _, text = watcher.request("GET", "/")
    assert (status, "nora" in text) == (303, False)


@pytest.mark.parametrize(
    "path", ["/photo/../../etc/passwd", "/photo/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/photo/..%5c..", "/photo/"]
)
def test_no_file_is_reached_through_a_photos_address(forms, path):
    status, _, text = forms.request("GET", path)
    assert status == 404
    assert "root:" not in text


def test_a_page_of_another_name_or_port_is_refused(forms, address):
    port = urlsplit(address).port
    for host in (
        "evil.example",
        f"evil.example:{port}",
        f"127.0.0.1:{port}.evil.example",
        f"127.0.0.1:{port + 1}",
        "",
        "[::1]",
    ):
        status, _, text = forms.request("GET", "/", Host=host)
        assert status in (400, 403), host
        assert "press" not in text


def test_headers_larger_than_any_browsers_are_refused(address):
    with dialled(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200_000 + b"\r\n\r\n")
        with suppress(ConnectionResetError):  # it hung up while we still spoke
            assert b"400" in heard(connection).split(b"\r\n")[0]
    Forms(address).open("/")


def test_one_browser_cannot_follow_with_more_windows_than_it_may_have(forms, address):
    request = f"GET /events HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\nCookie: {forms.cookie}\r\n\r\n".encode()
    with ExitStack() as stack:
        lines = []
        for _ in range(6):
            connection = stack.enter_context(dialled(address))
            connection.sendall(request)
            lines.append(connection.recv(12))
        assert lines == [b"HTTP/1.1 200"] * 4 + [b"HTTP/1.1 429"] * 2
        forms.open("/")


def test_the_browser_cannot_give_itself_a_role(running, forms):
    with running.client() as client:
        n = client.snapshot("press").n
    for fields in (
        {"role": "engineer"},
        {"proved": "1"},
        {"actor": "tuner"},
        {"session": "x"},
        {"ops": "proposal.approve"},
    ):
        post(forms, "/press", key="e", number="1", given="mine", **fields)
        post(forms, "/sign-in", name="nora", **fields)
        forms.open("/sign-in")
    assert "(engineer)" not in forms.html
    with running.client() as client:
        after = [event for event in client.history("press", limit=500).events if event.seq > n]
    assert {event.actor for event in after} <= {"nora", "tuner"}
    assert {event.type for event in after if event.actor == "nora"} <= {"trial_excluded"}, "what an operator may"
    assert not [event for event in after if event.actor == "tuner" and event.type == "trial_excluded"]


def test_only_a_name_takes_back_nobody_elses_answer_although_the_page_is_an_engineers(running, forms):
    with running.client("ben") as client:
        assert client.hello().role == "engineer"
        client.tie("press", until(client, "press", lambda view: view.duel is not None).duel.number)
        answer = client.snapshot("press").judgments[-1]
        forms.sign_in("bob")
        forms.open_until(f'<span class="unseen"> {answer.number}</span>', "/history")
        forms.send("/press", key="z", number=str(answer.number), given="mine", back="history")
        assert f"judgment {answer.number} is by ben; an engineer can retract it" in forms.said
        assert client.snapshot("press").judgments[answer.number - 1].retracted is None


def test_only_a_name_lifts_no_engineers_restriction_whatever_the_name(running, address):
    with running.client("ines") as client:
        client.freeze("mill", "x1", 3.5, reason="worn")
        for name in ("ines", "bob"):
            browser = Forms(address)
            browser.sign_in(name)
            browser.open_until("mill", "/board")
            browser.send("/show", campaign="mill")
            browser.open_until("worn", "/engineer")
            browser.send("/restrict", parameter="x1", lift="yes", back="engineer")
            assert "x1 was restricted by ines; ask an engineer" in browser.said
            browser.send("/restrict", parameter="x1", allowed="1..2", until="shift", reason="mine")
            assert "x1 was restricted by ines; ask an engineer" in browser.said
        assert [one.by for one in client.snapshot("mill").restrictions] == ["ines"]


@pytest.mark.slow
def test_whoever_is_slow_is_hung_up_on_and_others_are_served(address):
    place = urlsplit(address)
    slow = [
        b"",  # says nothing
        b"GET / HTTP/1.1\r\nHost: " + place.netloc.encode() + b"\r\nX: ",  # never ends its headers
        b"POST /press HTTP/1.1\r\nHost: "
        + place.netloc.encode()
        + b"\r\nOrigin: "
        + address.encode()
        + b"\r\nContent-Type: "
        + FORM.encode()
        + b"\r\nContent-Length: 100\r\n\r\nkey=",  # never ends its form
    ]
    with ExitStack() as stack:
        connections = [stack.enter_context(dialled(address)) for _ in range(300)]
        for number, connection in enumerate(connections):
            connection.sendall(slow[number % 3])
        Forms(address).open("/")
        answers = [heard(connection) for connection in connections]
    assert set(answers[0::3]) | set(answers[1::3]) == {b""}
    assert all(answer.startswith(b"HTTP/1.1 400") for answer in answers[2::3])
    Forms(address).open("/")
