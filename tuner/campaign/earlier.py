"""What people bring along from an earlier campaign: trials and judgments as they stand on the wire and in the journal.

A client needs nothing heavier than these models. What becomes of them is in importing.py.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from tuner.basics.vocabulary import MOST_MEASUREMENTS
from tuner.campaign.people import CommandBase, Needed, Number, Text
from tuner.core.optimizer.records import Memory
from tuner.core.space.values import Value

DISCOUNT = 0.5  # what an earlier answer counts for where nobody says otherwise
MOST_TRIALS = 10_000
Name = Annotated[str, Field(max_length=64)]
MeasuredName = Annotated[str, Field(max_length=200)]
Discount = Annotated[float, Field(gt=0, le=1)]


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_serializer(mode="wrap")
    def _short(self, usual: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without what is as by default: a request and a row of the journal hold hundreds of these."""
        fields = type(self).model_fields
        return {name: value for name, value in usual(self).items() if value != fields[name].default}


class EarlierTrial(_Row):
    """A trial of an earlier campaign; its number is its place in the list, from 1 on."""

    setting: dict[Name, Value] = Field(max_length=200)
    valid: bool | None = None
    stage: Literal["done", "rejected", "dropped"] = "done"
    excluded: Text | None = None
    outcome_reason: Text = ""
    kind: Name = "told"
    source: Literal["start", "model", "fallback", "repeat", "remake", "lot"] = "start"
    repeats: Number | None = None
    opponent: Number | None = None
    tag: Name = ""
    lot: Name = ""
    measurements: dict[MeasuredName, float] = Field({}, max_length=MOST_MEASUREMENTS)
    photo: Annotated[str, Field(max_length=1000)] | None = None


class EarlierJudgment(_Row):
    """An answer that counted; without a winner it was "can't tell"."""

    left: Number
    right: Number
    winner: Number | None = None
    clearly: bool | None = None
    operator: Name = ""


class ImportEarlier(CommandBase):
    """Let the model know what an earlier campaign found."""

    source: Needed = Field(description="where it comes from: a file or a campaign")
    trials: tuple[EarlierTrial, ...] = Field(
        strict=False, max_length=MOST_TRIALS, description="its trials, in their order; none only in a later piece"
    )
    judgments: tuple[EarlierJudgment, ...] = Field(
        (),
        strict=False,
        max_length=10 * MOST_TRIALS,
        description="the judgments that counted, with the numbers of the trials",
    )
    discount: Discount = Field(
        DISCOUNT,
        description="what an earlier answer counts for beside one of this campaign, more than 0; 1: all of it are the "
        "campaign's own, which goes on where the other was",
    )
    model: Memory | None = Field(
        None, description="what the model remembered, for a campaign that goes on; None: it is fitted anew"
    )
    more: bool = Field(
        False, description="more pieces follow: nothing is imported before the last one, which says false"
    )
    after: int = Field(
        0, ge=0, description="how many trials and judgments the pieces before this one had; 0: the first"
    )

    @model_validator(mode="after")
    def _something(self) -> "ImportEarlier":
        if not self.trials and not self.after:
            raise ValueError("there is no trial in it")
        return self


def pieces(whole: ImportEarlier, largest_bytes: int) -> Iterator[ImportEarlier]:
    """An import in pieces whose rows take so many bytes at most, in the order in which they are to be sent."""
    rest = whole.model_copy(update={"trials": (), "judgments": ()})
    after, size = 0, 0
    trials: list[EarlierTrial] = []
    judgments: list[EarlierJudgment] = []

    def piece(*, more: bool) -> ImportEarlier:
        told = {"trials": tuple(trials), "judgments": tuple(judgments), "more": more, "after": after}
        return rest.model_copy(update={**told, "model": None if more else whole.model})

    rows: tuple[EarlierTrial | EarlierJudgment, ...] = (*whole.trials, *whole.judgments)
    for row in rows:
        bytes_of_it = len(row.model_dump_json().encode()) + 1
        if size and size + bytes_of_it > largest_bytes:
            yield piece(more=True)
            after += len(trials) + len(judgments)
            trials, judgments, size = [], [], 0
        if isinstance(row, EarlierTrial):
            trials.append(row)
        else:
            judgments.append(row)
        size += bytes_of_it
    yield piece(more=False)
