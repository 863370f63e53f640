"""Asks the questions of `tuner init`, of a file, by default or of a person who may go back; then writes the files."""

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from tuner.adapter import Offered
from tuner.basics.files import check_writable, make_directory, write_text
from tuner.basics.text import nearest, shown
from tuner.config import parse_config
from tuner.errors import ConfigError, TunerError
from tuner.setup.about import ABOUT
from tuner.setup.config_text import config_text, wrong
from tuner.setup.offered import can_tell, listed_offers, offered
from tuner.setup.questions import PRACTICE, Answers, Question, next_question, parameter_count, yes_no

CONFIG = "tuner.toml"
MACHINE = "machine.py"
BACK = ("back", "b", "<")
LONGEST_FILE = 100_000


class NoAnswerError(TunerError):
    """A question has no answer, and nobody is there to ask."""

    exit_code: ClassVar[int] = 2


class Ask:
    """How a person is asked: `line` shows a prompt and returns what is typed, `say` shows a sentence."""

    def __init__(self, line: Callable[[str], str], say: Callable[[str], None]) -> None:
        self.line = line
        self.say = say
        self.offers: Sequence[Offered] = ()


def interview(given: Mapping[str, Any], *, defaults: bool, ask: Ask | None) -> dict[str, Any]:
    """All answers: those given first, then by default, then by asking.

    Raises:
        ConfigError: A given answer is wrong.
        NoAnswerError: One is missing, and nobody can be asked.
    """
    answers: dict[str, Any] = {}
    asked: list[str] = []
    left = dict(given)
    while (question := next_question(answers)) is not None:
        key = question.key
        taken, value = _from_file(question, left)
        if not taken and (defaults or (given and (question.optional or question.default is not None))):
            taken, value = True, question.sample if defaults and question.default is None else question.default
            if value is None and not question.optional:
                raise NoAnswerError(f"there is no answer to {key}: {question.text}")
        if taken:
            if sentence := wrong({**answers, key: value}, key):
                raise ConfigError(f"answers: {key}: {sentence}")
            answers[key] = value
        elif ask is None:
            raise NoAnswerError(f"there is no answer to {key}: {question.text}\nGive --answers FILE, or --yes")
        else:
            _ask(question, answers, asked, ask)
    if left:
        unknown = next(iter(left))
        raise ConfigError(f"answers: {unknown}: is no question{nearest(unknown, answers)}")
    return answers


def _from_file(question: Question, left: dict[str, Any]) -> tuple[bool, Any]:
    """Whether the file has the answer, and the answer, which is taken out of what is left of the file."""
    if question.key in left:
        return True, _given(question, left.pop(question.key))
    more = next((key for key in left if key.startswith("settings.")), None)
    if question.key.startswith("more_settings.") and more is not None:
        return True, (more.removeprefix("settings."), left.pop(more))
    return False, None


def _given(question: Question, value: Any) -> Any:
    """An answer of a file: read as if it were typed, so that the same is allowed."""
    if value is None or (value in ("", []) and question.optional):
        return None
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if question.key.startswith("settings."):
        return value
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    try:
        return question.read(text)
    except ValueError as error:
        raise ConfigError(f"answers: {question.key}: {error}, not {shown(value)}") from None


def _ask(question: Question, answers: dict[str, Any], asked: list[str], ask: Ask) -> None:
    """Ask once; a wrong answer leaves the question open, "back" takes the last answer away."""
    default = question.default
    shown_default = "yes" if default is True else "no" if default is False else default
    hint = (
        f" [{shown_default}]"
        if default is not None
        else " [none]"
        if question.optional
        else " [y/n]"
        if question.read is yes_no
        else ""
    )
    pick = " [? asks the machine, #N takes one]" if can_tell(answers, question.key) else ""
    typed = ask.line(f"{question.text}{pick}{hint} ").strip()
    if typed in BACK:
        if asked:
            _take_back(answers, asked.pop())
        else:
            ask.say("This is the first question.")
        return
    if can_tell(answers, question.key) and (typed[:1] in ("?", "#")):
        typed = _picked(typed, question, answers, ask)
        if not typed:
            return
    if typed == "?":
        ask.say(
            question.about
            or ABOUT.get(question.key.rpartition(".")[2])
            or "An empty line takes what is in brackets; `back` goes to the question before."
        )
        return
    if not typed and not question.optional and default is None:
        ask.say("Please answer; `?` tells more, `back` goes to the question before.")
        return
    try:
        value = question.read(typed) if typed else default
    except ValueError as error:
        ask.say(f"  {error}")
        return
    if sentence := wrong({**answers, question.key: value}, question.key):
        ask.say("  " + sentence.replace("\n", "\n  "))
        return
    answers[question.key] = value
    asked.append(question.key)


