"""CURVE for the link to a line controller: key files, and the ZAP handler that knows who may connect."""

from collections.abc import Collection
from pathlib import Path

import zmq
import zmq.auth
from zmq.utils import z85

from tuner.adapter import AdapterError

DOMAIN = b"line"
ZAP_ADDRESS = "inproc://zeromq.zap.01"
_OTHERS = 0o077  # permissions that a secret key's file must not have


def secret_key(path: Path) -> tuple[bytes, bytes]:
    """Public and secret key of our own."""
    public, secret = _load(path)
    if secret is None:
        raise AdapterError(f"the key file {path} has no secret key")
    if (mode := path.stat().st_mode) & _OTHERS:
        raise AdapterError(f"the secret key {path} can be read by others (mode {mode & 0o777:o}): chmod 600 it")
    return public, secret


def public_key(path: Path) -> bytes:
    """Public key of a controller; a secret key has no business here, but does no harm."""
    return _load(path)[0]


def _load(path: Path) -> tuple[bytes, bytes | None]:
    try:
        return zmq.auth.load_certificate(path)
    except (OSError, ValueError) as error:
        raise AdapterError(f"the key file {path} cannot be used: {error}") from error


class Doorkeeper:
    """Answers libzmq's question whether a client's key is known; without one, CURVE lets every key in.

    `allowed` are the controllers' public keys, as the 40 characters of their files.
    """

    def __init__(self, context: "zmq.Context[zmq.Socket[bytes]]", allowed: Collection[bytes]) -> None:
        self._allowed = frozenset(allowed)
        self.socket = context.socket(zmq.REP)
        self.socket.linger = 0
        self.socket.bind(ZAP_ADDRESS)

    def answer(self) -> str:
        """Answer one question; the text says who was turned away, if someone was."""
        frames = self.socket.recv_multipart()
        version, request_id, domain, _, _, mechanism, *credentials = frames
        key = z85.encode(credentials[0]) if mechanism == b"CURVE" else b""
        known = version == b"1.0" and domain == DOMAIN and key in self._allowed
        verdict = (b"200", b"OK", key) if known else (b"400", b"unknown key", b"")
        self.socket.send_multipart([b"1.0", request_id, *verdict, b""])
        return "" if known else f"a controller with the unknown key {key.decode() or '(none)'} was turned away"
