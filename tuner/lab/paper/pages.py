"""The two pages of `tuner bench paper`: claims beside measurements, tables, figures, protocol, seeds and versions."""

import math
from collections.abc import Callable
from pathlib import Path

from tuner.basics.files import make_directory, write_text
from tuner.lab.paper import claims as judge
from tuner.lab.paper import figures as draw
from tuner.lab.paper.claims import Claim
from tuner.lab.paper.compare import Duel, Runs, mean_curve, of, seconds_per_100
from tuner.lab.paper.document import Block, Code, Heading, Picture, Table, Text, to_html, to_markdown
from tuner.lab.paper.examples import PRINTED_VARIANCE, SECTION_4_DUELS, figure3, figure6, section4
from tuner.lab.paper.protocol_texts import protocol_texts
from tuner.lab.paper.reproduce import finished
from tuner.lab.paper.runs import versions
from tuner.lab.paper.tasks import ACQUISITIONS, AUTO, FUNCTIONS, MIXED, MIXED_ACQUISITIONS, RIVALS, Scale, Task

TITLE = "The paper's experiments, repeated"
PICTURES = "paper"
OTHER_VARIANCES = (1.0, 5.0, 10.0, 25.0, 50.0, 200.0)
TITLES = {
    2: "Section 4: Laplace's approximation beside the exact posterior",
    3: "Figure 3: four iterations that query GPL's upper bound",
    4: "Figure 4: six benchmark functions",
    5: "Figure 5: one dimension, the same fixed hyper-parameters",
    6: "Figure 6: preferences and validity in one dimension",
    7: "Figure 7: Sasena, penalty against mixed likelihood",
}


def write_pages(scale: Scale, figures: tuple[int, ...], runs_in: Path, out: Path) -> list[Path]:
    """Write OUT/paper.md with its pictures in OUT/paper, and OUT/paper.html; return the two pages."""
    draw.require_matplotlib()
    tasks, runs = finished(scale, figures, runs_in)
    make_directory(out / PICTURES)  # before the examples, which take a while
    parts = [_PARTS[figure](runs, scale) for figure in figures]
    blocks = [*_head(scale, figures, tasks, runs), *_summary([c for claims, _ in parts for c in claims])]
    for figure, (found, shown) in zip(figures, parts, strict=True):
        blocks += [Heading(TITLES[figure]), *shown, _claim_table(found)]
    blocks += _protocol()
    for block in blocks:
        if isinstance(block, Picture):
            write_text(out / PICTURES / f"{block.name}.svg", block.svg)
    pages = [out / "paper.md", out / "paper.html"]
    write_text(pages[0], to_markdown(blocks, PICTURES))
    write_text(pages[1], to_html(blocks, TITLE))
    return pages


def _head(scale: Scale, figures: tuple[int, ...], tasks: list[Task], runs: Runs) -> list[Block]:
    only = "" if len(figures) == len(TITLES) else " " + " ".join(f"--figure {figure}" for figure in figures)
    blocks: list[Block] = [
        Heading(TITLE, 1),
        Text(
            "Benavoli, Azzimonti and Piga, Preferential Bayesian optimisation with Skew Gaussian Processes. This page "
            "is written by a command; every measured number and every verdict is computed. Figures have the numbers "
            "of the labels in the paper's source."
        ),
        Code(f"tuner bench paper --{scale.name}{only}"),
    ]
    if tasks:
        made = sorted({record.made_by for record in runs.values()})
        whole = scale.seeds - len({task.seed for task in tasks if task not in runs})
        failed = sum(record.failed for record in runs.values())
        state = "All" if len(runs) == len(tasks) else "NOT ALL"
        blocks += [
            Text(
                f"{state} runs are finished: {len(runs)} of {len(tasks)} ({whole} of the seeds 0 to "
                f"{scale.seeds - 1} are complete). {failed} proposals failed numerically. "
                f"Processor time {sum(record.seconds for record in runs.values()) / 3600:.2f} h in proposals."
            ),
            Text(f"Runs made by: {'; '.join(made) or 'none'}. Page and examples made by: {versions()}."),
        ]
    if scale.name == "quick":
        asked = ", ".join(f"{trials} asked trials in Figure {figure}" for figure, trials in scale.asked.items())
        blocks.append(
            Text(
                f"This is the quick version: {scale.seeds} seeds instead of 20, {asked}, and of the six functions "
                f"only {', '.join(scale.functions)}. Its verdicts are weaker than those of --full."
            )
        )
    return blocks


def _summary(found: list[Claim]) -> list[Block]:
    counts = [(v, sum(c.verdict == v for c in found)) for v in ("agrees", "disagrees", "undecided", "not measured")]
    told = ", ".join(f"{verdict}: {count}" for verdict, count in counts)
    return [Heading("Summary"), Text(f"Of {len(found)} claims, {told}. Each is listed with its figure below.")]


def _claim_table(found: list[Claim]) -> Table:
    rows = tuple((c.paper, c.measured, c.verdict, c.rule) for c in found)
    return Table(("the paper says", "we measure", "verdict", "it agrees if"), rows)


Part = tuple[list[Claim], list[Block]]


def _section4(_: Runs, scale: Scale) -> Part:
    found = section4(scale.draws, scale.grid)
    claims = judge.section4_claims(found, section4(scale.draws, scale.grid, variance=PRINTED_VARIANCE))
    queried = tuple(dict.fromkeys(x for duel in SECTION_4_DUELS for x in duel))
    return claims, [Picture("section4", TITLES[2], draw.draw_section4(found, queried))]


