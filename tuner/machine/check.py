"""Asks the machines of a configuration how they are and looks at every place they name, without moving anything."""

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tuner.adapter import Adapter, AdapterError, DeadlineError, Health, Inspected, ParameterInfo, Value
from tuner.basics.text import shown
from tuner.config import Campaign
from tuner.config.parameters import parameter_info
from tuner.config.plugins import load_adapter
from tuner.core.space.values import finite
from tuner.errors import TryAgainError, TunerError

T = TypeVar("T")
Say = Callable[[str], object]

GRACE_S = 3.0  # beyond the deadline, before an adapter is taken for stuck


class _NotReadyError(TunerError):
    """The machine answers, but cannot take a setting now."""


def check_campaigns(campaigns: Sequence[Campaign], deadline_s: float, say: Say, *, trust: bool = False) -> None:
    """Check one machine after the other; what is wrong with one does not keep from the next.

    With `trust` certificates are exchanged first: a person has seen to it that the machine is the right one.

    Raises:
        TryAgainError: a machine cannot take a setting now, or does not answer.
        TunerError: something is wrong that does not pass by itself.
    """
    wrong: list[str] = []
    passing = True
    for campaign in campaigns:
        say(f"campaign {campaign.name}, machine {campaign.machine}, adapter {campaign.adapter.name}")
        try:
            if trust:
                _introduce(campaign, deadline_s, say)
            _check(campaign, deadline_s, say)
        except TunerError as error:
            wrong.append(f"{campaign.machine}: {error}")
            passing = passing and (isinstance(error, _NotReadyError) or getattr(error, "retry", False))
    if wrong:
        raise (TryAgainError if passing else TunerError)("\n".join(wrong))


def _introduce(campaign: Campaign, deadline_s: float, say: Say) -> None:
    kind, settings = load_adapter(campaign.adapter.name), campaign.adapter.settings
    told = bounded("introduce", lambda: kind.introduce(settings, deadline_s), deadline_s)
    for sentence in told or ("this adapter has no certificates to exchange",):
        say(f"  {sentence}")


def _check(campaign: Campaign, deadline_s: float, say: Say) -> None:
    by_hand = campaign.left_to_people
    if by_hand:
        say(f"  changed by hand, not looked at: {', '.join(sorted(by_hand))}")
    parameters = [parameter_info(parameter) for parameter in campaign.parameters if parameter.name not in by_hand]
    make = load_adapter(campaign.adapter.name)
    adapter: Adapter[Any] = bounded("its making", lambda: make(campaign.adapter.settings, parameters), deadline_s)
    try:
        health, wrong = _ask(adapter, parameters, deadline_s, say)
    except TunerError:
        with contextlib.suppress(TunerError):  # the first error is the one that matters
            bounded("close", adapter.close, deadline_s)
        raise
    bounded("close", adapter.close, deadline_s)
    if wrong:
        raise TunerError("; ".join(wrong))
    if not health.ok:
        raise _NotReadyError(f"the machine is not well: {health.text or 'it does not say why'}")
    open_locks = [name for name, holds in health.interlocks.items() if not holds]
    if open_locks:
        hold = "does not hold" if len(open_locks) == 1 else "do not hold"
        raise _NotReadyError(f"no setting can be sent: {', '.join(open_locks)} {hold}")
    say("  ready; nothing was moved")


