"""Reads a configuration file and reports every error in it at once, with line and key."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, time
from pathlib import Path as FilePath
from typing import Any, Self

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from tuner.basics.text import shown
from tuner.config.campaign import AdapterChoice, Campaign, adapter_complaints
from tuner.config.checks import campaign_complaints, repeated
from tuner.config.daemon import Compute, Daemon
from tuner.config.error_sentences import MOST_EXPLAINED, explain
from tuner.config.locate import line_of, locate
from tuner.config.notify import Notify
from tuner.config.parameters import Parameter
from tuner.config.section import COMPLAINT, Complaint, Path, Section, reject
from tuner.config.size import DEEPEST, LARGEST_BYTES, too_much
from tuner.core.space.expression import Constraint, ExpressionError, parse_constraint
from tuner.errors import ConfigError

_LARGEST_INTEGER = 2**63 - 1
_WITH_UNIT = re.compile(r"\s*\w+\s*=\s*[-+]?\d[\d.]*\s*[°%µA-Za-z]")  # high = 280 °C
_SYNTAX = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)", re.DOTALL)
_PARAMETER: TypeAdapter[Parameter] = TypeAdapter(Parameter)


class Config(Section):
    """A whole configuration file."""

    daemon: Daemon = Field(default_factory=Daemon, description="the daemon's places")
    compute: Compute = Field(default_factory=Compute, description="where proposals are computed")
    notify: tuple[Notify, ...] = Field((), max_length=20, description="who is told what happens")
    campaigns: tuple[Campaign, ...] = Field(
        alias="campaign", min_length=1, description="a configuration needs at least one table [[campaign]]"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = {index: campaign.name for index, campaign in enumerate(self.campaigns)}
        machines = {index: campaign.machine for index, campaign in enumerate(self.campaigns)}
        receivers = {index: one.name for index, one in enumerate(self.notify)}
        reject(_shared(names, machines) + repeated(receivers, ("notify",), "name", "receiver"))
        return self


def load_config(path: FilePath) -> Config:
    """Read and check a configuration file.

    Raises:
        ConfigError: its text has one line `file:line: key: what is wrong` for each error.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"{path}:1: file: does not exist") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}:1: file: is a directory; give the name of a TOML file") from None
    except OSError as error:
        raise ConfigError(f"{path}:1: file: cannot be read: {error.strerror}") from None
    except ValueError:
        raise ConfigError(f"{shown(str(path))}:1: file: is not the name of a file") from None
    if len(content) > LARGEST_BYTES:
        raise ConfigError(f"{path}:1: file: is larger than {LARGEST_BYTES} bytes")
    try:
        text = content.decode("utf-8-sig")  # editors on Windows begin a file with a byte order mark
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: file: is not UTF-8; save it with this encoding") from None
    return parse_config(text, str(path))


def parse_config(text: str, source: str) -> Config:
    """Check the text of a configuration; `source` stands for the file name in errors."""
    if not text.strip():
        raise ConfigError(f"{source}:1: file: is empty; a configuration needs at least one table [[campaign]]")
    refused = too_much(text)
    if refused is not None:
        raise ConfigError(f"{source}:{refused[0]}: file: {refused[1]}")
    try:
        raw = tomllib.loads(text)
        lines = locate(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_syntax(str(error), text, source)) from None
    except (RecursionError, ValueError) as error:
        deep = isinstance(error, RecursionError)
        sentence = "is nested too deep" if deep else "has too large a number; TOML has whole numbers of 64 bits"
        raise ConfigError(f"{source}:{_worst_line(text, '[{' if deep else '0123456789_')}: file: {sentence}") from None
    table, complaints = _plain(raw)
    config = None
    try:
        # as JSON, so that lists become tuples and texts become paths though the models are strict
        config = Config.model_validate_json(json.dumps(table), by_alias=True, by_name=False)
    except ValidationError as error:
        complaints += [c for c in explain(error, Config) if c.path not in {earlier.path for earlier in complaints}]
        if len(complaints) < MOST_EXPLAINED:
            complaints += _between_tables(table)
    if complaints or config is None:
        unique = dict.fromkeys((line_of(c.path, lines), _key(c.path, raw), c.sentence) for c in complaints)
        raise ConfigError("\n".join(f"{source}:{line}: {key}: {sentence}" for line, key, sentence in sorted(unique)))
    return config


def _worst_line(text: str, characters: str) -> int:
    """The line with most of some characters: Python does not tell where a text went beyond its limits."""
    counts = [sum(map(line.count, characters)) for line in text.split("\n")]
    return counts.index(max(counts)) + 1


def _syntax(message: str, text: str, source: str) -> str:
    match = _SYNTAX.fullmatch(message)
    what = (match["what"] if match else message).replace("\n", "\\n")
    line = int(match["line"]) if match and match["line"] else text.rstrip().count("\n") + 1
    column = f", column {match['column']}" if match and match["column"] else ""
    if _WITH_UNIT.match([*text.split("\n"), ""][line - 1]):
        return f"{source}:{line}: syntax: a number stands alone, its unit has the key `unit` ({what}{column})"
    return f"{source}:{line}: syntax: {what}{column}; see https://toml.io for what TOML allows"


