"""The tables of `tuner bench scrap` for people, by rich."""

from rich.console import Console
from rich.table import Table

from tuner.lab.bench.scrap.bench import WRONG, Results
from tuner.lab.bench.scrap.processes import FAMILIES

_COLOURS = {"held": "green", "broken": "red", "not shown": "yellow"}


def show_scrap(found: Results, console: Console) -> None:
    """Print scrap against the contract cell by cell, then ours paired with its rivals."""
    table = Table(title=f"scrap per part against the contract, {found.plan.parts} parts a run", title_justify="left")
    for name in ("family", "rate", "judge", "method", "runs", "scrap/part", "95 %", "said", "over", "held back"):
        table.add_column(name, justify="left" if name in ("family", "judge", "method") else "right")
    for name in ("regret", "free", ""):
        table.add_column(name, justify="right")
    for one in found.cells:
        cell, fits = one.cell, FAMILIES[one.cell.family].fits
        colour = _COLOURS[one.verdict]
        table.add_row(
            cell.family + ("" if fits else " *"),
            f"{cell.rate:g}",
            cell.judge,
            cell.method,
            f"{one.runs}",
            f"{one.scrap_rate:.4f}",
            f"{one.low:.3f} to {one.high:.3f}",
            f"{one.said:.4f}",
            f"{one.over:.0%}",
            f"{one.held:.0%}",
            f"{one.reachable:.2g}",
            f"{one.free:.2g}",
            f"[{colour}]{one.verdict}[/{colour}]",
        )
    console.print(table)
    if found.pairs:
        console.print(_pairs(found))
    console.print(
        f"* the model's assumptions do not hold: at most {WRONG:g} times the rate is the goal there. over: runs with "
        "more scrap than the rate allows them, or than one. held back: runs in which tuning held before the end. "
        "regret: median, against the best that can be reached within the rate from the known-good setting, in units "
        "of the start's; free: against the best of all. The interval resamples whole runs. A rival is paired at the "
        "same rate, and at that of its rates at which it makes about as much scrap: there by the free regret."
    )


def _pairs(found: Results) -> Table:
    title = "ours paired with rivals on the same processes: decades of regret, below zero ours is ahead"
    table = Table(title=title, title_justify="left")
    for name in (
        "ours",
        "rival",
        "model",
        "rate",
        "rival's rate",
        "pairs",
        "decades",
        "scrap a run, ours",
        "rival's scrap",
    ):
        table.add_column(name, justify="right")
    for one in found.pairs:
        ends = "" if one.low is None or one.high is None else f" ({one.low:+.2f} to {one.high:+.2f})"
        table.add_row(
            one.ours,
            one.rival,
            "fits" if one.fits else "is wrong",
            f"{one.rate:g}",
            f"{one.rival_rate:g}",
            f"{one.pairs}",
            f"{one.decades:+.2f}{ends}",
            f"{one.scrap[0]:.2f}",
            f"{one.scrap[1]:.2f}",
        )
    return table
