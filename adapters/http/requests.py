"""The settings of a machine with a REST interface: requests as templates, and where its answers have what."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from adapters.shared.paths import JsonPath, check_fields
from tuner.adapter import AdapterSettings, ParameterInfo
from tuner.basics.text import listed, nearest
from tuner.handshake import Code, Measurement, Parameter, Signal


class Request(AdapterSettings):
    """One request; fields in braces are filled in."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = Field("GET", description="the request's method")
    path: str = Field(pattern=r"^/\S*$", description='behind the base, such as "/parts/{tag}"')
    body: Any = Field(None, description='JSON, as a table; a text that is only "{name}" becomes the value itself')

    def templates(self) -> tuple[Any, ...]:
        """All that has fields."""
        return self.path, self.body


class PathSignal(Signal):
    """A yes or no in an answer."""

    path: JsonPath = Field(description="where it is in the answer")


class PathCode(Code):
    """What tells what is wrong."""

    path: JsonPath = Field(description="where it is in the answer")


class PathMeasurement(Measurement):
    """A number in an answer."""

    path: JsonPath = Field(description="where it is in the answer")


class PathParameter(Parameter):
    """Where a parameter is in the answer to read."""

    path: JsonPath = Field(description="where it is in the answer to read")


class Part(AdapterSettings):
    """How a part is made."""

    start: Request = Field(description="orders a part; may have {tag}")
    result: Request | None = Field(
        None, description="asks what became of it, again and again; none: start answers that"
    )
    unknown: tuple[int, ...] = Field((404,), description="statuses of result that say: no such part, or not yet")
    tag: JsonPath | None = Field(None, description="where the result has the tag; another one is another part's")
    done: PathSignal | None = Field(None, description="whether it is finished; none: it is when there is a result")
    valid: PathSignal | None = Field(None, description="whether the part can be judged; none: every part can")
    reason: PathCode | None = Field(None, description="why it is not valid")
    photo: JsonPath | None = Field(None, description="address of a picture")
    measurements: Mapping[str, PathMeasurement] = Field(default_factory=dict, description="numbers of a part")


class Status(AdapterSettings):
    """How the machine is."""

    ask: Request = Field(description="asks how the machine is")
    ready: PathSignal | None = Field(None, description="whether it takes orders; none: when it answers")
    alarm: PathCode | None = Field(None, description="what forbids a setting")
    interlocks: Mapping[str, PathSignal] = Field(default_factory=dict, description="what must be yes to send a setting")


class Tls(AdapterSettings):
    """Encryption of https; the machine's certificate is always checked."""

    ca_file: Path | None = Field(None, description="certificates to trust; none: those of the system")
    certificate_file: Path | None = Field(None, description="our own certificate, if the machine wants one")
    key_file: Path | None = Field(None, description="its private key")


class HttpConnection(AdapterSettings):
    """How a machine with a REST interface is reached."""

    base: str = Field(pattern=r"^https?://[^\s/@?#]+(/[^\s?#]*)?$", description='such as "https://press-3/api"')
    headers: Mapping[str, str] = Field(default_factory=dict, description="sent with every request; no secrets here")
    headers_file: Path | None = Field(
        None, description='secret headers, one a line: "Authorization: Bearer ..."; only tuner may read it'
    )
    tls: Tls | None = Field(None, description="certificates; none: those of the system")
    look: str = Field("/", pattern=r"^/\S*$", description="the path whose answer browse takes apart")


class HttpSettings(HttpConnection):
    """The table `[campaign.adapter.settings]` of a machine with a REST interface."""

    poll_interval_s: float = Field(0.5, gt=0, le=60, description="seconds between two questions for the result")
    timeout_s: float = Field(5.0, gt=0, le=600, description="seconds until one request counts as unanswered")
    set: Request = Field(description="sends a setting: {NAME} of each parameter; or {name} and {value}, one by one")
    read: Request = Field(description="asks which setting the machine has")
    parameters: Mapping[str, PathParameter] = Field(description="one entry for every parameter, by its name")
    trial: Part = Field(description="how a part is made")
    state: Status | None = Field(None, description="how the machine is; none: well when it answers to read")

    def one_by_one(self) -> bool:
        """Whether each parameter has a request of its own."""
        return "{value}" in str(self.set.templates())


def complaints_on(settings: HttpSettings, parameters: Sequence[ParameterInfo]) -> Iterator[str]:
    """All that is wrong with the settings for these parameters."""
    names = [info.name for info in parameters]
    for name in names:
        if name not in settings.parameters:
            yield f"parameters.{name} is missing: where the answer to read has it"
    for name, entry in settings.parameters.items():
        if name not in names:
            yield f"parameters.{name} is no parameter of the campaign{nearest(name, names)}"
        elif (info := parameters[names.index(name)]).kind != "choice" and entry.codes:
            yield f"parameters.{name} is a number, it has no codes"
        elif entry.codes and (lacking := [choice for choice in info.choices if choice not in entry.codes]):
            yield f"parameters.{name}.codes lacks {listed(lacking)}"
    fields = ("name", "value") if settings.one_by_one() else tuple(names)
    calls = {
        "set": (settings.set, fields),
        "read": (settings.read, ()),
        "trial.start": (settings.trial.start, ("tag",)),
    }
    if settings.trial.result:
        calls["trial.result"] = (settings.trial.result, ("tag",))
    if settings.state:
        calls["state.ask"] = (settings.state.ask, ())
    for name, (request, allowed) in calls.items():
        try:
            for template in request.templates():
                check_fields(template, allowed)
        except ValueError as error:
            yield f"{name}: {error}"
    if not settings.one_by_one():
        unsent = [name for name in names if f"{{{name}}}" not in str(settings.set.templates())]
        if unsent:
            yield f"set has no {listed(f'{{{name}}}' for name in unsent)}: it would not be sent"
    if settings.trial.result and not settings.trial.tag and "{tag}" not in str(settings.trial.result.templates()):
        yield "trial.result needs {tag} in its path, or trial.tag: else the part before could be taken for this one"
