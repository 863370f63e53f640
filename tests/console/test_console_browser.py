"""The console in a real browser: a question is answered there, and nothing is asked of any other machine."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import sync_playwright

from tests.daemon.running import campaign_text, daemon, until
from tests.patience import PATIENT_S


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
            *(sys.executable, "-m", "tuner.console", "console", "--serve", "--port", str(port)),
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
