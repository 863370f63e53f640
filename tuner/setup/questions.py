"""The questions of `tuner init`, one after the other: which one is next follows from the answers so far; pure."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from tuner.basics.text import listed, nearest, shown
from tuner.config import Continuous
from tuner.config.plugins import adapter_names, load_adapter

Answers = Mapping[str, Any]

PRACTICE = "practice"
LEAST_TRIALS = 30
TRIALS_EACH = 8  # for each parameter; a choice counts one less than it has options
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}", re.ASCII)
_YES, _NO = ("y", "yes", "true"), ("n", "no", "false")
# what `--yes` answers where there is nothing that fits everybody: a press to practise with
_SAMPLE: tuple[dict[str, Any], ...] = (
    {"name": "pressure", "unit": "bar", "low": 20.0, "high": 80.0, "start": 45.0},
    {"name": "speed", "unit": "mm/s", "low": 10.0, "high": 60.0, "resolution": 2.5, "start": 30.0},
    {"name": "nozzle", "kind": "choice", "choices": ("round", "flat"), "start": "round"},
)
_SAMPLE_RULE = "2*speed + pressure <= 160"


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        key: What the answer is kept under.
        text: In plain words.
        read: Turns what was typed into the answer; ValueError says what is wrong with it.
        default: The answer to an empty line; None: a line must be typed, unless `optional`.
        optional: Whether an empty line means "none".
        sample: What `--yes` answers where there is no default.
        about: More on it, for whoever types a question mark.
    """

    key: str
    text: str
    read: Callable[[str], Any]
    default: Any = None
    optional: bool = False
    sample: Any = None
    about: str = ""


def next_question(answers: Answers) -> Question | None:
    """The first question that has no answer yet; None: all are answered."""
    return next((one for one in _all(answers) if one.key not in answers), None)


def parameter_count(answers: Answers) -> int:
    """How many parameters have been begun."""
    return sum(1 for key in answers if key.startswith("parameter.") and key.endswith(".name"))


def _all(answers: Answers) -> Iterator[Question]:
    """The questions in their order; it ends where the next one depends on an answer that is not there."""
    yield Question("machine", "What is the machine called?", _label, default="press-1")
    yield Question("campaign", "A short name for this tuning effort, the campaign?", _label, default="first")
    yield Question(
        "adapter",
        f"How is the machine reached? {PRACTICE} (a program that makes pretend parts), {', '.join(_adapters())}",
        _one_of((PRACTICE, *_adapters())),
        default=PRACTICE,
        about="The adapter speaks with the machine; `tuner adapters info NAME` tells what each one needs.",
    )
    place = 0
    while place == 0 or answers.get(f"parameter.{place - 1}.more"):
        yield from _parameter(answers, place)
        if f"parameter.{place}.more" not in answers:
            return
        place += 1
    rule = 0
    while rule == 0 or answers.get(f"constraint.{rule - 1}"):
        yield _constraint(answers, rule)
        if f"constraint.{rule}" not in answers:
            return
        rule += 1
    yield from _manners(answers)
    if answers.get("adapter") != PRACTICE:
        yield from _settings(answers)


@cache
def _adapters() -> tuple[str, ...]:
    """The installed adapters; to look for them takes a while, and every question asks."""
    return adapter_names()


def _parameter(answers: Answers, place: int) -> Iterator[Question]:
    def key(name: str) -> str:
        return f"parameter.{place}.{name}"

    sample = _SAMPLE[place] if place < len(_SAMPLE) else {"name": f"p{place + 1}", "low": 0.0, "high": 1.0}
    which = answers.get(key("name"), "it")
    yield Question(
        key("name"),
        f"Parameter {place + 1}: its name, as in rules between parameters (letters, digits, _)?",
        _name(answers, key("name")),
        sample=sample["name"],
    )
    if "label" in Continuous.model_fields:
        yield Question(key("label"), f"What do operators call {which}?", str, optional=True)
    yield Question(
        key("kind"),
        f"Is {which} a number or a choice between a few things?",
        _one_of(("number", "choice")),
        default=sample.get("kind", "number") if sample["name"] == which else "number",
    )
    if key("kind") not in answers:
        return
    if answers[key("kind")] == "choice":
        named = f"Which choices has {which}? (with commas between)"
        yield Question(key("choices"), named, _texts, sample=sample.get("choices", ("a", "b")))
        options = answers.get(key("choices"), ("",))
        yield Question(key("start"), "Which of them is known to make good parts?", _one_of(options), default=options[0])
    else:
        yield from _number(answers, key, which, sample)
    more = place + 1 < len(_SAMPLE)
    if "manual" in Continuous.model_fields:
        yield Question(key("manual"), f"Does a person change {which} by hand?", yes_no, default=False)
    if "change_cost" in Continuous.model_fields:
        asked = f"Is {which} hard to change: as much as how many parts?"
        yield Question(key("change_cost"), asked, _not_negative, optional=True)
    yield Question(key("more"), "Another parameter?", yes_no, sample=more, about="Three to eight are usual.")


