"""What the machine itself offers to pick from while `tuner init` asks for nodes, topics and paths."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from tuner.adapter import Offered
from tuner.basics.text import shown
from tuner.config.plugins import load_adapter
from tuner.errors import TunerError
from tuner.machine.offers import offers
from tuner.setup.questions import PRACTICE, Answers, put

DEADLINE_S = 10.0
MOST_SHOWN = 30
_SETTINGS = "settings."


def can_tell(answers: Answers, key: str) -> bool:
    """Whether the machine may be asked what to answer: a place at it, of an adapter that can look."""
    adapter = answers.get("adapter", PRACTICE)
    if adapter == PRACTICE or not key.startswith(_SETTINGS):
        return False
    connection = load_adapter(adapter).Connection
    return connection is not None and key.removeprefix(_SETTINGS).split(".")[0] not in connection.model_fields


def offered(answers: Answers, word: str = "", deadline_s: float = DEADLINE_S) -> Sequence[Offered]:
    """What the machine has, by the connection told so far, as far as a word is in it.

    Raises:
        TunerError: It does not answer, or the connection is not whole yet.
    """
    kind = load_adapter(answers["adapter"])
    if kind.Connection is None:
        return ()
    table: dict[str, Any] = {}
    for key, value in answers.items():
        path = key.removeprefix(_SETTINGS).split(".")
        if key.startswith(_SETTINGS) and path[0] in kind.Connection.model_fields:
            put(table, path, value)
    try:
        connection = kind.Connection.model_validate(table, strict=False)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise TunerError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    found = offers(answers["adapter"], kind, connection, deadline_s)
    return [one for one in found if word.lower() in f"{one.where} {one.name}".lower()]


def listed_offers(found: Sequence[Offered]) -> list[str]:
    """One line each, with the number that picks it."""
    lines = [
        f"  #{place} {one.where}  " + ", ".join(filter(None, (shown(one.name), one.kind, one.access, one.value)))
        for place, one in enumerate(found[:MOST_SHOWN], 1)
    ]
    if len(found) > MOST_SHOWN:
        lines.append(f"  and {len(found) - MOST_SHOWN} more: `? WORD` shows those with a word")
    return lines or ["  the machine offers nothing of that name"]
