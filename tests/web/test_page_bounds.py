"""The page's bounds: browsers, windows, and connections of which nothing comes."""

import asyncio
import errno
import resource
import socket
import ssl
from contextlib import ExitStack

import pytest
import zmq
from click.testing import CliRunner

from tests.daemon.running import campaign_text, daemon
from tests.patience import PATIENT_S
from tests.web.helpers import Forms, served
from tuner.basics.vocabulary import Role
from tuner.cli.web import web
from tuner.console.language import Words
from tuner.console.session import Session
from tuner.errors import UnreachableError
from tuner.web import app, certificate, connection, serve
from tuner.web.app import MOST_STREAMS, MOST_STREAMS_OF_ALL, Options, Page
from tuner.web.guard import Places
from tuner.web.people import sign_in
from tuner.web.seat import NAMED_S, UNSURE_S, Seat
from tuner.web.seats import MOST_EMPTY, MOST_OF_ONE, MOST_SEATS, Seats
from tuner.wire.aio import AsyncClient
from tuner.wire.endpoint import Link


def seated(act):
    """Do something with the seats of a page whose daemon is not there; time is the test's."""

    async def run():
        link, now_s = Link("ipc:///nowhere/requests"), [0.0]
        async with AsyncClient(link) as client:
            session = Session(client, lambda: None, clock=lambda: now_s[0])
            seats = Seats(session, link, None, lambda: now_s[0])
            try:
                return act(seats, now_s)
            finally:
                await seats.close()

    return asyncio.run(run())


def come(seats, now_s, operator):
    """A browser comes, and somebody gives a name there."""
    now_s[0] += 1.0
    made = seats.new("en")
    if made is not None:
        made[1].session.used_s = now_s[0]
        made[1].actions.operator = operator
    return made


def test_browsers_where_nobody_signed_in_drive_out_each_other_and_nobody_else():
    def act(seats, now_s):
        cookie, seat = come(seats, now_s, "anna")
        for _ in range(MOST_SEATS):
            assert come(seats, now_s, None) is not None
        assert seats.find(cookie) is seat
        assert len(seats.all()) == MOST_EMPTY + 1

    seated(act)


def test_a_full_page_takes_the_place_of_the_name_that_was_idle_longest_and_never_of_a_window_or_a_pin():
    def act(seats, now_s):
        watched, proved, idle = (come(seats, now_s, name) for name in ("anna", "ines", "nora"))
        watched[1].streams, proved[1].proved = 1, True
        for number in range(MOST_SEATS - 3):
            come(seats, now_s, f"name {number}")
        assert come(seats, now_s, "late") is not None
        assert len(seats.all()) == MOST_SEATS
        assert seats.find(idle[0]) is None
        assert seats.find(watched[0]) is watched[1]
        assert seats.find(proved[0]) is proved[1]
        for seat in seats.all():
            seat.streams = 1
        assert come(seats, now_s, "last") is None

    seated(act)


def test_one_person_has_so_many_places_and_the_one_used_longest_ago_goes():
    def act(seats, now_s):
        def sign_in(name):
            made = come(seats, now_s, None)
            made[1].sit(name, None, proved=True)
            seats.seated(made[1])
            return made

        ines = sign_in("ines")
        own = [sign_in("mallory") for _ in range(MOST_SEATS)]
        assert [seats.find(cookie) is seat for cookie, seat in own[-MOST_OF_ONE:]] == [True] * MOST_OF_ONE
        assert len(seats.all()) == MOST_OF_ONE + 1
        assert seats.find(ines[0]) is ines[1]
        assert come(seats, now_s, "nora") is not None

    seated(act)


def test_what_is_on_its_way_when_somebody_goes_has_nobodys_rights():
    def act(seats, now_s):
        _, seat = come(seats, now_s, None)
        assert seat.session.client.role == Role.VIEWER
        seat.session.client.role = None
        seat.sit("ines", None, proved=True)
        seat.rise()
        assert seat.session.client.role == Role.VIEWER

    seated(act)


def test_whoever_idles_out_finds_the_place_its_language_and_why_hours_later():
    def act(seats, now_s):
        cookie, seat = come(seats, now_s, None)
        seat.actions.words = Words("de")
        seat.sit("anna", None, proved=True, idle_s=1200.0)
        now_s[0] += 1201.0
        assert seats.find(cookie) is seat
        now_s[0] += 4 * 3600.0
        assert seats.find(cookie) is seat
        assert (seat.operator, seat.said) == (None, ("Nach längerer Ruhe abgemeldet.", True))
        now_s[0] += 24 * 3600.0
        assert seats.find(cookie) is None

    seated(act)


def test_many_who_idle_out_at_once_make_room_like_all_where_nobody_signed_in():
    def act(seats, now_s):
        for number in range(2 * MOST_EMPTY):
            come(seats, now_s, f"name {number}")
        now_s[0] += NAMED_S + 1000.0
        assert seats.find(None) is None
        come(seats, now_s, None)
        assert len(seats.all()) == MOST_EMPTY

    seated(act)


