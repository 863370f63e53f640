"""Where a machine is, written so that two names of one place are the same text; names are not looked up in a network.

An address is `scheme://place` or `scheme://place#part`, a part being a device, topic or node behind one place. A whole
place collides with each of its parts, two parts only if one is within the other (`press` and `press/set`).
"""

import ipaddress
import os
import re
import socket
from collections.abc import Iterable
from pathlib import Path

THIS_HOST = "localhost"
_ENDPOINT = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>\[[^\]]*\]|[^/:#?]*)(?::(?P<port>\d+))?(?:[/?#].*)?")


def host_address(host: str, port: int, part: object = None) -> str:
    """A place in a network: `tcp://host:port`, whatever is spoken there."""
    return _with_part(f"tcp://{same_host(host)}:{port}", part)


def endpoint_address(endpoint: str, default_port: int, part: object = None) -> str:
    """The place of an endpoint such as `opc.tcp://host:port/path`; its path names no other machine."""
    match = _ENDPOINT.fullmatch(endpoint.strip().lower())
    if match is None:
        return _with_part(endpoint.strip(), part)
    return host_address(match["host"], int(match["port"] or default_port), part)


def file_address(path: str | Path, part: object = None) -> str:
    """A device, socket or other file of this host, whatever links lead to it."""
    return _with_part(f"file://{os.path.realpath(path)}", part)


def same_host(host: str) -> str:
    """One name for a host: numbers in their usual form, no final dot, and `localhost` for this one."""
    name = host.strip().strip("[]").rstrip(".").casefold()
    if name in ("", "*", THIS_HOST, socket.gethostname().casefold()) or name.endswith(f".{THIS_HOST}"):
        return THIS_HOST
    try:
        number = ipaddress.ip_address(name)
    except ValueError:
        try:
            number = ipaddress.ip_address(socket.inet_aton(name))  # 127.1, 0x7f000001, 2130706433
        except (OSError, ValueError):
            return name
    if isinstance(number, ipaddress.IPv6Address):
        number = number.ipv4_mapped or number
    return THIS_HOST if number.is_loopback or number.is_unspecified else str(number)


def shared(ours: Iterable[str], theirs: Iterable[str]) -> str | None:
    """An address of ours that somebody else has too, or None."""
    others = tuple(theirs)
    return next((one for one in ours if any(_collide(one, other) for other in others)), None)


def _collide(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return long == short or (long.startswith(short) and long[len(short)] == ("/" if "#" in short else "#"))


def _with_part(place: str, part: object) -> str:
    return place if part is None else f"{place}#{part}"
