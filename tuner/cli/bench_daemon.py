"""`tuner bench latency`, `load`, `start`, `web`, `scale`: how the daemon serves people and machines, from outside."""

import json
from typing import Any

import click

from tuner.basics.threads import one_blas_thread

LEAST_DUELS = 5
LEAST_EVENTS = 1000
CAMPAIGN_COLUMNS = (
    "campaigns",
    "ready_s",
    "ready_cpu_s",
    "mb",
    "all_mb",
    "status_ms",
    "status_cpu_ms",
    "snapshot_ms",
)
EVENT_COLUMNS = ("events", "campaigns", "mb", "bytes_a_part", "first_s", "first_cpu_s", "again_s", "again_cpu_s")


@click.command()
@click.option("--trials", type=click.IntRange(3, 1000), default=20, show_default=True, help="Trials of each run.")
@click.option("--seconds", type=click.FloatRange(0, 60), default=2.0, show_default=True, help="What a trial takes.")
@click.option(
    "--known",
    type=click.IntRange(10, 2000),
    default=300,
    show_default=True,
    help="Trials known while replies are timed.",
)
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of a table.")
def latency(trials: int, seconds: float, known: int, as_json: bool) -> None:
    """Time the wait from an answer to the next proposal on the wire, and replies while proposals are computed."""
    from rich.table import Table

    from tuner.lab.bench.display import printer, progress
    from tuner.lab.bench.latency import Waits, proposal_waits, reply_waits
    from tuner.lab.bench.latency import as_json as to_json

    found: list[Waits] = []
    with progress("trials", 2 * trials) as advance:
        for speculate in (True, False):
            found.append(proposal_waits(trials, seconds, speculate=speculate, told=lambda _: advance()))
    found += reply_waits(known, 20.0)
    if as_json:
        click.echo(to_json(found))
        return
    table = Table(title="milliseconds of waiting")
    for name in ("", "number", "p50", "p90", "p99", "longest"):
        table.add_column(name, justify="right" if name else "left")
    labels = [f"answer to proposal, {found[0].label}", f"answer to proposal, {found[1].label}"]
    labels += [f"reply, {found[2].label}", f"reply, {found[3].label}"]
    for label, waits in zip(labels, found, strict=True):
        numbers = [waits.median, waits.quantile(0.9), waits.quantile(0.99), max(waits.milliseconds, default=0.0)]
        table.add_row(label, str(len(waits.milliseconds)), *(f"{number:.1f}" for number in numbers))
    printer().print(table)
    ratio = found[0].median / found[1].median
    printer().print(f"with speculation an answer waits {ratio:.3f} times as long for its proposal as without")


@click.command()
@click.option("--campaigns", type=click.IntRange(1, 1000), default=100, show_default=True)
@click.option("--trials", type=click.IntRange(2, 1000), default=10, show_default=True, help="Trials of each.")
@click.option("--seconds", type=click.FloatRange(0, 60), default=2.0, show_default=True, help="What a trial takes.")
@click.option("--judges", type=click.IntRange(1, 50), default=4, show_default=True, help="Clients that answer.")
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of sentences.")
def load(campaigns: int, trials: int, seconds: float, judges: int, as_json: bool) -> None:
    """Run many campaigns on simulated machines under one daemon, answer every question, watch its memory."""
    from tuner.lab.bench.daemon_load import run_load
    from tuner.lab.bench.display import printer, progress

    with progress("judgments", campaigns * trials) as advance:
        result = run_load(campaigns, trials, seconds, judges, lambda _: advance())
    waits = result.acknowledged
    if as_json:
        data = {name: getattr(result, name) for name in ("campaigns", "judgments", "complete", "seconds")}
        data |= {"early_mb": result.early_mb, "late_mb": result.late_mb, "all_mb": result.all_mb}
        click.echo(json.dumps({**data, "acknowledged_ms": waits.milliseconds}))
        return
    out = printer()
    out.print(f"{result.complete} of {result.campaigns} campaigns complete in {result.seconds:.0f} s")
    out.print(f"{result.judgments} judgments acknowledged, {result.judgments / result.seconds:.1f} a second")
    out.print(f"acknowledged after p50 {waits.median:.1f} ms, p99 {waits.quantile(0.99):.1f} ms")
    out.print(
        f"the daemon's memory {result.early_mb:.0f} MB after a tenth of the judgments, {result.late_mb:.0f} MB after "
        f"all ({result.late_mb / result.early_mb:.2f} times); all processes at most {result.all_mb:.0f} MB"
    )


