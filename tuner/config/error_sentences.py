"""Turns pydantic's errors into sentences for a process engineer: what is wrong and what is allowed."""

from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tuner.basics.text import counted, listed, nearest, shown
from tuner.config.section import COMPLAINT, Complaint, Path

MOST_EXPLAINED = 500  # nobody reads more at once, and each takes a while
_WANTED = {
    "bool_type": "must be true or false",
    "date_type": "must be a date",
    "dict_type": "must be a table",
    "float_type": "must be a number",
    "int_from_float": "must be a whole number",
    "int_type": "must be a whole number",
    "model_attributes_type": "must be a table",
    "model_type": "must be a table",
    "path_type": "must be a path in quotes",
    "string_type": "must be a text in quotes",
    "tuple_type": "must be a list",
}
_LIMITS = {"greater_than": "greater than", "greater_than_equal": "at least", "less_than": "less than"}
_LIMITS["less_than_equal"] = "at most"


def explain(error: ValidationError, model: type[BaseModel]) -> list[Complaint]:
    """The errors found while validating `model`, in the words of the configuration; of very many the first ones."""
    found = [details for details in error.errors(include_url=False) if not _is_echo(details)]
    complaints = [_complaint(details, model) for details in found[:MOST_EXPLAINED]]
    if len(found) > MOST_EXPLAINED:
        more = len(found) - MOST_EXPLAINED
        complaints.append(Complaint((), f"has {counted(more, 'error')} more than are told here; correct these first"))
    return complaints


def _is_echo(details: ErrorDetails) -> bool:
    """Whether a list is called too short only because its entries have errors, which are told one by one."""
    return details["type"] == "too_short" and len(details["input"]) >= details["ctx"]["min_length"]


def _complaint(details: ErrorDetails, root: type[BaseModel]) -> Complaint:
    path, tables = _walk(root, details["loc"])
    kind, given, context = details["type"], details["input"], details.get("ctx", {})
    if kind == "missing":
        return Complaint(path, f"is missing{_description(tables, path)}")
    if kind == "extra_forbidden":
        return Complaint(path, _unknown_key(str(path[-1]), tables))
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        key = str(context["discriminator"]).strip("'")
        return Complaint((*path, key), _tag(given.get(key), tables, key))
    if kind == "literal_error":
        expected = str(context["expected"]).replace("'", '"')
        return Complaint(path, f"must be {expected}, not {shown(given)}")
    return Complaint(path, _sentence(kind, given, context, path) or details["msg"])


def _sentence(kind: str, given: object, context: dict[str, Any], path: Path) -> str:
    if kind == COMPLAINT:
        return str(context["sentence"])
    if kind == "value_error":
        return str(context["error"])
    if kind == "finite_number":
        return f"must be a finite number, not {shown(given)}"
    if kind in _LIMITS:
        limit = next(iter(context.values()))
        return f"must be {_LIMITS[kind]} {int(limit) if limit == int(limit) else limit}, not {shown(given)}"
    if kind in ("too_short", "too_long"):
        few = kind == "too_short"
        limit = context["min_length" if few else "max_length"]
        entries = f"{limit} entry" if limit == 1 else f"{limit} entries"
        return f"must have at {'least' if few else 'most'} {entries}, not {context['actual_length']}"
    if kind in ("string_too_short", "string_too_long"):
        few = kind == "string_too_short"
        limit = counted(context["min_length" if few else "max_length"], "character")
        return f"must have at {'least' if few else 'most'} {limit}"
    if kind == "tuple_type" and isinstance(given, dict):
        dotted = ".".join(step for step in path if isinstance(step, str))
        return f"must be a list of tables: write [[{dotted}]]"
    return f"{_WANTED[kind]}, not {shown(given)}" if kind in _WANTED else ""


def _unknown_key(key: str, tables: list[type[BaseModel]]) -> str:
    known = _keys(tables)
    if not known:
        return "is not a known key; this table has no keys"
    return f"is not a known key{nearest(key, known) or ';'} known: {', '.join(known)}"


def _tag(given: object, tables: list[type[BaseModel]], key: str) -> str:
    tags = [str(tag) for table in tables for tag in _literals(table, key)]
    if given is None:
        return f"is missing; it must be one of {listed(tags)}"
    hint = nearest(given, tags) if isinstance(given, str) else ""
    return f"must be one of {listed(tags)}, not {shown(given)}{hint}"


def _description(tables: list[type[BaseModel]], path: Path) -> str:
    for table in tables:
        for name, field in table.model_fields.items():
            if path[-1] in (name, field.alias) and field.description:
                return f": {field.description}"
    return ""


def _walk(root: type[BaseModel], location: Path) -> tuple[Path, list[type[BaseModel]]]:
    """The path as written in the file, and the table(s) that the last step is a key of.

    Pydantic puts the kind of a table that has several (`continuous`, ...) among the keys: that step is dropped.
    """
    path: list[str | int] = []
    tables = [root]
    keyed = False  # whether the next step is a key of the user's own, as in [registers.pressure]
    for position, step in enumerate(location):
        if keyed:
            path.append(step)
            keyed = False
            continue
        tagged = [table for table in tables if step in _literals(table, "kind")]
        if tagged and len(tables) > 1:
            tables = tagged
            continue
        path.append(step)
        if isinstance(step, str) and position < len(location) - 1:
            annotations = [
                field.annotation
                for table in tables
                for name, field in table.model_fields.items()
                if step in (name, field.alias)
            ]
            tables = [table for annotation in annotations for table in _tables(annotation)]
            keyed = any(_is_mapping(annotation) for annotation in annotations)
    return tuple(path), tables


def _tables(annotation: Any) -> list[type[BaseModel]]:
    """All models an annotation speaks of, through tuples, unions and Annotated."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [table for argument in get_args(annotation) for table in _tables(argument)]


def _is_mapping(annotation: Any) -> bool:
    """Whether an annotation is a mapping to tables, or a union with one."""
    origin = get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return True
    return any(_is_mapping(argument) for argument in get_args(annotation))


def _literals(table: type[BaseModel], key: str) -> tuple[object, ...]:
    field = table.model_fields.get(key)
    return get_args(field.annotation) if field and get_origin(field.annotation) is Literal else ()


def _keys(tables: list[type[BaseModel]]) -> list[str]:
    return [field.alias or name for table in tables[:1] for name, field in table.model_fields.items()]
