"""A space as plain JSON, and back: parameters by kind, constraints as texts."""

from collections.abc import Mapping
from typing import Any

from tuner.core.space.parameters import SpaceError, parameter_from_json
from tuner.core.space.space import Space


def space_json(space: Space) -> dict[str, Any]:
    """Return a space as plain data."""
    return {
        "parameters": [p.domain.to_json(p.unit, log=p.log, change_cost=p.change_cost) for p in space.parameters],
        "constraints": [constraint.text for constraint in space.constraints],
    }


def space_from_json(data: Mapping[str, Any]) -> Space:
    """Rebuild a space."""
    try:
        return Space([parameter_from_json(item) for item in data["parameters"]], list(data.get("constraints", ())))
    except KeyError as error:
        raise SpaceError(f"the space lacks {error}") from error
    except (TypeError, AttributeError) as error:
        raise SpaceError(f"the space is damaged: {error}") from error
