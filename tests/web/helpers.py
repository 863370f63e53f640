"""The page in a process of its own, a browser, and plain forms without one."""

import http.client
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from html import unescape
from urllib.parse import urlencode, urlsplit

from playwright.sync_api import sync_playwright

from tests.patience import PATIENT_S

PATIENT_MS = PATIENT_S * 1000
WIDTHS = {390: 844, 768: 1024, 1024: 768, 1920: 1080}


@contextmanager
def served(state, *options, listen="127.0.0.1:0", log=None):
    """`tuner web` for the daemon with this state; gives its address. `log` is a file for what it says on stderr."""
    command = [sys.executable, "-m", "tuner", "web", "--state", str(state), "--listen", listen, *map(str, options)]
    environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environ, text=True)
    try:
        yield process.stdout.readline().strip().removeprefix("the page is at ")
    finally:
        process.terminate()
        process.wait(PATIENT_S)
        process.stdout.close()


@contextmanager
def chromium():
    found = shutil.which("chromium")
    assert found, "the Debian package chromium is needed"
    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield one
        one.close()


class Forms:
    """A browser without script: it keeps its cookie, follows redirects and sends what the page's forms have."""

    def __init__(self, address, context=None):
        self.origin = address
        self.place = urlsplit(address)
        self.cookie = ""
        self.html = ""
        self.context = context

    def request(self, method, path, body=None, **headers):
        """One request as it is; the status, the headers and the text."""
        if self.place.scheme == "https":
            connection = http.client.HTTPSConnection(
                self.place.hostname, self.place.port, timeout=PATIENT_S, context=self.context
            )
        else:
            connection = http.client.HTTPConnection(self.place.hostname, self.place.port, timeout=PATIENT_S)
        sent = {"Cookie": self.cookie} if self.cookie else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
            found = re.match(r"([\w-]+=[^;]+)", answer.headers.get("Set-Cookie", ""))
            if found:
                self.cookie = found[1]
            return answer.status, answer.headers, text
        finally:
            connection.close()

    def open(self, path="/"):
        status, _, self.html = self.request("GET", path)
        assert status == 200, (status, self.html)
        return self.html

    def open_until(self, text, path="/", *, tags=True):
        """Open a page until a text is on it: the page hears of what was done a moment after it was."""
        end = time.monotonic() + PATIENT_S
        while text not in unescape(self.open(path) if tags else re.sub("<[^>]+>", "", self.open(path))):
            assert time.monotonic() < end, f"{text!r} never came to {path}"

    def open_when_seen(self, wanted):
        """Open the page until its forms are about this question and part, as `number.number`."""
        end = time.monotonic() + PATIENT_S
        while self.open() and self.field("seen") != wanted:
            assert time.monotonic() < end, f"the page is about {self.field('seen')}, never about {wanted}"

    def send(self, path, **fields):
        """Send a form with the hidden fields of the page that is open; gives the page after it."""
        hidden = {"token": self.field("token"), "seen": self.field("seen"), "back": "question"}
        body = urlencode({**hidden, **fields})
        kind = "application/x-www-form-urlencoded"
        status, headers, text = self.request("POST", path, body, Origin=self.origin, Content_Type=kind)
        assert status == 303, (status, text)
        return self.open(headers["Location"])

    def field(self, name):
        found = re.search(rf'name="{name}" value="([^"]*)"', self.html)
        return unescape(found[1]) if found else ""

    @property
    def said(self):
        return unescape(re.search(r'id="said"[^>]*>([^<]*)<', self.html)[1])

    def sign_in(self, name="anna", **more):
        self.open("/sign-in")
        return self.sign_in_here(name, **more)

    def sign_in_here(self, name="anna", **more):
        """Sign in on the page that is open, which must have the form; it says itself where it leads."""
        (form,) = re.findall(r'<form method="post" action="/sign-in"(.*?)</form>', self.html, re.DOTALL)
        back = re.search(r'name="back" value="([^"]*)"', form)[1]
        return self.send("/sign-in", **{"name": name, "back": back, **more})
