"""The suite's tables for people, by rich."""

from rich.console import Console
from rich.table import Table

from tuner.lab.bench.suite.calibration import ENOUGH, WITHIN, Calibration
from tuner.lab.bench.suite.groups import GROUPS, REPORTED_FROM
from tuner.lab.bench.suite.statistics import Paired, Summary
from tuner.lab.bench.suite.suite import STEADY, Plan, Results


def show_suite(found: Results, console: Console) -> None:
    """Print what users are given, group by group, then the paired differences."""
    plan = found.plan
    table = Table(title=f"{plan.ours}: what the user is given after {plan.parts} parts", title_justify="left")
    earlier = [parts for parts in plan.checked if parts != plan.parts]
    names = ("group", "runs", *(f"at {n}" for n in earlier), f"at {plan.parts}", "worst 1/4", "x steady")
    names += ("recommended", "its worst 1/4", "hit", "worse", "rec. worse", "looks/part", "scrap", "right level", "s")
    for name in names:
        table.add_column(name, justify="left" if name == "group" else "right")
    steady = found.summary(plan.ours, STEADY, plan.parts) if STEADY in plan.groups else None
    for group in (*plan.groups, None):
        row = found.summary(plan.ours, group, plan.parts)
        if row is None or (group is None and len(plan.groups) == 1):
            continue
        if group is None:
            table.add_section()
        before = [found.summary(plan.ours, group, parts) for parts in earlier]
        shared = group is not None and GROUPS[group].drawn_as == GROUPS[STEADY].drawn_as and group != STEADY
        table.add_row(
            group or "all",
            f"{row.runs}",
            *(f"{one.median:.2g}" for one in before if one is not None),
            f"{row.median:.2g}",
            f"{row.worst_quartile:.2g}",
            f"{row.median / steady.median:.2g}" if shared and steady is not None else "",
            *_rest(row),
        )
    console.print(table)
    if found.rivals:
        console.print(_pairs(found))
    console.print(_notes(plan))


def show_calibration(better: Calibration, valid: Calibration, plan: Plan, console: Console) -> None:
    """Print how often happened what was said."""
    for name, found in (("P(better)", better), ("P(valid)", valid)):
        title = f"{name} of {found.cases} proposals: what was said, and how often it happened"
        table = Table(title=title, title_justify="left")
        for column in ("said", "cases", "mean said", "happened", "deviation", ""):
            table.add_column(column, justify="right")
        for one in found.bins:
            verdict = "[green]reached[/green]" if one.reached else "[red]missed[/red]"
            table.add_row(
                f"{one.low:g} to {one.high:g}",
                f"{one.cases}",
                f"{one.said:.3f}",
                f"{one.happened:.3f}",
                f"{one.deviation:+.3f}",
                verdict if one.counts else f"{ENOUGH} or fewer",
            )
        console.print(table)
        console.print(_verdict(name, found))
    console.print(_seeds(plan))


def _verdict(name: str, found: Calibration) -> str:
    brier = f"Brier score {found.brier:.3f}"
    if found.worst is None:
        return f"{name}: no bin has more than {ENOUGH} cases, so nothing is shown; {brier}"
    verdict = "reached" if found.reached else "missed"
    worst = f"the worst bin of more than {ENOUGH} cases is off by {found.worst:.3f}"
    return f"{name}: {worst} (goal: {WITHIN:g}, {verdict}); {brier}"


def _rest(row: Summary) -> list[str]:
    return [
        f"{row.recommended:.2g}",
        f"{row.recommended_worst_quartile:.2g}",
        f"{row.hit:.0%}",
        f"{row.worse:.1%}",
        f"{row.recommended_worse:.1%}",
        f"{row.looks:.2f}",
        f"{row.scrap:.1f}",
        "" if row.right is None else f"{row.right:.0%} of {row.choices}",
        f"{row.seconds:.1f}",
    ]


def _pairs(found: Results) -> Table:
    plan = found.plan
    title = f"{plan.ours} paired with others after {plan.parts} parts: decades of regret, below zero it is ahead"
    table = Table(title=title, title_justify="left")
    table.add_column("group")
    for rival in found.rivals:
        table.add_column(rival, justify="right")
    for group in (*plan.groups, None):
        if group is None:
            table.add_section()
        table.add_row(group or "all", *(_pair(found.paired(rival, group, plan.parts)) for rival in found.rivals))
    return table


def _pair(one: Paired | None) -> str:
    if one is None:
        return ""
    ends = "" if one.low is None or one.high is None else f" [{one.low:+.2f}, {one.high:+.2f}]"
    text = f"{one.decades:+.2f}{ends} {one.ahead}:{one.behind}".replace("[", r"\[")
    colour = {"ahead": "green", "behind": "red"}.get(one.verdict)
    return f"[{colour}]{text}[/{colour}]" if colour else text


def _notes(plan: Plan) -> str:
    return (
        f"{_seeds(plan)} Regret: the true cost above the optimum, in units of the known-good setting's; medians. "
        "worst 1/4: a quarter has at least this. x steady: the median over that of the same processes judged exactly. "
        "hit: targets from 10^-0.1 to 10^-4 that champions reach. worse: runs that end worse than they began. "
        "rec.: recommended."
    )


def _seeds(plan: Plan) -> str:
    seeds = ", ".join(map(str, plan.seeds)) if len(plan.seeds) < 4 else f"{plan.seeds[0]} to {plan.seeds[-1]}"
    rule = f"below {REPORTED_FROM} is for choosing, from there on for reporting"
    return f"Groups {', '.join(plan.groups)}; seeds {seeds} ({plan.purpose}: {rule})."