def test_a_pin_has_half_a_minute_at_the_page_because_others_are_hashed_before_it(monkeypatch):
    asked = {}

    async def call(self, call, *, timeout_s=None, request_id=None):
        asked[call.op] = timeout_s
        raise UnreachableError("nobody is there")

    async def run():
        async with AsyncClient(Link("ipc:///nowhere/requests")) as client:
            seat = Seat(Session(client, lambda: None), client, "en", None)
            await sign_in(seat, {"name": "anna", "pin": "2580"}, login=True)

    monkeypatch.setattr(AsyncClient, "call", call)
    asyncio.run(run())
    assert asked["session.open"] >= 30.0


def test_a_fault_of_the_page_leaves_nobody_unasked_about_and_nothing_unheard(monkeypatch):
    monkeypatch.setattr(app, "AGAIN_S", 0.01)
    monkeypatch.setattr(app, "CHECK_S", 0.01)
    monkeypatch.setattr(Session, "_look_at_daemon", fails := Fails())
    monkeypatch.setattr(Seats, "check", checks := Fails())

    async def run():
        page = Page(Link("ipc:///nowhere/requests"), Options(Places(frozenset({"page"}), False)))
        async with asyncio.timeout(PATIENT_S), page._lifespan(None):
            await fails.again.wait()
            await checks.again.wait()

    asyncio.run(run())


def test_the_page_may_have_as_many_files_open_as_its_user(monkeypatch, tmp_path):
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    had = []
    monkeypatch.setattr(serve, "serve", lambda *_, **__: had.append(resource.getrlimit(resource.RLIMIT_NOFILE)))
    resource.setrlimit(resource.RLIMIT_NOFILE, (most - 1, most))
    try:
        CliRunner().invoke(web, ["--state", str(tmp_path)], catch_exceptions=False)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (usual, most))
    assert had == [(most, most)]


class Fails:
    """Something that fails once."""

    def __init__(self):
        self.times = 0
        self.again = asyncio.Event()

    async def __call__(self):
        self.times += 1
        if self.times == 1:
            raise zmq.ZMQError(errno.EMFILE)
        self.again.set()
        await asyncio.sleep(0.01)
        return False


def test_a_session_that_the_daemon_cannot_be_asked_about_shows_nothing_after_a_minute_until_it_is_good_again():
    def act(seats, now_s):
        _, seat = come(seats, now_s, None)
        seat.sit("anna", None, proved=True)
        now_s[0] += UNSURE_S - 1.0
        assert seat.known
        now_s[0] += 2.0
        assert (seat.known, seat.operator) == (False, "anna")
        seat.sure_s = now_s[0]
        assert seat.known

    seated(act)


def test_whoever_opens_a_connection_and_never_agrees_on_tls_is_hung_up_on(monkeypatch, tmp_path):
    monkeypatch.setattr(connection, "HEAD_S", 0.1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate.make(("127.0.0.1",), 1, tmp_path))

    async def silent():
        server = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0, ssl=context)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            try:
                return await asyncio.wait_for(reader.read(), 30.0)  # asyncio's own bound is a minute
            finally:
                writer.close()

    with asyncio.Runner(loop_factory=connection.Loop) as runner:
        assert runner.run(silent()) == b""


@pytest.mark.slow
def test_a_page_with_tls_hangs_up_on_the_silent_and_serves_others(tmp_path):
    crt, key = certificate.make(("127.0.0.1",), 1, tmp_path)
    with daemon(campaign_text(autostart=False)) as running:
        running.start()
        with served(running.state, "--certificate", crt, "--certificate-key", key) as address:
            forms = Forms(address, ssl.create_default_context(cafile=str(crt)))
            place = (forms.place.hostname, forms.place.port)
            silent = [socket.create_connection(place, timeout=30.0) for _ in range(100)]
            forms.open("/")
            assert {one.recv(1) for one in silent} == {b""}
            for one in silent:
                one.close()
            forms.open("/")


@pytest.mark.slow
def test_all_browsers_together_have_so_many_windows_and_pages_are_shown_beside_them():
    with ExitStack() as stack:
        running = stack.enter_context(daemon(campaign_text(autostart=False)))
        running.start()
        address = stack.enter_context(served(running.state))
        lines = []
        for _ in range(MOST_STREAMS_OF_ALL // MOST_STREAMS + 1):
            forms = Forms(address)
            forms.open("/")
            forms.sign_in("anna")
            for _ in range(MOST_STREAMS):
                request = f"GET /events HTTP/1.1\r\nHost: {forms.place.netloc}\r\nCookie: {forms.cookie}\r\n\r\n"
                window = socket.create_connection((forms.place.hostname, forms.place.port), timeout=PATIENT_S)
                stack.enter_context(window).sendall(request.encode())
                lines.append(window.recv(12))
        assert lines == [b"HTTP/1.1 200"] * MOST_STREAMS_OF_ALL + [b"HTTP/1.1 429"] * MOST_STREAMS
        forms.open("/")
