"""What every adapter must pass: subclass `AdapterConformance` in your tests and say how the machine is reached.

    class TestConformance(AdapterConformance):
        adapter = OvenAdapter
        parameters = (ParameterInfo("heat", "continuous", 180.0, 100.0, 250.0, tolerance=0.5),)

        @pytest.fixture
        def settings(self):
            with oven_simulator() as port:
                yield OvenSettings(port=port)

Take `LinkConformance` instead if the machine can go away while the adapter is at work, and write its three hooks.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pytest

from tuner.adapter import (
    API_VERSION,
    Adapter,
    AdapterError,
    AdapterSettings,
    DeadlineError,
    Health,
    LinkError,
    Outcome,
    ParameterInfo,
    RefusedError,
    Setting,
    Value,
)
from tuner.core.space.values import finite

__all__ = ["AdapterConformance", "LinkConformance", "sample_settings"]


_PLACES = (0.25, 0.75, 0.5, 0.0, 1.0)  # between low and high, where samples are taken


def sample_settings(parameters: Sequence[ParameterInfo]) -> list[dict[str, Value]]:
    """The known-good setting, and two others within the bounds that differ from it as far as they can."""
    samples = {parameter.name: _samples(parameter) for parameter in parameters}
    return [{name: values[number % len(values)] for name, values in samples.items()} for number in range(3)]


def _samples(parameter: ParameterInfo) -> list[Value]:
    """Different values of a parameter, start first."""
    if parameter.choices:
        return list(dict.fromkeys((str(parameter.start), *parameter.choices)))
    start = float(parameter.start)
    low = start if parameter.low is None else parameter.low
    high = start + 1.0 if parameter.high is None else parameter.high
    values: list[Value] = [parameter.start]
    for place in _PLACES:
        value = parameter.domain.snapped(low + (high - low) * place)
        if not any(parameter.domain.same(value, known) for known in values):
            values.append(value)
    return values


class AdapterConformance:
    """The contract of `tuner.adapter`, as tests.

    Attributes:
        adapter: The class under test.
        parameters: Parameters it can handle; several kinds if it can.
        deadline_s: Time for a call that should succeed.
        patience_s: How late a call may return that has outlived its deadline.
        knows_tags: Whether the machine can tell that it has already made a part; False if it cannot.
    """

    adapter: ClassVar[type[Adapter[Any]]]
    parameters: ClassVar[Sequence[ParameterInfo]]
    deadline_s: ClassVar[float] = 10.0
    patience_s: ClassVar[float] = 10.0
    knows_tags: ClassVar[bool] = True

    @pytest.fixture
    def settings(self) -> AdapterSettings:
        """Override: start the machine or its stand-in, yield the adapter's settings, stop it."""
        raise NotImplementedError("a conformance test needs a fixture `settings`")

    @pytest.fixture
    def machine(self, settings: AdapterSettings) -> Iterator[Adapter[Any]]:
        """An open adapter."""
        adapter = self.make(settings)
        adapter.open(self.deadline_s)
        yield adapter
        adapter.close()

    def make(self, settings: AdapterSettings) -> Adapter[Any]:
        """A new adapter; override it if yours needs more than settings and parameters."""
        return self.adapter(settings, self.parameters)

    def samples(self) -> Sequence[Setting]:
        """Settings the machine accepts, the known-good one first; override it if some within the bounds are not."""
        return sample_settings(self.parameters)

    def test_the_class_is_written_for_this_contract_and_documented(self, settings: AdapterSettings) -> None:
        """`tuner adapters info` shows the first line of the class and the description of every setting."""
        require(self.adapter.api_version == API_VERSION, f"api_version must be {API_VERSION}")
        require((self.adapter.__doc__ or "").strip(), "the adapter's class needs a docstring")
        require(isinstance(settings, self.adapter.Settings), "the class attribute Settings is not the settings' class")
        for name, field in self.adapter.Settings.model_fields.items():
            require(field.description, f"the setting {name} needs a description")

    def test_the_settings_survive_the_way_to_another_process(self, settings: AdapterSettings) -> None:
        """The adapter lives in a process of its own: its settings are sent there as JSON."""
        again = self.adapter.Settings.model_validate_json(settings.model_dump_json())
        require(again == settings, f"the settings changed on their way through JSON: {again!r}")

    def test_there_are_no_complaints_about_good_settings(self, settings: AdapterSettings) -> None:
        """Complaints are for configurations that cannot work."""
        found = list(self.adapter.complaints(settings, self.parameters))
        require(not found, f"complaints about good settings: {found}")

    def test_it_opens_and_closes_as_often_as_asked(self, settings: AdapterSettings) -> None:
        """After a failure nobody knows any more what was open."""
        adapter = self.make(settings)
        adapter.close()
        for _ in range(2):
            adapter.open(self.deadline_s)
            adapter.open(self.deadline_s)
            adapter.apply(self.samples()[0], self.deadline_s)
            self.check_read_back(adapter, self.samples()[0])
            adapter.close()
            adapter.close()

    def test_what_is_not_open_does_not_answer(self, settings: AdapterSettings) -> None:
        """Neither before the opening nor after the closing."""
        adapter = self.make(settings)
        for _ in range(2):
            for name, call in self.calls(adapter, self.deadline_s).items():
                error = failure(call)
                require(isinstance(error, LinkError), f"{name} on a closed adapter must raise LinkError, not {error!r}")
            self.check_unwell(adapter, self.deadline_s)
            adapter.open(self.deadline_s)
            adapter.close()

    def test_what_was_applied_is_read_back(self, machine: Adapter[Any]) -> None:
        """Every parameter, in its own type, within its tolerance."""
        for setting in self.samples():
            machine.apply(setting, self.deadline_s)
            self.check_read_back(machine, setting)

    def test_the_known_good_setting_is_found_again(self, machine: Adapter[Any]) -> None:
        """The way home after a stop or a fault."""
        known_good, other = self.samples()[:2]
        machine.apply(other, self.deadline_s)
        machine.go_to(known_good, self.deadline_s)
        self.check_read_back(machine, known_good)

    def test_a_wrong_setting_is_refused_and_nothing_changes(self, machine: Adapter[Any]) -> None:
        """Not even the values before the wrong one are sent."""
        first, second = self.samples()[:2]
        machine.apply(first, self.deadline_s)
        for what, wrong in wrong_settings(second, self.parameters).items():
            error = failure(lambda wrong=wrong: machine.apply(wrong, self.deadline_s))  # type: ignore[misc]
            require(isinstance(error, RefusedError), f"a setting with {what} must raise RefusedError, not {error!r}")
            self.check_read_back(machine, first)

    def test_a_trial_has_an_outcome(self, machine: Adapter[Any]) -> None:
        """A part, or a reason why there is none."""
        machine.apply(self.samples()[0], self.deadline_s)
        self.check_outcome(machine.run_trial("conformance-1", self.deadline_s))

    def test_the_same_tag_is_the_same_part(self, machine: Adapter[Any], settings: AdapterSettings) -> None:
        """After a crash the daemon asks again, through a new adapter."""
        machine.apply(self.samples()[0], self.deadline_s)
        first = machine.run_trial("conformance-2", self.deadline_s)
        again = machine.run_trial("conformance-2", self.deadline_s)
        self.check_outcome(again)
        require(again == first or not self.knows_tags, f"the same tag gave {first} and then {again}")
        self.check_outcome(machine.run_trial("conformance-3", self.deadline_s))

    def test_it_says_how_the_machine_is(self, machine: Adapter[Any]) -> None:
        """In a sentence, with all interlocks as true or false."""
        machine.apply(self.samples()[0], self.deadline_s)
        health = machine.health(self.deadline_s)
        require(isinstance(health, Health), f"health must answer with Health, not {health!r}")
        require(health.ok is True, f"the machine of a conformance test must be well: {health}")
        require(isinstance(health.text, str), f"health's text must be a text, not {health.text!r}")
        for name, holds in health.interlocks.items():
            require(isinstance(name, str) and isinstance(holds, bool), f"interlock {name!r} must be true or false")

    def test_a_new_adapter_takes_over(self, machine: Adapter[Any], settings: AdapterSettings) -> None:
        """The process of the first may have died: the second knows nothing of it, but can say what the machine has."""
        machine.apply(self.samples()[0], self.deadline_s)
        machine.close()
        adapter = self.make(settings)
        try:
            adapter.open(self.deadline_s)
            self.check_values(adapter.read_back(self.deadline_s))
            adapter.apply(self.samples()[1], self.deadline_s)
            self.check_read_back(adapter, self.samples()[1])
            self.check_outcome(adapter.run_trial("conformance-4", self.deadline_s))
        finally:
            adapter.close()

    def test_a_short_deadline_is_met_or_missed_properly(self, machine: Adapter[Any]) -> None:
        """A call in a hurry does its work or raises an AdapterError, and the next one works again."""
        machine.apply(self.samples()[0], self.deadline_s)
        for name, call in {**self.calls(machine, 0.001), "health": lambda: machine.health(0.001)}.items():
            error = failure(call, within_s=0.001 + self.patience_s)
            require(error is None or isinstance(error, AdapterError), f"{name} raised {error!r}: not an AdapterError")
        machine.close()
        machine.open(self.deadline_s)
        machine.apply(self.samples()[1], self.deadline_s)
        self.check_read_back(machine, self.samples()[1])

    def calls(self, adapter: Adapter[Any], deadline_s: float) -> Mapping[str, Callable[[], object]]:
        """What needs the machine, by name."""
        return {
            "apply": lambda: adapter.apply(self.samples()[0], deadline_s),
            "read_back": lambda: adapter.read_back(deadline_s),
            "run_trial": lambda: adapter.run_trial("conformance-5", deadline_s),
        }

    def check_read_back(self, adapter: Adapter[Any], setting: Setting) -> None:
        """Fail unless the machine says that it has this setting."""
        actual = adapter.read_back(self.deadline_s)
        self.check_values(actual)
        for parameter in self.parameters:
            have, wanted = actual[parameter.name], setting[parameter.name]
            near = parameter.domain.same(have, wanted, parameter.tolerance)
            require(near, f"{parameter.name} was set to {wanted!r} and is read back as {have!r}")

    def check_values(self, actual: object) -> None:
        """Fail unless there is a value of the right type for every parameter; without that nothing is sent."""
        if not isinstance(actual, dict):
            raise AssertionError(f"read_back must answer with a dict, not {actual!r}")
        names = {parameter.name for parameter in self.parameters}
        require(set(actual) == names, f"read_back must have exactly {sorted(names)}, not {sorted(actual)}")
        for parameter in self.parameters:
            have = actual[parameter.name]
            kind = {"choice": str, "integer": int}.get(parameter.kind, (int, float))
            right = isinstance(have, kind) and not isinstance(have, bool)
            require(right, f"{parameter.name} is {parameter.kind}, read_back gave {have!r}")

    def check_outcome(self, outcome: object) -> None:
        """Fail unless it is an outcome that can be written to the journal."""
        if not isinstance(outcome, Outcome):
            raise AssertionError(f"run_trial must answer with an Outcome, not {outcome!r}")
        require(isinstance(outcome.valid, bool), f"valid must be true or false, not {outcome.valid!r}")
        require(outcome.valid or outcome.reason.strip(), "a non-valid outcome needs a reason")
        for name, value in outcome.measurements.items():
            require(finite(value) is not None, f"the measurement {name} must be a finite number, not {value!r}")

    def check_unwell(self, adapter: Adapter[Any], deadline_s: float) -> None:
        """Fail unless health says that the machine cannot take a setting, or that it does not answer."""
        try:
            health = adapter.health(deadline_s)
        except (LinkError, DeadlineError):
            return
        require(not health.ok, "health is ok though nobody can reach the machine")
        require(health.text.strip(), "a machine that is not well needs a sentence on why")


