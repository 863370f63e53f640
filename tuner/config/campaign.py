"""The tables `[[campaign]]`: one tuning effort on one machine, its parameters, limits and manners."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import time
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    InstanceOf,
    PlainSerializer,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tuner.adapter import AdapterSettings
from tuner.basics.address import shared
from tuner.basics.text import shown
from tuner.config.checks import campaign_complaints
from tuner.config.error_sentences import explain
from tuner.config.parameters import Continuous, Parameter, parameter_info
from tuner.config.plugins import AdapterNotFoundError, load_adapter
from tuner.config.section import Complaint, Label, Section, reject
from tuner.core.optimizer.contract import Contract, meant_in_percent
from tuner.core.space.expression import Constraint, ExpressionError, parse_constraint

_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{6})?", re.ASCII)  # without a time zone: the campaign has one
_PERCENT = re.compile(r"\s*(\d{1,9}(?:[.,]\d{1,9})?)\s*%?\s*", re.ASCII)
_WINDOW = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)", re.ASCII)


def _constraint(value: object) -> Constraint:
    if isinstance(value, Constraint):
        return value
    if not isinstance(value, str):
        raise ValueError(f'must be a text such as "2*speed + pressure <= 140", not {shown(value)}')
    try:
        return parse_constraint(value)
    except ExpressionError as error:
        raise ValueError(f"{shown(value)}, {error}") from error


def _timezone(name: str) -> str:
    if name == "UTC":  # known even where no time zone database is installed
        return name
    try:
        ZoneInfo(name)
    except (OSError, ValueError, ZoneInfoNotFoundError) as error:
        raise ValueError(f'{shown(name)} is not a time zone; allowed: names such as "Europe/Vienna", "UTC"') from error
    return name


def _time(value: object) -> object:
    """A time of day, also as JSON has it: a strict model takes its text only where no validator came before."""
    return time.fromisoformat(value) if isinstance(value, str) and _TIME.fullmatch(value) else value


class Window(Section):
    """A time of day, from start to end, over midnight if start is later than end."""

    start: time
    end: time

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: object) -> object:
        if isinstance(value, Mapping):
            return {name: _time(moment) for name, moment in value.items()}
        if not isinstance(value, str):
            return value
        match = _WINDOW.fullmatch(value)
        if not match or match.groups()[:2] == match.groups()[2:]:
            raise ValueError(f'{shown(value)} is not a time of day; allowed: "22:00-06:00", HH:MM to another HH:MM')
        return {"start": time(int(match[1]), int(match[2])), "end": time(int(match[3]), int(match[4]))}

    def contains(self, moment: time) -> bool:
        """Whether a time of day is inside; the start is, the end is not."""
        if self.start < self.end:
            return self.start <= moment < self.end
        return moment >= self.start or moment < self.end


class Budget(Section):
    """When a campaign ends by itself."""

    trials: int = Field(ge=1, le=1_000_000, description="largest number of trials")
    scrap: int | None = Field(None, ge=0, description="scrap parts after which the campaign ends; none: no limit")


def _share(value: object) -> object:
    """Whoever writes a share in percent is told the number that was meant."""
    told = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    number = float(told[1].replace(",", ".")) if told else value
    if isinstance(number, bool) or not isinstance(number, int | float) or (told is None and number < 1.0):
        return value
    meant = meant_in_percent(number)
    if isinstance(value, str) and "%" not in value and number < 1.0:
        meant = f"; write {number:g}"
    raise ValueError(f"must be a share between 0 and 1, not {shown(value)}{meant}")


class ScrapContract(Section):
    """How much scrap is agreed; tuning keeps to ground where that holds, or holds before the part."""

    rate: Annotated[float, BeforeValidator(_share)] = Field(
        gt=0, lt=0.5, description="largest share of the planned parts that may be scrap, such as 0.05"
    )
    budget: int | None = Field(
        None, ge=0, description="scrap parts after which tuning holds; none: only the rate counts"
    )
    strictness: Literal["expected", "certain"] = Field(
        "expected",
        description="expected: a part's chance to be scrap keeps within what is allowed; certain: moreover its setting "
        "is known, with the confidence, to keep the rate",
    )
    confidence: Annotated[float, BeforeValidator(_share)] = Field(0.95, gt=0, lt=1, description='of "certain"')

    @property
    def agreed(self) -> Contract:
        """The contract as the optimiser knows it."""
        return Contract(rate=self.rate, budget=self.budget, strictness=self.strictness, confidence=self.confidence)


class Questions(Section):
    """When operators may be asked."""

    timezone: Annotated[str, AfterValidator(_timezone)] = Field("UTC", description="time zone of the windows")
    quiet_hours: tuple[Window, ...] = Field((), description="times of day without questions, as in 22:00-06:00")
    breaks: tuple[Window, ...] = Field((), description="breaks of the shift, without questions")
    per_hour: int | None = Field(None, ge=1, description="largest number of questions in an hour; none: no limit")

    @model_validator(mode="after")
    def _some_time_is_left(self) -> Self:
        minutes = (time(hour, minute) for hour in range(24) for minute in range(60))
        windows = (*self.quiet_hours, *self.breaks)
        if windows and all(any(window.contains(minute) for window in windows) for minute in minutes):
            reject([Complaint(("quiet_hours",), "with the breaks they leave no minute of the day for questions")])
        return self


class Waiting(Section):
    """How long something may be in the way of a step before it is a fault; hold, stop and abort end it at once."""

    verify_s: float = Field(5.0, ge=0, le=3600, description="until a setting that was sent is read back")
    ready_s: float = Field(120.0, ge=0, le=86_400, description="for a machine that is not ready, or an interlock")
    link_s: float = Field(60.0, ge=0, le=86_400, description="for a link that is away")


class Policy(Section):
    """How careful and how demanding tuner is."""

    autostart: bool = Field(False, description="whether tuning starts with the daemon, rather than by an operator")
    approval: bool = Field(True, description="whether an engineer approves each proposal before it is sent")
    dry_run: bool = Field(False, description="whether everything is done but sending settings to the machine")
    settling_parts: int = Field(0, ge=0, description="parts to discard after a change")
    settling_s: float = Field(0.0, ge=0, description="seconds to wait after a change")
    champion_reduel_hours: float | None = Field(None, gt=0, description="hours between re-checks of the champion")
    remake_after_lot: bool = Field(
        False, description="whether the champion is made again after a change of lot, before parts are compared with it"
    )
    undo_minutes: float = Field(10.0, ge=0, description="how long operators may take back their own answers")
    tray: int | None = Field(
        None, ge=0, description="how many parts are kept for comparison, the champion's among them; none given: all"
    )
    looks_per_part: float = Field(
        1.5,
        ge=1,
        le=100,
        description="looks that operators may be asked for per part made, in the long run; up to three come in advance",
    )
    repeat_after: int | None = Field(
        None,
        ge=0,
        description="answers after which an old duel is asked again, 0: never; none given: when its answer is doubtful",
    )
    operators_restrict: bool = Field(
        False, description="whether operators too may keep or narrow parameters for a while, and lift what they did"
    )
    shifts: tuple[Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")], ...] = Field(
        ("06:00", "14:00", "22:00"),
        max_length=24,
        description="when shifts begin, in the time zone of the questions",
    )
    graded: bool = Field(False, description='whether operators may also say "clearly better"')
    identify: Literal["name", "pin"] = Field(
        "name", description="how people are known who answer and approve: by the name they give, or by PIN or badge"
    )
    retries: int = Field(
        2, ge=0, le=100, description="how often a failed step is tried again at least, also after link_s"
    )
    waiting: Waiting = Field(default_factory=Waiting, description="how long something may be in the way of a step")
    questions: Questions = Field(default_factory=Questions, description="when operators may be asked")


class AdapterDeadlines(Section):
    """How long the machine may take before its adapter is given up."""

    open_s: float = Field(20.0, gt=0, le=86_400, description="to connect")
    apply_s: float = Field(20.0, gt=0, le=86_400, description="to take a setting, or one step towards it")
    read_back_s: float = Field(10.0, gt=0, le=86_400, description="to say which setting it has, and how it is")
    trial_s: float = Field(600.0, gt=0, le=604_800, description="to make a part")


class AdapterChoice(Section):
    """Which adapter speaks with the machine, and its own settings."""

    name: str = Field(description="name of an installed adapter")
    settings: SerializeAsAny[InstanceOf[AdapterSettings]] = Field(
        default_factory=AdapterSettings, validate_default=True, description="the adapter's own settings"
    )
    deadlines: AdapterDeadlines = Field(default_factory=AdapterDeadlines, description="how long it may take")

    @field_validator("name")
    @classmethod
    def _installed(cls, name: str) -> str:
        try:
            load_adapter(name)
        except AdapterNotFoundError as error:
            raise ValueError(str(error)) from error
        return name

    @field_validator("settings", mode="before")
    @classmethod
    def _own_model(cls, value: object, info: ValidationInfo) -> object:
        """Let the adapter's model judge its table; without a valid name there is nothing to judge it by."""
        if "name" not in info.data:
            return AdapterSettings()
        model = load_adapter(info.data["name"]).Settings
        if isinstance(value, model):
            return value
        table = {} if isinstance(value, AdapterSettings) else value
        try:
            # as JSON, so that lists become tuples and texts become paths though the model is strict
            return model.model_validate_json(json.dumps(table))
        except ValidationError as error:
            reject(explain(error, model))
            raise

    @property
    def occupies(self) -> tuple[str, ...]:
        """The addresses of the machine, as far as the settings tell them."""
        return tuple(load_adapter(self.name).occupies(self.settings))


