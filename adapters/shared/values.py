"""What several adapters share: deadlines, and values and outcomes from what machines say."""

import string
import time
from collections.abc import Collection, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tuner.adapter import LinkError, Offered, Outcome, ParameterInfo, RefusedError, Setting, Value
from tuner.basics.sentences import Sentence, say, written
from tuner.basics.text import shown

LONGEST_MESSAGE = 1_000_000  # bytes; more than this is not an answer to a question of ours
_LONGEST_SHOWN = 200  # characters of an answer that are quoted in an error

_JSON_OBJECT: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])


def no_reason() -> Sentence:
    """What is said where a machine says nothing."""
    return say("machine.no_reason")


class AlarmError(RefusedError):
    """The machine has an alarm; during a trial it means that there is no part, for this reason."""

    def __init__(self, text: str, alarm: str) -> None:
        super().__init__(text)
        self.alarm = alarm


class Deadline:
    """How much of a call's time is left."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left_s(self) -> float:
        """Seconds until the deadline, 0 after it."""
        return max(0.0, self._end - time.monotonic())


def not_looked_at(where: str) -> Offered:
    """What ends a list that the time was too short for."""
    return Offered(where, value="not looked at, the time was over: give more with --deadline-s", looked_at=False)


class _OutcomeMessage(BaseModel):
    """An outcome as machines write it; what else they write is not ours to judge."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)

    valid: bool
    reason: str = ""
    measurements: dict[str, float] = Field(default_factory=dict)
    photo: str | None = None


def value_from_json(parameter: ParameterInfo, raw: object) -> Value:
    """A value the machine sent as JSON, in the type of its parameter."""
    if what := parameter.domain.not_a(raw):
        raise LinkError(say("machine.says_not", name=parameter.name, value=written(raw), what=what))
    return parameter.domain.plain(raw)


def value_from_text(parameter: ParameterInfo, text: str) -> Value:
    """A value the machine sent as plain text, in the type of its parameter."""
    if parameter.kind == "choice":
        return text
    try:
        number = float(text)
    except ValueError:
        raise LinkError(say("machine.says_no_number", name=parameter.name, value=written(text))) from None
    return value_from_json(parameter, number)


def object_from_json(text: bytes | str, who: str) -> dict[str, Any]:
    """A JSON object; NaN and infinities, which are no JSON, are left to who looks at the values."""
    if len(text) > LONGEST_MESSAGE:
        raise LinkError(say("machine.too_long", who=who, bytes=len(text), most=LONGEST_MESSAGE))
    try:
        return _JSON_OBJECT.validate_json(text)
    except ValidationError:
        raise LinkError(say("machine.no_json", who=who, text=quoted(text))) from None


def outcome_from_json(raw: dict[str, Any], who: str) -> Outcome:
    """An outcome from `{"valid": true}`, with reason, measurements and photo if they are there."""
    try:
        message = _OutcomeMessage.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise LinkError(say("machine.no_outcome", who=who, what=f"{where}: {first['msg']}")) from None
    reason = "" if message.valid else message.reason or no_reason()
    return Outcome(message.valid, reason, message.measurements, message.photo)


def deviations(setting: Setting, actual: Setting, parameters: Sequence[ParameterInfo]) -> list[Sentence]:
    """Where the machine's values differ from a setting by more than the tolerance, as pieces of a sentence."""
    found = []
    for parameter in parameters:
        wanted, have = setting[parameter.name], actual.get(parameter.name)
        if have is None:
            found.append(say("machine.unknown", name=parameter.name))
        elif not parameter.domain.same(wanted, have, parameter.tolerance):
            found.append(say("machine.instead", name=parameter.name, have=written(have), wanted=written(wanted)))
    return found


def quoted(text: bytes | str) -> str:
    """What a machine said, on one line and not longer than a few of them."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    text = text.strip()
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "...")


def check_template(template: str, fields: Collection[str]) -> str:
    """A template in which only these fields stand in braces, without attributes or indices."""
    allowed = ", ".join(f"{{{field}}}" for field in fields) or "none"
    try:
        found = [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise ValueError(f"{shown(template)} is not a template: {error}") from error
    for name in found:
        if name not in fields:
            raise ValueError(f"{shown(template)} has the field {{{name}}}; allowed: {allowed}")
    return template
