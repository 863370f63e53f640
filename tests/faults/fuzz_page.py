"""What no page of ours sends, over a real socket: broken HTTP, strange forms, right forms that are spoilt."""

import contextlib
import http.client
import random
import socket
from collections import Counter
from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

from tests.daemon.running import campaign_text, daemon
from tests.patience import PATIENT_S
from tests.web.helpers import Forms, served
from tests.web.test_page_forms import nonsense

FORM = "application/x-www-form-urlencoded"
RAW_SHARE = 0.1
FORM_SHARE = 0.5
NASTY = ("", "0", "-1", "9" * 400, "press", "\0", "\ud800", "<script>", "../../etc/passwd", "a" * 5000, "[]", "1e999")
RAW = (
    b"", b"\0" * 50, b"GET", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
    b"POST /press HTTP/1.1\r\nHost: x\r\n",
    b"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"\x16\x03\x01\x02\x00",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", b"G" * 70_000,
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\nzz\r\n",
)  # fmt: skip


class Browser(Forms):
    """A browser that keeps its connection, and is used with its own forms spoilt."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._kept: http.client.HTTPConnection | None = None

    def close(self) -> None:
        """Hang up."""
        if self._kept is not None:
            self._kept.close()

    def quick(self, method: str, path: str, body: bytes | None, headers: dict) -> int:
        """One request over the kept connection; its status, 0 where it was hung up."""
        for _ in range(2):
            if self._kept is None:
                self._kept = http.client.HTTPConnection(self.place.hostname, self.place.port, timeout=PATIENT_S)
            try:
                self._kept.request(method, path, body, {"Cookie": self.cookie, **headers})
                answer = self._kept.getresponse()
                answer.read()
            except (http.client.HTTPException, OSError):
                self._kept.close()
                self._kept = None
                continue
            return answer.status
        return 0

    def spoilt_form(self, luck: random.Random) -> tuple[str, str, bytes, dict]:
        """What a page of ours would send, with a field that nobody could give."""
        fields = {"token": self.field("token"), "seen": self.field("seen"), "back": "question", "key": "h"}
        for _ in range(luck.randint(1, 3)):
            fields[luck.choice([*fields, "given", "number", "campaign", "value", "surprise"])] = luck.choice(NASTY)
        body = urlencode(fields, errors="surrogatepass").encode()
        path = luck.choice(["/press", "/show", "/language", "/sign-in", "/answer"])
        return "POST", path, body, {"Origin": self.origin, "Content-Type": FORM}


def _raw(address: str, luck: random.Random) -> None:
    """Bytes that are no request, and the end."""
    place = urlsplit(address)
    with contextlib.suppress(OSError), socket.create_connection((place.hostname, place.port), PATIENT_S) as one:
        one.sendall(luck.choice(RAW) + luck.randbytes(luck.randrange(40)))
        one.shutdown(socket.SHUT_WR)
        while one.recv(65536):
            pass


def fuzz_page(count: int, seed: int, told: Callable[[int], None] = lambda _: None) -> dict:
    """Send so many; none is an error of ours, and an honest browser is served in the end."""
    luck, statuses = random.Random(seed), Counter()  # noqa: S311 - the same nonsense each time
    with daemon(campaign_text("press", autostart=False)) as running, contextlib.ExitStack() as kept:
        running.start()
        with (running.directory / "page.log").open("w+") as log, served(running.state, log=log) as address:
            browser = kept.enter_context(contextlib.closing(Browser(address)))
            browser.sign_in("nora")
            for number in range(1, count + 1):
                drawn = luck.random()
                if drawn < RAW_SHARE:
                    _raw(address, luck)
                    statuses["raw"] += 1
                    continue
                if drawn < RAW_SHARE + FORM_SHARE:
                    request = browser.spoilt_form(luck)
                else:
                    method, path, body, headers = nonsense(luck)
                    given = {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
                    given = {name: address if value == "OURS" else value for name, value in given.items()}
                    request = method, path, body if method in ("POST", "PUT") else None, given
                status = browser.quick(*request)
                statuses[str(status)] += 1
                assert status < 500, request
                if number % 5000 == 0:
                    told(number)
            honest = Forms(address)
            honest.sign_in("anna")
            assert "press" in honest.open("/")
            log.seek(0)
            assert log.read() == "", "what is wrong with others' requests fills no log"
        with running.client() as client:
            assert client.status().troubles == 0
            mode = client.snapshot("press").mode
            events = client.history("press", limit=500).events
        assert running.stop() == 0
    wild = [event for event in events if event.actor.startswith("nora")]
    return {"requests": count, "mode": mode, "events": len(wild), "statuses": dict(statuses.most_common())}