@click.command()
@click.option("--events", type=click.IntRange(1000, 100_000_000), default=1_000_000, show_default=True)
def start(events: int) -> None:
    """Time the daemon's start on a journal of many events: with an empty one, at first, again, and after kill -9."""
    from tuner.lab.bench.display import printer
    from tuner.lab.bench.start import measure_start

    out = printer()
    found = measure_start(events, lambda text: click.echo(text, err=True))
    out.print(f"{found.events} events of {found.campaigns} campaigns, {found.megabytes:.0f} MB")
    for label, seconds in (
        ("an empty journal", found.empty_s),
        ("the journal, for the first time", found.first_s),
        ("again", found.again_s),
        ("after kill -9", found.killed_s),
    ):
        out.print(f"{label}: ready after {seconds:.2f} s, {seconds / found.empty_s:.2f} times an empty one")


@click.command()
@click.option("--tablets", type=click.IntRange(1, 200), default=50, show_default=True, help="Of the second run.")
@click.option("--campaigns", type=click.IntRange(1, 50), default=5, show_default=True, help="Of the second run.")
@click.option("--answers", type=click.IntRange(5, 1000), default=60, show_default=True, help="Of the only tablet.")
@click.option("--seconds", type=click.FloatRange(5, 600), default=60.0, show_default=True, help="What a run takes.")
@click.option("--trial", type=click.FloatRange(0, 60), default=1.0, show_default=True, help="What a part takes, in s.")
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of sentences.")
def web(tablets: int, campaigns: int, answers: int, seconds: float, trial: float, as_json: bool) -> None:
    """Time answers and looks at the page: one tablet alone, then many on one daemon; weigh the page, time its paint."""
    from tuner.lab.bench.display import printer
    from tuner.lab.bench.web import measure

    alone = measure(1, 1, answers, seconds, 0.0)
    many = measure(tablets, min(campaigns, tablets), 100_000, seconds, trial)
    if as_json:
        runs = {"alone": alone, "many": many}
        data = {
            name: {"answers_ms": one.answers.milliseconds, "looks_ms": one.looks.milliseconds, "refused": one.refused}
            for name, one in runs.items()
        }
        click.echo(json.dumps({**data, "weight_bytes": alone.weight, "first_paint_ms": alone.paint_ms}))
        return
    out = printer()
    for label, found in (("one tablet", alone), (f"{tablets} tablets, {campaigns} campaigns", many)):
        for what, waits in (("answer to acknowledged", found.answers), ("a look", found.looks)):
            told = ", ".join(f"p{share * 100:.0f} {waits.quantile(share):.0f} ms" for share in (0.5, 0.95, 0.99))
            out.print(f"{label}: {what} {told}, of {len(waits.milliseconds)}")
    out.print(f"the first page weighs {alone.weight / 1000:.0f} kB")
    paint = "needs Chromium and playwright" if alone.paint_ms is None else f"after {alone.paint_ms:.0f} ms"
    out.print(f"first paint {paint}")


def _counts(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        found = tuple(int(word) for word in value.split(",") if word.strip())
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of whole numbers such as 100,500") from None
    if any(one < 1 for one in found):
        raise click.BadParameter("numbers must be at least 1")
    return found


@click.command()
@click.option(
    "--duels", callback=_counts, default="50,100,200,500,1000,2000", show_default=True, help="Known to proposals."
)
@click.option("--campaigns", callback=_counts, default="1,10,100,1000", show_default=True, help="Of one daemon.")
@click.option("--events", callback=_counts, default="100000,1000000", show_default=True, help="Of one journal.")
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of tables.")
def scale(duels: tuple[int, ...], campaigns: tuple[int, ...], events: tuple[int, ...], as_json: bool) -> None:
    """Measure how cost grows with duels, campaigns and events; an empty list ("") leaves one out. docs/scale.md."""
    if any(one < LEAST_DUELS for one in duels):
        raise click.BadParameter(f"a proposal is measured from {LEAST_DUELS} duels on", param_hint="--duels")
    if any(one < LEAST_EVENTS for one in events):
        raise click.BadParameter(f"a journal is measured from {LEAST_EVENTS} events on", param_hint="--events")
    one_blas_thread()
    from tuner.lab.bench import scale as measured
    from tuner.lab.bench.display import printer, progress, show_rows

    with progress("sizes", len(duels) + len(campaigns) + len(events)) as advance:
        found: dict[str, list[Any]] = {}
        for name, rows in (
            ("duels", measured.proposals(duels)),
            ("campaigns", measured.campaigns(campaigns)),
            ("events", measured.events(events)),
        ):
            found[name] = []
            for row in rows:
                found[name].append(row)
                advance()
    a_part = measured.events_a_part()
    if as_json:
        data = {name: measured.as_data(rows) for name, rows in found.items()}
        click.echo(json.dumps({**data, "events_a_part": a_part}, allow_nan=False))
        return
    out = printer()
    show_rows("proposals, one core", found["duels"], ("duels", "seconds", "per_s", "mb"), out)
    show_rows("a daemon whose campaigns wait", found["campaigns"], CAMPAIGN_COLUMNS, out)
    show_rows("a journal", found["events"], EVENT_COLUMNS, out)
    out.print(f"a part has {a_part:.1f} events")
