import json
import os
import signal
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from tests.lab.paper.records import TINY, made_up
from tuner.core.posterior.ep import NotConvergedError
from tuner.errors import TryAgainError, TunerError, UnreachableError
from tuner.lab.bench import workers
from tuner.lab.bench.display import progress
from tuner.lab.paper.execute import execute
from tuner.lab.paper.reproduce import finished, run_missing
from tuner.lab.paper.rivals import PaperLearner
from tuner.lab.paper.run_file import RunStore
from tuner.lab.paper.runs import Record, run_task
from tuner.lab.paper.tasks import (
    AUTO,
    FIGURES,
    FULL,
    FUNCTIONS,
    MIXED,
    PENALISED,
    QUICK,
    RIVALS,
    START,
    Task,
    problem_of,
    tasks_of,
)
from tuner.problems import get_problem

SOME = [
    Task(4, "forrester", "gpl-ucb", 0, 2),
    Task(4, "six_hump", "skewgp-thompson", 1, 2),
    Task(7, "sasena", "mixed-eiig-0.1", 0, 2),
    Task(7, PENALISED, "penalised-ucb", 0, 2),
    Task(5, "waves", "auto", 3, 2),
]


def in_order(records):
    return sorted(records, key=lambda record: record.task.key)


def quiet(out, **options):
    run_missing(TINY, (5,), out, **{"jobs": 1, "dask": None, "progress": progress, **options})


def test_the_full_plan_is_the_papers_20_trials_of_every_method_with_ours_beside_it():
    tasks = tasks_of(FULL)
    counts = Counter((task.figure, task.problem, task.method) for task in tasks)
    assert set(counts.values()) == {20}
    expected = {(4, problem, method.name) for problem in FUNCTIONS for method in (*RIVALS, AUTO)}
    expected |= {(5, "waves", method.name) for method in (*RIVALS, AUTO)}
    expected |= {(7, "sasena" if method.mixed else PENALISED, method.name) for method in MIXED} | {
        (7, "sasena", "auto")
    }
    assert counts.keys() == expected
    assert {task.asked + START - 1 for task in tasks if task.figure == 4} == {100}


def test_every_run_of_both_plans_has_its_own_key():
    tasks = {*tasks_of(FULL), *tasks_of(QUICK), *SOME}
    assert len({task.key for task in tasks}) == len(tasks)


def test_early_runs_are_balanced_over_the_methods():
    tasks = tasks_of(FULL)
    assert [task.seed for task in tasks] == sorted(task.seed for task in tasks)
    assert tasks_of(FULL, (2, 3, 6)) == []
    assert {task.figure for task in tasks_of(FULL, (5,))} == {5}


def test_the_penalised_problem_is_sasena_where_it_is_valid_and_dearer_elsewhere():
    sasena, penalised = get_problem("sasena"), problem_of(PENALISED)
    points = np.random.default_rng(0).uniform(0, 5, (500, 2))
    valid = sasena.is_valid(points)
    assert penalised.is_valid(points).all()
    assert penalised.evaluate(points[valid]).tolist() == sasena.evaluate(points[valid]).tolist()
    assert (penalised.evaluate(points[~valid]) > sasena.evaluate(points[~valid])).all()
    h = max(0.0, -np.sin(0.5 - np.pi / 8 - 1.0))
    at = np.array([[0.5, 1.0]])
    assert penalised.evaluate(at)[0] == pytest.approx(sasena.evaluate(at)[0] + 1e8 * h**2)


def test_all_methods_of_a_seed_start_alike_and_the_champion_never_gets_worse():
    records = [run_task(Task(4, "forrester", method, 0, 3)) for method in ("gpl-ucb", "skewgp-eiig-0.5", "auto")]
    assert len({record.regret[0] for record in records}) == 1
    for record in records:
        assert len(record.regret) == 4
        assert list(record.regret) == sorted(record.regret, reverse=True)
        assert record.failed == 0
        assert record.seconds > 0
        assert "numpy" in record.made_by


def test_a_proposal_that_fails_is_replaced_and_counted(monkeypatch):
    def fails(*arguments):
        raise NotConvergedError("no")

    monkeypatch.setattr(PaperLearner, "__call__", fails)
    record = run_task(Task(4, "forrester", "gpl-ucb", 0, 3))
    assert record.failed == 3
    assert len(record.regret) == 4


@pytest.mark.slow
def test_parallel_runs_equal_serial_ones_bit_for_bit():
    one, two = (in_order(execute(SOME, workers)) for workers in (1, 2))
    assert len(one) == len(SOME)
    assert one == two


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_runs():
    from distributed import LocalCluster

    tasks = SOME[:2]
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp", host="127.0.0.1"
    ) as cluster:
        found = in_order(execute(tasks, 1, cluster.scheduler_address))
    assert found == in_order(run_task(task) for task in tasks)