def _figure3(_: Runs, scale: Scale) -> Part:
    steps = figure3(scale.draws, scale.grid)
    return judge.figure3_claims(steps), [
        Picture("figure3", TITLES[3], draw.draw_figure3(steps)),
        Text(
            "What the iterations look like depends on the kernel's variance (in units of the noise variance), which "
            "the paper does not say clearly. Where each bound is largest, GPL / SkewGP, on a coarser grid:"
        ),
        Table(("variance", *(f"iteration {k + 1}" for k in range(len(steps))), "skewness"), _other_variances(scale)),
    ]


def _other_variances(scale: Scale) -> tuple[tuple[str, ...], ...]:
    rows = []
    for variance in OTHER_VARIANCES:
        steps = figure3(min(scale.draws, 1000), min(scale.grid, 131), variance=variance)
        places = (f"{step.best['gpl']:.2f} / {step.best['skewgp']:.2f}" for step in steps)
        skewest = max((step.bands["skewgp"].skewest for step in steps), key=abs)
        rows.append((f"{variance:g}", *places, f"{skewest:.2f}"))
    return tuple(rows)


def _figure6(_: Runs, scale: Scale) -> Part:
    found = figure6(scale.draws, scale.grid)
    return judge.figure6_claims(found), [Picture("figure6", TITLES[6], draw.draw_figure6(found))]


def _figure5(runs: Runs, _: Scale) -> Part:
    methods = [method.name for method in (*RIVALS, AUTO)]
    table = _regret_table(runs, 5, {"waves": "cos(5x) + exp(-x^2 / 2)"}, methods)
    return judge.figure5_claims(runs), [Picture("figure5", TITLES[5], draw.draw_figure5(runs)), table]


def _figure4(runs: Runs, _: Scale) -> Part:
    shown = {name: name for name in FUNCTIONS if any(task.figure == 4 and task.problem == name for task in runs)}
    duels = tuple(
        (problem, *(_duel(judge.rival_duel(runs, 4, name, problem)) for name in ACQUISITIONS)) for problem in shown
    )
    times = []
    for problem in FUNCTIONS:
        (theirs_gpl, theirs), (gpl, skewgp) = judge.PAPER_SECONDS[problem], judge.model_seconds(runs, problem)
        auto = seconds_per_100(of(runs, 4, AUTO.name, problem).values())
        numbers = (theirs_gpl / theirs, gpl, skewgp, gpl / skewgp, auto)
        times.append((problem, str(theirs_gpl), str(theirs), *(_number(value) for value in numbers)))
    return judge.figure4_claims(runs), [
        Picture("figure4", TITLES[4], draw.draw_figure4(runs)),
        _regret_table(runs, 4, shown, [method.name for method in (*RIVALS, AUTO)]),
        Text(
            "SkewGP's last regret over GPL's, seed by seed: geometric mean with its 95 % bootstrap interval, and on "
            "how many seeds SkewGP ends nearer to the optimum."
        ),
        Table(("function", *ACQUISITIONS), duels),
        Text(
            "Median seconds of 100 iterations over all seeds and the four acquisitions. The paper's are of its own "
            "programs on a laptop; ours are processor time of one thread, of proposals only. The ratio is GPL's over "
            "SkewGP's."
        ),
        Table(
            ("function", "GPL, paper", "SkewGP, paper", "ratio, paper", "GPL", "SkewGP", "ratio", "auto"), tuple(times)
        ),
    ]


def _figure7(runs: Runs, _: Scale) -> Part:
    methods = [method.name for method in (*MIXED, AUTO)]
    rows = []
    for name in methods:
        records = list(of(runs, 7, name).values())
        if records:
            middle, scrap = mean_curve(records), sum(record.scrap for record in records) / len(records)
            at = [_number(float(middle[min(k, len(middle) - 1)])) for k in (10, 30, len(middle) - 1)]
            rows.append((name, *at, f"{scrap:.1f}", str(len(records))))
    return judge.figure7_claims(runs), [
        Picture("figure7", TITLES[7], draw.draw_figure7(runs)),
        Table(("method", "median regret after 10", "after 30", "at the end", "mean scrap", "seeds"), tuple(rows)),
        Table(
            ("regret over that of the penalty, whole way", *MIXED_ACQUISITIONS),
            (
                ("mixed", *(_duel(judge.mixed_duel(runs, name), way=True) for name in MIXED_ACQUISITIONS)),
                ("auto", *(_duel(judge.auto_duel(runs, name), way=True) for name in MIXED_ACQUISITIONS)),
            ),
        ),
    ]


_PARTS: dict[int, Callable[[Runs, Scale], Part]] = {
    2: _section4,
    3: _figure3,
    4: _figure4,
    5: _figure5,
    6: _figure6,
    7: _figure7,
}


def _regret_table(runs: Runs, figure: int, problems: dict[str, str], methods: list[str]) -> Table:
    """Mean regret at the end, with the number of seeds."""
    rows = []
    for name in methods:
        cells = []
        for problem in problems:
            records = list(of(runs, figure, name, problem).values())
            cells.append(f"{_number(float(mean_curve(records)[-1]))} ({len(records)})" if records else "-")
        rows.append((name, *cells))
    return Table(("mean regret at the end (seeds)", *problems.values()), tuple(rows))


def _duel(found: Duel, *, way: bool = False) -> str:
    ratio = found.way if way else found.end
    if not found.pairs:
        return "-"
    return f"{ratio.value:.2g} [{ratio.low:.2g}, {ratio.high:.2g}], {found.wins} of {found.pairs}"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"


def _protocol() -> list[Block]:
    return [Heading("Protocol"), *(Text(text) for text in protocol_texts())]
