"""The console in a real browser: a question is answered there, and nothing is asked of any other machine."""

import asyncio
import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from unittest.mock import AsyncMock
from urllib.parse import urlsplit

import aiohttp
import pytest
from playwright.sync_api import sync_playwright

from tests.daemon.running import campaign_text, daemon, until
from tests.patience import PATIENT_S
from tuner.console.serve import ConsoleServer

FEW = 2  # consoles of a server of one's own: each takes a second of a processor to start
NONSENSE = ("no json", "[]", '{"a": 1}', '["resize", {}]', '["stdin", 3]')


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture(scope="module")
def running():
    with daemon(campaign_text("press", trials=500)) as one:
        yield one.start()


@pytest.fixture(scope="module")
def address(running):
    port = free_port()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "tuner", "console", "--serve", "--port", str(port)),
            *("--state", str(running.state), "--operator", "wanda", "--language", "en"),
        ],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        text=True,
    )
    try:
        assert f"http://127.0.0.1:{port}" in process.stdout.readline()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(PATIENT_S)
        process.stdout.close()


@pytest.fixture
def browser():
    found = shutil.which("chromium")
    assert found, "the Debian package chromium is needed"
    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield one
        one.close()


def test_a_question_is_answered_in_a_browser_and_no_request_leaves_this_machine(running, address, browser):
    asked = []
    page = browser.new_page(viewport={"width": 1200, "height": 700})
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda one: asked.append(one.url))
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(address)
    with running.client() as client:
        before = until(client, "press", lambda view: view.duel is not None)
    page.wait_for_selector("body.-first-byte")
    page.locator(".xterm-helper-textarea").focus()

    end = time.monotonic() + PATIENT_S
    view = before
    with running.client() as client:
        while not view.judgments:  # a key before the question is on the screen does nothing
            assert time.monotonic() < end, "the answer did not come"
            page.keyboard.press("0")
            page.evaluate("() => new Promise(requestAnimationFrame)")
            view = client.snapshot("press")
    assert view.judgments[-1].operator == "wanda"
    assert view.judgments[-1].duel == before.duel.number
    assert errors == []
    hosts = {urlsplit(url).hostname for url in asked if not url.startswith(("data:", "blob:"))}
    assert hosts == {"127.0.0.1"}
    assert any(url.startswith("ws://127.0.0.1") for url in asked)
    assert any(url.endswith(".ttf") for url in asked)


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}], ids=str
)
def test_another_sites_page_cannot_reach_the_console_through_the_browser(address, headers):
    for path in ("/", "/ws"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(urllib.request.Request(address + path, headers=headers), timeout=PATIENT_S)  # noqa: S310
        assert caught.value.code == 403
        caught.value.close()


def test_the_server_listens_on_loopback_only(address):
    port = urlsplit(address).port
    with open("/proc/net/tcp") as table:  # noqa: PTH123 - not a file on a disk
        listening = [row.split()[1] for row in table.readlines()[1:] if row.split()[3] == "0A"]
    assert [place for place in listening if place.endswith(f":{port:04X}")] == [f"0100007F:{port:04X}"]


def sessions(server_pid):
    """The consoles of a server: its children."""
    listed = subprocess.run(["/bin/ps", "-o", "pid=", "--ppid", str(server_pid)], capture_output=True, text=True)
    return {int(line) for line in listed.stdout.split()}


def proc(pid, name):
    """What the kernel tells of a process."""
    return Path(f"/proc/{pid}/{name}").read_text("utf-8", "replace")


@pytest.fixture
def server(running):
    """A server of one's own, with its process."""
    port = free_port()
    few = f"from tuner.console import serve; from tuner.cli.main import main; serve.MOST_SESSIONS = {FEW}; main()"
    words = ("-c", few, "console", "--serve", "--port", str(port), "--state", str(running.state))
    environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen([sys.executable, *words, "--language", "en"], stdout=subprocess.PIPE, env=environ)
    try:
        assert b"http://" in process.stdout.readline()
        yield process, f"ws://127.0.0.1:{port}/ws"
    finally:
        process.kill()
        process.wait(20)
        process.stdout.close()


def to_its_end(test):
    """Run a test that awaits."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        asyncio.run(test(*args, **kwargs))

    return run


async def until_true(found):
    end = time.monotonic() + PATIENT_S
    while not (value := found()):
        assert time.monotonic() < end, "it did not come to be"
        await asyncio.sleep(0.05)
    return value


def test_no_page_may_show_the_console_inside_itself(address):
    for path in ("/", "/static/css/xterm.css"):
        with urllib.request.urlopen(address + path, timeout=20) as reply:  # noqa: S310 - ours
            assert reply.headers["X-Frame-Options"] == "DENY"
            assert "frame-ancestors 'none'" in reply.headers["Content-Security-Policy"]


def test_a_browser_refuses_to_frame_the_console(address, browser):
    page = browser.new_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.set_content(f'<iframe src="{address}"></iframe>')
    if not refused:
        page.wait_for_event("console", timeout=PATIENT_S * 1000)
    assert any("frame" in text for text in refused)


@to_its_end
async def test_a_screen_has_a_sane_size_whatever_the_browser_says(server):
    process, url = server
    async with aiohttp.ClientSession() as http, http.ws_connect(f"{url}?width=99999999&height=99999999") as socket:
        (console,) = await until_true(lambda: sessions(process.pid))
        words = proc(console, "environ").split("\0")
        environ = dict(word.split("=", 1) for word in words if "=" in word)
        assert (environ["COLUMNS"], environ["ROWS"]) == ("500", "200")
        first = await socket.receive(PATIENT_S)
        assert first.type == aiohttp.WSMsgType.BINARY
        await socket.send_json(["resize", {"width": 10**9, "height": -3}])
        await socket.send_json(["ping", "still there?"])
        while (message := await socket.receive(PATIENT_S)).type != aiohttp.WSMsgType.TEXT:
            assert message.type == aiohttp.WSMsgType.BINARY
        assert message.json() == ["pong", "still there?"]
        memory = [line for line in proc(console, "status").splitlines() if line.startswith("VmRSS")]
        assert int(memory[0].split()[1]) < 400_000  # kB


@to_its_end
async def test_a_console_ends_with_its_socket_with_its_server_and_with_nonsense(server):
    process, url = server
    async with aiohttp.ClientSession() as http:
        socket = await http.ws_connect(url)
        (console,) = await until_true(lambda: sessions(process.pid))
        await socket.receive(PATIENT_S)
        os.kill(console, signal.SIGSTOP)  # one that does not even listen to its end
        await socket.close()
        await until_true(lambda: not sessions(process.pid))
        for nonsense in (NONSENSE[0], NONSENSE[-1]):
            async with http.ws_connect(url) as socket:
                await until_true(lambda: sessions(process.pid))
                await socket.send_str(nonsense)
                await until_true(lambda: not sessions(process.pid))
        async with http.ws_connect(url):
            (console,) = await until_true(lambda: sessions(process.pid))
            await until_true(lambda: "console" in proc(console, "cmdline"))
            process.kill()
            process.wait(20)
        await until_true(lambda: not Path(f"/proc/{console}").exists())


class Browser:
    """A browser's socket as far as the server listens to it."""

    def __init__(self, *said):
        self.said, self.heard = said, []

    async def __aiter__(self):
        for text in self.said:
            yield aiohttp.WSMessage(aiohttp.WSMsgType.TEXT, text, None)

    async def send_json(self, what):
        self.heard.append(what)


@pytest.mark.parametrize("nonsense", NONSENSE)
@to_its_end
async def test_nonsense_ends_a_session_and_nothing_else_does(nonsense):
    server = ConsoleServer(["console"], 1)
    browser = Browser('["ping", 1]', '["what is this?"]', nonsense, '["ping", 2]')
    await server._process_messages(browser, AsyncMock())
    assert browser.heard == [["pong", 1]]


@to_its_end
async def test_the_number_of_consoles_has_a_bound(server):
    process, url = server
    async with aiohttp.ClientSession() as http:
        sockets = [await http.ws_connect(url) for _ in range(FEW)]
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await http.ws_connect(url)
        assert caught.value.status == 503
        await sockets.pop().close()
        await until_true(lambda: len(sessions(process.pid)) < FEW)
        sockets.append(await http.ws_connect(url))
        for socket in sockets:
            await socket.close()
    await until_true(lambda: not sessions(process.pid))
