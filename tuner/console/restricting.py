"""Parameters that are kept or narrowed for a while: in words, and read from what somebody types."""

from tuner.console.language import Words
from tuner.console.requests import CannotError
from tuner.console.ui import CHOICE_KEYS, Choice, Ui
from tuner.wire.messages import CampaignView, EventsAfter, ParameterView, RestrictionView
from tuner.wire.operation import Call
from tuner.wire.operations import Operations

BETWEEN = ".."
LIFT, SHIFT = "lift", "shift"


def restriction_text(words: Words, view: CampaignView, one: RestrictionView, *, until: bool = True) -> str:
    """What is allowed of a parameter, and until when."""
    parameter = next((known for known in view.parameters if known.name == one.parameter), None)
    called = one.parameter if parameter is None else parameter.called
    kept = one.kept
    if kept is not None:
        text = words("restriction.kept", name=called, value=words.value(kept, parameter))
    elif one.low is None or one.high is None:
        text = words("restriction.options", name=called, options=", ".join(one.options))
    else:
        low, high = words.value(one.low, parameter, unit=False), words.value(one.high, parameter)
        text = words("restriction.between", name=called, low=low, high=high)
    if not until:
        return text
    end = words("restriction.lifted") if one.until is None else words("restriction.until", time=words.clock(one.until))
    return f"{text} {end}"


def restriction_lines(words: Words, view: CampaignView) -> list[str]:
    """A sentence for each restriction, with who and why."""
    return [words.told(one.text) for one in view.restrictions or ()]


def restricted_text(words: Words, view: CampaignView, room: int) -> str:
    """All restrictions in one line: each if there is room, else how many there are; nothing if there are none."""
    if not view.restrictions:
        return ""
    text = words("restriction.now", text=", ".join(restriction_text(words, view, one) for one in view.restrictions))
    return text if len(text) <= room else words("restriction.count", count=len(view.restrictions))


def outside_text(words: Words, view: CampaignView, names: list[str]) -> str:
    """That the recommended setting lies outside of what is allowed for now; nothing if it does not."""
    called = [one.called for one in view.parameters if one.name in names]
    return words("restriction.outside", names=", ".join(called)) if called else ""


def limits_text(words: Words, parameter: ParameterView) -> str:
    """The values that a parameter has."""
    if parameter.low is None or parameter.high is None:
        return ", ".join(parameter.choices)
    return f"{words.value(parameter.low, parameter, unit=False)}{BETWEEN}{words.value(parameter.high, parameter)}"


async def asked_parameter(ui: Ui, words: Words, view: CampaignView) -> ParameterView | None:
    """Which parameter is to be restricted, or freed."""
    choices = [
        Choice(key, one.called, one.name, _about(words, view, one))
        for key, one in zip(CHOICE_KEYS, view.parameters, strict=False)
    ]
    name = await ui.choose(words("ask.keep_which"), choices)
    return next((one for one in view.parameters if one.name == name), None)


def _about(words: Words, view: CampaignView, parameter: ParameterView) -> str:
    have = next((one for one in view.restrictions if one.parameter == parameter.name), None)
    limits = limits_text(words, parameter)
    return limits if have is None else f"{limits} · {restriction_text(words, view, have)}"


async def asked_restriction(
    ui: Ui, words: Words, view: CampaignView, parameter: ParameterView
) -> tuple[str, str | None, str] | str | None:
    """What is to be allowed, until when and why; or that a restriction is to be lifted; None: nothing."""
    if any(one.parameter == parameter.name for one in view.restrictions):
        offered = [Choice("l", words("ask.keep_lift"), LIFT), Choice("n", words("ask.keep_new"), "new")]
        answer = await ui.choose(_about(words, view, parameter), offered)
        if answer != "new":
            return answer
    champion = view.champion.setting.get(parameter.name) if view.champion is not None else None
    likely = [words.value(champion, parameter, unit=False)] if champion is not None else []
    what = "ask.keep_option" if parameter.choices else "ask.keep_number"
    question = words(what, name=parameter.called, limits=limits_text(words, parameter))
    typed = await _asked_values(
        ui, words, parameter, f"{question} {words('ask.keep_champion')}" if likely else question, likely
    )
    if not typed:
        return None
    ends = [Choice("s", words("ask.until_shift"), SHIFT), Choice("t", words("ask.until_time"), "time")]
    until = await ui.choose(words("ask.until"), [*ends, Choice("l", words("ask.until_lifted"), "lifted")])
    if until == "time":
        until = await ui.ask(words("ask.until_what"))
    if until is None:
        return None
    reason = await ui.ask(words("ask.keep_why"), words("ask.keep_reasons").split("|"))
    return (typed, None if until == "lifted" else until, reason) if reason else None


async def _asked_values(ui: Ui, words: Words, parameter: ParameterView, question: str, likely: list[str]) -> str | None:
    """What is allowed, asked until it can be: a slip is told before anything else is asked."""
    before, told = None, question
    while typed := await ui.ask(told, likely):
        try:
            check(words, parameter, typed)
        except CannotError as error:
            if typed == before:  # who insists is told; a page has one answer to give
                raise
            before, told = typed, f"{error.sentence(words)} {question}"
        else:
            return typed
    return None


def check(words: Words, parameter: ParameterView, typed: str) -> None:
    """Refuse what the parameter cannot have."""
    limits = limits_text(words, parameter)
    if parameter.choices:
        for option in (one.strip() for one in typed.split(",") if one.strip()):
            if option not in parameter.choices:
                raise CannotError("cannot.no_option", text=option, limits=limits)
        return
    for end in (one for one in typed.split(BETWEEN) if one.strip()):
        number = _number(end, parameter)
        if parameter.low is not None and parameter.high is not None and not parameter.low <= number <= parameter.high:
            raise CannotError("cannot.outside", text=end.strip(), limits=limits)


def request_for(
    campaign: str, parameter: ParameterView, typed: str, until: str | None, reason: str
) -> Call[EventsAfter]:
    """What was typed, as a request: a value, `low..high`, or options with commas.

    Raises:
        CannotError: It is none of these.
    """
    if parameter.choices:
        options = [one.strip() for one in typed.split(",") if one.strip()]
        if len(options) == 1:
            return Operations.freeze(campaign, parameter.name, options[0], reason, until)
        return Operations.narrow(campaign, parameter.name, reason, options=options, until=until)
    if BETWEEN not in typed:
        return Operations.freeze(campaign, parameter.name, _number(typed, parameter), reason, until)
    low, _, high = (part.strip() for part in typed.partition(BETWEEN))
    ends = [None if not end else _number(end, parameter) for end in (low, high)]
    return Operations.narrow(campaign, parameter.name, reason, ends[0], ends[1], until=until)


def _number(typed: str, parameter: ParameterView) -> float:
    bare = typed.strip().removesuffix(parameter.unit).strip().replace(",", ".") if parameter.unit else typed.strip()
    try:
        return float(bare.replace(",", "."))
    except ValueError:
        raise CannotError("cannot.no_number", text=typed) from None
