"""Every command names the state directory in one way: `--state`, `TUNER_STATE`, the default."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.journals.make import restore
from tuner.cli.main import COMMANDS, cli
from tuner.cli.state_option import state_directory, state_option

# keeps the journals of many daemons that come and go in a new directory: it is nobody's state directory
OTHERS = {"simulate"}


def commands() -> Iterator[tuple[str, click.Command]]:
    """All commands, also those within groups, by the words that are typed."""
    waiting = [(name, cli.get_command(click.Context(cli), name)) for name in COMMANDS]
    while waiting:
        words, command = waiting.pop()
        if isinstance(command, click.Group):
            waiting += [(f"{words} {name}", one) for name, one in command.commands.items()]
        else:
            yield words, command


WITH_STATE = sorted(
    words
    for words, command in commands()
    if any("--state" in one.opts for one in command.params) and words not in OTHERS
)


@click.command()
@state_option
def reference(state: Path | None) -> None:
    """Has the option as it should be."""


def test_the_walk_finds_the_commands_that_need_a_state_directory():
    expected = {"run", "replay", "report", "doctor", "console", "ask", "handover", "status", "stop", "keys list"}
    expected |= {f"journal {name}" for name in ("verify", "show", "export", "backup", "restore")}
    assert expected | {"campaign start"} <= set(WITH_STATE)


@pytest.mark.parametrize("words", WITH_STATE)
def test_every_command_has_the_same_option(words):
    command = dict(commands())[words]
    (found,) = (one for one in command.params if "--state" in one.opts)
    assert found.to_info_dict() == reference.params[0].to_info_dict()


@pytest.mark.parametrize(
    "words",
    ["journal verify", "journal show", "journal export", "journal backup {tmp}/copy", "keys list", "doctor",
     "report dry --out {tmp}/page.html", "replay --campaign dry"],
)  # fmt: skip
def test_the_option_the_variable_and_the_default_mean_the_same(words, tmp_path, monkeypatch):
    for name in ("TUNER_STATE", "STATE_DIRECTORY", "TUNER_CONNECT", "TUNER_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("tuner.cli.doctor_files.program", lambda: iter(()))  # compares ten thousand files each time
    (tmp_path / "empty").mkdir()

    def run(*options: object, **environ: str) -> tuple[int, str]:
        (tmp_path / "copy").unlink(missing_ok=True)
        typed = [*shlex.split(words.format(tmp=tmp_path)), *map(str, options)]
        done = CliRunner().invoke(cli, typed, env={**os.environ, **environ})
        return done.exit_code, done.output

    restore("0.1.0", tmp_path / "tuner")
    restore("0.1.0", tmp_path / "other")
    as_default, as_typed = run(), run("--state", tmp_path / "tuner")
    as_variable = run(TUNER_STATE=str(tmp_path / "tuner"))
    assert _plain(as_default) == _plain(as_typed) == _plain(as_variable)
    other = run(TUNER_STATE=str(tmp_path / "other"))
    assert _plain(other) == _plain(run("--state", tmp_path / "other", TUNER_STATE=str(tmp_path / "empty")))
    empty = run(TUNER_STATE=str(tmp_path / "empty"))
    assert _plain(empty) != _plain(other)


def _plain(done: tuple[int, str]) -> tuple[int, str]:
    """What was said, but for the time and the room on the disk."""
    return done[0], "\n".join(line for line in done[1].splitlines() if "clock:" not in line and "disk:" not in line)


def test_what_was_typed_goes_before_the_variable(tmp_path, monkeypatch):
    """Also where a file was typed instead of a directory."""
    journal = restore("0.1.0", tmp_path / "state")
    monkeypatch.setenv("TUNER_STATE", str(tmp_path / "elsewhere"))
    assert CliRunner().invoke(cli, ["journal", "verify", "--journal", str(journal)]).exit_code == 0
    both = ["journal", "verify", "--journal", str(journal), "--state", str(tmp_path)]
    assert CliRunner().invoke(cli, both).exit_code == 2


def test_a_home_directory_is_meant_by_its_sign(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_directory(Path("~/here")) == tmp_path / "here"
