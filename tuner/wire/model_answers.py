"""What only the model knows, as the daemon tells it: recommendation, explanation and slices."""

from typing import Any

from pydantic import Field

from tuner.wire.messages import Told, TrialView


class Recommendation(Told):
    """The setting that the model believes best; none while there is no valid trial."""

    setting: dict[str, float | int | str] | None
    champion: TrialView | None
    same_as_champion: bool
    p_better: float | None = Field(alias="better", description="P(better than the champion)")
    p_valid: float | None = Field(alias="valid", description="P(valid)")


class Explanation(Told):
    """Why this setting, which parameters matter, what is left to gain."""

    trial: TrialView | None
    importance: dict[str, float]
    outlook: dict[str, Any] | None
    contradictions: list[dict[str, Any]] = Field(
        description="circles of judgments: the trials, and the judgment that is worth asking again"
    )
    operators: dict[str, float] = Field(description="each operator's noise, beside the first one's")


class SliceView(Told):
    """One parameter through the champion: lists of equal length; quality in units of the judges' noise."""

    name: str
    kind: str
    unit: str
    log: bool
    at: float | int | str = Field(description="the champion's value")
    values: list[float | int | str]
    mean: list[float] = Field(description="expected quality beside the champion's")
    low: list[float] = Field(description="lower end of the credible band")
    high: list[float] = Field(description="upper end")
    better: list[float] = Field(description="P(better than the champion)")
    valid: list[float] = Field(description="P(valid)")
    feasible: list[bool] = Field(description="whether the constraints hold")


class Slices(Told):
    """One-dimensional cuts through the champion; none while there is no champion."""

    champion: int | None
    mass: float = Field(description="what the credible band holds")
    slices: list[SliceView]
