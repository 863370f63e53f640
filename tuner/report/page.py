"""The report as one HTML page: no scripts, no outside resources, readable on paper."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape

import numpy as np

from tuner.basics.sentences import ENGLISH
from tuner.basics.text import chance, counted
from tuner.campaign.contract_words import contract_sentences
from tuner.campaign.model_input import model_input, operator_names
from tuner.campaign.restricting import sentence
from tuner.campaign.state import CampaignJudgment, CampaignTrial, Stage, State
from tuner.compute.spaces import space_from_json
from tuner.console.language import Words
from tuner.core.optimizer.records import Recommended, Window
from tuner.core.space.restriction import outside
from tuner.report import figures
from tuner.report.beliefs import Beliefs, believe
from tuner.report.story import Story
from tuner.report.style import STYLE
from tuner.report.truth import OUT_OF_REACH, Setting, Truth

NO_FIGURES = "There are no figures in this report: they need matplotlib, which is not installed."


def report_page(story: Story) -> str:
    """Compute what the model believes and write everything down."""
    state = story.state
    truth = Truth.of(state.terms)
    beliefs = believe(state)
    parts = [
        f"<h1>{escape(state.name)}</h1>",
        f'<p class="sub">{escape(_subtitle(state))}</p>',
        "<h2>Settings for the master recipe</h2>",
        _recipe(state, beliefs, truth),
        "<h2>The campaign</h2>",
        _facts(story),
    ]
    if beliefs is not None:
        parts += [_importance(state, beliefs), _drawn(story, beliefs, truth)]
    parts += ["<h2>Trials</h2>", _trials(state, truth), _judgments(state)]
    title = escape(f"{state.name}: report")
    shown = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<meta charset="utf-8">{shown}<title>{title}</title>'
    body = "\n".join(part for part in parts if part)
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'
    )


def _contract(state: State) -> str:
    """What screens say about scrap, and how much the proposals ran together."""
    assured = [trial.assured for trial in state.trials if trial.assured is not None]
    said: list[str] = list(contract_sentences(state))
    if assured:
        said.append(f"Of {len(assured)} proposals {sum(one.risk for one in assured):.1f} scrap parts were expected.")
    return " ".join(said)


def _subtitle(state: State) -> str:
    reason = f": {state.reason}" if state.reason else ""
    return f"machine {state.terms.machine}, {Words(ENGLISH)(f'mode.{state.mode}')}{reason}"


def _scrap(state: State) -> str:
    """How much there was; beside a contract the budget is another thing, and says so."""
    limit = state.terms.budget.scrap
    if limit is None:
        return f"{state.scrap}"
    if state.terms.scrap is None:
        return f"{state.scrap} of at most {limit}"
    return f"{state.scrap}; besides the contract the campaign ends at {max(limit, 1)} ([campaign.budget] scrap)"


def _facts(story: Story) -> str:
    state = story.state
    budget = state.terms.budget
    ended = [trial.ended_at for trial in state.trials if trial.ended_at]
    operators = operator_names(state)
    rows = {
        "trials": f"{state.spent} of at most {budget.trials}",
        "scrap": _scrap(state),
        "judgments": f"{len(state.active)} that count"
        + (f", by {', '.join(operators)}" if operators else "")
        + (
            f"; {len(state.judgments) - len(state.active)} that do not"
            if len(state.judgments) > len(state.active)
            else ""
        ),
        "from, to": f"{_when(state.trials[0].proposed_at)} to {_when(ended[-1])} UTC" if ended else "nothing was made",
        "seed": f"{state.terms.seed}",
        "report made": f"{_when(story.made)} UTC, after event {state.seq}",
    }
    if state.imports:
        rows["earlier"] = "; ".join(
            f"{counted(len(one.trials), 'trial')} and {counted(len(one.judgments), 'judgment')} of {one.source}, "
            + ("its own" if one.discount == 1.0 else f"discount {one.discount:g}")
            for one in state.imports
        )
    if state.restrictions:
        rows["only for now"] = "; ".join(sentence(state, one) for one in state.restrictions)
    if agreed := _contract(state):
        rows["scrap contract"] = agreed
    if state.fault:
        rows["fault"] = state.fault
    machine = state.machine
    if machine.home_failed:
        rows["machine"] = f"NOT at its known-good setting: {machine.home_failed}"
    elif machine.requested is not None:
        rows["machine"] = "at its known-good setting" if machine.home else "at the setting of the last trial"
    return "<dl>" + "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in rows.items()) + "</dl>"


def _recipe(state: State, beliefs: Beliefs | None, truth: Truth | None) -> str:
    if beliefs is None or state.champion is None:
        return "<p>No part was made yet, so nothing can be recommended.</p>"
    champion = state.trials[state.champion - 1]
    chosen = beliefs.recommended
    columns: dict[str, Setting] = {
        "recommended": chosen.setting,
        f"champion ({champion.tag})": champion.setting,
        "known-good": state.terms.known_good,
    }
    if truth is not None:
        columns["known optimum"] = truth.optimum
    windows = {one.name: one for one in chosen.window}
    rows = []
    for p in state.terms.parameters:
        named = f"{p.called} [{p.unit}]" if p.unit else p.called
        values = [(_value(setting[p.name]), "n") for setting in columns.values()]
        window = (escape(_wander(windows.get(p.name))), "n")
        rows.append([(escape(named), ""), (values[0][0], "n recipe"), window, *values[1:]])
    if truth is not None:
        costs = [_cost(truth, setting) for setting in list(columns.values())[:-1]]
        costs.append(f"{truth.problem.minimum:.6g}")
        rows.append([("true cost", ""), (costs[0], "n"), ("", ""), *((cost, "n") for cost in costs[1:])])
    labels = list(columns)
    head = [("parameter", ""), (labels[0], "n"), ("process window", "n"), *((label, "n") for label in labels[1:])]
    table = '<div class="wide">' + _table(head, rows) + "</div>"
    said = _evidence(chosen, champion)
    if names := outside(state.within, chosen.setting):
        said.append(f"The recommended setting lies outside of what is allowed for now: {', '.join(names)}.")
    if truth is not None and not truth.reachable(space_from_json(model_input(state)["space"])):
        said.append(OUT_OF_REACH)
    return table + '<ul class="evidence">' + "".join(f"<li>{escape(one)}</li>" for one in said) + "</ul>"


def _wander(one: Window | None) -> str:
    if one is None:
        return ""
    if one.low is None or one.high is None:
        return ", ".join(one.options)
    return f"{_value(one.low)} to {_value(one.high)}"


def _evidence(chosen: Recommended, champion: CampaignTrial) -> list[str]:
    """What speaks for the recommended setting, in sentences."""
    said = []
    if chosen.keep:
        said.append("Nothing is believed better than the known-good setting: keep it.")
    elif chosen.setting == champion.setting:
        said.append("The recommended setting is the champion's own.")
    else:
        if chosen.p_better < 0.5:
            said.append("The champion lies close to scrap: the recommended setting is the best where parts are likely.")
        said.append(f"It is {chance(chosen.p_better)} likely to be better than the champion.")
    if chosen.better_than_known_good is not None:
        better = chance(chosen.better_than_known_good)
        said.append(f"It is {better} likely to be better than the known-good setting.")
    duels = f"{chosen.won} won, {chosen.lost} lost, {chosen.tied} could not be told"
    made = f"{counted(chosen.parts, 'part')} made with it: {duels}." if chosen.parts else "none was made with it."
    said.append(f"It is {chance(chosen.p_valid)} likely to give a part; {made}")
    if chosen.window_valid is not None:
        better = (
            ""
            if chosen.window_better is None
            else f" and it stays {chosen.window_better:.0%} likely to be better than the known-good setting"
        )
        said.append(
            "The process window says how far each parameter may wander alone while P(valid) stays at "
            f"{chosen.window_valid:.0%} or more{better}."
        )
    return said


def _cost(truth: Truth, setting: Setting) -> str:
    cost = truth.cost(setting)
    return "makes no part" if cost is None else f"{cost:.6g}"


def _importance(state: State, beliefs: Beliefs) -> str:
    called = _called(state)
    rows = [
        [(escape(called[name]), ""), (f'<span class="bar" style="width:{200 * share:.0f}px"></span>{share:.0%}', "")]
        for name, share in beliefs.importance.items()
    ]
    note = "Each parameter's share of what moves the expected quality over the whole range."
    return f'<h2>What matters</h2>{_table([("parameter", ""), ("share", "")], rows)}<p class="note">{note}</p>'


def _called(state: State) -> dict[str, str]:
    """What people call each parameter."""
    return {one.name: one.called for one in state.terms.parameters}


def _drawn(story: Story, beliefs: Beliefs, truth: Truth | None) -> str:
    if not figures.has_matplotlib():
        return f"<p>{NO_FIGURES}</p>"
    state, called = story.state, _called(story.state)
    champion = state.trials[(state.champion or 1) - 1].setting
    maps = [
        (one, uri)
        for one in beliefs.maps
        for uri in figures.map_figures(one, state, champion, beliefs.recommended.setting)
    ]
    left_out = (
        f" {counted(beliefs.left_out, 'pair')} of less important parameters left out." if beliefs.left_out else ""
    )
    parts = [
        "<h2>Progress of the champion</h2>",
        *(_image(one, "progress of the champion") for one in figures.progress_figures(story, beliefs, truth)),
        '<p class="note">As the model sees it at the end; lower is better. Settings that hardly make parts do not '
        "count.</p>",
    ]
    if maps:
        parts += [
            "<h2>Maps</h2>",
            f'<p class="note">Pairs of parameters, everything else as in the champion. Along the '
            f"line P(valid) is one half; white ground breaks a constraint.{left_out}</p>",
            *(_image(uri, f"map of {called[one.across.name]} and {called[one.down.name]}") for one, uri in maps),
        ]
    parts += [
        "<h2>Slices through the champion</h2>",
        '<p class="note">The chance that a part is better than the champion; below it P(valid). The dashed line is the '
        "champion.</p>",
        *(
            _image(uri, f"slice along {called[cut['name']]}")
            for cut, uri in zip(beliefs.slices, figures.slice_figures(beliefs, called), strict=True)
        ),
    ]
    return '<div class="figures">' + "".join(parts) + "</div>"


def _image(uri: str, text: str) -> str:
    return f'<img src="{uri}" alt="{escape(text)}">'


def _trials(state: State, truth: Truth | None) -> str:
    called = [(p.called, p.unit) for p in state.terms.parameters]
    measured = sorted({name for trial in state.trials for name in trial.measurements})
    head = [("part", "")]
    head += [(escape(f"{name} [{unit}]" if unit else name), "n") for name, unit in called]
    head += [("outcome", ""), *((escape(name), "n") for name in measured)]
    head += [("why this setting", "")]
    rows, classes = [], []
    for trial in state.trials:
        row = [(escape(trial.tag), "")]
        row += [(_value(trial.setting[p.name]), "n") for p in state.terms.parameters]
        row += [(escape(_outcome(trial)), "")]
        row += [(_value(trial.measurements[n]) if n in trial.measurements else "", "n") for n in measured]
        rows.append([*row, (escape(trial.reason), "why")])
        classes.append(_class(trial, state.champion))
    return '<div class="wide">' + _table(head, rows, classes) + "</div>"


def _outcome(trial: CampaignTrial) -> str:
    if trial.stage is not Stage.DONE:
        stage = "waits for approval" if trial.stage is Stage.PROPOSED else f"{trial.stage}"
        return stage + (f": {trial.outcome_reason}" if trial.outcome_reason else "")
    said = "part" if trial.valid else f"scrap: {trial.outcome_reason}"
    return said + (f"; left out: {trial.excluded}" if trial.excluded else "")


def _class(trial: CampaignTrial, champion: int | None) -> str:
    if trial.number == champion:
        return "champion"
    if trial.stage in (Stage.REJECTED, Stage.DROPPED) or trial.excluded:
        return "out"
    if trial.stage is not Stage.DONE:
        return ""
    return "" if trial.valid else "scrap"


def _judgments(state: State) -> str:
    if not state.judgments:
        return "<p>Nobody has judged yet.</p>"
    head = [
        ("no.", "n"),
        ("left", ""),
        ("right", ""),
        ("better", ""),
        ("by", ""),
        ("at, UTC", ""),
        ("took", "n"),
        ("", ""),
    ]
    tags = {trial.number: trial.tag for trial in state.trials}
    rows = [
        [
            (f"{one.number}", "n"),
            (escape(tags[one.left]), ""),
            (escape(tags[one.right]), ""),
            (escape(one.better(tags)), ""),
            (escape(one.operator), ""),
            (_when(one.at), ""),
            ("" if one.took_s is None else f"{one.took_s:.1f} s", "n"),
            (escape(_note(one, state)), ""),
        ]
        for one in state.judgments
    ]
    return '<h2>Judgments</h2><div class="wide">' + _table(head, rows) + "</div>"


def _note(judgment: CampaignJudgment, state: State) -> str:
    if judgment.retracted is not None:
        return f"taken back: {judgment.retracted}"
    looks = [one for one in state.active if one.pair == judgment.pair]
    if len(looks) > 1:
        return f"{sum(one.winner == judgment.winner for one in looks)} of {len(looks)} looks"
    why = state.duels[judgment.duel - 1].why
    return {"new": "", "reduel": "re-check of the champion", "compare": "further comparison"}.get(why, "asked again")


Cell = tuple[str, str]


def _table(head: Sequence[Cell], rows: Iterable[Sequence[Cell]], classes: Sequence[str] = ()) -> str:
    """Cells are HTML already, each with its class."""
    # a head of its own is repeated on every sheet of paper
    lines = ["<thead><tr>" + "".join(f"<th{_attribute(c)}>{text}</th>" for text, c in head) + "</tr></thead>"]
    for place, row in enumerate(rows):
        own = classes[place] if place < len(classes) else ""
        cells = (
            f"<td{_attribute(c)}{_labelled(named)}>{text}</td>" for (text, c), (named, _) in zip(row, head, strict=True)
        )
        lines.append(f"<tr{_attribute(own)}>" + "".join(cells) + "</tr>")
    return '<table class="cards">' + "\n".join(lines) + "</table>"


def _labelled(head: str) -> str:
    """What a cell is called where there is no room for a head."""
    return f' data-label="{head}"' if head else ""


def _attribute(classes: str) -> str:
    return f' class="{classes}"' if classes else ""


def _value(value: float | int | str) -> str:
    if not isinstance(value, float):
        return escape(str(value))
    if not 1e-5 <= abs(value) < 1e12:
        return f"{value:.6g}"
    return np.format_float_positional(value, precision=6, fractional=False, trim="-")


def _when(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"
