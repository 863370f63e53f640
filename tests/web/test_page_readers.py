"""Readers that do not read, and answers of the server itself: bounds and headers of every answer."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.responses import PlainTextResponse, StreamingResponse

from tests.patience import PATIENT_S
from tuner.web import connection
from tuner.web.app import Options, Page
from tuner.web.guard import SHUT, Guard, Places
from tuner.web.photos import PIECE_BYTES
from tuner.wire.endpoint import Link

PLACES = Places(frozenset({"page"}), False)
ASK = b"GET / HTTP/1.1\r\nHost: page\r\n\r\n"
LARGE_BYTES = 50_000_000  # more than the kernel keeps for a reader


async def until(true):
    while not true():  # noqa: ASYNC110 - the server tells nobody of these
        await asyncio.sleep(0.01)


@asynccontextmanager
async def serving(app):
    """A server as the page's own; gives it and a way to connect."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        config = uvicorn.Config(app, http=connection.Connection, ws="none", lifespan="off", log_level="critical")
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve(sockets=[bound]))
        opened = []

        async def ask(request=ASK):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.setblocking(False)
            opened.append(one)
            await asyncio.get_running_loop().sock_connect(one, bound.getsockname())
            await asyncio.get_running_loop().sock_sendall(one, request)
            return one

        try:
            async with asyncio.timeout(PATIENT_S):
                await until(lambda: server.started)
                yield server, ask
        finally:
            for one in opened:
                one.close()
            server.should_exit = True
            await task


async def heard(one):
    """All that comes until the other side hangs up."""
    pieces = []
    while piece := await asyncio.get_running_loop().sock_recv(one, 65536):
        pieces.append(piece)
    return b"".join(pieces)


