"""Writes the package of a new adapter: it works at once, with a machine in memory, and passes the conformance suite."""

import re
from collections.abc import Collection, Iterator
from importlib.metadata import version
from pathlib import Path
from string import Template

from tuner.basics.files import make_directory, write_text
from tuner.basics.text import shown

_NAME = re.compile(r"(?=.{1,40}$)[a-z](_?[a-z0-9])*", re.ASCII)

_PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "tuner-$dashed"
version = "0.1.0"
description = "The adapter $name for tuner"
requires-python = ">=3.11"
dependencies = ["process-tuner>=$version"]

[project.optional-dependencies]
test = ["pytest>=8"]

# tuner finds adapters by this
[project.entry-points."tuner.adapters"]
$name = "$package.adapter:${title}Adapter"

[tool.setuptools]
packages = ["$package"]

[tool.pytest.ini_options]
testpaths = ["tests"]
"""

_INIT = '''\
"""The adapter $name for tuner."""
'''

_ADAPTER = '''\
"""How tuner speaks with the machine $name."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field
from tuner.adapter import (
    Adapter,
    AdapterSettings,
    Health,
    LinkError,
    Outcome,
    ParameterInfo,
    RefusedError,
    Setting,
    Value,
)


class Machine:
    """Stands for your machine and keeps everything in memory: put its real protocol here.

    Translate what goes wrong: LinkError if it does not answer, DeadlineError if it is late, RefusedError if it says no.
    """

    def __init__(self, parameters: Sequence[ParameterInfo]) -> None:
        self.values: dict[str, Value] = {parameter.name: parameter.start for parameter in parameters}
        self.parts: dict[str, Outcome] = {}

    def write(self, name: str, value: Value) -> None:
        """Set one parameter."""
        self.values[name] = value

    def make_part(self, tag: str) -> Outcome:
        """Make a part, but not twice with the same tag."""
        return self.parts.setdefault(tag, Outcome(valid=True, measurements={"number": float(len(self.parts))}))


class ${title}Settings(AdapterSettings):
    """The table `[campaign.adapter.settings]`: what differs between two machines of this kind."""

    address: str = Field("memory", min_length=1, description="where the machine is")


class ${title}Adapter(Adapter[${title}Settings]):
    """Speaks with the machine $name."""

    Settings: ClassVar[type[AdapterSettings]] = ${title}Settings

    def __init__(self, settings: ${title}Settings, parameters: Sequence[ParameterInfo]) -> None:
        """See `Adapter`."""
        super().__init__(settings, parameters)
        self._machine: Machine | None = None

    def open(self, deadline_s: float) -> None:
        """Connect; nothing on the machine changes."""
        if self._machine is None:
            self._machine = Machine(self.parameters)

    def apply(self, setting: Setting, deadline_s: float) -> None:
        """Check everything first: a wrong setting must leave the machine as it is."""
        machine = self._connected()
        if set(setting) != {parameter.name for parameter in self.parameters}:
            raise RefusedError(f"values are needed for {', '.join(p.name for p in self.parameters)}")
        for parameter in self.parameters:
            # limits and grid are tuner's: on its way a machine may be sent what people have set by hand
            if why := parameter.domain.problem(setting[parameter.name], anywhere=True):
                raise RefusedError(f"{parameter.name} {why}")
        for name, value in setting.items():
            machine.write(name, value)

    def read_back(self, deadline_s: float) -> dict[str, Value]:
        """Say what the machine has now."""
        return dict(self._connected().values)

    def run_trial(self, tag: str, deadline_s: float) -> Outcome:
        """Make a part with the present setting."""
        return self._connected().make_part(tag)

    def health(self, deadline_s: float) -> Health:
        """Say whether the machine can take a setting now."""
        if self._machine is None:
            return Health(False, "not connected")
        return Health(True, f"connected to {self.settings.address}")

    def close(self) -> None:
        """Let go of the machine; may be called twice."""
        self._machine = None

    def _connected(self) -> Machine:
        if self._machine is None:
            raise LinkError("the machine is not connected")
        return self._machine
'''

_TEST = '''\
"""The contract of tuner.adapter; take LinkConformance when your machine can go away, and write its hooks."""

import pytest
from tuner.adapter import ParameterInfo
from tuner.testing import AdapterConformance

from $package.adapter import ${title}Adapter, ${title}Settings


class TestConformance(AdapterConformance):
    """All that tuner expects of an adapter."""

    adapter = ${title}Adapter
    parameters = (
        ParameterInfo("speed", "continuous", 50.0, 0.0, 100.0, tolerance=0.01),
        ParameterInfo("turns", "integer", 3, 1, 9),
        ParameterInfo("tool", "choice", "fine", choices=("fine", "coarse")),
    )

    @pytest.fixture
    def settings(self) -> ${title}Settings:
        """Start the machine, or something that stands for it, here."""
        return ${title}Settings()
'''

_EXAMPLE = """\
# Check it with: tuner check-config example.toml; then: tuner adapters check $name --config example.toml

[[campaign]]
name = "example"
machine = "$name"

[campaign.budget]
trials = 30

[campaign.adapter]
name = "$name"

[campaign.adapter.settings]
address = "memory"

[[campaign.parameter]]
kind = "continuous"
name = "speed"
low = 0.0
high = 100.0
start = 50.0
tolerance = 0.01
"""

_README = """\
# The adapter $name for tuner

    pip install -e '.[test]'
    pytest                                              # the contract of an adapter
    tuner adapters info $name
    tuner adapters check $name --config example.toml

The machine is in `$package/adapter.py`, in the class `Machine`: it keeps everything in memory until you put the real
protocol there. Let the fixture `settings` of `tests/test_conformance.py` start the machine or something that stands for
it, and keep the tests passing.
"""


def check_name(name: str, taken: Collection[str]) -> None:
    """See whether an adapter can be called this."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{shown(name)} is not a name for an adapter; allowed: up to 40 small letters, digits and single "
            "underscores, a letter first"
        )
    if name in taken:
        raise ValueError(f"an adapter {shown(name)} is already installed")


def write_package(name: str, directory: Path) -> Iterator[Path]:
    """Write all files and tell each."""
    package = f"tuner_{name}"
    words = {
        "name": name,
        "dashed": name.replace("_", "-"),
        "package": package,
        "title": "".join(word.capitalize() for word in name.split("_")),
        "version": version("process-tuner"),
    }
    files = {
        "pyproject.toml": _PYPROJECT,
        "README.md": _README,
        "example.toml": _EXAMPLE,
        f"{package}/__init__.py": _INIT,
        f"{package}/adapter.py": _ADAPTER,
        "tests/test_conformance.py": _TEST,
    }
    for file, text in files.items():
        path = directory / file
        make_directory(path.parent)
        write_text(path, Template(text).substitute(words))
        yield path
