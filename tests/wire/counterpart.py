"""A tiny real daemon's end of the wire: a ROUTER and a PUB in a thread, which answers as a test tells it to."""

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import zmq
from zmq.auth.thread import ThreadAuthenticator

from tuner.wire.key_ring import KeyRing

_BEAT_MS = 50
_LAST_TOPICS = (b"\x01", b"\x01~progress")  # a client subscribes to these last
Answer = Callable[[dict[str, Any], int], list[bytes]]


def free_endpoints(count: int) -> list[str]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [f"tcp://127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    finally:
        for one in sockets:
            one.close()


def reply(request: dict[str, Any], **fields: Any) -> bytes:
    return json.dumps({"v": 1, "id": request["id"], "status": "done", "body": {"now": "2026-01-01"}, **fields}).encode()


def done(request: dict[str, Any], _: int) -> list[bytes]:
    return [reply(request)]


def view(n: int, name: str = "sasena") -> dict[str, Any]:
    return {
        "name": name, "machine_name": "m", "adapter": "simulated", "mode": "Idle", "phase": "idle", "phase_text": "",
        "phase_since": "", "phase_expected_s": None, "wake_at": None, "n": n,
        "since": "2026-01-01T00:00:00+00:00", "reason": "", "fault": None,
        "lot": "", "dry_run": False, "approval": False, "undo_minutes": 10, "parameters": [],
        "machine": {"requested": None, "read_back": None, "verified": False, "home": True, "home_wanted": None,
                    "home_failed": None},
        "trial": None, "duel": None, "champion": None,
        "budget": {"trials": 1, "spent": 0, "scrap": 0, "scrap_limit": None, "questions_left_this_hour": None,
                   "estimated_s": None},
        "judgments": [], "now": "",
    }  # fmt: skip


class Counterpart:
    """Collects requests and answers them.

    Args:
        requests: Where to bind the ROUTER.
        events: Where to bind the PUB.
        answer: From a request and how often its id has come to the frames of the replies, each its own message.
        keys: Speaks CURVE with this key ring.
        deny: Lets nobody in, and releases this for each who tried.
    """

    def __init__(
        self,
        requests: str,
        events: str = "",
        answer: Answer = done,
        keys: KeyRing | None = None,
        deny: threading.Semaphore | None = None,
    ) -> None:
        self.got: list[dict[str, Any]] = []
        self.answer = answer
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._authenticator = None
        if keys is not None:
            self._authenticator = ThreadAuthenticator(self.context)
            self._authenticator.start()
            self._authenticator.configure_curve_callback(domain="tuner", credentials_provider=_Known(keys, deny))
        self._keys = keys
        self._router = self._bound(zmq.ROUTER, requests)
        self._publisher = self._bound(zmq.XPUB, events) if events else None
        self._news, self._orders = self.context.socket(zmq.PAIR), self.context.socket(zmq.PAIR)
        self._news.bind("inproc://news")
        self._orders.connect("inproc://news")
        self.subscribed = threading.Event()
        self.heads: dict[str, int] | None = None  # what the beats say; None: no beats
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _bound(self, kind: int, endpoint: str) -> zmq.Socket[bytes]:
        bound = self.context.socket(kind)
        if self._keys is not None:
            bound.curve_server = True
            bound.curve_publickey = self._keys.server.public.encode()
            bound.curve_secretkey = self._keys.server.secret.get_secret_value().encode()
            bound.zap_domain = b"tuner"
        bound.bind(endpoint)
        return bound

    def publish(self, topic: str, **message: Any) -> None:
        self._orders.send_multipart([topic.encode(), json.dumps(message).encode()])

    def event(self, n: int, campaign: str = "sasena", topic: str | None = None) -> None:
        fields = {"n": n, "seq": n, "campaign": campaign, "at": "2026-01-01", "actor": "a", "type": "t", "body": {}}
        self.publish(topic or campaign, v=1, **fields)

    def close(self) -> None:
        self._orders.send_multipart([b"", b""])
        self._thread.join()
        if self._authenticator is not None:
            self._authenticator.stop()
        self.context.destroy(linger=0)

    def __enter__(self) -> "Counterpart":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve(self) -> None:
        poller = zmq.Poller()
        for one in filter(None, (self._router, self._news, self._publisher)):
            poller.register(one, zmq.POLLIN)
        while True:
            ready = dict(poller.poll(_BEAT_MS))
            if self._publisher is not None and self.heads is not None:
                beat = {"v": 1, "at": "2026-01-01", "heads": self.heads}
                self._publisher.send_multipart([b"~beat", json.dumps(beat).encode()])
            if self._publisher is not None and self._publisher in ready and self._publisher.recv() in _LAST_TOPICS:
                self.subscribed.set()
            if self._news in ready:
                topic, payload = self._news.recv_multipart()
                if not topic:
                    return
                assert self._publisher is not None
                self._publisher.send_multipart([topic, payload])
            if self._router in ready:
                client, frame = self._router.recv_multipart()
                request = json.loads(frame)
                self.got.append(request)
                times = sum(one["id"] == request["id"] for one in self.got)
                for answered in self.answer(request, times):
                    self._router.send_multipart([client, answered])


class _Known:
    def __init__(self, keys: KeyRing, deny: threading.Semaphore | None) -> None:
        self._keys = keys
        self._deny = deny

    def callback(self, domain: str, key: bytes) -> bool:
        if self._deny is not None:
            self._deny.release()
            return False
        return self._keys.role_of(key) is not None