def shared_machines(campaigns: Sequence[tuple[str, str, Sequence[str]]]) -> list[str]:
    """Sentences on campaigns (name, machine, addresses) that reach one machine under two names, which is no error."""
    found = []
    for index, (name, machine, addresses) in enumerate(campaigns):
        for other, called, others in campaigns[:index]:
            address = shared(addresses, others)
            if address is not None and machine != called:
                found.append(
                    f"the campaigns {other} and {name} both reach {address}, as the machines {called} and {machine}: "
                    "only one of them can run at a time"
                )
    return found


def left_to_people(choice: AdapterChoice, parameters: Sequence[Parameter]) -> tuple[str, ...]:
    """The manual parameters that the machine has no place for."""
    takes, settings = load_adapter(choice.name).takes, choice.settings
    return tuple(one.name for one in parameters if one.manual and not takes(settings, one.name))


def adapter_complaints(choice: AdapterChoice, parameters: Sequence[Parameter]) -> list[Complaint]:
    """What the adapter says to its settings and the parameters together."""
    by_hand = left_to_people(choice, parameters)
    told = [parameter_info(one) for one in parameters if one.name not in by_hand]
    if not told:
        return [Complaint(("parameter",), "at least one parameter must be the machine's own: not all can be manual")]
    sentences = load_adapter(choice.name).complaints(choice.settings, told)
    return [Complaint(("adapter", "settings"), sentence) for sentence in sentences]


