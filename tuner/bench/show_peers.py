"""Tables for people of how we compare with a rival, by rich."""

import math
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from tuner.bench.peer_regret import Comparison, summary
from tuner.bench.peer_speed import MOST_RATIO, Turns
from tuner.bench.peers import BOTORCH
from tuner.bench.protocol import Options
from tuner.bench.ratios import LEVEL, Ratio


def show_peer_speed(rows: Sequence[Turns], versions: Mapping[str, str], console: Console) -> None:
    """Print the milliseconds of both sides and their ratio with the goal."""
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    table = Table(title=f"Milliseconds of a proposal beside {BOTORCH}", title_justify="left")
    for name in ("dimensions", "duels", "tuner", "BoTorch", "ratio", f"{LEVEL:.0%} interval"):
        table.add_column(name, justify="right")
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
    console.print(table)
    turns = len(rows[0].ours_s)
    console.print(
        f"tuner: Optimizer.ask with its warm fit. BoTorch: fit and optimised acquisition, its defaults. Medians of "
        f"{turns} turns in which both propose from the same duels, one duel more each turn; "
        f"processor time, one thread; {named}."
    )


def show_peer_regret(rows: Sequence[Comparison], options: Options, console: Console) -> None:
    """Print both sides' regret, the paired ratio and the seconds."""
    seeds = [run.seed for run in rows[0].ours]
    title = (
        f"Regret beside {BOTORCH} after {options.start} uniform settings and {options.trials} trials, "
        f"seeds {seeds[0]} to {seeds[-1]}, paired"
    )
    table = Table(title=title, title_justify="left")
    table.add_column("problem")
    for name in (
        *("tuner median", "BoTorch median", "ratio", f"{LEVEL:.0%} interval", "better on"),
        *("tuner scrap", "BoTorch scrap", "tuner s", "BoTorch s", "ratio of s"),
    ):
        table.add_column(name, justify="right")
    for row in rows:
        ours, theirs = summary(row.ours), summary(row.theirs)
        table.add_row(
            row.problem,
            _number(ours["median"], ".2g"),
            _number(theirs["median"], ".2g"),
            *_ratio_texts(row.regret),
            f"{row.better} of {len(seeds)}",
            _number(ours["scrap"], ".1f"),
            _number(theirs["scrap"], ".1f"),
            _number(ours["seconds"], ".3f"),
            _number(theirs["seconds"], ".3f"),
            _ratio_texts(row.seconds)[0],
        )
    console.print(table)
    console.print(
        "ratio: geometric means over the seeds, ours over BoTorch's, with a bootstrap interval; below 1 we are better. "
        "BoTorch knows no validity: a trial that is not valid loses its duel."
    )


def _ratio_texts(ratio: Ratio) -> tuple[str, str]:
    if not math.isfinite(ratio.value):
        return "-", "-"
    return f"{ratio.value:.3g}", f"{ratio.low:.3g} to {ratio.high:.3g}"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
