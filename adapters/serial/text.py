"""The text side of the serial adapter: its templates and patterns, lines from settings, values from answers."""

import math
import re
import string
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from adapters.serial.port import PortSettings
from adapters.shared.values import check_template, no_reason, value_from_text
from tuner.adapter import AdapterSettings, LinkError, Outcome, ParameterInfo, Setting, Value
from tuner.basics.sentences import say
from tuner.basics.text import shown

_NOT_MEASUREMENTS = ("tag", "photo", "reason")


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{shown(text)} is not a regular expression: {error}") from error
    return text


Pattern = Annotated[str, AfterValidator(_pattern)]


def _trigger(template: str) -> str:
    return check_template(template, ("tag",))


class Interlock(AdapterSettings):
    """A condition that must hold before a setting is sent."""

    query: str = Field(min_length=1, description="the line that asks")
    holds: Pattern = Field(description="pattern of the answer when the condition holds")


class SerialSettings(PortSettings):
    """The table `[campaign.adapter.settings]`; patterns are regular expressions that must match a whole line."""

    set: str = Field("SET {name} {value}", min_length=1, description="sets one parameter, or all by their names")
    set_for: dict[str, str] = Field(default_factory=dict, description="other templates for single parameters")
    accepted: Pattern = Field("OK", description="pattern of the answer to set")
    refused: Pattern = Field("ERR(OR)?:? *(?P<reason>.*)", description="pattern of any answer that says no")
    read: str = Field("GET {name}", min_length=1, description="asks for one parameter, or for all if without {name}")
    read_reply: Pattern = Field(
        r"(?P<value>\S+)", description="pattern of the answer: group value (and name), or one group for each parameter"
    )
    names: dict[str, str] = Field(
        default_factory=dict, description="the machine's names of parameters, where different"
    )
    trigger: Annotated[str, AfterValidator(_trigger)] = Field("RUN {tag}", min_length=1, description="makes a part")
    valid: Pattern = Field("VALID.*", description="pattern of a part; groups are measurements, but tag and photo")
    non_valid: Pattern = Field("SCRAP *(?P<reason>.*)", description="pattern of no part")
    alarm: Pattern | None = Field(None, description="pattern of an alarm, which may come at any time")
    alarm_over: Pattern | None = Field(None, description="pattern of the end of an alarm")
    ignore: Pattern | None = Field(None, description="pattern of lines that mean nothing to us")
    health: str | None = Field(None, min_length=1, description="the line that asks how the machine is; none: read")
    well: Pattern = Field("OK", description="pattern of the answer to health when all is well")
    interlocks: dict[str, Interlock] = Field(default_factory=dict, description="conditions, by name")
    greeting: Pattern | None = Field(None, description="pattern of what the machine sends once the port is open")
    echo: bool = Field(False, description="whether the machine sends every line back before it answers")


def _one_by_one(settings: SerialSettings) -> bool:
    return "value" in _fields(settings.set)


def _fields(template: str) -> dict[str, str]:
    """The fields of a template and how each is formatted; none if it is not a template at all."""
    try:
        return {name: spec or "" for _, name, spec, _ in string.Formatter().parse(template) if name is not None}
    except ValueError:
        return {}


def setting_lines(
    settings: SerialSettings, parameters: Sequence[ParameterInfo], setting: Setting
) -> Iterator[tuple[str, str]]:
    """What is set, and the line that does it."""
    if not _one_by_one(settings):
        yield "all", settings.set.format(**setting)
        return
    for parameter in parameters:
        template = settings.set_for.get(parameter.name, settings.set)
        name = settings.names.get(parameter.name, parameter.name)
        yield parameter.name, template.format(name=name, value=setting[parameter.name])


