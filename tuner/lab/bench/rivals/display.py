"""Tables for people of how we compare with our rivals, by rich."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from tuner.lab.bench.protocol import Options
from tuner.lab.bench.ratios import LEVEL, Ratio
from tuner.lab.bench.rivals.all_rivals import get_rival
from tuner.lab.bench.rivals.regret import Comparison, summary
from tuner.lab.bench.rivals.speed import MOST_RATIO, Turns

_INTERVAL = f"{LEVEL:.0%} interval"
_FEW = 10  # a bootstrap of fewer seeds knows too little of the tails


def show_peer_speed(rows: Sequence[Turns], versions: Mapping[str, str], console: Console) -> None:
    """Print for each rival the milliseconds of both sides and their ratio with the goal."""
    timed = []
    for name, group in groupby(rows, key=lambda row: row.rival):
        rival = get_rival(name)
        timed.append(f"{rival.label}: {rival.timed}.")
        console.print(_speed_table(rival.title, rival.label, list(group)))
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    console.print(
        f"tuner: Optimizer.ask with its warm fit. {' '.join(timed)} Medians of {len(rows[0].ours_s)} turns in which "
        f"all propose from the same duels, one duel more each turn; processor time, one thread; {named}."
    )


def _speed_table(title: str, label: str, rows: Sequence[Turns]) -> Table:
    table = _table(
        f"Milliseconds of a proposal beside {title}", *("dimensions", "duels", "tuner", label, "ratio", _INTERVAL)
    )
    table.add_column(f"goal: <= {MOST_RATIO:g}")
    for row in rows:
        found = row.to_json()
        verdict = (
            "[green]reached[/green]" if row.reached else f"[red]missed, {row.ratio.value / MOST_RATIO:.3g} x[/red]"
        )
        table.add_row(
            f"{row.dimensions}",
            f"{row.duels}",
            f"{1e3 * found['ours_s']:.3g}",
            f"{1e3 * found['theirs_s']:.4g}",
            *_ratio_texts(row.ratio),
            verdict,
        )
    return table


def show_peer_regret(rows: Sequence[Comparison], options: Options, console: Console) -> None:
    """Print for each rival both sides' regret with its paired ratio, and the seconds of the same runs with theirs."""
    seeds = [run.seed for run in rows[0].ours]
    protocol = (
        f"after {options.start} uniform settings and {options.trials} trials, seeds {seeds[0]} to {seeds[-1]}, paired"
    )
    labels = []
    for name, group in groupby(rows, key=lambda row: row.rival):
        rival, compared = get_rival(name), list(group)
        labels.append(rival.label)
        console.print(_regret_table(f"Regret beside {rival.title} {protocol}", rival.label, compared))
        console.print(_seconds_table("Seconds of a proposal in these runs", rival.label, compared))
    few = " Few seeds: such an interval is too narrow." if len(seeds) < _FEW else ""
    console.print(
        "ratio: geometric mean over the seeds, ours over the rival's, with a bootstrap interval; below 1 we are "
        f"better.{few} {' and '.join(labels)} know{'s' if len(labels) == 1 else ''} no validity: a trial that is not "
        "valid loses its duel. Scrap: non-valid trials of a run, mean. Seconds: processor time, one thread, mean."
    )


def _regret_table(title: str, label: str, rows: Sequence[Comparison]) -> Table:
    sides = [f"{side}\n{what}" for what in ("median", "mean") for side in ("tuner", label)]
    scrap = ["tuner\nscrap", f"{label}\nscrap"]
    table = _table(title, "problem", *sides, "ratio", _INTERVAL, "better on", *scrap)
    for row in rows:
        both = summary(row.ours), summary(row.theirs)
        table.add_row(
            row.problem,
            *(_number(side[what], ".2g") for what in ("median", "mean") for side in both),
            *_ratio_texts(row.regret),
            f"{row.better} of {len(row.ours)}",
            *(_number(side["scrap"], ".1f") for side in both),
        )
    return table


def _seconds_table(title: str, label: str, rows: Sequence[Comparison]) -> Table:
    table = _table(title, "problem", "tuner", label, "ratio", _INTERVAL)
    for row in rows:
        seconds = (_number(summary(side)["seconds"], ".3f") for side in (row.ours, row.theirs))
        table.add_row(row.problem, *seconds, *_ratio_texts(row.seconds))
    return table


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first, justify="left" if first == "problem" else "right")
    for name in others:
        table.add_column(name, justify="right")
    return table


def _ratio_texts(ratio: Ratio) -> tuple[str, str]:
    if not math.isfinite(ratio.value):
        return "-", "-"
    interval = f"{ratio.low:.3g} to {ratio.high:.3g}" if math.isfinite(ratio.low) else "-"
    return f"{ratio.value:.3g}", interval


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
