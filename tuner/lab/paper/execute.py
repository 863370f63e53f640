"""Does tasks on local processes or on an existing Dask cluster, and yields each run when it is done."""

from collections.abc import Iterator, Sequence

from tuner.lab.bench.workers import run_all, run_on_dask
from tuner.lab.paper.runs import Record, run_task
from tuner.lab.paper.tasks import Task


def execute(tasks: Sequence[Task], jobs: int, dask: str | None = None) -> Iterator[Record]:
    """Yield the run of every task, in the order in which they are done."""
    if not tasks:
        return iter(())
    alone = [(task,) for task in tasks]
    if dask:
        return run_on_dask(run_task, alone, [f"tuner-paper-{task.key}" for task in tasks], dask)
    return (record for _, record in run_all(run_task, alone, jobs))
