"""The page's bounds: browsers, windows, and connections of which nothing comes."""

import asyncio
import socket
import ssl
from contextlib import ExitStack

import pytest

from tests.daemon.running import campaign_text, daemon
from tests.patience import PATIENT_S
from tests.web.helpers import Forms, served
from tuner.basics.vocabulary import Role
from tuner.console.session import Session
from tuner.web import certificate, connection
from tuner.web.app import MOST_STREAMS, MOST_STREAMS_OF_ALL
from tuner.web.seat import UNSURE_S
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
