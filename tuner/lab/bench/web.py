"""How long people at the page wait: one tablet, many tablets on one daemon, the first paint, and what a page weighs.

A tablet here is what the page's script is to the server: it signs in, follows the stream, asks for its page at each
sign of news, and sends its answers as forms. First paint needs Chromium and playwright.
"""

import asyncio
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import urlencode, urlsplit

from tuner.errors import TunerError
from tuner.lab.bench import machines
from tuner.lab.bench.latency import Waits
from tuner.lab.local_daemon import LocalDaemon

LOOKS_FIRST_S = 0.7  # a question so new takes no answer
TRIALS = 5000
STOP_S = 20.0
FIRST_S = 120.0
PARTS = ("/", "/static/page.css", "/static/page.js", "/static/icon.svg")


@dataclass(frozen=True)
class Found:
    """What was measured.

    Attributes:
        answers: From sending an answer until the page that says so is there, in milliseconds.
        looks: From asking for a page until it is there.
        refused: Answers that the daemon did not take, for another tablet was first.
        weight: Bytes of the first page with style, script and icon.
        paint_ms: First paint in Chromium; none: it is not there.
    """

    answers: Waits
    looks: Waits
    refused: int
    weight: int
    paint_ms: float | None = None


@contextmanager
def page(running: LocalDaemon) -> Iterator[str]:
    """`tuner web` for a daemon; gives its address."""
    command = [sys.executable, "-m", "tuner", "web", "--state", str(running.state), "--listen", "127.0.0.1:0"]
    command += ["--language", "en"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own
    try:
        address = (process.stdout.readline() if process.stdout else "").strip().removeprefix("the page is at ")
        if not address:
            raise TunerError("the page did not start")
        yield address
    finally:
        process.terminate()
        process.wait(STOP_S)
        if process.stdout:
            process.stdout.close()


@dataclass
class Tablet:
    """A browser's share of the work, without the browser."""

    address: str
    name: str
    campaign: str
    turn: int = 0
    tablets: int = 1
    answers: list[float] = field(default_factory=list)
    looks: list[float] = field(default_factory=list)
    refused: int = 0
    html: str = ""
    _cookie: str = ""
    _link: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(self, method: str, path: str, fields: dict[str, str] | None = None) -> tuple[int, bytes]:
        """One request on a connection that stays open."""
        place = urlsplit(self.address)
        if self._link is None:
            self._link = await asyncio.open_connection(place.hostname, place.port)
        reader, writer = self._link
        writer.write(self._head(method, path, fields))
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        found = re.search(r"set-cookie: ([\w-]+=[^;]+)", head, re.IGNORECASE)
        if found:
            self._cookie = found[1]
        length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
        body = await reader.readexactly(int(length[1])) if length else b""
        status = int(head.split(" ", 2)[1])
        if status == 303:
            place_after = re.search(r"location: (\S+)", head, re.IGNORECASE)
            return await self.request("GET", place_after[1] if place_after else "/")
        return status, body

    def _head(self, method: str, path: str, fields: dict[str, str] | None) -> bytes:
        body = urlencode(fields or {}).encode()
        lines = [f"{method} {path} HTTP/1.1", f"Host: {urlsplit(self.address).netloc}", f"Cookie: {self._cookie}"]
        if method == "POST":
            lines += [f"Origin: {self.address}", "Content-Type: application/x-www-form-urlencoded"]
        return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body

    async def look(self, path: str = "/") -> None:
        """The page as it is now."""
        begin = time.perf_counter()
        status, body = await self.request("GET", path)
        self.looks.append((time.perf_counter() - begin) * 1000)
        if status != 200:
            raise TunerError(f"the page answered {status} to GET {path}")
        self.html = body.decode()

    def hidden(self, name: str) -> str:
        """A hidden field of the page."""
        found = re.search(rf'name="{name}" value="([^"]*)"', self.html)
        return unescape(found[1]) if found else ""

    async def send(self, path: str, **fields: str) -> None:
        """Send a form, and take the page after it."""
        common = {"token": self.hidden("token"), "back": "question"}
        status, body = await self.request("POST", path, {**common, **fields})
        if status != 200:
            raise TunerError(f"the page answered {status} to POST {path}")
        self.html = body.decode()

    async def work(self, until_s: float, wanted: int) -> None:
        """Sign in, follow, answer when it is this tablet's turn, until then or until enough was answered."""
        await self.look("/sign-in")
        await self.send("/sign-in", name=self.name)
        if 'id="campaign"' in self.html:
            await self.send("/show", campaign=self.campaign)
        self.looks.clear()
        news = asyncio.Event()
        follower = asyncio.create_task(self._follow(news))
        luck, seen, seen_s = random.Random(self.name), "", 0.0  # noqa: S311 - whoever wins
        try:
            while time.monotonic() < until_s and len(self.answers) < wanted:
                with suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), 0.1)
                if news.is_set():
                    news.clear()
                    await self.look()
                asked = self.hidden("seen") if 'class="answers"' in self.html else ""
                if asked != seen:
                    seen, seen_s = asked, time.monotonic()
                mine = asked and int(asked.partition(".")[0]) % self.tablets == self.turn
                if mine and time.monotonic() - seen_s > LOOKS_FIRST_S:
                    await self._answer(asked, luck.choice("12"))
        finally:
            follower.cancel()
            await asyncio.gather(follower, return_exceptions=True)
            await self.close()

    async def close(self) -> None:
        """Hang up."""
        if self._link is not None:
            await _hang_up(self._link[1])
            self._link = None

    async def _answer(self, asked: str, key: str) -> None:
        begin = time.perf_counter()
        await self.send("/press", key=key, seen=asked)
        took_ms = (time.perf_counter() - begin) * 1000
        if ": taken" in self.html:
            self.answers.append(took_ms)
        else:
            self.refused += 1

    async def _follow(self, news: asyncio.Event) -> None:
        place = urlsplit(self.address)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        try:
            writer.write(self._head("GET", "/events", None))
            while line := await reader.readline():
                if line.startswith(b"data: look"):
                    news.set()
        finally:
            await _hang_up(writer)


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