def _plain(raw: dict[str, Any]) -> tuple[dict[str, Any], list[Complaint]]:
    """Replace values that JSON cannot carry by nothing, with a complaint for each."""
    complaints: list[Complaint] = []

    def visit(value: Any, path: Path) -> Any:
        if len(path) > DEEPEST:
            complaints.append(Complaint(path, "is nested too deep"))
        elif isinstance(value, dict):
            return {key: visit(entry, (*path, key)) for key, entry in value.items()}
        elif isinstance(value, list):
            return [visit(entry, (*path, index)) for index, entry in enumerate(value)]
        elif isinstance(value, date | time):
            complaints.append(Complaint(path, "is a date or time, which no key takes; put a text in quotes"))
        elif isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
            complaints.append(Complaint(path, "is too large a number; TOML has whole numbers of 64 bits"))
        else:
            return value
        return None

    return visit(raw, ()), complaints


def _between_tables(table: Mapping[str, Any]) -> list[Complaint]:
    """The checks between tables, on those tables that are right in themselves though others are not."""
    complaints = []
    campaigns = dict(_entries(table.get("campaign")))
    complaints += _shared(_texts(campaigns, "name"), _texts(campaigns, "machine"))
    for index, campaign in campaigns.items():
        raw_parameters = dict(_entries(campaign.get("parameter")))
        parameters = {}
        for position, raw in raw_parameters.items():
            try:
                parameters[position] = _PARAMETER.validate_json(json.dumps(raw))
            except ValidationError as error:
                found = _without_wrong_keys(raw, {step for details in error.errors() for step in details["loc"]})
                complaints += [
                    Complaint(("campaign", index, "parameter", position, *c.path), c.sentence) for c in found
                ]
        found = campaign_complaints(
            _texts(raw_parameters, "name"), parameters, dict(_constraints(campaign.get("constraints")))
        )
        if len(parameters) == len(raw_parameters):
            found += _adapter_complaints(campaign.get("adapter"), list(parameters.values()))
        complaints += [Complaint(("campaign", index, *complaint.path), complaint.sentence) for complaint in found]
    return complaints


def _adapter_complaints(table: object, parameters: list[Parameter]) -> list[Complaint]:
    """What the adapter says to the parameters, if its own table is right."""
    try:
        choice = AdapterChoice.model_validate_json(json.dumps(table))
    except ValidationError:
        return []
    return adapter_complaints(choice, parameters) if parameters else []


def _without_wrong_keys(raw: dict[str, Any], wrong: set[str | int]) -> list[Complaint]:
    """The checks between the keys of a parameter, on those that are right in themselves though others are not."""
    kept = {key: value for key, value in raw.items() if key not in wrong}
    if "start" in wrong and "low" in kept:
        kept["start"] = kept["low"]
    try:
        _PARAMETER.validate_json(json.dumps(kept))
    except ValidationError as error:
        return [
            Complaint(details["loc"][1:], details["ctx"]["sentence"])  # the first step is the kind
            for details in error.errors()
            if details["type"] == COMPLAINT and not wrong & set(details["loc"][1:])
        ]
    return []


def _shared(names: Mapping[int, str], machines: Mapping[int, str]) -> list[Complaint]:
    twice = repeated(names, ("campaign",), "name", "campaign")
    return twice + repeated(machines, ("campaign",), "machine", "campaign")


def _entries(tables: object) -> Iterator[tuple[int, dict[str, Any]]]:
    for index, entry in enumerate(tables if isinstance(tables, list) else []):
        if isinstance(entry, dict):
            yield index, entry


def _texts(tables: Mapping[int, dict[str, Any]], key: str) -> dict[int, str]:
    return {index: table[key] for index, table in tables.items() if isinstance(table.get(key), str)}


def _constraints(texts: object) -> Iterator[tuple[int, Constraint]]:
    for index, text in enumerate(texts if isinstance(texts, list) else []):
        try:
            yield index, parse_constraint(str(text))
        except ExpressionError:
            continue


def _key(path: Path, raw: object) -> str:
    """A path for people: tables of a list go by their name, or by #number where they have none."""
    parts: list[str] = []
    for step in path:
        known: Any = raw
        raw = None
        if isinstance(step, int):
            if isinstance(known, list) and step < len(known):
                raw = known[step]
            name = raw.get("name") if isinstance(raw, dict) else None
            plain = isinstance(name, str) and name.isprintable() and 0 < len(name) <= 64
            parts.append(f"[{name}]" if plain else f"[#{step + 1}]")
        else:
            raw = known.get(step) if isinstance(known, dict) else None
            key = step if step.isprintable() and step else shown(step)
            parts.append(f".{key}" if parts else key)
    return "".join(parts) or "file"
