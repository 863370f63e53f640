"""What only the model knows, as the daemon tells it: recommendation, explanation and slices."""

from typing import Any

from pydantic import Field

from tuner.wire.messages import Told, TrialView


class WindowView(Told):
    """How far one parameter may wander alone from the recommended setting."""

    name: str
    low: float | None = Field(description="its least value; of a choice none")
    high: float | None = Field(description="its largest value; of a choice none")
    below: str = Field(
        description="what ends the window there: valid (P(valid) falls), better (the chance to be better than the "
        "known-good setting falls), constraint, or limit of the parameter; of a choice empty"
    )
    above: str = Field(description="the same at the upper end")
    options: list[str] = Field(description="the options of a choice that are inside; of a number none")


class Recommendation(Told):
    """The setting for the master recipe; none while there is no valid trial."""

    setting: dict[str, float | int | str] | None
    champion: TrialView | None
    same_as_champion: bool
    p_better: float | None = Field(alias="better", description="P(better than the champion)")
    p_valid: float | None = Field(alias="valid", description="P(valid)")
    keep: bool = Field(False, description="nothing is believed better than the known-good setting: this is that one")
    better_than_known_good: float | None = Field(
        None, description="P(better than the known-good setting); none if it is that one, or was never made"
    )
    parts: int = Field(0, description="valid parts made with this very setting")
    won: int = Field(0, description="duels that they won")
    lost: int = Field(0, description="duels that they lost")
    tied: int = Field(0, description="duels that could not be told")
    window: list[WindowView] = Field(
        default_factory=list, description="the process window: how far each parameter may wander alone"
    )
    window_valid: float | None = Field(None, description="the P(valid) that is kept in the window")
    window_better: float | None = Field(
        None, description="the chance to be better than the known-good setting that is kept in the window"
    )
    outside: list[str] = Field(
        default_factory=list,
        description="parameters whose values here are not allowed for now: nothing is proposed there",
    )


class Explanation(Told):
    """Why this setting, which parameters matter, what is left to gain."""

    trial: TrialView | None
    importance: dict[str, float]
    outlook: dict[str, Any] | None
    contradictions: list[dict[str, Any]] = Field(
        description="circles of judgments: trials and their part tags, the judgment worth asking again and its pair"
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


class MapView(Told):
    """Two parameters through the champion: a list for each value of `down`, a number for each value of `across`."""

    across: str = Field(description="the parameter whose values are `columns`")
    down: str = Field(description="the parameter whose values are `lines`")
    columns: list[float | int | str]
    lines: list[float | int | str]
    better: list[list[float]] = Field(description="P(better than the champion)")
    valid: list[list[float]] = Field(description="P(valid)")
    feasible: list[list[bool]] = Field(description="whether the constraints hold")


class Maps(Told):
    """Two-dimensional cuts through the champion, of the parameters that matter most; none without a champion."""

    champion: int | None
    maps: list[MapView]
    standing: dict[int, float] = Field(
        description="for each valid trial the share of likely valid settings that are believed better than it"
    )


class Slices(Told):
    """One-dimensional cuts through the champion; none while there is no champion."""

    champion: int | None
    mass: float = Field(description="what the credible band holds")
    slices: list[SliceView]
