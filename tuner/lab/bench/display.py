"""The bench's tables and progress bars for people, by rich."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from tuner.lab.bench.protocol import Options
from tuner.lab.bench.published import MEDIANS, PEERS, SECONDS
from tuner.lab.bench.speed import DRAWS, Speed, SpeedMark
from tuner.lab.bench.table import Mark, Row

PLAIN_WIDTH = 140  # where there is no terminal to fit into


def printer() -> Console:
    """Return the console of stdout."""
    console = Console()
    return console if console.is_terminal else Console(width=PLAIN_WIDTH)


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show on stderr how far we are and how long it still takes; plain lines where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _tenths(title, total)
        return
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"))
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


def _tenths(title: str, total: int) -> Callable[[], None]:
    count = 0

    def advance() -> None:
        nonlocal count
        count += 1
        if count == total or count % max(total // 10, 1) == 0:
            sys.stderr.write(f"{title}: {count} of {total}\n")

    return advance


def show_table(rows: Sequence[Row], options: Options, console: Console) -> None:
    """Print our numbers with the goals, then the peers' medians beside ours."""
    judge = "exact judge"
    if options.flips or options.noise:
        judge = f"{options.flips:.0%} flipped answers" if options.flips else f"probit noise {options.noise:g}"
    seeds = [run.seed for run in rows[0].runs]
    title = (
        f"Regret after {options.start} uniform settings and {options.trials} trials, {options.acquisition}, {judge}, "
        f"seeds {seeds[0]} to {seeds[-1]}"
    )
    ours = Table(title=title, title_justify="left")
    for name in ("problem", "median", "mean", "worst", "scrap", "worst scrap", "s/proposal"):
        ours.add_column(name, justify="left" if name == "problem" else "right")
    ours.add_column("goals")
    for row in rows:
        found = row.statistics
        ours.add_row(
            row.problem,
            *(f"{found[name]:.2g}" for name in ("median", "mean", "worst")),
            f"{found['scrap']:.1f}",
            f"{found['scrap_worst']:.0f}",
            f"{found['seconds']:.3f}",
            "\n".join(_goal_text(mark) for mark in row.marks) or "-",
        )
    console.print(ours)
    peers = Table(title="Medians beside the peers' (measured earlier on their public code)", title_justify="left")
    peers.add_column("problem")
    for name in ("tuner", *PEERS):
        peers.add_column(name, justify="right")
    for row in rows:
        medians = {"tuner": row.statistics["median"], **MEDIANS.get(row.problem, {})}
        best = min(medians.values())
        texts = (_emphasised(medians.get(name), best) for name in ("tuner", *PEERS))
        peers.add_row(row.problem, *texts)
    seconds = sum(row.statistics["seconds"] for row in rows) / len(rows)
    peers.add_section()
    peers.add_row("s/proposal", f"{seconds:.3f}", *(f"{SECONDS[name]:g}" for name in PEERS))
    console.print(peers)


def _emphasised(value: float | None, best: float) -> str:
    if value is None:
        return "-"
    return f"[bold]{value:.2g}[/bold]" if value == best else f"{value:.2g}"


def _goal_text(mark: Mark) -> str:
    sign = "<=" if mark.goal.because == "goal" else "<"
    because = "" if mark.goal.because == "goal" else f" ({mark.goal.because})"
    verdict = "[green]reached[/green]" if mark.reached else f"[red]missed, {mark.factor:.2g} x[/red]"
    return f"{mark.goal.statistic} {sign} {mark.goal.limit:g}{because}: {verdict}"


def show_speed(found: Speed, *, compiled: bool, console: Console) -> None:
    """Print the ratios with their goals."""
    trajectories = "compiled" if compiled else "numpy (built without a compiler: slower)"
    title = f"{DRAWS} draws; ratios to as many plain Gaussian draws of the same covariance; {trajectories} trajectories"
    table = Table(title=title, title_justify="left")
    names = (
        "duels of",
        "rows",
        "Gaussian ms",
        "truncated",
        "ESS/draw",
        "proposal",
        "slowest",
        "first",
        "lin-ess",
        "its ESS",
    )
    for name in (*names, "Laplace"):
        table.add_column(name, justify="left" if name == "duels of" else "right")
    for row in found.rows:
        marks = {mark.name: mark for mark in row.marks}
        cells = [row.data, f"{row.m}", f"{1e3 * row.gaussian_s:.3g}"]
        for name in ("truncated", "effective", "proposal"):
            text = f"{getattr(row, name):.3g}"
            cells.append(f"{text} {_verdict(marks[name])}" if name in marks else text)
        first = "-" if row.first is None else f"{row.first:.3g}"
        cells += [f"{row.slowest:.3g}", f"{first} {_verdict(marks['first'])}" if "first" in marks else first]
        cells += [f"{row.lin_ess:.3g}", f"{row.lin_ess_effective:.2g}", f"{row.laplace:.3g}"]
        table.add_row(*cells)
    console.print(table)
    for one in found.campaigns:
        console.print(f"campaign of {one.duels} duels in {one.dimensions}-D: proposals take {one.seconds:.3g} s in all")
    if found.mark is not None:
        console.print(f"1-D over 6-D: {found.mark.value:.3g} {_verdict(found.mark)}")
    console.print(
        "truncated: exact draws with their Cholesky factor, hyper-parameters and EP's sites known. proposal: fits, "
        "draws, acquisition, search and explanation (Optimizer.ask), the mean of four in a row; slowest: of the four; "
        "first: the one that first doubts the judge of duels brought along. "
        "Laplace: the posterior at fixed hyper-parameters. Medians of processor time, one thread."
    )


def _verdict(mark: SpeedMark) -> str:
    colour, verdict = ("green", "reached") if mark.reached else ("red", "missed")
    return f"[{colour}]{verdict} ({mark.sign} {mark.limit:g})[/{colour}]"


def show_rows(title: str, rows: Sequence[object], columns: Sequence[str], console: Console) -> None:
    """Print plain measurements, one attribute a column."""
    if not rows:
        return
    table = Table(title=title)
    for name in columns:
        table.add_column(name.replace("_", " "), justify="right")
    for row in rows:
        values = [getattr(row, name) for name in columns]
        table.add_row(*(str(value) if isinstance(value, int) else f"{value:.3g}" for value in values))
    console.print(table)
