"""From a campaign's configuration to the space that the optimiser searches."""

from tuner.config.campaign import Campaign
from tuner.config.parameters import Choice, Continuous, Integer, Parameter
from tuner.core.space import parameters as core
from tuner.core.space.space import Space


def campaign_space(campaign: Campaign) -> Space:
    """Return the space of the campaign's parameters and constraints, in the same order."""
    return Space([core_parameter(parameter) for parameter in campaign.parameters], campaign.constraints)


def core_parameter(parameter: Parameter) -> core.Parameter:
    """Return the parameter as the optimiser has it."""
    if isinstance(parameter, Choice):
        return core.Choice(parameter.name, parameter.choices, parameter.unit)
    if isinstance(parameter, Continuous):
        return core.Continuous(parameter.name, parameter.low, parameter.high, parameter.unit, parameter.log)
    if isinstance(parameter, Integer):
        return core.Integer(parameter.name, parameter.low, parameter.high, parameter.unit, parameter.log)
    return core.Stepped(parameter.name, parameter.low, parameter.high, parameter.step, parameter.unit)
