"""What the tests of the suite share."""

from pathlib import Path

from tuner.lab.bench.suite.tasks import run_file, run_task


def finish(tasks, directory: Path) -> None:
    """Do runs here: a process for them takes longer to start than they take."""
    with run_file(directory).writing() as writer:
        for task in tasks:
            writer.append(run_task(task))
