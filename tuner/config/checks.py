"""Checks between the tables of a configuration: names used twice, constraints and what they speak of."""

from collections.abc import Mapping

from tuner.basics.text import listed, nearest, shown
from tuner.config.parameters import Choice, Parameter
from tuner.config.section import Complaint
from tuner.core.space.expression import Constraint


def campaign_complaints(
    names: Mapping[int, str], parameters: Mapping[int, Parameter], constraints: Mapping[int, Constraint]
) -> list[Complaint]:
    """Complaints on a campaign's parameters, by their position; with errors of their own they have a name only."""
    found = repeated(names, ("parameter",), "name", "parameter")
    by_name = {parameter.name: parameter for parameter in parameters.values()}
    known = {i: _constraint(one, set(names.values()), by_name) for i, one in constraints.items()}
    if len(by_name) == len(names) and any(known.values()):
        known |= _impossible(by_name, constraints)
    return found + [Complaint(("constraints", index), text) for index, texts in known.items() for text in texts]


def _impossible(parameters: Mapping[str, Parameter], constraints: Mapping[int, Constraint]) -> dict[int, list[str]]:
    """Complaints on constraints that no setting satisfies, alone or together: another start would not help."""
    numeric = {name for name, parameter in parameters.items() if not isinstance(parameter, Choice)}
    if any(not constraint.names or constraint.names - numeric for constraint in constraints.values()):
        return {}
    from tuner.config.to_space import core_parameter  # scipy takes a second to import, and few have these errors
    from tuner.core.space.impossible import impossible, sentence

    blamed = impossible([core_parameter(parameter) for parameter in parameters.values()], list(constraints.values()))
    if blamed is None:
        return {}
    return {index: [sentence(blamed)] for index, constraint in constraints.items() if constraint in blamed}


def repeated(names: Mapping[int, str], path: tuple[str, ...], key: str, noun: str) -> list[Complaint]:
    """A complaint for every name that an earlier table has too."""
    found = []
    seen: set[str] = set()
    for index, name in names.items():
        if name in seen:
            found.append(Complaint((*path, index, key), f"another {noun} has the {key} {shown(name)} too"))
        seen.add(name)
    return found


def _constraint(constraint: Constraint, names: set[str], parameters: Mapping[str, Parameter]) -> list[str]:
    text = shown(constraint.text)
    if not constraint.names:
        return [f"{text} speaks of no parameter; known: {listed(sorted(names))}"]
    unknown = sorted(constraint.names - names)
    if unknown:
        return [
            f"{text} speaks of {shown(name)}, which is no parameter{nearest(name, names) or ';'} "
            f"known: {listed(sorted(names))}"
            for name in unknown
        ]
    choices = sorted(name for name in constraint.names if isinstance(parameters.get(name), Choice))
    if choices:
        return [f"{text} speaks of {shown(name)}, which is a choice and not a number" for name in choices]
    if constraint.names - parameters.keys():
        return []  # a parameter with errors of its own has no start to test
    start = {name: float(parameters[name].start) for name in constraint.names}
    if not constraint.holds(start):
        at = ", ".join(f"{name} = {value:g}" for name, value in sorted(start.items()))
        return [f"the known-good setting (the keys `start`) must satisfy {text}, but {at} do not"]
    return []
