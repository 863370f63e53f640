"""The three ways to a receiver: a command, a signed webhook, an MQTT topic; each takes its time within a limit."""

import hashlib
import hmac
import subprocess
import time
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from tuner.basics.os_reasons import os_reason
from tuner.basics.processes import environment_for_others
from tuner.basics.sentences import say
from tuner.config.notify import Notify
from tuner.errors import TunerError

SIGNATURE = "Tuner-Signature"
MQTT_PORT = 1883


class NotToldError(TunerError):
    """The receiver did not take a message."""


def tell(target: Notify, message: bytes, now: Callable[[], float] = time.time, *, stays: bool = False) -> None:
    """Send a message once; one that `stays` is kept by an MQTT broker as the last of its topic.

    Raises:
        NotToldError: It was not taken; the sentence says why.
    """
    try:
        if target.command is not None:
            _command(target.command, message, target.timeout_s)
        elif target.webhook is not None:
            _webhook(target, target.webhook, message, now)
        elif target.mqtt is not None:
            _mqtt(target.mqtt, message, target.timeout_s, stays=stays)
    except NotToldError:
        raise
    except Exception as error:  # a receiver may fail in any way, and nothing else may suffer from it
        reason = os_reason(error) if isinstance(error, OSError) and error.errno else f"{type(error).__name__}: {error}"
        raise NotToldError(reason) from error


def signature(secret: bytes, moment: int, message: bytes) -> str:
    """The header of a signed message: HMAC-SHA256 of the time in seconds, a dot, and the message."""
    digest = hmac.new(secret, f"{moment}.".encode() + message, hashlib.sha256).hexdigest()
    return f"t={moment},v1={digest}"


def _command(command: tuple[str, ...], message: bytes, timeout_s: float) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - the configuration names it; no shell reads it
            command, input=message, capture_output=True, timeout=timeout_s, check=False, env=environment_for_others()
        )
    except subprocess.TimeoutExpired:
        raise NotToldError(say("notify.slow", program=command[0], seconds=float(timeout_s))) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        why = said[-1][:200] if said else say("gate.no_reason")
        raise NotToldError(say("notify.ended", program=command[0], code=done.returncode, why=why))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A receiver elsewhere than configured gets nothing."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def _webhook(target: Notify, address: str, message: bytes, now: Callable[[], float]) -> None:
    headers = {"Content-Type": "application/json"}
    if target.secret_file is not None:
        secret = target.secret_file.read_bytes().strip()
        if not secret:
            raise NotToldError(say("notify.no_secret", file=target.secret_file))
        headers[SIGNATURE] = signature(secret, int(now()), message)
    request = urllib.request.Request(address, data=message, headers=headers, method="POST")  # noqa: S310 - http(s) only
    # no proxies from the environment: the address is meant as it is written
    opener = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=target.timeout_s) as answer:
        answer.read(1000)


def _mqtt(address: str, message: bytes, timeout_s: float, *, stays: bool) -> None:
    try:
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion
    except ImportError:
        raise NotToldError(say("notify.no_mqtt")) from None
    parts = urlsplit(address)
    client = Client(CallbackAPIVersion.VERSION2)
    client.connect_timeout = timeout_s
    client.connect(parts.hostname or "", parts.port or MQTT_PORT)
    client.loop_start()
    try:
        sent = client.publish(parts.path[1:], message, qos=1, retain=stays)
        sent.wait_for_publish(timeout_s)
        if not sent.is_published():
            raise NotToldError(say("notify.broker", seconds=float(timeout_s)))
    finally:
        client.disconnect()
        client.loop_stop()
