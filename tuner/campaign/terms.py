"""The terms of a campaign: its configuration as it was when an event recorded it, independent of installed adapters."""

from typing import Any

from pydantic import Field

from tuner.config.campaign import AdapterDeadlines, Budget, Campaign, Policy, ScrapContract
from tuner.config.parameters import Continuous, Parameter
from tuner.config.section import Section

# what may change in a campaign under way; everything else is what its trials mean
CHANGEABLE_OF_PARAMETER = frozenset(
    {"start", "label", "unit", "step_limit", "rate_limit", "tolerance", "order", "change_cost", "manual"}
)


class AdapterTerms(Section):
    """Which adapter, and its settings as plain data: a journal can be read where the adapter is not installed."""

    name: str
    settings: dict[str, Any] = Field(default_factory=dict)
    deadlines: AdapterDeadlines = Field(default_factory=AdapterDeadlines)
    by_hand: tuple[str, ...] = ()  # manual parameters that the machine has no place for
    occupies: tuple[str, ...] = ()  # not known of campaigns from before 0.2.0 until they are configured again


class Terms(Section):
    """What a campaign is about."""

    machine: str
    seed: int
    budget: Budget
    policy: Policy
    adapter: AdapterTerms
    parameters: tuple[Parameter, ...]
    constraints: tuple[str, ...] = ()
    scrap: ScrapContract | None = None

    @property
    def known_good(self) -> dict[str, float | int | str]:
        """The setting the machine is known to work at."""
        return {parameter.name: parameter.start for parameter in self.parameters}

    @classmethod
    def of(cls, campaign: Campaign) -> "Terms":
        """Take the terms from a configuration: those of a campaign that begins now."""
        return cls(
            machine=campaign.machine,
            seed=campaign.seed,
            budget=campaign.budget,
            policy=campaign.policy,
            adapter=AdapterTerms(
                name=campaign.adapter.name,
                settings=campaign.adapter.settings.model_dump(mode="json"),
                deadlines=campaign.adapter.deadlines,
                by_hand=campaign.left_to_people,
                occupies=campaign.adapter.occupies,
            ),
            parameters=campaign.begun,
            constraints=tuple(constraint.text for constraint in campaign.constraints),
            scrap=campaign.scrap,
        )

    def like(self, known: "Terms") -> "Terms":
        """As a campaign under way goes on with them: what was not configured stays as it began."""
        have = {parameter.name: parameter for parameter in known.parameters}
        parameters = [
            parameter.like(have[parameter.name])
            if isinstance(parameter, Continuous) and parameter.name in have
            else parameter
            for parameter in self.parameters
        ]
        return self.model_copy(update={"parameters": tuple(parameters)})

    def space_json(self) -> dict[str, Any]:
        """The search space as plain data, the form that `tuner.compute.tasks` reads."""
        return {"parameters": [p.space_json() for p in self.parameters], "constraints": list(self.constraints)}

    def may_take(self, new: "Terms") -> "Terms":
        """These, with what of new terms changes no meaning of trials: budget, policy and what is agreed about scrap."""
        return self.model_copy(update={name: getattr(new, name) for name in ("budget", "policy", "scrap")})

    def unlike(self, new: "Terms") -> list[str]:
        """The keys that must stay as they are and are others in new terms."""
        ours, theirs = self.fixed(), new.fixed()
        keys = [name for name in ("machine", "seed", "constraints") if ours[name] != theirs[name]]
        have, want = ({one["name"]: one for one in fixed["parameters"]} for fixed in (ours, theirs))
        for name in dict.fromkeys((*have, *want)):
            if name not in have or name not in want:
                keys.append(f"parameter {name}")
            else:
                both = dict.fromkeys((*have[name], *want[name]))
                keys += [f"{name}.{key}" for key in both if have[name].get(key) != want[name].get(key)]
        return keys or ["the order of parameters"]

    def fixed(self) -> dict[str, Any]:
        """What must stay as it is while the campaign lives."""
        parameters = [p.model_dump(mode="json", exclude=set(CHANGEABLE_OF_PARAMETER)) for p in self.parameters]
        return {"machine": self.machine, "seed": self.seed, "parameters": parameters, "constraints": self.constraints}
