"""Base of all tables of a configuration, and how a check reports several complaints at once."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NoReturn

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from tuner.basics.text import shown

Path = tuple[str | int, ...]

COMPLAINT = "complaint"  # the type of pydantic errors whose message is already a sentence for the user
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}", re.ASCII)


class Section(BaseModel):
    """A table: unknown keys, wrong types, NaN and infinities are errors; nothing changes after it was read."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, validate_by_name=True, validate_by_alias=True
    )


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong and what is allowed, at a path of keys and list indices."""

    path: Path
    sentence: str


def reject(complaints: Sequence[Complaint]) -> None:
    """Inside a pydantic validator: fail with all complaints, each at its own key, if there are any."""
    if complaints:
        _fail(complaints)


def _fail(complaints: Sequence[Complaint]) -> NoReturn:
    errors = [
        InitErrorDetails(
            type=PydanticCustomError(COMPLAINT, "{sentence}", {"sentence": complaint.sentence}),
            loc=complaint.path,
            input=None,
        )
        for complaint in complaints
    ]
    raise ValidationError.from_exception_data("configuration", errors)


def _label(name: str) -> str:
    if not _LABEL.fullmatch(name):
        raise ValueError(
            f"{shown(name)} is not a name; allowed: a letter, then up to 63 letters, digits, underscores and hyphens"
        )
    return name


Label = Annotated[str, AfterValidator(_label)]
