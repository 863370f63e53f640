"""Runs of many seeds in processes side by side, each with one BLAS thread: the numbers are those of one process."""

import contextlib
import multiprocessing
import signal
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from tuner.basics.threads import one_blas_thread
from tuner.config import Campaign
from tuner.errors import TunerError
from tuner.lab.judges.by_name import make_judge
from tuner.lab.simulate.in_process import TellProgress, run_in_process
from tuner.lab.simulate.results import RunResult


def run_pool(campaigns: Sequence[Campaign], spec: str, jobs: int, told: TellProgress) -> Iterator[RunResult]:
    """Yield the runs in the order in which they end; if one fails the rest is given up."""
    waiting = list(reversed(campaigns))
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(_worker()) for _ in range(min(jobs, len(campaigns)))]
        busy: dict[Connection, Campaign] = {}
        for worker in workers:
            busy[worker] = waiting.pop()
            worker.send((busy[worker], spec))
        while busy:
            for worker in [one for one in wait(list(busy)) if isinstance(one, Connection)]:
                message = _received(worker, busy[worker])
                if not isinstance(message, RunResult):
                    told(*message)
                    continue
                del busy[worker]
                if waiting:  # before the run is passed on: whoever takes it may take time
                    busy[worker] = waiting.pop()
                    worker.send((busy[worker], spec))
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


def _received(worker: Connection, campaign: Campaign) -> RunResult | tuple[int, int]:
    try:
        message = worker.recv()
    except (EOFError, ConnectionError):
        raise TunerError(f"seed {campaign.seed}: the process that ran it died; is there memory enough?") from None
    if isinstance(message, TunerError):
        raise message
    if isinstance(message, str):
        raise RuntimeError(f"seed {campaign.seed}: {message}")
    found: RunResult | tuple[int, int] = message
    return found


def _serve(pipe: Connection) -> None:
    """The process: takes a campaign and a judge, tells of its progress, answers with the run or what went wrong."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us ends us
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            campaign, spec = pipe.recv()
            try:
                judge = make_judge(spec, campaign.seed)
                pipe.send(run_in_process(campaign, judge, lambda seed, trials: pipe.send((seed, trials))))
            except TunerError as error:
                pipe.send(error)
            except (EOFError, ConnectionError):
                raise
            except Exception:  # noqa: BLE001 - a defect is shown where the user is
                pipe.send(traceback.format_exc())
