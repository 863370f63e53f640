"""Why a machine cannot be reached: looks again, plainly, after a connection failed, and says what to do next."""

import errno
import grp
import logging
import os
import socket
import ssl
import stat
from pathlib import Path

_LONGEST_LOOK_S = 2.0


def quiet(library: str) -> None:
    """Keep a library from logging what we say in a sentence: tracebacks of it help nobody at a machine."""
    logging.getLogger(library).setLevel(logging.CRITICAL)


def why_not_reached(host: str, port: int, timeout_s: float, *, tls: bool) -> str:
    """A sentence on what stands between us and a port, or nothing if it takes connections as it should."""
    timeout_s = max(0.05, min(timeout_s, _LONGEST_LOOK_S))
    try:
        with socket.create_connection((host, port), timeout_s):
            pass
    except socket.gaierror:
        return f"no computer is called {host}: look for a slip in the name, or write its IP address"
    except ConnectionRefusedError:
        return (
            f"{host} is there, but nothing listens on its port {port}: look whether the port is right and the server on"
        )
    except TimeoutError:
        return (
            f"{host} does not answer on port {port}: look whether it is switched on, in this network, and whether a "
            "firewall lets the port through"
        )
    except OSError as error:
        return f"{host} cannot be reached on port {port}: {error.strerror or error}"
    if not tls and speaks_tls(host, port, timeout_s):
        return f"port {port} of {host} wants encryption: add the table tls, or take the port without TLS"
    if tls and (why := _tls_failure(host, port, timeout_s)):
        return why
    return ""


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


def _tls_failure(host: str, port: int, timeout_s: float) -> str:
    """Whether the port speaks TLS at all."""
    return (
        ""
        if speaks_tls(host, port, timeout_s)
        else f"port {port} of {host} does not speak TLS: leave out the table tls, or take the port with TLS"
    )


def tls_words(error: ssl.SSLError) -> str:
    """What is wrong with an encrypted connection, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted ({error.verify_message}): put the certificate of the authority that "
            "signed it into ca_file"
        )
    reason = error.reason or str(error)
    if reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_EOF_WHILE_READING"):
        return "it does not speak TLS on this port: leave out the table tls, or take the port with TLS"
    if "ALERT" in reason:
        alert = reason.lower().replace("_", " ")
        return f"it does not accept our certificate ({alert}): set certificate_file and key_file"
    return reason.lower().replace("_", " ")


def why_no_device(path: str) -> str:
    """A sentence on why a serial port cannot be opened, or nothing if it could."""
    device = Path(path)
    try:
        mode = device.stat()
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return f"there is no device {path}: look whether the adapter is plugged in; ls /dev/serial/by-id shows all"
        return f"the device {path} cannot be looked at: {error.strerror}"
    if not stat.S_ISCHR(mode.st_mode):
        return f"{path} is not a device: ls /dev/serial/by-id shows all serial ports"
    if not os.access(device, os.R_OK | os.W_OK):
        group = _group(mode.st_gid)
        return f"the user {os.getuid()} may not use {path}: add it to the group {group} and start tuner again"
    return ""


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