def measure(tablets: int, campaigns: int, answers: int, seconds: float, trial_s: float) -> Found:
    """So many tablets at the machines of so many campaigns."""
    names = [f"press-{number}" for number in range(campaigns)]
    config = machines.head() + "".join(
        machines.campaign(name, trials=TRIALS, seconds=trial_s, seed=seed) for seed, name in enumerate(names)
    )
    with machines.daemon(config) as running, page(running) as address:
        each = [
            Tablet(
                address,
                f"operator {number}",
                names[number % campaigns],
                turn=number // campaigns,
                tablets=len(range(number % campaigns, tablets, campaigns)),
            )
            for number in range(tablets)
        ]
        _first_questions(running, names)
        weight = asyncio.run(_work(each, seconds, answers))
        paint_ms = first_paint_ms(address) if tablets == 1 else None
    took = Waits("answer", tuple(ms for one in each for ms in one.answers))
    looks = Waits("look", tuple(ms for one in each for ms in one.looks))
    return Found(took, looks, sum(one.refused for one in each), weight, paint_ms)


def _first_questions(running: LocalDaemon, names: list[str]) -> None:
    """Wait until every campaign asks: starting machines is not what is measured."""
    with running.client("bench") as client:
        for name in names:
            begin = time.monotonic()
            while client.snapshot(name).duel is None:
                if time.monotonic() - begin > FIRST_S:
                    raise TunerError(f"the campaign {name} asked nothing for {FIRST_S:.0f} s")
                time.sleep(0.1)


async def _work(tablets: list[Tablet], seconds: float, answers: int) -> int:
    first = Tablet(tablets[0].address, "", "")
    weight = 0
    for path in PARTS:
        weight += len((await first.request("GET", path))[1])
    await first.close()
    until_s = time.monotonic() + seconds
    await asyncio.gather(*(one.work(until_s, answers) for one in tablets))
    return weight


def first_paint_ms(address: str, times: int = 5) -> float | None:
    """The median of some first visits, each with an empty cache; none where there is no Chromium."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(times):
            context = browser.new_context()
            visited = context.new_page()
            visited.goto(address, wait_until="load")
            visited.wait_for_function("() => performance.getEntriesByType('paint').length > 0")
            found.append(float(visited.evaluate("() => performance.getEntriesByType('paint')[0].startTime")))
            context.close()
        browser.close()
    return sorted(found)[len(found) // 2]