class LinkConformance(AdapterConformance):
    """The same for a machine that can go away and come back while the adapter is open.

    The hooks act on what the fixture `settings` has started; keep it in an attribute of self.
    """

    short_s: ClassVar[float] = 0.5

    def lose_machine(self) -> None:
        """Override: cut the link, or end the machine."""
        raise NotImplementedError

    def return_machine(self) -> None:
        """Override: bring it back, at the same address; return when it is there."""
        raise NotImplementedError

    def mute_machine(self) -> None:
        """Override: the machine stays, but answers no more until the test ends."""
        raise NotImplementedError

    def test_a_lost_machine_is_told_and_found_again(self, machine: Adapter[Any]) -> None:
        """Trying again must help once it is back."""
        machine.apply(self.samples()[0], self.deadline_s)
        self.lose_machine()
        self.check_unreachable(machine)
        self.return_machine()
        machine.open(self.deadline_s)
        machine.apply(self.samples()[1], self.deadline_s)
        self.check_read_back(machine, self.samples()[1])

    def test_a_machine_that_was_never_there_is_told_and_found_later(self, settings: AdapterSettings) -> None:
        """At the opening, or at the first question."""
        self.lose_machine()
        adapter = self.make(settings)

        def begin() -> None:
            adapter.open(self.short_s)
            adapter.read_back(self.short_s)

        try:
            check_retry("open and read_back", failure(begin, within_s=2 * self.short_s + self.patience_s))
            adapter.close()
            self.return_machine()
            adapter.open(self.deadline_s)
            adapter.apply(self.samples()[0], self.deadline_s)
            self.check_read_back(adapter, self.samples()[0])
        finally:
            adapter.close()

    def test_a_silent_machine_is_given_up_at_the_deadline(self, machine: Adapter[Any]) -> None:
        """Every call returns by its deadline, or a little later."""
        machine.apply(self.samples()[0], self.deadline_s)
        self.mute_machine()
        self.check_unreachable(machine)

    def check_unreachable(self, adapter: Adapter[Any]) -> None:
        """Fail unless every call says, in time, that the machine does not answer."""
        for name, call in self.calls(adapter, self.short_s).items():
            check_retry(name, failure(call, within_s=self.short_s + self.patience_s))
        self.check_unwell(adapter, self.short_s)


