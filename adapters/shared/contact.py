"""Why a machine cannot be reached: looks again, plainly, after a connection failed, and says what to do next."""

import errno
import grp
import logging
import os
import socket
import ssl
import stat
from pathlib import Path

from tuner.basics.sentences import NOTHING, Sentence, say

_LONGEST_LOOK_S = 2.0


def quiet(library: str) -> None:
    """Keep a library from logging what we say in a sentence: tracebacks of it help nobody at a machine."""
    logging.getLogger(library).setLevel(logging.CRITICAL)


def why_not_reached(host: str, port: int, timeout_s: float, *, tls: bool) -> Sentence:
    """A sentence on what stands between us and a port, or nothing if it takes connections as it should."""
    timeout_s = max(0.05, min(timeout_s, _LONGEST_LOOK_S))
    try:
        with socket.create_connection((host, port), timeout_s):
            pass
    except socket.gaierror:
        return say("contact.no_host", host=host)
    except ConnectionRefusedError:
        return say("contact.no_port", host=host, port=port)
    except TimeoutError:
        return say("contact.silent", host=host, port=port)
    except OSError as error:
        return say("contact.unreachable", host=host, port=port, why=str(error.strerror or error))
    if not tls and speaks_tls(host, port, timeout_s):
        return say("contact.wants_tls", host=host, port=port)
    if tls and (why := _tls_failure(host, port, timeout_s)):
        return why
    return NOTHING


def speaks_tls(host: str, port: int, timeout_s: float) -> bool:
    """Whether a port answers a TLS greeting as TLS; its certificate does not matter."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is told to it
    try:
        with socket.create_connection((host, port), timeout_s) as plain, context.wrap_socket(plain):
            return True
    except ssl.SSLError as error:
        return error.reason is not None and "ALERT" in error.reason  # it wants a certificate of ours: it is TLS
    except OSError:
        return False


def _tls_failure(host: str, port: int, timeout_s: float) -> Sentence:
    """Whether the port speaks TLS at all."""
    return NOTHING if speaks_tls(host, port, timeout_s) else say("contact.no_tls", host=host, port=port)


def tls_words(error: ssl.SSLError) -> Sentence:
    """What is wrong with an encrypted connection, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return say("contact.not_trusted", why=error.verify_message)
    reason = error.reason or str(error)
    if reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_EOF_WHILE_READING"):
        return say("contact.no_tls_here")
    if "ALERT" in reason:
        alert = reason.lower().replace("_", " ")
        return say("contact.ours_refused", alert=alert)
    return Sentence(reason.lower().replace("_", " "))


def why_no_device(path: str) -> Sentence:
    """A sentence on why a serial port cannot be opened, or nothing if it could."""
    device = Path(path)
    try:
        mode = device.stat()
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return say("contact.no_device", path=path)
        return say("contact.device", path=path, why=str(error.strerror))
    if not stat.S_ISCHR(mode.st_mode):
        return say("contact.not_a_device", path=path)
    if not os.access(device, os.R_OK | os.W_OK):
        return say("contact.no_right", user=os.getuid(), path=path, group=_group(mode.st_gid))
    return NOTHING


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
