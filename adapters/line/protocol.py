"""The messages between tuner and a line controller: requests, replies, jobs and reports, as JSON in one frame.

docs/line.md describes them for the authors of controllers.
"""

from typing import Annotated, Any, Literal, TypeVar
from uuid import uuid4

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from adapters.shared.values import quoted
from tuner.adapter import MOST_MEASUREMENTS, LinkError, Value
from tuner.basics.text import on_one_line

VERSION: Literal[1] = 1
LARGEST_BYTES = 256_000  # of one message
_LARGEST_WHOLE = 2**53  # beyond it, controllers that count in doubles lose digits


class NonsenseError(LinkError):
    """A message that does not follow the protocol; the text says what is wrong with it."""


class Message(BaseModel):
    """Base: nothing unknown, frozen, no conversion of types, no NaN nor infinities."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


Words = Annotated[str, Field(max_length=1000), AfterValidator(on_one_line)]
Reason = Annotated[Words, AfterValidator(_not_empty)]
Name = Annotated[str, Field(max_length=200), AfterValidator(on_one_line), AfterValidator(_not_empty)]
JobName = Annotated[str, Field(min_length=1, max_length=500)]  # as we wrote it, so that it can be found again
MessageId = Annotated[str, Field(max_length=64)] | int
Whole = Annotated[int, Field(ge=-_LARGEST_WHOLE, le=_LARGEST_WHOLE)]


class Request(Message):
    """The controller's `next`, `report` and `beat` if tuner listens; tuner's `job` and `beat` if it connects."""

    v: Literal[1]
    id: MessageId
    op: Literal["next", "report", "beat", "job"]
    body: dict[str, Any] = Field(default_factory=dict)


class Reply(Message):
    """The answer to a request; with `error` nothing was done."""

    v: Literal[1]
    id: MessageId | None
    body: dict[str, Any] = Field(default_factory=dict)
    error: Words = ""


class Job(Message):
    """What the controller shall do; the same `job` again is the same job."""

    job: str
    do: Literal["apply", "read_back", "run", "health"]
    setting: dict[str, Value] | None = None
    tag: str | None = None

    def body(self) -> dict[str, Any]:
        """As it is sent: without what this job does not need."""
        return self.model_dump(exclude_none=True)


class Running(Message):
    """The job is in work; said again and again, so that tuner knows that the controller lives."""

    state: Literal["running"]
    job: JobName
    text: Words = ""


class Applied(Message):
    """The machine has taken the setting."""

    state: Literal["applied"]
    job: JobName


class Present(Message):
    """The setting the machine has now; empty if it has none."""

    state: Literal["setting"]
    job: JobName
    setting: dict[str, float | Whole | str]


class HealthReport(Message):
    """How the machine is."""

    state: Literal["health"]
    job: JobName
    ok: bool
    text: Words = ""
    interlocks: dict[Name, bool] = Field(default_factory=dict)


class Valid(Message):
    """There is a part that can be judged."""

    state: Literal["valid"]
    job: JobName
    measurements: dict[Name, float] = Field(default_factory=dict, max_length=MOST_MEASUREMENTS)
    photo: Words | None = None


class NonValid(Message):
    """There is none."""

    state: Literal["non-valid"]
    job: JobName
    reason: Reason
    measurements: dict[Name, float] = Field(default_factory=dict, max_length=MOST_MEASUREMENTS)
    photo: Words | None = None


class Refused(Message):
    """The controller says no, and would say it again."""

    state: Literal["refused"]
    job: JobName
    reason: Reason


class Failed(Message):
    """It did not work; trying again may help."""

    state: Literal["failed"]
    job: JobName
    reason: Reason


FinalReport = Applied | Present | HealthReport | Valid | NonValid | Refused | Failed
Report = Running | FinalReport
_REPORT: TypeAdapter[Report] = TypeAdapter(Annotated[Report, Field(discriminator="state")])

ANSWERS: dict[str, tuple[str, ...]] = {
    "apply": ("applied",),
    "read_back": ("setting",),
    "run": ("valid", "non-valid"),
    "health": ("health",),
}


def new_job(do: Literal["apply", "read_back", "health"], setting: dict[str, Value] | None = None) -> Job:
    """A job of its own each time: to apply the same setting again is to apply it again."""
    return Job(job=f"{do}-{uuid4().hex[:12]}", do=do, setting=setting)


def trial_job(tag: str, series: str) -> Job:
    """A part's job: named by series and tag, so that it is the same job after any crash."""
    return Job(job=f"run-{series}-{tag}" if series else f"run-{tag}", do="run", tag=tag)


def request_bytes(op: Literal["job", "beat"], number: int, body: dict[str, Any]) -> bytes:
    """A request of tuner's."""
    return Request(v=VERSION, id=number, op=op, body=body).model_dump_json().encode()


def reply_bytes(message_id: str | int | None, body: dict[str, Any], error: str = "") -> bytes:
    """A reply of tuner's."""
    reply = Reply(v=VERSION, id=message_id, body=body, error=error[:1000])
    return reply.model_dump_json(exclude={"body"} if error else {"error"}).encode()


M = TypeVar("M", Request, Reply)


def only_frame(frames: list[bytes]) -> bytes:
    """The payload of a message, which may have an empty frame before it as REQ and REP send it."""
    if not frames or len(frames) > 2 or any(frames[:-1]):
        raise NonsenseError(f"the controller sent a message of {len(frames)} frames instead of one")
    return frames[-1]


def message_from(payload: bytes, kind: type[M]) -> M:
    """A request or a reply of the controller's."""
    if len(payload) > LARGEST_BYTES:
        raise NonsenseError(f"the controller sent {len(payload)} bytes at once; at most {LARGEST_BYTES} are allowed")
    try:
        return kind.model_validate_json(payload)
    except ValidationError as error:
        raise NonsenseError(f"the controller sent {quoted(payload)}: {_first_fault(error)}") from None


def report_from(body: dict[str, Any]) -> Report:
    """What the controller says about a job."""
    try:
        return _REPORT.validate_python(body)
    except ValidationError as error:
        raise NonsenseError(f"the controller sent a wrong report: {_first_fault(error)}") from None


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(step) for step in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