def require(condition: object, sentence: str) -> None:
    """Fail with a sentence; plain asserts in an installed module would say nothing."""
    if not condition:
        raise AssertionError(sentence)


def failure(call: Callable[[], object], within_s: float = math.inf) -> Exception | None:
    """What a call raised, if it did; fails if it took too long, or if the error has no sentence for the user."""
    begin = time.monotonic()
    caught: Exception | None = None
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it is, the tests judge it
        caught = error
    took_s = time.monotonic() - begin
    require(took_s <= within_s, f"the call took {took_s:.1f} s, allowed were {within_s:.1f} s")
    if isinstance(caught, AdapterError):
        require(str(caught).strip(), f"{type(caught).__name__} without a sentence")
    return caught


def check_retry(name: str, error: Exception | None) -> None:
    """Fail unless it is an error that says: the machine does not answer, try again later."""
    right = isinstance(error, LinkError | DeadlineError)
    require(right, f"{name} without a machine must raise LinkError or DeadlineError, not {error!r}")


def wrong_settings(good: Setting, parameters: Sequence[ParameterInfo]) -> dict[str, dict[str, Any]]:
    """Settings no machine may take; the wrong value is the last one, where it is noticed last."""
    last = parameters[-1]
    wrong: dict[str, dict[str, Any]] = {
        "nothing in it": {},
        "a value missing": {name: value for name, value in good.items() if name != last.name},
        "a value too many": {**good, "no_such_parameter": 1.0},
    }
    for parameter in parameters:
        others: tuple[Any, ...] = (
            (1.0, "no such choice") if parameter.choices else (math.nan, math.inf, -math.inf, "1.0")
        )
        for value in (None, [1.0], {}, True, *others):
            wrong[f"{parameter.name} = {value!r}"] = {**good, parameter.name: value}
    return wrong
