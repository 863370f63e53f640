"""What an adapter's process may answer, and its words as they are taken: one line each, no escape sequences."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from tuner.adapter import Value
from tuner.basics.sentences import Sentence, sentence_in
from tuner.basics.text import on_one_line, printable

MOST_LETTERS = 2000  # of what an adapter says about a fault
MOST_LETTERS_OF_A_NAME = 200


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def _name(text: str) -> str:
    return on_one_line(text)[:MOST_LETTERS_OF_A_NAME]


def _apart(given: object, checked: ValidatorFunctionWrapHandler) -> Any:
    """An interlock that does not hold must not vanish behind one that does."""
    found = checked(given)
    if isinstance(given, dict) and len(found) < len(given):
        raise ValueError("two names are the same when they are written on one line")
    return found


_Name = Annotated[str, AfterValidator(_name)]
_Numbers = Annotated[dict[_Name, float], WrapValidator(_apart)]
_Interlocks = Annotated[dict[_Name, bool], WrapValidator(_apart)]
_Words = Annotated[str, AfterValidator(printable)]  # runs of spaces may be part of a path or of an option


class HealthAnswer(_Strict):
    """How the machine is."""

    ok: bool
    text: str
    interlocks: _Interlocks
    told: dict[str, Any] = Field(default_factory=dict)


class OutcomeAnswer(_Strict):
    """What came out of a trial."""

    valid: bool
    reason: str
    measurements: _Numbers
    photo: _Words | None
    told: dict[str, Any] = Field(default_factory=dict)


SETTING_ANSWER: TypeAdapter[dict[str, Value]] = TypeAdapter(
    Annotated[dict[_Name, float | int | _Words], WrapValidator(_apart)], config=ConfigDict(strict=True)
)


def told(answer: Mapping[str, Any], name: str) -> Sentence:
    """What an adapter says, with the code that it may have; its values are as little trusted as the text."""
    said = sentence_in(answer, name)
    return Sentence(line(said), line(said.code), {line(key): _clean(value) for key, value in said.values.items()})


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {line(key): _clean(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_clean(one) for one in value]
    return value if isinstance(value, int | float) or value is None else line(value)


def line(text: object) -> str:
    """What an adapter says, on one line that can be written down and shown: no escape sequences, not too long."""
    return on_one_line(str(text)[: 2 * MOST_LETTERS])[:MOST_LETTERS]
