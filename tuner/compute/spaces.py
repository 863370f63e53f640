"""A space as plain JSON, and back: parameters by kind, constraints as texts."""

from collections.abc import Mapping
from typing import Any

from tuner.core.space.parameters import Choice, Continuous, Integer, Parameter, SpaceError, Stepped
from tuner.core.space.space import Space


def space_json(space: Space) -> dict[str, Any]:
    """Return a space as plain data."""
    return {
        "parameters": [_parameter_json(parameter) for parameter in space.parameters],
        "constraints": [constraint.text for constraint in space.constraints],
    }


def _parameter_json(parameter: Parameter) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": kind_of(parameter), "name": parameter.name, "unit": parameter.unit}
    if isinstance(parameter, Choice):
        return {**data, "choices": list(parameter.choices)}
    if isinstance(parameter, Stepped):
        return {**data, "low": float(parameter.low), "high": float(parameter.high), "step": float(parameter.step)}
    number = int if isinstance(parameter, Integer) else float
    return {**data, "low": number(parameter.low), "high": number(parameter.high), "log": parameter.log}


def kind_of(parameter: Parameter) -> str:
    """Return continuous, integer, stepped or choice."""
    return type(parameter).__name__.lower()


def space_from_json(data: Mapping[str, Any]) -> Space:
    """Rebuild a space."""
    try:
        return Space([_parameter(item) for item in data["parameters"]], list(data.get("constraints", ())))
    except KeyError as error:
        raise SpaceError(f"the space lacks {error}") from error
    except (TypeError, AttributeError) as error:
        raise SpaceError(f"the space is damaged: {error}") from error


def _parameter(item: Mapping[str, Any]) -> Parameter:
    kind, name, unit = item["kind"], item["name"], item.get("unit", "")
    if kind == "choice":
        return Choice(name, item["choices"], unit)
    low, high, log = item["low"], item["high"], item.get("log", False)
    if kind == "continuous":
        return Continuous(name, low, high, unit, log)
    if kind == "integer":
        return Integer(name, low, high, unit, log)
    if kind == "stepped":
        return Stepped(name, low, high, item["step"], unit)
    raise SpaceError(f"{name}: there is no kind of parameter {kind!r}")