def _picked(typed: str, question: Question, answers: Answers, ask: Ask) -> str:
    """What the machine offers under a number; `?` asks it, and shows what there is."""
    if typed[0] == "#":
        number = typed[1:].strip()
        if number.isdecimal() and 1 <= int(number) <= len(ask.offers):
            return ask.offers[int(number) - 1].where
        ask.say(f"  there is no {typed}: `?` asks the machine what it offers")
        return ""
    ask.say(question.about)
    try:
        ask.offers = offered(answers, typed[1:].strip())
    except TunerError as error:
        ask.say(f"  {error}")
        return ""
    for line in listed_offers(ask.offers):
        ask.say(line)
    return ""


def _take_back(answers: dict[str, Any], key: str) -> None:
    """Forget an answer and all after it, which may depend on it."""
    keys = list(answers)
    for later in keys[keys.index(key) :]:
        del answers[later]


def read_answers(path: Path) -> dict[str, Any]:
    """The answers of a TOML file, by the keys of the questions.

    Raises:
        ConfigError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST_FILE + 1)
        if len(content) > LONGEST_FILE:
            raise ConfigError(f"{path}: is larger than {LONGEST_FILE} bytes")
        table = tomllib.loads(content.decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: is not TOML: {error}") from None
    return _flat(table)


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in table.items():
        if name == "parameter" and isinstance(value, list) and value:
            for place, one in enumerate(value):
                inner = one if isinstance(one, dict) else {"name": one}
                found |= {f"parameter.{place}.{key}": entry for key, entry in inner.items()}
                found[f"parameter.{place}.more"] = place + 1 < len(value)
        elif name == "constraints" and isinstance(value, list):
            found |= {f"constraint.{place}": rule for place, rule in enumerate(value)}
            found[f"constraint.{len(value)}"] = None
        elif name == "settings" and isinstance(value, dict):
            found |= {f"settings.{key}": entry for key, entry in _dotted(value, "")}
        else:
            found[name] = value
    return found


def _dotted(table: Mapping[str, Any], path: str) -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, value in table.items():
        rows += _dotted(value, f"{path}{name}.") if isinstance(value, dict) else [(f"{path}{name}", value)]
    return rows


def write(directory: Path, answers: Answers) -> list[Path]:
    """Write the configuration, and the practice machine where there is no other; the files that were written.

    Raises:
        TunerError: One of them is there already, or cannot be written; then nothing was.
    """
    practice = answers["adapter"] == PRACTICE
    make_directory(directory)
    targets = [directory / CONFIG, *([directory / MACHINE] if practice else [])]
    for target in targets:
        if target.exists() or target.is_symlink():
            raise TunerError(f"{target} is there already: name another directory, or move it away")
        check_writable(target)
    text = config_text(answers, ("python3", str((directory / MACHINE).absolute())))
    parse_config(text, str(targets[0]))  # whatever was told, no file is written that is not right
    write_text(targets[0], text)
    if practice:
        write_text(targets[1], _machine(answers))
    return targets


def _machine(answers: Answers) -> str:
    parameters = []
    for place in range(parameter_count(answers)):
        told = {name: answers.get(f"parameter.{place}.{name}") for name in ("name", "low", "high", "choices")}
        parameters.append({name: value for name, value in told.items() if value is not None})
    template = (files("tuner.setup") / "practice_machine.py.template").read_text()
    return template.replace("@PARAMETERS@", json.dumps(parameters, indent=1).replace("\\", "\\\\"))
