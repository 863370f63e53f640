"""`tuner init`: asks in plain words and writes a commented configuration that is right."""

import shlex
import shutil
import sys
import textwrap
from pathlib import Path

import click

from tuner.errors import TunerError


@click.command()
@click.argument("directory", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--answers", metavar="FILE", type=click.Path(path_type=Path), help="A TOML file with answers.")
@click.option("--yes", is_flag=True, help="Take the default of every question that has no answer.")
def init(directory: Path, answers: Path | None, yes: bool) -> None:
    """Ask about your machine and parameters, and write DIR/tuner.toml.

    An empty line takes what stands in brackets, ? tells more, back goes to the question before. Ctrl-C writes nothing.
    Without a machine yet, the adapter practice writes a program beside it that makes pretend parts.
    """
    from tuner.setup.interview import CONFIG, Ask, interview, read_answers, write

    place = directory / CONFIG
    if place.exists() or place.is_symlink():
        raise TunerError(f"{place} is there already: name another directory, or move it away")
    given = {} if answers is None else read_answers(answers)
    ask = None if yes or answers is not None else Ask(_line, click.echo)
    if ask is not None:
        click.echo(
            "A few questions about your machine. Empty line: what is in brackets. ? tells more, back goes back.\n"
        )
    try:
        told = interview(given, defaults=yes, ask=ask)
    except KeyboardInterrupt:
        click.echo("\nNothing was written.", err=True)
        raise
    written = write(directory, told)
    for file in written:
        click.echo(f"written: {file}")
    state, log = (shlex.quote(str((directory / name).absolute())) for name in ("state", "daemon.log"))
    config = shlex.quote(str(place))
    steps = [
        (f"tuner check-config {config}", "whenever you changed it"),
        (f"tuner rehearse {config}", "what to expect, in two minutes"),
        (f"export TUNER_STATE={state}", "in each terminal, so that all find the daemon"),
        (f"tuner run {config} 2>{log} &", "the daemon, and where its log goes"),
        (f"tuner campaign start {told['campaign']}", "tuning begins"),
        ("tuner console", "approve settings, compare parts"),
        (f"tuner export {told['campaign']} --to {told['campaign']}.xlsx", "the data, at any time"),
        ("tuner stop", "the daemon ends, the machine is at its known-good setting"),
    ]
    width = max(len(step) for step, _ in steps)
    click.echo("\nWhat to type next:")
    for step, about in steps:
        click.echo(f"  {step:<{width}}  # {about}")


def _line(prompt: str) -> str:
    """A line that somebody types, with the keys that edit one where there is a terminal."""
    from tuner.setup.interview import NoAnswerError

    try:
        if sys.stdin.isatty():
            import readline  # noqa: F401 - importing it gives `input` its keys

            *above, last = textwrap.wrap(prompt.rstrip(), shutil.get_terminal_size().columns - 1) or [""]
            for line in above:
                click.echo(line)
            return input(f"{last} ")
        click.echo(prompt, nl=False)
        line = sys.stdin.readline()
    except EOFError:
        line = ""
    if not line:
        raise NoAnswerError(
            "\nThe answers ended before the questions did; nothing was written. See --answers and --yes"
        )
    click.echo(line, nl=False)
    return line