class Earlier(Section):
    """What an earlier campaign found, imported when this one is created."""

    source: str = Field(
        alias="from",
        min_length=1,
        max_length=1000,
        description="a file or directory of `tuner export`, from this file's directory on, or the name of a campaign",
    )
    discount: float = Field(
        0.5, gt=0, le=1, description="what an earlier answer counts for; 1: all of it becomes the campaign's own"
    )


class Campaign(Section):
    """One tuning effort on one machine."""

    name: Label = Field(description="name of the campaign")
    machine: Label = Field(description="name of the machine; two campaigns cannot share one")
    seed: int = Field(0, ge=0, le=2**31, description="the same seed and the same answers give the same proposals")
    budget: Budget = Field(description="when the campaign ends by itself")
    scrap: ScrapContract | None = Field(None, description="the scrap contract; none: no contract, only the budget")
    policy: Policy = Field(default_factory=Policy, description="approval, settling, questions")
    adapter: AdapterChoice = Field(description="the table [campaign.adapter]")
    earlier: Earlier | None = Field(None, description="what to import from an earlier campaign; none: nothing")
    parameters: tuple[Parameter, ...] = Field(
        alias="parameter", min_length=1, max_length=100, description="at least one table [[campaign.parameter]]"
    )
    constraints: tuple[
        Annotated[
            InstanceOf[Constraint],
            BeforeValidator(_constraint, json_schema_input_type=str),
            PlainSerializer(lambda constraint: constraint.text, return_type=str),
        ],
        ...,
    ] = Field((), max_length=100, description="inequalities between parameters")

    @property
    def known_good(self) -> Mapping[str, float | int | str]:
        """The setting the machine is known to work at: every parameter's start value."""
        return {parameter.name: parameter.start for parameter in self.parameters}

    @property
    def begun(self) -> tuple[Parameter, ...]:
        """The parameters of a campaign that begins now: each continuous one has a resolution."""
        return tuple(
            parameter.begun(self.finest(parameter.name)) if isinstance(parameter, Continuous) else parameter
            for parameter in self.parameters
        )

    @property
    def left_to_people(self) -> tuple[str, ...]:
        """The manual parameters that the machine has no place for: its adapter never hears of them."""
        return left_to_people(self.adapter, self.parameters)

    def finest(self, parameter: str) -> float:
        """What the machine can hold of a number, as far as the adapter can tell from its settings."""
        return load_adapter(self.adapter.name).finest(self.adapter.settings, parameter)

    @property
    def doubts(self) -> list[str]:
        """What to warn of, although it can be."""
        return [
            doubt
            for parameter in self.begun
            if isinstance(parameter, Continuous)
            for doubt in parameter.doubts(self.finest(parameter.name))
        ]

    @model_validator(mode="after")
    def _check(self) -> Self:
        reject(
            campaign_complaints(
                names={index: parameter.name for index, parameter in enumerate(self.parameters)},
                parameters=dict(enumerate(self.parameters)),
                constraints=dict(enumerate(self.constraints)),
            )
        )
        reject(adapter_complaints(self.adapter, self.parameters))
        return self
