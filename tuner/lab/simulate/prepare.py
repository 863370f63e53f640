"""From a configuration to the campaigns of scripted runs: nobody approves, no question waits, each has its seed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tuner.basics.sentences import no_campaign
from tuner.config import Campaign, load_config
from tuner.config.campaign import Questions
from tuner.errors import ConfigError
from tuner.report.truth import SIMULATED

_LONGEST_NAME = 50  # of 64: a seed is added


def named_campaign(path: Path, name: str | None = None) -> Campaign:
    """A campaign of a configuration; the first one if none is named.

    Raises:
        ConfigError: The file is wrong or has no such campaign.
    """
    campaigns = {campaign.name: campaign for campaign in load_config(path).campaigns}
    if name is not None and name not in campaigns:
        raise ConfigError(f"{path}: {no_campaign(name, campaigns)}")
    return campaigns[name] if name is not None else next(iter(campaigns.values()))


def chosen_campaign(path: Path, name: str | None = None) -> Campaign:
    """The campaign of a configuration that is to be simulated; the first one if none is named.

    Raises:
        ConfigError: The file is wrong, has no such campaign, or its machine is not a simulated one.
    """
    campaign = named_campaign(path, name)
    if campaign.adapter.name != SIMULATED:
        raise ConfigError(
            f"{path}: campaign {campaign.name}: this runs on the adapter {SIMULATED!r} only, "
            f"not on {campaign.adapter.name!r}: `tuner rehearse` tries any campaign on drawn processes"
        )
    return campaign


def seeded(campaign: Campaign, seed: int, *, trials: int | None = None) -> Campaign:
    """The campaign with this seed for proposals and machine, and perhaps another budget; it starts when it is told to.

    The machine keeps no memory between runs, because each run has a machine of its own.
    """
    settings = campaign.adapter.settings.model_copy(update={"seed": seed, "memory": None})
    changes: dict[str, Any] = {
        "seed": seed,
        "adapter": campaign.adapter.model_copy(update={"settings": settings}),
        "policy": campaign.policy.model_copy(update={"autostart": False}),
    }
    if trials is not None:
        changes["budget"] = campaign.budget.model_copy(update={"trials": trials})
    return campaign.model_copy(update=changes)


def scripted(campaign: Campaign, seed: int, *, trials: int | None = None, speed: float = 1.0) -> Campaign:
    """The campaign of one scripted run, named after its seed.

    Proposals need no approval and questions come at any time. `speed` divides what a part takes and the time to settle.
    """
    campaign = seeded(campaign, seed, trials=trials)
    settings: Any = campaign.adapter.settings
    faster = settings.model_copy(update={"seconds_per_trial": settings.seconds_per_trial / speed})
    policy = campaign.policy.model_copy(
        update={
            "approval": False,
            "dry_run": False,
            "settling_s": campaign.policy.settling_s / speed,
            "champion_reduel_hours": None,
            "questions": Questions(),
        }
    )
    changes = {
        "name": f"{campaign.name[:_LONGEST_NAME]}-{seed}",
        "machine": f"{campaign.machine[:_LONGEST_NAME]}-{seed}",
        "adapter": campaign.adapter.model_copy(update={"settings": faster}),
        "policy": policy,
    }
    return campaign.model_copy(update=changes)


def as_toml(campaign: Campaign) -> str:
    """The campaign as a table of a configuration file."""
    table = campaign.model_dump(mode="json", by_alias=True, exclude_none=True)
    return "[[campaign]]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in table.items())


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml(key)} = {_toml(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(entry) for entry in value) + "]"
    if isinstance(value, str):
        # TOML's strings are JSON's, but for one control character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value, allow_nan=False)
