"""What reads bytes of others, as targets for fuzzing: each may refuse with its own error and nothing else."""

import contextlib
import functools
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from adapters.line.protocol import NonsenseError, Reply, Request, message_from, report_from
from adapters.mqtt.adapter import MqttAdapter, offered
from adapters.mqtt.link import Received
from adapters.mqtt.topics import MqttSettings, ResultWords
from adapters.serial.adapter import SerialAdapter
from adapters.serial.text import SerialSettings, read_values, trial_outcome
from tests.adapters.line.controllers import PARAMETERS
from tests.docs.documents import ROOT
from tuner.adapter import AdapterError
from tuner.campaign.decide import Refusal
from tuner.config import parse_config
from tuner.core.space.expression import ExpressionError, parse_constraint
from tuner.daemon.intake import body_of, encoded, id_of, parsed
from tuner.errors import ConfigError
from tuner.wire.keyfiles import ClientKey, KeyFileError, read
from tuner.wire.operations import OPS

CORPUS = ROOT / "tests" / "faults" / "corpus"


def toml(data: bytes) -> None:
    """A configuration."""
    with contextlib.suppress(ConfigError):
        parse_config(data.decode("utf-8", "replace"), "fuzz")


def expression(data: bytes) -> None:
    """A constraint."""
    with contextlib.suppress(ExpressionError):
        parse_constraint(data.decode("utf-8", "replace"))


def wire(data: bytes) -> None:
    """A request: its envelope, its id, its body, and that its echo can be written."""
    id_of(data)
    with contextlib.suppress(Refusal):
        request = parsed(data)
        encoded(request)
        if request.op in OPS:
            body_of(OPS[request.op], request)


def key_file(data: bytes) -> None:
    """A client's key."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with contextlib.suppress(KeyFileError):
            read(Path(file.name), ClientKey, secret=True)


def line(data: bytes) -> None:
    """A message of a line controller: a request with its report, or a reply."""
    with contextlib.suppress(NonsenseError):
        report_from(message_from(data, Request).body)
    with contextlib.suppress(NonsenseError):
        message_from(data, Reply)


@functools.cache
def _mqtt(*, words: bool) -> MqttAdapter:
    """An adapter that never connects."""
    topics = {"set": "m/set", "accepted": "m/accepted", "ask": "m/ask", "trigger": "m/run", "result": "m/result"}
    settings = MqttSettings(
        **topics,
        actual="m/actual/{name}" if words else "m/actual",
        value_path="now.value" if words else None,
        result_words=ResultWords(measurements={"mm": "m/mm"}) if words else None,
    )
    return MqttAdapter(settings, PARAMETERS)


def mqtt(data: bytes) -> None:
    """A machine's message on each of the topics, and what `tuner adapters browse` makes of it."""
    offered(Received(1, "m/result", data, retained=False))
    for adapter in (_mqtt(words=True), _mqtt(words=False)):
        for topic in ("m/accepted", "m/result"):
            message = Received(1, topic, data, retained=False)
            with contextlib.suppress(AdapterError):
                adapter._accepted(message, "1")
            with contextlib.suppress(AdapterError):
                adapter._result(message, "T1", 0)
        for parameter in PARAMETERS:
            with contextlib.suppress(AdapterError):
                adapter._told(parameter, Received(1, "m/actual", data, retained=False))


_SERIAL = SerialSettings(port="/dev/null", valid=r"VALID *(?P<mm>\S*) *(?P<photo>.*)")


def serial(data: bytes) -> None:
    """A machine's line, by patterns that are usual; and the bytes as a pattern of the configuration."""
    text = data.decode("utf-8", "replace")

    def answered(_line: str) -> "re.Match[str]":
        match = re.fullmatch(_SERIAL.read_reply, text)
        if match is None:
            raise AdapterError("no answer to that")
        return match

    with contextlib.suppress(AdapterError):
        read_values(_SERIAL, PARAMETERS, answered)
    match = re.fullmatch(_SERIAL.valid, text)
    if match is not None:
        with contextlib.suppress(AdapterError):
            trial_outcome(_SERIAL, match)
    with contextlib.suppress(ValidationError):
        settings = SerialSettings(port="/dev/null", read_reply=text, set=text or "x", read=text or "x")
        SerialAdapter.complaints(settings, PARAMETERS)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "toml": toml,
    "expression": expression,
    "wire": wire,
    "line": line,
    "mqtt": mqtt,
    "serial": serial,
    "key_file": key_file,
}
