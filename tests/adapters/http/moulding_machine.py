"""A moulding machine behind a real HTTP server on loopback, and the settings to reach it."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from adapters.http import HttpAdapter
from adapters.http.requests import HttpSettings
from tests.adapters.helpers import changed
from tuner.adapter import ParameterInfo

PARAMETERS = (
    ParameterInfo("temperature", "continuous", 230.0, 200.0, 300.0, tolerance=0.05),
    ParameterInfo("pressure", "integer", 400, 200, 700),
    ParameterInfo("cooling", "choice", "water", choices=("water", "oil")),
)
GOOD = {"temperature": 230.5, "pressure": 400, "cooling": "oil"}


def table(**changes):
    """The settings as a TOML file would give them; `state=None` leaves an entry out."""
    settings = {
        "poll_interval_s": 0.005,
        "set": {
            "method": "PUT",
            "path": "/recipe",
            "body": {"recipe": {"heat": "{temperature}", "bar": "{pressure}", "medium": "{cooling}"}},
        },
        "read": {"path": "/recipe"},
        "parameters": {
            "temperature": {"path": "recipe.heat"},
            "pressure": {"path": "recipe.bar"},
            "cooling": {"path": "recipe.medium", "codes": {"water": "W", "oil": "O"}},
        },
        "trial": {
            "start": {"method": "POST", "path": "/parts", "body": {"tag": "{tag}"}},
            "result": {"path": "/parts/{tag}"},
            "done": {"path": "state", "on": "finished"},
            "valid": {"path": "ok"},
            "reason": {"path": "why"},
            "measurements": {"weight_g": {"path": "scales[0].weight", "scale": 1000.0}},
        },
        "state": {
            "ask": {"path": "/status"},
            "ready": {"path": "mode", "on": "auto"},
            "alarm": {"path": "alarm"},
            "interlocks": {"guard": {"path": "guard"}},
        },
    }
    return changed(settings, changes)


def made_from(base, **changes):
    settings = HttpSettings.model_validate_json(json.dumps({"base": base, **table(**changes)}))
    assert HttpAdapter.complaints(settings, PARAMETERS) == ()
    return HttpAdapter(settings, PARAMETERS)


class Press:
    """A moulding machine with a REST interface."""

    def __init__(self, sslctx=None):
        self.recipe = {"heat": 230.0, "bar": 400, "medium": "W"}
        self.status = {"mode": "auto", "alarm": "", "guard": True}
        self.parts, self.order = {}, []
        self.looks_per_part = 2
        self.failures, self.headers = {}, {}  # path: status; of the last request
        self.speaking = threading.Event()
        self.speaking.set()
        self.sslctx, self.port = sslctx, 0
        self.requests = []
        self.on()

    @property
    def base(self):
        return f"{'https' if self.sslctx else 'http'}://127.0.0.1:{self.port}/api"

    def on(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), _handler(self))
        self.server.daemon_threads = False
        if self.sslctx:
            self.server.socket = self.sslctx.wrap_socket(
                self.server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def off(self):
        self.speaking.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def answer(self, method, path, body):
        """Status and body."""
        self.requests.append((method, path))
        if path in self.failures:
            return self.failures[path], {"error": "not today"}
        if (method, path) == ("PUT", "/recipe"):
            self.recipe = body["recipe"]
            return 204, None
        if (method, path) == ("GET", "/recipe"):
            return 200, {"recipe": self.recipe}
        if (method, path) == ("GET", "/status"):
            return 200, self.status
        if (method, path) == ("POST", "/parts"):
            self.order.append(body["tag"])
            self.parts[body["tag"]] = self.looks_per_part
            return 202, None
        if method == "GET" and path.startswith("/parts/") and (tag := path.rpartition("/")[2]) in self.parts:
            self.parts[tag] -= 1
            return 200, self.finished(tag) if self.parts[tag] <= 0 else {"state": "running"}
        return 404, None

    def finished(self, tag):
        hot = self.recipe["heat"] > 250
        return {"state": "finished", "ok": not hot, "why": "short shot" if hot else "", "scales": [{"weight": 0.0425}]}


def _handler(press):
    class Handler(BaseHTTPRequestHandler):
        timeout = 30

        def setup(self):
            super().setup()
            if press.sslctx:
                self.request.do_handshake()

        def do(self):
            press.speaking.wait()
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            press.headers = dict(self.headers)
            status, answer = press.answer(self.command, self.path.removeprefix("/api").partition("?")[0], body)
            data = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_OPTIONS(self):
            self.send_response(204)
            self.send_header("Allow", "PUT, GET" if self.path.endswith("/recipe") else "POST")
            self.end_headers()

        do_GET = do_PUT = do_POST = do  # noqa: N815 - the library's names

        def log_message(self, *_):
            pass

        def handle(self):
            with contextlib.suppress(OSError):  # the client has gone
                super().handle()

    return Handler
