"""What reads bytes of others, as targets for fuzzing: each may refuse with its own error and nothing else."""

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path

from adapters.line.protocol import NonsenseError, Request, message_from
from tests.docs.documents import ROOT
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
    """A message of a line controller."""
    with contextlib.suppress(NonsenseError):
        message_from(data, Request)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "toml": toml,
    "expression": expression,
    "wire": wire,
    "key_file": key_file,
    "line": line,
}
