"""Scripted judges by name: scripted ones, a Python function of the user's, or a program that reads JSON."""

import copy
import importlib.util
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Protocol, cast

import numpy as np

from tuner.basics.processes import environment_for_others
from tuner.basics.text import nearest, shown
from tuner.basics.vocabulary import Answer
from tuner.errors import TunerError
from tuner.lab.judges.scripted import BY_NAME, Judge, TwoOperators, answer_of

Part = Mapping[str, Any]

PART = ("number", "tag", "setting", "measurements")
OPERATOR = "scripted"
ANSWER_S = 60.0
KNOWN = (*BY_NAME, "FILE.py:FUNCTION", "PROGRAM")
_FUNCTION = re.compile(r"(.+\.py):([A-Za-z_]\w*)")
_STREAM = 2


class JudgeError(TunerError):
    """A judge that is not there, or that gives no answer that can be used."""

    exit_code: ClassVar[int] = 2


@dataclass(frozen=True)
class AskedDuel:
    """A duel as a scripted judge sees it: each part has its number, tag, setting and measurements."""

    duel: int
    left: Part
    right: Part

    @classmethod
    def of(cls, duel: int, *sides: object) -> "AskedDuel":
        """Of two trials, of a campaign's state or of the wire."""
        return cls(duel, *({name: getattr(trial, name) for name in PART} for trial in sides))


@dataclass(frozen=True)
class JudgeAnswer:
    """Which side is better, and who says so."""

    side: Answer
    operator: str = OPERATOR


class Answerer(Protocol):
    """Answers the duels of one run."""

    def __call__(self, question: AskedDuel) -> JudgeAnswer:
        """Say which part is better."""


def make_judge(spec: str, seed: int) -> Answerer:
    """The judge of one run; the same seed gives the same answers."""
    name, _, numbers = spec.partition(":")
    if name in _BY_COST:
        try:
            return _ByCost(name, _BY_COST[name](*_numbers(numbers)), seed)
        except (ValueError, TypeError) as error:
            raise JudgeError(f"the judge {shown(spec)} cannot be: {_reason(error, name)}") from error
    match = _FUNCTION.fullmatch(spec)
    if match:
        return _Function(spec, _load(Path(match[1]), match[2], spec), seed)
    try:
        command = shlex.split(spec)
    except ValueError as error:
        raise JudgeError(f"the judge {shown(spec)} cannot be: {error}") from None
    if command and shutil.which(command[0]) is not None:
        return _Program(spec, command, seed)
    if command and os.path.isfile(command[0]):  # noqa: PTH113 - Path fails where a name is too long to be one
        how = "FILE.py:FUNCTION names a function of it" if command[0].endswith(".py") else "see chmod +x"
        raise JudgeError(f"the judge {shown(spec)}: {command[0]} is not executable; {how}")
    hint = nearest(name, _BY_COST)
    raise JudgeError(f"there is no judge {shown(spec)}{hint or ';'} known: {', '.join(KNOWN)}")


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.split(",")] if text else []


def _reason(error: Exception, name: str) -> str:
    if isinstance(error, TypeError):
        return f"{name} has other numbers than these"
    return str(error).replace("could not convert string to float", "this is no number")


_BY_COST = {shape.partition(":")[0]: judge for shape, judge in BY_NAME.items()}


class _ByCost:
    """Compares what the simulated machine measured; the later trial is the new part."""

    def __init__(self, name: str, judge: Judge, seed: int) -> None:
        self._name = name
        self._judge = judge
        self._seed = seed

    def __call__(self, question: AskedDuel) -> JudgeAnswer:
        new, old = sorted((question.left, question.right), key=lambda part: -int(part["number"]))
        rng = np.random.default_rng([self._seed, _STREAM, question.duel])
        side = answer_of(self._judge, self._cost(new), self._cost(old), rng, new_is_left=new is question.left)
        operator = self._judge.operator if isinstance(self._judge, TwoOperators) else None
        return JudgeAnswer(side, operator or OPERATOR)

    def _cost(self, part: Part) -> float:
        try:
            return float(part["measurements"]["objective"])
        except KeyError:
            raise JudgeError(
                f"part {part['tag']} has no measurement 'objective', by which {self._name} judges"
            ) from None


