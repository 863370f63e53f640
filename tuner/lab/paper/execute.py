"""Does tasks on local processes or on an existing Dask cluster, and yields each run when it is done."""

from collections.abc import Iterator, Sequence

from tuner.errors import TunerError, UnreachableError
from tuner.lab.bench.workers import run_all
from tuner.lab.paper.runs import Record, run_task
from tuner.lab.paper.tasks import Task

DASK_PATIENCE_S = 10


def execute(tasks: Sequence[Task], workers: int, dask: str | None = None) -> Iterator[Record]:
    """Yield the run of every task, in the order in which they are done."""
    if not tasks:
        return iter(())
    return (
        _on_dask(tasks, dask) if dask else (record for _, record in run_all(run_task, [(t,) for t in tasks], workers))
    )


def _on_dask(tasks: Sequence[Task], address: str) -> Iterator[Record]:
    """Send the tasks to a cluster whose workers have this package; a lost worker's tasks are done again by others."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise TunerError("Dask is not installed: install process-tuner with the extra `dask`") from None
    try:
        client = Client(address, timeout=DASK_PATIENCE_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise UnreachableError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        # the first tasks first, whatever their names hash to
        futures = [
            client.submit(run_task, task, key=f"tuner-paper-{task.key}", pure=False, priority=-place)
            for place, task in enumerate(tasks)
        ]
        try:
            for future in as_completed(futures, loop=client.loop):  # type: ignore[no-untyped-call]
                yield future.result()
        finally:
            client.cancel(futures)  # type: ignore[no-untyped-call]
