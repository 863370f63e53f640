"""Paths into JSON, such as recipe.temperature or parts[0].weight: read one, list all, fill a template."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator

from adapters.shared.values import check_template
from tuner.adapter import LinkError
from tuner.basics.sentences import Sentence, say
from tuner.basics.text import shown

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_PATH = re.compile(r"([^.\[\]]+|\[\d+\])(\.[^.\[\]]+|\[\d+\])*")
_FIELD = re.compile(r"\{(\w+)\}")
_LONGEST = 60


def _checked(text: str) -> str:
    if not _PATH.fullmatch(text):
        raise ValueError(
            f'{shown(text)} is not a path into JSON; allowed: "temperature", "recipe.heat", "parts[0].weight"'
        )
    return text


JsonPath = Annotated[str, AfterValidator(_checked)]


def at(document: object, path: str, who: str) -> Any:
    """What stands at a path; an empty path is the whole document."""
    here = document
    for name, index in _STEP.findall(path):
        if index and isinstance(here, list) and int(index) < len(here):
            here = here[int(index)]
        elif name and isinstance(here, dict) and name in here:
            here = here[name]
        else:
            raise LinkError(say("machine.nothing_at", who=who, path=path, instead=_instead(here)))
    return here


def _instead(here: object) -> Sentence:
    if isinstance(here, dict):
        return say("machine.only", what=[str(one) for one in list(here)[:10]]) if here else say("machine.only_empty")
    if isinstance(here, list):
        return say("machine.only_list", count=len(here))
    return say("machine.only", what=repr(str(here)[:_LONGEST]))


def leaves(document: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every path that leads to a plain value, with the value."""
    if isinstance(document, dict):
        for name, one in document.items():
            yield from leaves(one, f"{path}.{name}" if path else str(name))
    elif isinstance(document, list):
        for number, one in enumerate(document):
            yield from leaves(one, f"{path}[{number}]")
    else:
        yield path, document


def filled(template: Any, values: Mapping[str, object]) -> Any:
    """A template with its fields: a text that is one field only becomes the value itself, a number as a number."""
    if isinstance(template, str):
        whole = _FIELD.fullmatch(template)
        return values[whole[1]] if whole else template.format(**values)
    if isinstance(template, Mapping):
        return {name: filled(one, values) for name, one in template.items()}
    if isinstance(template, list | tuple):
        return [filled(one, values) for one in template]
    return template


def check_fields(template: Any, fields: tuple[str, ...]) -> None:
    """A template in which only these fields stand in braces."""
    if isinstance(template, str):
        check_template(template, fields)
    elif isinstance(template, Mapping):
        for one in template.values():
            check_fields(one, fields)
    elif isinstance(template, list | tuple):
        for one in template:
            check_fields(one, fields)