def _ask(
    adapter: Adapter[Any], parameters: Sequence[ParameterInfo], deadline_s: float, say: Say
) -> tuple[Health, list[str]]:
    """Connect, ask for health and values; complaints are about values that are none."""
    bounded("open", lambda: adapter.open(deadline_s), deadline_s)
    say("  connected")
    places = bounded("inspect", lambda: adapter.inspect(deadline_s), deadline_s)
    _tell(places, say)
    bad = [place for place in places if not place.ok]
    if bad:
        first, text = bad[0].name, bad[0].text
        sentences = [text if text.startswith(first) else f"{first}: {text}"]
        if len(bad) > 1:
            sentences.insert(0, ", ".join(place.name for place in bad))
        raise TunerError(f"{len(bad)} of {len(places)} places cannot be used: {'; '.join(sentences)}")
    health = bounded("health", lambda: adapter.health(deadline_s), deadline_s)
    if not isinstance(health, Health):
        raise TunerError(f"the adapter answered health with {shown(health)}")
    say(f"  health: {'well' if health.ok else 'not well'}{f', {health.text}' if health.text else ''}")
    for name, holds in health.interlocks.items():
        say(f"  interlock {name}: {'holds' if holds else 'does not hold'}")
    values = bounded("read_back", lambda: adapter.read_back(deadline_s), deadline_s)
    if not isinstance(values, dict):
        raise TunerError(f"the adapter answered read_back with {shown(values)}")
    if not values and health.ok:
        say("  it has no setting yet: tuner sends it the known-good one first")
        return health, []
    unknown = [parameter.name for parameter in parameters if parameter.name not in values]
    if unknown and health.ok:
        health = Health(False, f"it does not say what it has for {', '.join(unknown)}")
    outside = [parameter.name for parameter in parameters if _is_outside(parameter, values.get(parameter.name))]
    if outside and health.ok:
        they = "is outside of its limits, bring it" if len(outside) == 1 else "are outside of their limits, bring them"
        health = Health(False, f"{', '.join(outside)} {they} back by hand")
    return health, [sentence for parameter in parameters for sentence in _show(parameter, values, say)]


def _tell(places: Sequence[Inspected], say: Say) -> None:
    """A table: what the configuration calls it, where it is, how long it took to answer, what was found."""
    if not places:
        return
    widths = [max(len(getattr(place, key)) for place in places) for key in ("name", "where")]
    for place in places:
        mark, took_ms = " " if place.ok else "!", 1000 * place.took_s
        say(f"{mark} {place.name:{widths[0]}}  {place.where:{widths[1]}}  {took_ms:7.1f} ms  {place.text}")


def _is_outside(parameter: ParameterInfo, value: object) -> bool:
    """Whether a number is where no setting is sent from."""
    number = None if parameter.choices else finite(value)
    return number is not None and not parameter.domain.inside(number, parameter.tolerance)


def _show(parameter: ParameterInfo, values: dict[str, Value], say: Say) -> list[str]:
    """Say what a parameter is now; what is no value of it is a complaint."""
    unit = f" {parameter.unit}" if parameter.unit else ""
    known_good = f"known-good {shown(parameter.start)}{unit}"
    if parameter.name not in values:
        say(f"  {parameter.name}: not known ({known_good})")
        return []
    value: object = values[parameter.name]
    inside = parameter.domain.inside(value)
    if not (isinstance(value, str) if parameter.choices else finite(value) is not None):
        say(f"  {parameter.name}: {shown(value)}, which is no value of it ({known_good})")
        return [f"{parameter.name} was read back as {shown(value)}"]
    say(f"  {parameter.name}: {shown(value)}{unit} ({'' if inside else 'outside of what is allowed, '}{known_good})")
    return []


def bounded(what: str, call: Callable[[], T], deadline_s: float) -> T:
    """Wait for a call in a thread that may be left behind: an adapter of somebody else may hang for ever."""
    answers: list[T] = []
    errors: list[Exception] = []

    def work() -> None:
        try:
            answers.append(call())
        except Exception as error:  # noqa: BLE001 - a third party's adapter may fail in any way
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(deadline_s + GRACE_S)
    if errors and isinstance(errors[0], AdapterError):
        raise errors[0]
    if errors:
        name = type(errors[0]).__name__
        raise TunerError(f"the adapter failed in {what}, which is a defect of it: {name}: {errors[0]}") from errors[0]
    if not answers:
        raise DeadlineError(f"the adapter did not return from {what}, {GRACE_S:g} s after its deadline")
    return answers[0]