def _number(answers: Answers, key: Callable[[str], str], which: str, sample: dict[str, Any]) -> Iterator[Question]:
    yield Question(key("unit"), f"Unit of {which}?", str, optional=True, sample=sample.get("unit"))
    yield Question(key("low"), f"Lowest value of {which} that is safe?", _number_of, sample=sample.get("low", 0.0))
    low = answers.get(key("low"), 0.0)
    yield Question(
        key("high"), f"Highest value of {which} that is safe?", _above(low), sample=sample.get("high", low + 1.0)
    )
    high = answers.get(key("high"), low)
    yield Question(
        key("resolution"),
        f"Smallest step that the machine can set {which} by?",
        _positive,
        optional=True,
        sample=sample.get("resolution"),
        about="1 for whole numbers; an empty line if any value can be set.",
    )
    yield Question(
        key("start"),
        f"Which value of {which} is known to make good parts?",
        _number_of,
        sample=sample.get("start", (low + high) / 2),
        about="Tuning starts there, and the machine returns to it.",
    )
    yield Question(
        key("step_limit"), f"Largest change of {which} at once, if there is a limit?", _positive, optional=True
    )
    yield Question(
        key("rate_limit"), f"Largest change of {which} in a minute, if there is a limit?", _positive, optional=True
    )


def _constraint(answers: Answers, place: int) -> Question:
    names = {answers[key] for key in answers if key.startswith("parameter.") and key.endswith(".name")}
    fits = place == 0 and {"speed", "pressure"} <= names and answers.get("adapter") == PRACTICE
    another = "Another rule" if place else "A rule between parameters that must always hold"
    return Question(
        f"constraint.{place}",
        f"{another}, such as {_SAMPLE_RULE}?",
        str,
        optional=True,
        sample=_SAMPLE_RULE if fits else None,
        about="Parameters by name, + - * / and numbers, then <= or >=. The known-good setting must keep it.",
    )


def _manners(answers: Answers) -> Iterator[Question]:
    size = sum(
        len(answers[f"parameter.{i}.choices"]) - 1 if f"parameter.{i}.choices" in answers else 1
        for i in range(parameter_count(answers))
    )
    trials = max(LEAST_TRIALS, TRIALS_EACH * size)
    yield Question(
        "trials",
        "How many parts may be tried?",
        _whole(1),
        default=trials,
        about="`tuner rehearse` tells afterwards what so many bring.",
    )
    yield Question("scrap", "After how many scrap parts is it to end?", _whole(0), optional=True)
    yield Question("settling_parts", "How many parts are to be thrown away after a change?", _whole(0), default=0)
    yield Question("settling_s", "How many seconds must the machine settle after a change?", _not_negative, default=0.0)
    yield Question("approval", "Is an engineer to approve every setting before it is sent?", yes_no, default=True)
    yield Question("timezone", "Time zone of the shifts?", str, default=local_timezone())
    yield Question("quiet_hours", "When is nobody there to look at parts, such as 22:00-06:00?", _texts, optional=True)
    yield Question("breaks", "Breaks, such as 09:00-09:15, 12:00-12:30?", _texts, optional=True)


