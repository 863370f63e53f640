"""Every table and key of a configuration with type, limits, default, unit, meaning and example, from the models."""

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
from tuner.setup.examples import EXAMPLES, OF_ADAPTERS

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
    "scrap": ("rate",),
    "rate": ("scrap",),
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


@dataclass(frozen=True)
class Table:
    """One table of a configuration file.

    Attributes:
        path: All keys to it, dotted; `NAME` is one of the user's.
        heading: As it is written: `[daemon.log]`, `[[campaign.parameter]]`; of the file itself nothing.
        owner: As in `Key`.
        model: What reads it.
        meaning: What it is for where it stands.
        about: What such a table says.
        needed: Whether it must be there.
        keys: Its plain keys.
        below: The headings of the tables in it.
    """

    path: str
    heading: str
    owner: str
    model: type[BaseModel]
    meaning: str
    about: str
    needed: bool
    keys: tuple[Key, ...]
    below: tuple[str, ...]

    @property
    def example(self) -> list[str]:
        """Lines of TOML: the heading, and what must be there; where nothing must, its first key."""
        needed = [key.example for key in self.keys if key.default is None]
        return [self.heading, *(needed or [key.example for key in self.keys[:1]])]


def core_tables() -> Iterator[Table]:
    """The tables of tuner itself, in their order; the first is the file."""
    yield from _walk(Config, "", "", "", "", needed=True)


def adapter_tables(name: str) -> Iterator[Table]:
    """The table `[campaign.adapter.settings]` that an adapter has, and those in it.

    Raises:
        AdapterNotFoundError: There is no such adapter.
    """
    yield from _walk(load_adapter(name).Settings, SETTINGS, f"[{SETTINGS}]", name, "", needed=True)


def all_tables() -> Iterator[Table]:
    """The tables of tuner and of all adapters that can be imported here."""
    yield from core_tables()
    for name in adapter_names():
        try:
            yield from adapter_tables(name)
        except AdapterNotFoundError:  # what it needs is not installed: its keys cannot be known
            continue


def core_keys() -> Iterator[Key]:
    """The keys of tuner itself, in their order."""
    return (key for table in core_tables() for key in table.keys)


def all_keys() -> Iterator[Key]:
    """The keys of tuner and of all adapters that can be imported here."""
    return (key for table in all_tables() for key in table.keys)


def _walk(
    model: type[BaseModel], path: str, heading: str, owner: str, description: str, *, needed: bool
) -> Iterator[Table]:
    """A table with its plain keys, then its tables."""
    keys: list[Key] = []
    tables: list[tuple[type[BaseModel], str, str, str, str, bool]] = []
    for name, field in model.model_fields.items():
        here = f"{path}.{field.alias or name}" if path else field.alias or name
        below = list(_tables(field.annotation))
        if here == SETTINGS:  # each adapter has its own, see `adapter_tables`
            continue
        if not below:
            keys.append(_key(field, here, heading, owner))
        for inner, many, variable in below:
            deeper = f"{here}.NAME" if variable else here
            kind = owner if owner and len(below) == 1 else _kind(inner) or owner
            written = f"[[{deeper}]]" if many else f"[{deeper}]"
            tables.append((inner, deeper, written, kind, field.description or "", field.is_required()))
    about = (model.__doc__ or "").strip().split("\n")[0]
    inside = tuple(dict.fromkeys(one[2] for one in tables))
    yield Table(path, heading, owner, model, description, about, needed, tuple(keys), inside)
    for inner, deeper, written, kind, said, must in tables:
        yield from _walk(inner, deeper, written, kind, said, needed=must)


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
    if found is None and path.startswith(SETTINGS):
        own = OF_ADAPTERS.get(owner, {})
        found = own.get(path.removeprefix(f"{SETTINGS}."), own.get(path.rpartition(".")[2]))
    if found is not None:
        return found
    if field.examples:
        return toml_value(field.examples[0])
    value = None if field.is_required() else field.get_default(call_default_factory=True, validated_data={})
    return _of_type(field.annotation, _middle(field)) if value in (None, (), {}) else toml_value(value)


def _middle(field: FieldInfo) -> float:
    """A number within a field's limits: one, if that is."""
    ends: dict[str, float] = {}
    for limit in (*field.metadata, *_inner(field.annotation)):
        ends |= {key: getattr(limit, key) for key, _ in _LIMITS if getattr(limit, key, None) is not None}
    low, high = ends.get("ge", ends.get("gt")), ends.get("le", ends.get("lt"))
    if (low is None or low < 1 or ends.get("ge") == 1) and (high is None or high > 1 or ends.get("le") == 1):
        return 1.0
    return (low + high) / 2 if low is not None and high is not None else low + 1 if low is not None else high - 1  # type: ignore[operator]  # one is


def _of_type(annotation: Any, number: float = 1.0) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _of_type(arguments[0], number)
    if origin is Literal:
        return toml_value(arguments[0])
    if origin in (Union, types.UnionType):
        return _of_type(next(one for one in arguments if one is not type(None)), number)
    if origin in (tuple, list):
        return f"[{_of_type(arguments[0])}]"
    if origin is not None and hasattr(origin, "keys"):
        return f"{{ NAME = {_of_type(arguments[1])} }}"
    return {bool: "true", int: f"{number:.0f}", float: toml_value(number)}.get(annotation, '"..."')
