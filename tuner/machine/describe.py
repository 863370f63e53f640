"""Describes the settings of an adapter in the words of a configuration file: key, type, default, meaning."""

import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tuner.basics.text import listed

_PLAIN = {str: "text", int: "whole number", float: "number", bool: "true or false", Path: "path", Any: "anything"}
_LIMITS = (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than"))


def setting_rows(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str]]:
    """A row for each key, tables after their own row with dotted keys: what to write, and what it means."""
    for name, field in model.model_fields.items():
        key = prefix + (field.alias or name)
        wanted = type_name(field.annotation) + _limits(field)
        default = "required" if field.is_required() else f"default {_default(field)}"
        yield key, f"{field.description or ''} ({wanted}; {default})".lstrip()
        for table, below in _tables(field.annotation):
            yield from setting_rows(table, f"{key}{below}.")


def type_name(annotation: Any) -> str:
    """A type in plain words."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return f"one of {listed(arguments)}"
    if origin is Annotated:
        return type_name(arguments[0])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(type_name(a) for a in arguments if a is not type(None)))
    if isinstance(origin, type) and issubclass(origin, tuple | list):
        return f"list of {type_name(arguments[0])}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"table of {type_name(arguments[1])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table"
    return str(getattr(annotation, "__name__", annotation))


def _limits(field: FieldInfo) -> str:
    found = []
    for limit in field.metadata:
        if isinstance(limit, annotated_types.MinLen):
            found.append("not empty" if limit.min_length == 1 else f"length at least {limit.min_length}")
        found += [f"{words} {getattr(limit, key)}" for key, words in _LIMITS if hasattr(limit, key)]
    return "".join(f", {words}" for words in found)


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None:
        return "none"
    if isinstance(value, BaseModel | Mapping):
        return "as below" if value else "empty"
    if isinstance(value, tuple | list):
        return f"[{listed(value)}]"
    return listed([value if isinstance(value, bool | int | float) else str(value)])


def _tables(annotation: Any) -> Iterator[tuple[type[BaseModel], str]]:
    """The tables in an annotation, and what stands between a key and theirs."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, ""
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        for table, below in _tables(arguments[1]):
            yield table, f".NAME{below}"
    elif isinstance(origin, type) and issubclass(origin, tuple | list):
        for table, below in _tables(arguments[0]):
            yield table, f"[]{below}"
    else:
        for argument in arguments:
            yield from _tables(argument)