def read_values(
    settings: SerialSettings, parameters: Sequence[ParameterInfo], ask: Callable[[str], "re.Match[str]"]
) -> dict[str, Value]:
    """Ask for all values, one by one or together."""
    if "name" not in _fields(settings.read):
        match = ask(settings.read)
        return {p.name: value_from_text(p, match.group(p.name) or "") for p in parameters}
    values: dict[str, Value] = {}
    for parameter in parameters:
        name = settings.names.get(parameter.name, parameter.name)
        line = settings.read.format(name=name)
        match = ask(line)
        about = match.groupdict().get("name")
        if about not in (None, name):
            raise LinkError(say("serial.other_value", line=line, name=about))
        values[parameter.name] = value_from_text(parameter, match.group("value") or "")
    return values


def trial_outcome(settings: SerialSettings, match: "re.Match[str]") -> Outcome:
    """The outcome a result line tells."""
    groups = match.groupdict()
    if match.re.pattern != settings.valid:
        return Outcome(valid=False, reason=groups.get("reason") or no_reason())
    measurements = {}
    for name, text in groups.items():
        if name in _NOT_MEASUREMENTS or text is None:
            continue
        try:
            measurements[name] = float(text)
        except ValueError:
            raise LinkError(say("machine.measurement", name=name, text=text)) from None
        if not math.isfinite(measurements[name]):
            raise LinkError(say("machine.measurement", name=name, text=text))
    return Outcome(valid=True, measurements=measurements, photo=groups.get("photo"))


def template_complaints(settings: SerialSettings, parameters: Sequence[ParameterInfo]) -> list[str]:
    """What is wrong with templates, patterns and names for these parameters."""
    names = [parameter.name for parameter in parameters]
    found = [f"{key} has {shown(name)}, which is no parameter" for key, name in _strangers(settings, names)]
    per_parameter = _one_by_one(settings)
    if settings.set_for and not per_parameter:
        found.append("set_for needs a template set with {value}")
    for key, template in [("set", settings.set), *((f"set_for.{name}", t) for name, t in settings.set_for.items())]:
        try:
            check_template(template, ("name", "value") if per_parameter else names)
        except ValueError as error:
            found.append(f"{key}: {error}")
    if not per_parameter:
        found += [f"set has no {{{name}}}" for name in names if name not in _fields(settings.set)]
    try:
        check_template(settings.read, ("name",))
    except ValueError as error:
        found.append(f"read: {error}")
    groups = re.compile(settings.read_reply).groupindex
    needed = ["value"] if "name" in _fields(settings.read) else names
    found += [f"read_reply needs a group (?P<{name}>...)" for name in needed if name not in groups]
    return found or [sentence for parameter in parameters for sentence in _written_badly(settings, parameter)]


def _strangers(settings: SerialSettings, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for key, table in (("names", settings.names), ("set_for", settings.set_for)):
        for name in table:
            if name not in names:
                yield key, name


def _written_badly(settings: SerialSettings, parameter: ParameterInfo) -> Iterator[str]:
    """Values that the template cannot write, or rounds by more than the tolerance, so that none would be read back."""
    template = settings.set_for.get(parameter.name, settings.set)
    specification = _fields(template).get("value" if _one_by_one(settings) else parameter.name, "")
    for value in _samples(parameter):
        try:
            text = format(value, specification)
        except ValueError as error:
            yield f"set cannot write {parameter.name} = {shown(value)}: {error}"
            return
        try:
            written = float(text)
            error_of_writing = abs(written - float(value))
        except ValueError:
            continue  # a machine may want hexadecimal
        if not parameter.choices and not parameter.domain.inside(written):
            yield f"set writes {parameter.name} = {value!r} as {text}, which is outside of its limits"
            return
        if error_of_writing > parameter.tolerance * (1 + 1e-9):
            yield (
                f"set writes {parameter.name} = {value!r} as {text}, "
                f"which is off by more than its tolerance of {parameter.tolerance:g}"
            )
            return


def _samples(parameter: ParameterInfo) -> list[Value]:
    if parameter.choices:
        return list(parameter.choices)
    if parameter.low is None or parameter.high is None:
        return [parameter.start]
    inside = parameter.low + (parameter.step or (parameter.high - parameter.low) / 3**0.5)
    return [parameter.start, *map(parameter.domain.snapped, (inside, parameter.low, parameter.high))]
