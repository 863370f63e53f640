"""What a machine offers to pick from, asked by an adapter's class and the part of the settings that reaches it."""

import tomllib
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from tuner.adapter import Adapter, AdapterError, AdapterSettings, Offered
from tuner.basics.text import listed, shown
from tuner.errors import ConfigError, TryAgainError, TunerError
from tuner.machine.check import bounded


def connection_of(name: str, kind: type[Adapter[Any]], pairs: Sequence[str]) -> AdapterSettings:
    """The connection that pairs such as `host=press-3` or `tls.ca_file=/etc/ca.pem` describe."""
    connection = _connection(name, kind)
    table: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ConfigError(f"{shown(pair)} is not KEY=VALUE; the keys are {listed(connection.model_fields)}")
        *tables, last = key.split(".")
        at = table
        for one in tables:
            at = at.setdefault(one, {})
        at[last] = _value(value)
    try:
        return connection.model_validate(table, strict=False)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        known = listed(connection.model_fields)
        raise ConfigError(f"{key or 'connection'}: {first['msg']}; the keys are {known}") from None


def _connection(name: str, kind: type[Adapter[Any]]) -> type[AdapterSettings]:
    if kind.Connection is None:
        raise TunerError(f"the adapter {shown(name)} cannot tell what a machine offers: there is no list to ask it for")
    return kind.Connection


def _value(text: str) -> Any:
    """A value as TOML writes it; what is none is text."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text


def offers(name: str, kind: type[Adapter[Any]], connection: AdapterSettings, deadline_s: float) -> Sequence[Offered]:
    """What the machine has, in its own order.

    Raises:
        TryAgainError: It does not answer.
        TunerError: It cannot tell, or does not let us look.
    """
    _connection(name, kind)
    try:
        return bounded("browse", lambda: kind.browse(connection, deadline_s), deadline_s)
    except AdapterError as error:
        if error.retry:
            raise TryAgainError(str(error)) from error
        raise