def _settings(answers: Answers) -> Iterator[Question]:
    """What the adapter must know, then whatever else is to be said to it."""
    names = [answers[f"parameter.{i}.name"] for i in range(parameter_count(answers))]
    kind = load_adapter(answers["adapter"])
    first = kind.Connection.model_fields if kind.Connection is not None else {}
    # how to reach it comes first: then the machine can be asked what it offers
    asked = sorted(_required(kind.Settings, "", names), key=lambda row: row[0].split(".")[0] not in first)
    for path, about in asked:
        yield Question(f"settings.{path}", f"{answers['adapter']}: {path}? ({about})", _toml_or_text, about=about)
    place = 0
    while place == 0 or answers.get(f"more_settings.{place - 1}"):
        yield Question(
            f"more_settings.{place}",
            f"{answers['adapter']}: another key, as KEY = VALUE?",
            _assignment,
            optional=True,
            about=f"`tuner adapters info {answers['adapter']}` lists them; tables with dots: trial.done.address = 4",
        )
        place += 1


def _required(model: type[BaseModel], path: str, names: list[str]) -> Iterator[tuple[str, str]]:
    """The keys that must be there; a table for every parameter is asked of each."""
    for name, field in model.model_fields.items():
        if not field.is_required():
            continue
        here = f"{path}{field.alias or name}"
        annotation, arguments = field.annotation, get_args(field.annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from _required(annotation, f"{here}.", names)
        elif (
            hasattr(get_origin(annotation), "keys")
            and isinstance(arguments[1], type)
            and issubclass(arguments[1], BaseModel)
        ):
            for one in names:
                yield from _required(arguments[1], f"{here}.{one}.", names)
        else:
            yield here, field.description or ""


def put(table: dict[str, Any], path: list[str], value: Any) -> None:
    """Put a value into tables within tables."""
    for name in path[:-1]:
        inner = table.setdefault(name, {})
        table[name] = table = inner if isinstance(inner, dict) else {}
    table[path[-1]] = value


def local_timezone() -> str:
    """The time zone of this machine, if it can be told."""
    try:
        place = str(Path("/etc/localtime").resolve(strict=True))
    except OSError:
        return "UTC"
    name = place.partition("/zoneinfo/")[2]
    return name if re.fullmatch(r"[A-Z][A-Za-z_]+/[A-Za-z_+\-/0-9]+", name) else "UTC"


def _label(text: str) -> str:
    if not _LABEL.fullmatch(text):
        raise ValueError("a name has a letter first, then letters, digits, _ and -; no blanks")
    return text


def _name(answers: Answers, key: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", text, re.ASCII):
            raise ValueError("a letter first, then letters, digits and _; no blanks: it is used in rules")
        if any(answers[k] == text for k in answers if k.endswith(".name") and k != key):
            raise ValueError(f"another parameter is called {text} already")
        return text

    return read


def _one_of(words: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        found = [word for word in words if word == text] or [w for w in words if text and w.startswith(text)]
        if len(found) != 1:
            raise ValueError(f"one of {listed(words)}{nearest(text, words)}")
        return found[0]

    return read


def yes_no(text: str) -> bool:
    """Whether yes was typed."""
    if text.lower() not in (*_YES, *_NO):
        raise ValueError("y or n")
    return text.lower() in _YES


def _number_of(text: str) -> float:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        raise ValueError(f"{shown(text)} is no number") from None
    if not abs(number) < 1e15:
        raise ValueError(f"{shown(text)} is too large")
    return number


def _positive(text: str) -> float:
    number = _number_of(text)
    if number <= 0:
        raise ValueError("a number above 0")
    return number


def _not_negative(text: str) -> float:
    number = _number_of(text)
    if number < 0:
        raise ValueError("0 or more")
    return number


def _above(low: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        number = _number_of(text)
        if number <= low:
            raise ValueError(f"more than the lowest value, {low:g}")
        return number

    return read


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) < least:
            raise ValueError(f"a whole number, {least} or more")
        return int(text)

    return read


def _texts(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _toml_or_text(text: str) -> Any:
    """A value as TOML has it, else the text itself: nobody puts a host name in quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _assignment(text: str) -> tuple[str, Any]:
    name, found, value = text.partition("=")
    if not found or not name.strip() or not value.strip():
        raise ValueError("a key and its value, such as timeout_s = 2.0")
    return name.strip(), _toml_or_text(value.strip())
