"""What is allowed of parameters for a while: a value to keep, narrower limits, some of the options; plain Python.

A restriction names parameters, each with a value to keep, with (low, high) where either may be None, or with a list of
options. What is allowed of one is a tuple: the lowest and the highest number, or the options.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tuner.basics.sentences import say
from tuner.basics.text import listed, nearest
from tuner.core.space.values import Domain, Setting, SpaceError, Value

Allowed = tuple[Value, ...]


def allowed(domain: Domain, wanted: Any) -> Allowed:
    """Return what is allowed of one parameter.

    Raises:
        SpaceError: It leaves nothing, lies outside of the limits, or allows all that was allowed before.
    """
    if isinstance(wanted, str) or not isinstance(wanted, Sequence):
        value = domain.legal(wanted)
        return (value,) if domain.kind == "choice" else (value, value)
    return _options(domain, wanted) if domain.kind == "choice" else _limits(domain, wanted)


def _options(domain: Domain, wanted: Sequence[Any]) -> Allowed:
    if not wanted:
        raise SpaceError(say("restriction.no_option", name=domain.name, options=list(domain.choices)))
    chosen = {domain.legal(one) for one in wanted}
    if len(chosen) == len(domain.choices):
        raise SpaceError(say("restriction.all_options", name=domain.name))
    return tuple(one for one in domain.choices if one in chosen)


def _limits(domain: Domain, wanted: Sequence[Any]) -> Allowed:
    if len(wanted) != 2:
        raise SpaceError(say("restriction.two_limits", name=domain.name, given=list(wanted)))
    low, high = (
        limit if one is None else float(domain.plain(one))
        for one, limit in zip(wanted, (domain.low, domain.high), strict=True)
    )
    for one in (low, high):
        if not domain.inside(one):
            limits = {"low": domain.low, "high": domain.high}
            raise SpaceError(say("restriction.limits", name=domain.name, **limits, value=one))
    if low > high:
        raise SpaceError(say("restriction.upside_down", name=domain.name, low=low, high=high))
    least, most = domain.snapped(domain.above(low)), domain.snapped(domain.below(high))
    if least > most or not (domain.same(min(least, low), low) and domain.same(max(most, high), high)):
        raise SpaceError(say("restriction.no_value", name=domain.name, low=low, high=high, grid=domain.grid))
    if (least, most) == (domain.snapped(domain.low), domain.snapped(domain.high)):
        raise SpaceError(say("restriction.same_limits", name=domain.name))
    return least, most


def holds(limits: Allowed, value: Value) -> bool:
    """Say whether a legal value is allowed."""
    if isinstance(value, str):
        return value in limits
    low, high = (float(one) for one in limits)
    return low <= value <= high


def outside(restriction: Mapping[str, Allowed], setting: Setting) -> list[str]:
    """Return the parameters whose values in a setting are not allowed."""
    return [name for name, limits in restriction.items() if name in setting and not holds(limits, setting[name])]


def checked(domains: Mapping[str, Domain], wanted: Mapping[str, Any]) -> dict[str, Allowed]:
    """Return what is allowed of each parameter that a restriction names."""
    if not isinstance(wanted, Mapping):
        raise SpaceError(f"a restriction says by name what is allowed of parameters, got {wanted!r}")
    for name in wanted:
        if name not in domains:
            raise SpaceError(
                f"there is no parameter {name!r}{nearest(name, domains) or ';'} there are {listed(domains)}"
            )
    return {name: allowed(domain, wanted[name]) for name, domain in domains.items() if name in wanted}