class _Function:
    """A function of the user's: two parts in, "left", "right" or "tie" out; a third argument `rng` is optional."""

    def __init__(self, spec: str, function: Callable[..., Any], seed: int) -> None:
        self._spec = spec
        self._function = function
        self._seed = seed
        self._random = "rng" in inspect.signature(function).parameters

    def __call__(self, question: AskedDuel) -> JudgeAnswer:
        more = {"rng": np.random.default_rng([self._seed, _STREAM, question.duel])} if self._random else {}
        # copies to the last number: what a judge does to its parts is nothing to the campaign
        parts = copy.deepcopy((dict(question.left), dict(question.right)))
        said: list[object] = []
        failed: list[BaseException] = []

        def ask() -> None:
            try:
                said.append(self._function(*parts, **more))
            except BaseException as error:  # noqa: BLE001 - a user's function may fail in any way; exit(0) is no success
                failed.append(error)

        # in a thread, because nothing else can leave a function that does not come back
        asked = threading.Thread(target=ask, daemon=True)
        asked.start()
        asked.join(ANSWER_S)
        for error in failed:
            raise JudgeError(f"the judge {self._spec} failed: {type(error).__name__}: {error}") from error
        if not said:
            raise JudgeError(f"the judge {self._spec} gave no answer within {ANSWER_S:g} s")
        return JudgeAnswer(_side(said[0], self._spec))


class _Program:
    """A program of the user's, started for each duel: JSON on its stdin, the answer on its stdout."""

    def __init__(self, spec: str, command: list[str], seed: int) -> None:
        self._spec = spec
        self._command = command
        self._seed = seed

    def __call__(self, question: AskedDuel) -> JudgeAnswer:
        asked = {"duel": question.duel, "left": question.left, "right": question.right, "seed": self._seed}
        try:
            done = subprocess.run(  # noqa: S603 - the user named this program; no shell reads it
                self._command,
                input=json.dumps(asked),
                capture_output=True,
                text=True,
                timeout=ANSWER_S,
                check=False,
                env=environment_for_others(),
            )
        except subprocess.TimeoutExpired:
            raise JudgeError(f"the judge {self._spec} gave no answer within {ANSWER_S:g} s") from None
        except (OSError, UnicodeDecodeError) as error:
            raise JudgeError(f"the judge {self._spec} cannot be asked: {error}") from error
        if done.returncode:
            said = done.stderr.strip().splitlines()
            raise JudgeError(
                f"the judge {self._spec} ended with {done.returncode}: {said[-1] if said else 'no reason'}"
            )
        return JudgeAnswer(_side(done.stdout.strip().strip('"'), self._spec))


def _side(said: object, spec: str) -> Answer:
    if not isinstance(said, str) or said not in list(Answer):
        raise JudgeError(f"the judge {spec} said {shown(said)}; allowed: {', '.join(Answer)}")
    return Answer(said)


def _load(path: Path, name: str, spec: str) -> Callable[..., Any]:
    if not path.is_file():
        raise JudgeError(f"the judge {spec}: there is no file {path}")
    found = importlib.util.spec_from_file_location(f"judge_{path.stem}", path)
    if found is None or found.loader is None:
        raise JudgeError(f"the judge {spec}: {path} is no Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # a module with dataclasses looks itself up
    try:
        found.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a user's file may fail in any way; exit(0) is no success
        raise JudgeError(f"the judge {spec} cannot be imported: {type(error).__name__}: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise JudgeError(f"the judge {spec}: {path} has no function {name}{nearest(name, _functions(module))}")
    return cast("Callable[..., Any]", function)


def _functions(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
