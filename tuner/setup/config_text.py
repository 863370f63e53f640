"""From the answers of `tuner init` to a commented configuration file, and what is wrong with it as it stands."""

import re
from collections.abc import Mapping
from typing import Any

from tuner.config import Continuous, parse_config
from tuner.core.space.values import Domain
from tuner.errors import ConfigError
from tuner.setup.keys import toml_value
from tuner.setup.questions import PRACTICE, Answers, parameter_count, put

_PLACE = re.compile(r"answers:\d+: ([^:]*): ")
# the answers after which something whole can be checked
_TELLING = re.compile(
    r"parameter\.\d+\.(start|step_limit|rate_limit)|constraint\.\d+|more_settings\.\d+|timezone|quiet_hours|breaks"
)
_EXTRA = ("label", "manual", "change_cost")  # where the configuration knows them
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def config_text(answers: Answers, program: tuple[str, ...] = ("python3", "machine.py")) -> str:
    """The file; `program` is that of the practice machine."""
    lines = [
        f"# {answers['campaign']} on {answers['machine']}: written by `tuner init`, yours to change.",
        "# `tuner config explain KEY` tells what a key means, docs/configuration.md has them all;",
        "# after a change: `tuner check-config` tells every error, `tuner rehearse` what to expect.",
        "",
        "[[campaign]]",
        f"name = {toml_value(answers['campaign'])}",
        f"machine = {toml_value(answers['machine'])}",
        f"constraints = {toml_value(_rules(answers))}  # must hold for every setting that is sent",
        "",
        "[campaign.budget]",
        f"trials = {answers['trials']}  # parts to try",
        _optional("scrap", answers.get("scrap"), "10", "tuning ends after so many parts that are scrap"),
        "",
        "[campaign.policy]",
        f"approval = {toml_value(answers['approval'])}  # whether an engineer approves every setting before it is sent",
        f"settling_parts = {answers['settling_parts']}  # parts to throw away after a change",
        f"settling_s = {toml_value(answers['settling_s'])}  # seconds to wait after a change",
        "remake_after_lot = true  # after a change of lot the champion is made again before parts are compared with it",
        "",
        "[campaign.policy.questions]  # when people may be asked",
        f"timezone = {toml_value(answers['timezone'])}",
        _optional("quiet_hours", answers.get("quiet_hours"), '["22:00-06:00"]', "nobody is there"),
        _optional("breaks", answers.get("breaks"), '["12:00-12:30"]', "breaks of the shift"),
        "",
        "[campaign.adapter]  # how the machine is reached",
    ]
    lines += _practice(program) if answers["adapter"] == PRACTICE else _adapter(answers)
    for place in range(parameter_count(answers)):
        lines += ["", *_parameter(answers, place)]
    return "\n".join(lines) + "\n"


def wrong(answers: Answers, key: str) -> str:
    """What is wrong with the answers so far, of which this one is new, as sentences; nothing if all is well."""
    if not _TELLING.fullmatch(key) or (key.startswith("more_settings.") and answers[key] is not None):
        return ""  # what comes with another answer is looked at then
    try:
        parse_config(config_text(_completed(answers)), "answers")
    except ConfigError as error:
        return "\n".join(_PLACE.sub("", line) for line in str(error).splitlines())
    return ""


def _completed(answers: Answers) -> dict[str, Any]:
    """The answers with harmless ones where there is none yet: what is not whole is left out."""
    kept: dict[str, Any] = {
        "campaign": "first",
        "machine": "machine",
        "trials": 30,
        "approval": True,
        "settling_parts": 0,
        "settling_s": 0.0,
        "timezone": "UTC",
    }
    whole = [i for i in range(parameter_count(answers)) if f"parameter.{i}.start" in answers]
    kept |= {k: v for k, v in answers.items() if not k.startswith("parameter.")}
    for place in whole or [0]:
        kept |= {k: v for k, v in answers.items() if whole and k.startswith(f"parameter.{place}.")}
    if not whole:
        kept |= {"parameter.0.name": "p", "parameter.0.kind": "choice", "parameter.0.choices": ("a", "b")}
        kept |= {"parameter.0.start": "a"}
    told = any(key.startswith("more_settings.") and answers[key] is None for key in answers)
    if not told:  # the adapter's own keys are looked at when all of them were asked
        kept["adapter"] = PRACTICE
    return kept


