"""The whole of `tuner bench paper`: run what is not finished yet, then write the pages from all that is."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tuner.lab.paper.execute import execute
from tuner.lab.paper.run_file import RunStore
from tuner.lab.paper.runs import Record
from tuner.lab.paper.tasks import Scale, Task, tasks_of

Progress = Callable[[str, int], AbstractContextManager[Callable[[], None]]]


def run_missing(
    scale: Scale, figures: tuple[int, ...], out: Path, *, jobs: int, dask: str | None, progress: Progress
) -> None:
    """Do every run of the plan that the file of finished runs lacks, and add it there."""
    store = RunStore(out)
    with store.writing() as writer:
        done = store.load()
        missing = [task for task in tasks_of(scale, figures) if task.key not in done]
        with progress("runs", len(missing)) as advance:
            for record in execute(missing, jobs, dask):
                writer.append(record)
                advance()


def finished(scale: Scale, figures: tuple[int, ...], out: Path) -> tuple[list[Task], dict[Task, Record]]:
    """Return the plan's tasks and the runs of those that are finished."""
    done = RunStore(out).load()
    tasks = tasks_of(scale, figures)
    return tasks, {task: done[task.key] for task in tasks if task.key in done}
