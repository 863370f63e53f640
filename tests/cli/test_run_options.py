"""Options that many commands share."""

import click
import pytest
from click.testing import CliRunner

from tuner.cli.main import cli
from tuner.cli.run_options import MOST_JOBS, cores, jobs_option


@click.command()
@jobs_option(default=2)
def run(jobs):
    """Say how many."""
    click.echo(jobs)


@pytest.mark.parametrize(
    ("given", "meant"),
    [([], "2"), (["--jobs", "3"], "3"), (["--workers", "4"], "4"), (["--jobs", "3", "--workers", "4"], "3")],
)
def test_workers_is_an_old_name_of_jobs_and_is_taken_with_a_warning(given, meant):
    shown = CliRunner().invoke(run, given)
    assert shown.stdout.strip() == meant
    assert ("--workers is called --jobs" in shown.stderr) == ("--workers" in given)


@pytest.mark.parametrize("command", [["replay"], ["bench", "paper"]])
def test_worker_processes_have_one_name_at_every_command(command):
    shown = CliRunner().invoke(cli, [*command, "--help"])
    assert "--jobs" in shown.stdout
    assert "--workers" not in shown.stdout


def _commands(group, path=()):
    for name, one in group.commands.items():
        yield (*path, name), one
        if isinstance(one, click.Group):
            yield from _commands(one, (*path, name))


def test_no_option_that_is_shown_says_workers():
    shown = [
        " ".join(path)
        for path, command in _commands(cli)
        for option in command.params
        if isinstance(option, click.Option) and "--workers" in option.opts and not option.hidden
    ]
    assert shown == []


@pytest.mark.parametrize(("allowed", "meant"), [(range(3), 3), (range(1000), MOST_JOBS)])
def test_there_are_as_many_jobs_as_cores_that_may_be_used_and_never_more_than_are_taken(monkeypatch, allowed, meant):
    monkeypatch.setattr("tuner.cli.run_options.os.sched_getaffinity", lambda _: set(allowed))
    assert cores() == meant
