"""Every key of a configuration with type, limits, default, unit, meaning and example, read from the models."""

import json
import types
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tuner.adapter import AdapterSettings
from tuner.basics.text import listed
from tuner.config import Config, Window
from tuner.config.plugins import AdapterNotFoundError, adapter_names, load_adapter
from tuner.machine.describe import type_name
from tuner.setup.examples import EXAMPLES

SETTINGS = "campaign.adapter.settings"
_WINDOW = 'text such as "22:00-06:00"'
_LIMITS = (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than"))
_UNITS = {"_s": "s", "_minutes": "min", "_hours": "h", "_megabytes": "MB", "_ms": "ms", "_bytes": "B", "_baud": "baud"}
_NO_UNIT = ("quiet_hours",)  # times of day, not a number of hours
# keys that mean nearly the same, or are mistaken for one another
SEE_ALSO = {
    "step": ("resolution", "step_limit"),
    "resolution": ("step", "step_limit", "tolerance"),
    "step_limit": ("rate_limit", "resolution"),
    "rate_limit": ("step_limit",),
    "tolerance": ("resolution",),
    "quiet_hours": ("breaks", "shifts"),
    "breaks": ("quiet_hours",),
    "change_cost": ("manual",),
    "manual": ("change_cost",),
    "name": ("label",),
    "label": ("name",),
}
_OF_PARAMETER = ("low", "high", "start", "step", "step_limit", "tolerance", "resolution")


@dataclass(frozen=True)
class Key:
    """One key of a configuration file.

    Attributes:
        table: The table it stands in, as it is written: `[daemon.log]`, `[[campaign.parameter]]`.
        owner: Whose key it is where a table has several kinds: the kind of parameter, or the adapter's name.
        path: All keys to it, dotted.
        kind: Its type in plain words.
        limits: What is allowed of that type.
        default: What it is if it is left out; None: it must be there.
        unit: Of its number, if it has one.
        meaning: What it says.
        example: A line of TOML.
    """

    table: str
    owner: str
    path: str
    kind: str
    limits: str
    default: str | None
    unit: str
    meaning: str
    example: str

    @property
    def name(self) -> str:
        """The key itself."""
        return self.path.rpartition(".")[2]


def core_keys() -> Iterator[Key]:
    """The keys of tuner itself, in their order."""
    yield from _keys(Config, "", "", "")


def adapter_keys(name: str) -> Iterator[Key]:
    """The keys of `[campaign.adapter.settings]` that an adapter has.

    Raises:
        AdapterNotFoundError: There is no such adapter.
    """
    yield from _keys(load_adapter(name).Settings, SETTINGS, f"[{SETTINGS}]", name)


def all_keys() -> Iterator[Key]:
    """The keys of tuner and of all adapters that can be imported here."""
    yield from core_keys()
    for name in adapter_names():
        try:
            yield from adapter_keys(name)
        except AdapterNotFoundError:  # what it needs is not installed: its keys cannot be known
            continue


def _keys(model: type[BaseModel], path: str, table: str, owner: str) -> Iterator[Key]:
    """The plain keys of a table, then its tables."""
    tables: list[tuple[str, str, type[BaseModel], str]] = []
    for name, field in model.model_fields.items():
        here = f"{path}.{field.alias or name}" if path else field.alias or name
        below = list(_tables(field.annotation))
        if here == SETTINGS:  # each adapter has its own, see `adapter_keys`
            continue
        if not below:
            yield _key(field, here, table, owner)
        for inner, many, variable in below:
            deeper = f"{here}.NAME" if variable else here
            kind = owner if owner and len(below) == 1 else _kind(inner) or owner
            tables.append((deeper, f"[[{deeper}]]" if many else f"[{deeper}]", inner, kind))
    for deeper, heading, inner, kind in tables:
        yield from _keys(inner, deeper, heading, kind)


def _key(field: FieldInfo, path: str, table: str, owner: str) -> Key:
    name = path.rpartition(".")[2]
    return Key(
        table=table,
        owner=owner,
        path=path,
        kind=_type(field.annotation),
        limits=", ".join(_limits(field)),
        default=None if field.is_required() else _default(field),
        unit=_unit(path, name, owner),
        meaning=field.description or "",
        example=f"{name} = {_example(field, path, owner)}",
    )


def _tables(annotation: Any) -> Iterator[tuple[type[BaseModel], bool, bool]]:
    """The tables in an annotation; whether they are in a list, and whether under names of the user's."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation is not Window and annotation is not AdapterSettings:
            yield annotation, False, False
        return
    if origin is Annotated:
        yield from _tables(arguments[0])
        return
    many = origin in (tuple, list)
    named = origin is not None and not many and hasattr(origin, "keys")
    for argument in arguments[1:] if named else arguments:
        for inner, _, deeper in _tables(argument):
            yield inner, many, named or deeper


def _kind(model: type[BaseModel]) -> str:
    """Which kind of a table it is, where it says so by a key `kind`."""
    field = model.model_fields.get("kind")
    values = get_args(field.annotation) if field is not None else ()
    return str(values[0]) if len(values) == 1 else ""


def _type(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Window:
        return _WINDOW
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return f"one of {listed(str(one.value) for one in annotation)}"
    if origin is Annotated:
        return "text" if getattr(arguments[0], "__name__", "") == "Constraint" else _type(arguments[0])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type(one) for one in arguments if one is not type(None)))
    if origin in (tuple, list):
        return f"list of {_type(arguments[0])}"
    if origin is Literal and len(arguments) == 1:
        return listed(arguments)
    return type_name(annotation)


def _limits(field: FieldInfo) -> Iterator[str]:
    for limit in (*field.metadata, *_inner(field.annotation)):
        if isinstance(limit, annotated_types.MinLen) and limit.min_length:
            yield f"length at least {limit.min_length}"
        if isinstance(limit, annotated_types.MaxLen):
            yield f"length at most {limit.max_length}"
        for key, words in _LIMITS:
            if getattr(limit, key, None) is not None:
                yield f"{words} {getattr(limit, key)}"


def _inner(annotation: Any) -> Iterator[Any]:
    """What stands in annotations below, as in `Annotated[int, Field(ge=1)] | None`."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        for one in arguments[1:]:
            yield from one.metadata if isinstance(one, FieldInfo) else (one,)
    elif origin in (Union, types.UnionType):
        for one in arguments:
            yield from _inner(one)


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    return "none" if value is None else toml_value(value)


def toml_value(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, Enum):
        return toml_value(value.value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml_value(one)}" for key, one in value.items()) + " }"
    # TOML's texts are JSON's, but for one control character
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _unit(path: str, name: str, owner: str) -> str:
    if path.startswith("campaign.parameter."):
        if owner == "choice":
            return ""
        if name == "rate_limit":
            return "the parameter's unit per minute"
        return "the parameter's unit" if name in _OF_PARAMETER else ""
    if name in _NO_UNIT:
        return ""
    return (
        "s"
        if name.startswith("seconds_")
        else next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")
    )


def _example(field: FieldInfo, path: str, owner: str) -> str:
    """From the table of examples, the model's own, the default, or the type."""
    found = EXAMPLES.get(f"{path}:{owner}", EXAMPLES.get(path))
    if found is not None:
        return found
    if field.examples:
        return toml_value(field.examples[0])
    value = None if field.is_required() else field.get_default(call_default_factory=True, validated_data={})
    return _of_type(field.annotation) if value in (None, (), {}) else toml_value(value)


def _of_type(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _of_type(arguments[0])
    if origin is Literal:
        return toml_value(arguments[0])
    if origin in (Union, types.UnionType):
        return _of_type(next(one for one in arguments if one is not type(None)))
    if origin in (tuple, list):
        return f"[{_of_type(arguments[0])}]"
    if origin is not None and hasattr(origin, "keys"):
        return f"{{ NAME = {_of_type(arguments[1])} }}"
    return {bool: "true", int: "1", float: "1.0"}.get(annotation, '"..."')