def pictures(made):
    """An application whose answer is made as it is taken."""

    async def pieces():
        for _ in range(LARGE_BYTES // PIECE_BYTES):
            made.append(PIECE_BYTES)
            await asyncio.sleep(0)
            yield bytes(PIECE_BYTES)

    async def app(scope, receive, send):
        await StreamingResponse(pieces())(scope, receive, send)

    return Guard(app, PLACES)


def large(made, size=LARGE_BYTES):
    """An application whose answer is there at once, as a long page is."""

    async def app(scope, receive, send):
        made.append(0)
        await PlainTextResponse(bytes(size))(scope, receive, send)

    return Guard(app, PLACES)


@pytest.mark.parametrize("kind", [pictures, large])
def test_a_reader_who_takes_nothing_is_given_up_and_costs_little(monkeypatch, kind):
    monkeypatch.setattr(connection, "LAG_S", 0.2)

    async def run():
        made = []
        async with serving(kind(made)) as (server, ask):
            for _ in range(10):
                await ask()
            state = server.server_state
            await until(lambda: len(made) >= 10 and not state.connections and not state.tasks)
            assert sum(made) < 10 * LARGE_BYTES / 4, "nothing is made that nobody takes"

    asyncio.run(run())


def test_where_many_do_not_read_the_slowest_makes_room(monkeypatch):
    monkeypatch.setattr(connection, "LAG_S", PATIENT_S)
    monkeypatch.setattr(connection, "MOST_LAGGING", 2)

    async def run():
        async with serving(pictures([])) as (server, ask):
            state = server.server_state
            for count in (1, 2):
                await ask()
                await until(lambda least=count: sum(one.lag is not None for one in state.connections) >= least)
            await until(lambda: not any(one.look() for one in state.connections))  # what is on its way has come
            first = min(state.connections, key=lambda one: one.taken_s)
            await ask()
            await until(lambda: first not in state.connections)
            assert len(state.connections) == 2

    asyncio.run(run())


def test_of_many_who_wait_at_once_no_more_are_given_up_than_are_too_many(monkeypatch):
    monkeypatch.setattr(connection, "LAG_S", PATIENT_S)
    monkeypatch.setattr(connection, "MOST_LAGGING", 3)

    async def run():
        made, here = [], asyncio.Event()

        async def app(scope, receive, send):
            made.append(0)
            await here.wait()
            await large([])(scope, receive, send)

        async with serving(app) as (server, ask):
            for _ in range(8):
                await ask()
            await until(lambda: len(made) == 8)
            here.set()
            state = server.server_state
            await until(lambda: len(state.connections) < 8)
            assert len(state.connections) == 3

    asyncio.run(run())


def test_whoever_reads_is_not_given_up_for_one_who_does_not(monkeypatch):
    monkeypatch.setattr(connection, "LAG_S", PATIENT_S)
    monkeypatch.setattr(connection, "MOST_LAGGING", 2)

    async def run():
        async with serving(large([])) as (server, ask):
            state, come = server.server_state, []
            for _ in range(2):
                reader = await ask()
                await until(lambda: any(one.lag for one in state.connections - {at for _, at in come}))
                (place,) = state.connections - {at for _, at in come}
                come.append((reader, place))
            (reads, first), (_, second) = come
            await until(lambda: not second.look())
            await taken(reads, 20_000)
            await ask()
            await until(lambda: not {first, second} <= state.connections)
            assert first in state.connections

    asyncio.run(run())


async def taken(one, least):
    """Take so much of an answer."""
    loop, size = asyncio.get_running_loop(), 0
    while size < least:
        piece = await loop.sock_recv(one, least - size)
        assert piece, "the reader was given up"
        size += len(piece)
    return size


@pytest.mark.parametrize("closes", [False, True])
def test_a_slow_reader_who_always_takes_something_gets_all_of_it(closes):
    async def run():
        loop, ahead_s = asyncio.get_running_loop(), [0.0]
        usual = loop.time
        loop.time = lambda: usual() + ahead_s[0]
        request = ASK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        async with serving(large([], 8_000_000)) as (server, ask):
            reader, state, size = await ask(request), server.server_state, 0
            await until(lambda: any(one.lag for one in state.connections))
            (place,) = state.connections
            while closes and not place.transport.is_closing():
                size += await taken(reader, 10_000)
            for _ in range(20):
                size += await taken(reader, 5_000)
                ahead_s[0] += connection.LAG_S / 4
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            assert size + len(await heard(reader)) > 8_000_000

    asyncio.run(run())


def test_a_reader_who_reads_gets_all_of_it():
    async def run():
        async with serving(large([])) as (_, ask):
            answer = await heard(await ask(ASK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")))
            assert len(answer.partition(b"\r\n\r\n")[2]) == LARGE_BYTES

    asyncio.run(run())


@pytest.mark.parametrize(
    ("request_", "status"), [(b"no HTTP at all\r\n\r\n", b"400"), (b"GET / HTTP/1.1\r\nHost: page\r\n\r\n", b"503")]
)
def test_what_the_server_says_by_itself_closes_the_browsers_doors_too(monkeypatch, request_, status):
    monkeypatch.setattr(connection, "MOST_CONNECTIONS", 1)

    async def run():
        async with serving(large([])) as (_, ask):
            head = (await heard(await ask(request_))).partition(b"\r\n\r\n")[0].lower()
            assert head.startswith(b"http/1.1 " + status)
            for name, value in SHUT.items():
                assert f"\r\n{name}: {value}".lower().encode() in head

    asyncio.run(run())


def test_an_answer_to_a_fault_of_ours_closes_the_browsers_doors_too():
    async def run():
        told = []
        page = Page(Link("ipc:///nowhere/requests"), Options(PLACES))
        scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"page")], "query_string": b""}

        async def send(message):
            told.append(message)

        with pytest.raises(AttributeError):  # it was never begun
            await page.app(scope, None, send)
        headers = dict(told[0]["headers"])
        assert told[0]["status"] == 500
        assert {name.lower().encode() for name in SHUT} <= headers.keys()
        assert (headers[b"x-frame-options"], headers[b"cache-control"]) == (b"DENY", b"no-store")

    asyncio.run(run())