def _rules(answers: Answers) -> list[str]:
    return [value for key, value in answers.items() if key.startswith("constraint.") and value]


def _optional(name: str, value: Any, example: str, about: str) -> str:
    """A line, or a comment that shows how it would look."""
    return f"{name} = {toml_value(value)}  # {about}" if value not in (None, ()) else f"# {name} = {example}  # {about}"


def _practice(program: tuple[str, ...]) -> list[str]:
    return [
        'name = "command"  # a program makes the parts: the practice machine beside this file',
        "",
        "[campaign.adapter.settings]",
        f"argv = {toml_value(program)}",
        "tell_manual = true  # it is told of changes by hand too: it is only a program",
    ]


def _adapter(answers: Answers) -> list[str]:
    settings: dict[str, Any] = {}
    told = [(key.removeprefix("settings."), value) for key, value in answers.items() if key.startswith("settings.")]
    told += [value for key, value in answers.items() if key.startswith("more_settings.") and value]
    for path, value in told:
        put(settings, path.split("."), value)
    return [f"name = {toml_value(answers['adapter'])}", "", *_table("campaign.adapter.settings", settings)]


def _table(heading: str, table: Mapping[str, Any]) -> list[str]:
    lines = [f"[{heading}]"]
    lines += [f"{_key(k)} = {toml_value(v)}" for k, v in table.items() if not isinstance(v, dict)]
    for name, inner in table.items():
        if isinstance(inner, dict):
            lines += ["", *_table(f"{heading}.{_key(name)}", inner)]
    return lines


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else toml_value(name)


def _parameter(answers: Answers, place: int) -> list[str]:
    def told(name: str) -> Any:
        return answers.get(f"parameter.{place}.{name}")

    lines = ["[[campaign.parameter]]"]
    values: dict[str, Any]
    if told("kind") == "choice":
        values = {"kind": "choice", "name": told("name"), "choices": told("choices"), "start": told("start")}
    else:
        values = _number(told)
    extra = {name: told(name) for name in _EXTRA if name in Continuous.model_fields and told(name)}
    about = {"start": "known to make good parts", "step_limit": "largest change at once"}
    about |= {"rate_limit": "per minute", "resolution": "as fine as it is set and shown"}
    about |= {"manual": "a person changes it by hand", "change_cost": "what a change costs, in parts"}
    for name, value in (values | extra).items():
        if value is not None:
            lines.append(f"{name} = {toml_value(value)}" + (f"  # {about[name]}" if name in about else ""))
    return lines


def _number(told: Any) -> dict[str, Any]:
    numbers = {name: told(name) for name in ("low", "high", "start")}
    step = told("resolution")
    shared = {"name": told("name"), "unit": told("unit")}
    limits = {name: told(name) for name in ("step_limit", "rate_limit")}
    if step == 1.0 and all(float(value).is_integer() for value in numbers.values()):
        whole = {name: int(value) for name, value in numbers.items()}
        if limits["step_limit"] is not None and float(limits["step_limit"]).is_integer():
            limits["step_limit"] = int(limits["step_limit"])
        return {"kind": "integer", **shared, **whole, **limits}
    if step is None:
        return {"kind": "continuous", **shared, **numbers, **limits}
    domain = Domain("", "continuous", numbers["low"], numbers["high"], resolution=step)
    if not domain.faults() and not any(domain.problem(value) for value in numbers.values()):
        return {"kind": "continuous", **shared, **numbers, "resolution": step, **limits}
    # steps from the lowest value on, which is no multiple of them
    return {"kind": "stepped", **shared, **numbers, "step": step, **limits}
