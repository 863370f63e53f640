"""From a campaign's configuration to the space that the optimiser searches."""

import numpy as np

from tuner.config.campaign import Campaign
from tuner.config.parameters import Parameter
from tuner.core.space.parameters import Parameter as CoreParameter
from tuner.core.space.parameters import SpaceError, parameter_from_json
from tuner.core.space.space import Space

_SOME = 64
_SAME = 1e-9  # of a parameter's range


def campaign_space(campaign: Campaign) -> Space:
    """Return the space of the campaign's parameters and constraints, in the same order."""
    return Space([core_parameter(parameter) for parameter in campaign.parameters], campaign.constraints)


def narrow(campaign: Campaign) -> str:
    """What to warn of where a search finds no setting to try but the known-good one; else nothing."""
    space = campaign_space(campaign)
    start = space.encode({parameter.name: parameter.start for parameter in campaign.parameters})
    try:
        found = space.sample(_SOME, np.random.default_rng(0), start[None])
    except SpaceError as error:
        return str(error)
    if (np.abs(found - start) > _SAME).any():
        return ""
    texts = ", ".join(repr(constraint.text) for constraint in space.constraints)
    return f"a search finds no setting but the known-good one that satisfies {texts}: widen them"


def core_parameter(parameter: Parameter) -> CoreParameter:
    """Return the parameter as the optimiser has it."""
    return parameter_from_json(parameter.space_json())
