"""The commands that the documents show, in their order: of blocks, and of prose where a whole command stands in it."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import click

from tuner.cli.main import COMMANDS, cli

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "adapters/README.md",
    *sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/**/*.md")),
)
CONFIGS = tuple(sorted(f"configs/{path.name}" for path in ROOT.glob("configs/*.toml")))
_PROGRAMS = [
    "as_tuner",
    "cc",
    "export",
    "git",
    "journalctl",
    "jq",
    "less",
    "make",
    "mkdir",
    "pip",
    "pytest",
    "python",
    "python3",
    "runuser",
    "sed",
    "systemctl",
    "systemd-analyze",
    "tuner",
    "usermod",
]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"\s+# .*$")
_IN_PROSE = re.compile(r"`([^`]+)`", re.DOTALL)
_IN_CONFIG = re.compile(rf"\b(tuner (?:{'|'.join(COMMANDS)}) [^;`]+|(?<=#     )python3 .+)")


@dataclass(frozen=True)
class Command:
    """A command as it is shown.

    Attributes:
        page: The document, from the root.
        line: Where, from 1.
        text: Without prompt, comment and `.venv/bin/`.
        prose: Whether it stands in a sentence, where it may be only the name of a command.
    """

    page: str
    line: int
    text: str
    prose: bool

    @property
    def words(self) -> list[str]:
        """As a shell splits it, with what is optional; who runs it is left out."""
        words = shlex.split(re.sub(r"[][]", "", self.text) if self.prose else self.text)
        return words[1:] if words[0] == "as_tuner" else words

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


def commands(page: str) -> list[Command]:
    """All of a page; those in its blocks first, as a reader types them."""
    text = (ROOT / page).read_text()
    if page in CONFIGS:
        return _in_config(page, text)
    blocks: list[Command] = []
    for fence in _FENCE.finditer(text):
        lines = fence[2].splitlines()
        if not fence[1] and _program(lines[0]):
            blocks += _block(page, _line_of(text, fence.start()) + 1, lines)
    prose = _FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence[0]), text)
    blocks += [
        Command(page, number, _plain(line), prose=False)
        for number, line in enumerate(prose.splitlines(), 1)
        if line.startswith("    ") and _program(line.strip().removeprefix("$ "))
    ]
    inline = [
        Command(page, _line_of(text, code.start()), " ".join(code[1].split()), prose=True)
        for code in _IN_PROSE.finditer(prose)
        if _program(code[1]) and len(code[1].split()) > 1 and "..." not in code[1]
    ]
    return sorted(blocks, key=lambda one: one.line) + inline


def python_blocks(page: str) -> list[str]:
    """The examples in Python."""
    return [fence[2] for fence in _FENCE.finditer((ROOT / page).read_text()) if fence[1] == "python"]


def check(words: list[str]) -> str:
    """Follow a `tuner` command through the tree of commands; what it lacks to be whole.

    Raises:
        click.UsageError: There is no such command or option.
    """
    command: click.Command = cli
    context = click.Context(cli, info_name="tuner")
    rest = words[1:]
    while isinstance(command, click.Group):
        _, rest, _ = command.make_parser(context).parse_args(list(rest))
        if not rest:
            return "" if command.invoke_without_command else "a sub-command"
        name, command, rest = command.resolve_command(context, list(rest))  # type: ignore[assignment]
        context = click.Context(command, info_name=name, parent=context)
    given, left, _ = command.make_parser(context).parse_args(list(rest))
    if left:
        raise click.UsageError(f"unexpected {left}", context)
    missing = [
        one for one in command.params if one.required and not isinstance(given.get(one.name or ""), str | tuple | list)
    ]
    return " ".join(one.human_readable_name for one in missing)


def _in_config(page: str, text: str) -> list[Command]:
    return [
        Command(page, number, found.strip(), prose=False)
        for number, line in enumerate(text.splitlines(), 1)
        for found in _IN_CONFIG.findall(line)
        if "..." not in found
    ]


def _block(page: str, first: int, lines: list[str]) -> list[Command]:
    return [Command(page, first + number, _plain(line), prose=False) for number, line in enumerate(lines) if line]


def _plain(line: str) -> str:
    return _COMMENT.sub("", line).strip().removeprefix("$ ").removeprefix(".venv/bin/")


def _program(text: str) -> bool:
    words = text.removeprefix(".venv/bin/").split()
    return bool(words) and (words[0] in _PROGRAMS or words[0] == "as_tuner()")


def _line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
