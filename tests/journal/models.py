"""Every model that goes to the journal or over the wire, found by walking, and values for it, made from its fields.

A new model is found by itself. Where random values do not pass a validator, `HINTS` (by validator) or `WHOLE` (by
model) says what does.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, time
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import assume
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ValidationError
from pydantic.fields import FieldInfo

from tuner.campaign import events
from tuner.campaign.commands import CommandBase
from tuner.campaign.state import State
from tuner.campaign.terms import Terms
from tuner.config import campaign as config
from tuner.config import parameters as p
from tuner.config import section
from tuner.wire.messages import Message, Told

ROOTS = (events.EventBase, CommandBase, Message, Told, Terms, State)

# what a frame of JSON can hold: a lone surrogate cannot be written as UTF-8
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FLOAT = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | FLOAT | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
LABEL = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,9}", fullmatch=True)
IDENTIFIER = st.from_regex(r"[xyz][A-Za-z0-9_]{0,9}", fullmatch=True)
PRINTABLE = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=12)

HINTS: dict[Any, st.SearchStrategy[Any]] = {
    section._label: LABEL,
    p._identifier: IDENTIFIER,
    config._timezone: st.sampled_from(["UTC", "Europe/Vienna", "America/New_York", "Asia/Kolkata"]),
}


def found() -> list[type]:
    """All models and dataclasses that are a root, one of its subclasses, or a part of one of these."""
    known: dict[type, None] = {}
    waiting = list(ROOTS)
    while waiting:
        kind = waiting.pop()
        if kind in known:
            continue
        known[kind] = None
        waiting += kind.__subclasses__()
        waiting += [part for annotation in _fields(kind).values() for part in _parts(annotation)]
    return sorted(known, key=lambda kind: (kind.__module__, kind.__name__))


@cache
def _fields(kind: type) -> dict[str, Any]:
    return {
        name: hint for name, hint in typing.get_type_hints(kind, include_extras=True).items() if name in _names(kind)
    }


def _names(kind: type) -> set[str]:
    if issubclass(kind, BaseModel):
        return set(kind.model_fields)
    return {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()


def _parts(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type) and (issubclass(annotation, BaseModel) or dataclasses.is_dataclass(annotation)):
        yield annotation
    for argument in get_args(annotation):
        yield from _parts(argument)


@cache
def instances(kind: type) -> st.SearchStrategy[Any]:
    """Values of a model."""
    return WHOLE[kind]() if kind in WHOLE else st.builds(lambda fields: _make(kind, fields), _values(kind))


def _make(kind: type, fields: dict[str, Any]) -> Any:
    try:
        return kind(**fields)
    except ValidationError:
        assume(False)


def _values(kind: type) -> st.SearchStrategy[dict[str, Any]]:
    if not issubclass(kind, BaseModel):
        return st.fixed_dictionaries({name: values(hint) for name, hint in _fields(kind).items()})
    hints = _fields(kind)
    made = {name: values(hints[name], tuple(field.metadata)) for name, field in kind.model_fields.items()}
    needed = {name: made[name] for name, field in kind.model_fields.items() if field.is_required()}
    return st.fixed_dictionaries(needed, optional={n: one for n, one in made.items() if n not in needed})


def values(annotation: Any, given: Sequence[Any] = ()) -> st.SearchStrategy[Any]:
    """Values of a type, within the limits of its field and its own."""
    limits = [*given]
    while get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        for one in more:
            limits += one.metadata if isinstance(one, FieldInfo) else [one]
    for one in limits:
        if isinstance(one, AfterValidator) and one.func in HINTS:
            return HINTS[one.func]
    return _plain(annotation, limits)


def _plain(annotation: Any, limits: list[Any]) -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return st.one_of([values(argument, limits) for argument in arguments])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (dict, Mapping) or origin is typing.get_origin(Mapping[str, int]):
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=3)
    if origin is list:
        return st.lists(values(arguments[0]), min_size=_limit(limits, "min_length", 0), max_size=3)
    if origin is tuple and Ellipsis not in arguments:
        return st.tuples(*map(values, arguments))
    if origin is tuple:
        return st.lists(values(arguments[0]), min_size=_limit(limits, "min_length", 0), max_size=3).map(tuple)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return st.sampled_from(annotation)
    if isinstance(annotation, type) and (issubclass(annotation, BaseModel) or dataclasses.is_dataclass(annotation)):
        return st.deferred(lambda: instances(annotation))
    return _SCALARS[annotation](limits)


def _text(limits: list[Any]) -> st.SearchStrategy[str]:
    pattern = next((one.pattern for one in limits if getattr(one, "pattern", None)), None)
    if pattern:
        return st.from_regex(pattern, fullmatch=True)
    if any(isinstance(one, AfterValidator) for one in limits):
        return PRINTABLE
    return TEXT


def _number(of: Callable[..., st.SearchStrategy[Any]], limits: list[Any], **rest: Any) -> st.SearchStrategy[Any]:
    low, high = (_limit(limits, name, None) for name in ("ge", "le"))
    above = _limit(limits, "gt", None)
    made = of(low if low is not None else above, high, **rest)
    return made if above is None else made.filter(lambda value: value > above)


def _limit(limits: list[Any], name: str, default: Any) -> Any:
    return next((getattr(one, name) for one in limits if getattr(one, name, None) is not None), default)


def _integers(low: int | None, high: int | None) -> st.SearchStrategy[int]:
    return st.integers(low if low is not None else -(2**63), high if high is not None else 2**63)


_SCALARS: dict[Any, Callable[[list[Any]], st.SearchStrategy[Any]]] = {
    str: _text,
    int: lambda limits: _number(_integers, limits),
    float: lambda limits: _number(st.floats, limits, allow_nan=False, allow_infinity=False),
    bool: lambda limits: st.booleans(),
    type(None): lambda limits: st.none(),
    datetime: lambda limits: st.datetimes(datetime(1971, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - as hypothesis wants it
    time: lambda limits: st.times(),
    Any: lambda limits: JSON,
    object: lambda limits: JSON,
}


BOUNDS = ("low", "high", "start")


@st.composite
def _numeric(draw: Any, kind: type[p.Continuous] | type[p.Integer] | type[p.Stepped]) -> Any:
    """Bounds in order, the start between them and on the grid."""
    fields = draw(_values(kind))
    whole = kind is not p.Continuous
    low = draw(st.integers(1, 1000)) if whole else draw(st.floats(1e-3, 1e3))
    steps = draw(st.integers(1, 100))
    fields |= {"low": low, "high": low + steps, "start": low + draw(st.integers(0, steps))}
    if kind is p.Continuous:
        resolution = draw(st.sampled_from([None, 0.5, 1.0]))
        whole = resolution is not None  # else the start may be no multiple of it
        fields |= {"resolution": resolution, **({n: float(round(fields[n]) + 1) for n in BOUNDS} if whole else {})}
        fields["step_limit"] = draw(st.none() | st.floats(1.0, 5.0))  # no less than a resolution
    if kind is p.Stepped:
        fields |= {"step": 1.0, "step_limit": draw(st.none() | st.floats(1.0, 5.0))}
        fields |= {name: float(fields[name]) for name in BOUNDS}
    return kind(**fields)


@st.composite
def _choice(draw: Any) -> p.Choice:
    choices = tuple(draw(st.lists(TEXT, min_size=2, max_size=4, unique=True)))
    return p.Choice(**draw(_values(p.Choice)) | {"choices": choices, "start": draw(st.sampled_from(choices))})


WHOLE: dict[type, Callable[[], st.SearchStrategy[Any]]] = {
    p.Continuous: lambda: _numeric(p.Continuous),
    p.Integer: lambda: _numeric(p.Integer),
    p.Stepped: lambda: _numeric(p.Stepped),
    p.Choice: _choice,
}