def test_a_scheduler_that_does_not_answer_is_reported_with_its_address(monkeypatch):
    monkeypatch.setattr(workers, "DASK_PATIENCE_S", 0.2)
    with pytest.raises(UnreachableError, match=r"tcp://127\.0\.0\.1:9"):
        list(execute(SOME, 1, "tcp://127.0.0.1:9"))


def test_runs_survive_the_file_also_without_a_champion(tmp_path):
    store = RunStore(tmp_path / "new")
    assert store.load() == {}
    records = [made_up(4, "auto", 0, 0.1 + 0.2), made_up(7, "auto", 1, float("inf"), first=float("inf"))]
    with store.writing() as writer:
        for record in records:
            writer.append(record)
    assert list(store.load().values()) == records
    assert list(store.load()) == [record.task.key for record in records]
    assert [r.seconds for r in store.load().values()] == [r.seconds for r in records]


def test_a_line_that_a_kill_cut_short_does_not_count_and_is_removed(tmp_path):
    store = RunStore(tmp_path)
    first, second = made_up(4, "auto", 0, 0.1), made_up(4, "auto", 1, 0.2)
    with store.writing() as writer:
        writer.append(first)
        writer.append(second)
    store.path.write_bytes(store.path.read_bytes()[:-20])
    assert list(store.load().values()) == [first]
    with store.writing() as writer:
        writer.append(second)
    assert list(store.load().values()) == [first, second]


@pytest.mark.parametrize("damaged", [b'{"key": 1}', b"\xb6\xff"], ids=["JSON", "no text"])
def test_a_damaged_line_is_reported_with_its_place(tmp_path, damaged):
    store = RunStore(tmp_path)
    store.path.write_bytes(json.dumps(made_up(4, "auto", 0, 0.1).to_json()).encode() + b"\n" + damaged + b"\n")
    with pytest.raises(TunerError, match=r"runs\.jsonl:2: .*remove the line"):
        store.load()


def test_two_benches_cannot_write_to_one_file(tmp_path):
    with (
        RunStore(tmp_path).writing(),
        pytest.raises(TryAgainError, match="another bench"),
        RunStore(tmp_path).writing(),
    ):
        pass


def test_runs_of_another_protocol_or_budget_are_not_taken_for_ours(tmp_path):
    task = tasks_of(TINY, (5,))[0]
    other = Record(Task(5, task.problem, task.method, task.seed, task.asked + 1), (1.0,), 0, 0, 1.0)
    with RunStore(tmp_path).writing() as writer:
        writer.append(other)
    assert finished(TINY, (5,), tmp_path)[1] == {}


CHILD = """
from pathlib import Path
import sys
from tests.lab.paper.records import TINY
from tuner.lab.paper.reproduce import run_missing
from tuner.lab.bench import workers
from tuner.lab.bench.display import progress
if __name__ == "__main__":
    run_missing(TINY, (5,), Path(sys.argv[1]), jobs=1, dask=None, progress=progress)
"""


@pytest.mark.slow
def test_a_bench_that_was_killed_goes_on_where_it_was_and_ends_with_the_same_table(tmp_path):
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}  # noqa: PTH109 - text
    with subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "killed")],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    ) as child:
        lines = [child.stderr.readline() for _ in range(3)]
        # the workers too: the whole group
        os.killpg(child.pid, signal.SIGKILL)
    assert "3 of 9" in lines[-1], lines
    done = RunStore(tmp_path / "killed").load()
    assert 3 <= len(done) < 9
    quiet(tmp_path / "killed")
    quiet(tmp_path / "whole", jobs=2)
    tasks, whole = finished(TINY, (5,), tmp_path / "whole")
    assert len(whole) == len(tasks) == 9
    assert finished(TINY, (5,), tmp_path / "killed") == (tasks, whole)
    # nothing was run twice
    assert len((tmp_path / "killed" / "runs.jsonl").read_text().splitlines()) == 9


def test_a_finished_bench_runs_nothing_again(tmp_path, monkeypatch):
    with RunStore(tmp_path).writing() as writer:
        for task in tasks_of(TINY, (5,)):
            writer.append(Record(task, (1.0, 0.5), 0, 0, 1.0, "test"))
    before = (tmp_path / "runs.jsonl").read_bytes()
    quiet(tmp_path)
    assert (tmp_path / "runs.jsonl").read_bytes() == before
    assert FIGURES == (2, 3, 4, 5, 6, 7)
