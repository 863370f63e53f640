"""What only a simulation knows: the true cost of a setting, and how far it is from the known optimum."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tuner.campaign.terms import Terms
from tuner.config.parameters import Choice, Parameter
from tuner.core.linalg import FloatArray
from tuner.core.space.parameters import Continuous, SpaceError
from tuner.core.space.space import Space
from tuner.problems import Problem, UnknownProblemError, get_problem

SIMULATED = "simulated"
OUT_OF_REACH = (
    "The known optimum is the machine's: this campaign's limits, steps, choices or constraints do not let it be set."
)
Setting = Mapping[str, float | int | str]


@dataclass(frozen=True)
class Truth:
    """The problem behind a simulated machine, for settings of a campaign's parameters.

    Attributes:
        problem: What the machine simulates.
        parameters: Its variables, in their order.
        apart: Known-good values of parameters that the machine has no place for: they change nothing.
    """

    problem: Problem
    parameters: Sequence[Parameter]
    apart: Setting = field(default_factory=dict)

    @classmethod
    def of(cls, terms: Terms) -> "Truth | None":
        """The truth behind a campaign; None if its machine is a real one, or a problem of another version."""
        if terms.adapter.name != SIMULATED:
            return None
        try:
            problem = get_problem(str(terms.adapter.settings.get("problem")))
        except UnknownProblemError:
            return None
        by_hand = terms.adapter.by_hand
        variables = [parameter for parameter in terms.parameters if parameter.name not in by_hand]
        return cls(problem, variables, {name: terms.known_good[name] for name in by_hand})

    def cost(self, setting: Setting) -> float | None:
        """What a setting costs without noise; None where no part is made."""
        point = self._point(setting)
        return float(self.problem.evaluate(point)[0]) if self.problem.is_valid(point)[0] else None

    def regret(self, setting: Setting | None) -> float:
        """How much more a setting costs than the known optimum; infinite where no part is made."""
        cost = None if setting is None else self.cost(setting)
        return math.inf if cost is None else cost - self.problem.minimum

    @property
    def optimum(self) -> dict[str, float | int | str]:
        """Where the least cost is, not counting the campaign's own limits; for a choice the nearest one."""
        return self._optima[0]

    @property
    def _optima(self) -> list[dict[str, float | int | str]]:
        return [
            {p.name: self._value(minimiser[place], place, p) for place, p in enumerate(self.parameters)}
            | dict(self.apart)
            for minimiser in self.problem.minimisers
        ]

    def reachable(self, space: Space) -> bool:
        """Whether the campaign's limits, steps, choices and constraints let a known optimum be set.

        A resolution keeps none away: it only rounds.
        """
        exact = [replace(one, resolution=0.0) if isinstance(one, Continuous) else one for one in space.parameters]
        return any(self._can_be_set(optimum, Space(exact, space.constraints)) for optimum in self._optima)

    def _can_be_set(self, optimum: Setting, space: Space) -> bool:
        try:
            space.checked(optimum)
        except SpaceError:
            return False
        cost = float(self.problem.evaluate(self._point(optimum))[0])  # of a choice it was the nearest one
        return math.isclose(cost, self.problem.minimum, rel_tol=1e-6, abs_tol=1e-6)

    def _value(self, number: float, place: int, parameter: Parameter) -> float | int | str:
        number = float(number)
        if not isinstance(parameter, Choice):
            return number
        low, high = map(float, self.problem.bounds[place])
        nearest: str = parameter.choices[round((number - low) / (high - low) * (len(parameter.choices) - 1))]
        return nearest

    def _point(self, setting: Setting) -> FloatArray:
        values = [(setting[p.name], p.choices if isinstance(p, Choice) else ()) for p in self.parameters]
        return np.array([[self.problem.variable(place, *value) for place, value in enumerate(values)]])
