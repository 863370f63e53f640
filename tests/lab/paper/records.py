"""Finished runs and plans that tests make up."""

from tuner.lab.paper.runs import Record
from tuner.lab.paper.tasks import PENALISED, Scale, Task

TINY = Scale("quick", 1, ("forrester",), {4: 1, 5: 1, 7: 1}, draws=100, grid=8)


def made_up(figure, method, seed, last, *, problem=None, seconds=1.0, asked=3, first=8.0):
    """A run whose regret falls from `first` to `last` at the end."""
    usual = {4: "forrester", 5: "waves", 7: PENALISED if method.startswith("penalised") else "sasena"}
    task = Task(figure, problem or usual[figure], method, seed, asked)
    return Record(task, (first, *[(first * last) ** 0.5] * (asked - 1), last), 0, 0, seconds, "test")


def by_task(records):
    return {record.task: record for record in records}


def race(figure, better, worse, *, seeds=10, factor=1e-3, **options):
    """Runs of two methods, of which the first ends nearer to the optimum by about this factor on every seed."""
    records = []
    for seed in range(seeds):
        records.append(made_up(figure, worse, seed, 0.1 + 0.01 * seed, **options))
        records.append(made_up(figure, better, seed, factor * (0.1 + 0.02 * seed), **options))
    return by_task(records)
