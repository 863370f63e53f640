"""Runs of many seeds in processes side by side, each with one BLAS thread: the numbers are those of one process."""

import contextlib
import multiprocessing
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, TypeVar

from tuner.basics.threads import one_blas_thread
from tuner.config import Campaign
from tuner.errors import TunerError
from tuner.lab.judges.by_name import make_judge
from tuner.lab.simulate.in_process import TellProgress, run_in_process
from tuner.lab.simulate.results import RunResult

T = TypeVar("T")
R = TypeVar("R")
_LOOK_S = 0.5
_TOLD, _DONE, _FAILED = "told", "done", "failed"


def run_pool(campaigns: Sequence[Campaign], spec: str, jobs: int, told: TellProgress) -> Iterator[RunResult]:
    """Yield the runs in the order in which they end; if one fails the rest is given up."""
    tasks = {f"seed {campaign.seed}": (campaign, spec) for campaign in campaigns}
    yield from side_by_side(_simulated, tasks, jobs, told)


def _simulated(task: tuple[Campaign, str], told: TellProgress) -> RunResult:
    campaign, spec = task
    return run_in_process(campaign, make_judge(spec, campaign.seed), told)


def side_by_side(
    run: Callable[[T, TellProgress], R],
    tasks: Mapping[str, T],
    jobs: int,
    told: TellProgress,
    wanted: Callable[[T], bool] = lambda task: True,
    over: Callable[[], bool] | None = None,
) -> Iterator[R]:
    """Yield what a function of a module makes of each task, in the order in which they end; tasks go by their names.

    The first that is not wanted any more when its turn comes is left out, with all after it. `over` is asked now and
    then: what is under way when it says so is given up.
    """
    waiting = list(tasks)[::-1]
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(_worker()) for _ in range(min(jobs, len(tasks)))]
        busy: dict[Connection, str] = {}

        def begin(worker: Connection) -> None:
            busy[worker] = waiting.pop()
            worker.send((run, tasks[busy[worker]]))

        for worker in workers:
            begin(worker)
        while busy and not (over is not None and over()):
            for worker in [
                one for one in wait(list(busy), None if over is None else _LOOK_S) if isinstance(one, Connection)
            ]:
                word, message = _received(worker, busy[worker])
                if word == _TOLD:
                    told(*message)
                    continue
                del busy[worker]
                if waiting and wanted(tasks[waiting[-1]]):  # before the result is passed on: who takes it may take time
                    begin(worker)
                else:
                    waiting.clear()
                yield message


@contextlib.contextmanager
def _worker() -> Iterator[Connection]:
    """A process that runs one campaign after the other; it is ended with the block, whatever it does."""
    one_blas_thread()
    # started afresh (spawn): only then is the number of BLAS threads ours to say
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process: SpawnProcess = context.Process(target=_serve, args=(theirs,), daemon=True, name="simulate")
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.terminate()
        process.join()
        process.close()


def _received(worker: Connection, name: str) -> tuple[str, Any]:
    try:
        word, message = worker.recv()
    except (EOFError, ConnectionError):
        raise TunerError(f"{name}: the process that ran it died; is there memory enough?") from None
    if isinstance(message, TunerError):
        raise message
    if word == _FAILED:
        raise RuntimeError(f"{name}: {message}")
    return word, message


def _serve(pipe: Connection) -> None:
    """The process: takes a function and a task, tells of its progress, answers with what came or went wrong."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us ends us
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            run, task = pipe.recv()
            try:
                pipe.send((_DONE, run(task, lambda seed, trials: pipe.send((_TOLD, (seed, trials))))))
            except TunerError as error:
                pipe.send((_FAILED, error))
            except (EOFError, ConnectionError):
                raise
            except Exception:  # noqa: BLE001 - a defect is shown where the user is
                pipe.send((_FAILED, traceback.format_exc()))
