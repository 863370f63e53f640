"""Longer texts about a campaign: its trials and judgments, the champion, and why a setting was chosen."""

from rich.cells import cell_len
from rich.text import Text

from tuner.console.show import about_part, bar, brief, changes, fit, pad, rows
from tuner.console.words import Words
from tuner.wire.messages import CampaignView, ChampionBody, Explanation, JudgmentView, Recommendation, TrialView

STRONG = "bold"


def about(trial: TrialView, judgments: list[JudgmentView]) -> list[JudgmentView]:
    """The judgments of a trial, newest first."""
    return [j for j in judgments if trial.number in (j.left, j.right)]


def outcome(words: Words, trial: TrialView) -> str:
    """What became of a trial."""
    if trial.excluded is not None:
        return words("history.excluded", reason=trial.excluded)
    if trial.stage in ("rejected", "dropped"):
        return words(f"history.{trial.stage}")
    if trial.valid is None:
        return words("history.open")
    if trial.valid:
        return words("history.valid")
    return f"{words('history.nonvalid')}: {trial.outcome_reason}"


def judged(words: Words, trial: TrialView, judgment: JudgmentView, tags: dict[int, str]) -> str:
    """A judgment as seen from one of its trials."""
    other = judgment.right if judgment.left == trial.number else judgment.left
    tag = tags.get(other, f"#{other}")
    if judgment.winner is None:
        text = words("history.tie", tag=tag)
    elif judgment.winner == trial.number:
        text = words("history.worse", tag=tag)
    else:
        text = words("history.better", tag=tag)
    text += f" ({judgment.operator}"
    if judgment.took_s is not None:
        text += f" {words('history.took', seconds=words.number(judgment.took_s, 1))}"
    text += ")"
    if judgment.retracted is not None:
        text += " " + words("history.retracted", reason=judgment.retracted or "-")
    return text


def cells(
    words: Words,
    view: CampaignView,
    trial: TrialView,
    judgments: list[JudgmentView],
    tags: dict[int, str],
    *,
    cut: bool = True,
) -> list[Text]:
    """A row of the table; cut to a screen's width, or whole."""
    wide = (20, 40, 60) if cut else (10_000,) * 3
    crown = " *" if view.champion is not None and view.champion.number == trial.number else ""
    told = [judged(words, trial, judgment, tags) for judgment in about(trial, judgments)]
    abnormal = trial.valid is False or trial.excluded is not None
    return [
        Text(f"{trial.tag}{crown}", "bold"),
        Text(fit(outcome(words, trial), wide[0]), "bold" if abnormal else ""),
        Text(fit("; ".join(told) or "-", wide[2])),
        Text(fit(brief(words, view, trial.setting, " · "), wide[1])),
        Text(words.clock(trial.ended_at or trial.proposed_at)),
    ]


def newest(view: CampaignView) -> TrialView | None:
    """The trial that "this setting" is about: the one under way, else the newer one of the question."""
    if view.trial is not None:
        return view.trial
    if view.duel is not None:
        return max(view.duel.left, view.duel.right, key=lambda trial: trial.number)
    return view.champion


def reasons(words: Words, view: CampaignView, trial: TrialView) -> list[str]:
    """Why a trial has its setting, as far as the view knows."""
    lines = [f"{trial.tag}: {brief(words, view, trial.setting)}", words.known(f"why.{trial.source}", trial.source)]
    champion = view.champion
    tag = champion.tag if champion is not None and champion.number == trial.opponent else f"#{trial.opponent}"
    if trial.p_better is not None and trial.opponent is not None:
        lines.append(words("why.better", percent=words.percent(trial.p_better), tag=tag))
    if trial.p_valid is not None:
        lines.append(words("why.valid", percent=words.percent(trial.p_valid)))
    if champion is not None and champion.number == trial.opponent:
        changed = changes(words, view, trial.setting, champion.setting)
        lines.append(words("why.changes", tag=tag) if changed else words("why.no_change"))
        lines += [f"  {line}" for line in changed]
    if trial.source == "model" and trial.reason:
        lines += ["", words("why.said"), trial.reason]
    return lines


def matters(words: Words, view: CampaignView, explained: Explanation) -> list[str]:
    """Which parameters matter, which answers contradict each other, and whose answers scatter."""
    lines = ["", words("why.importance")]
    wide = max(cell_len(name) for name in explained.importance)
    for name, share in sorted(explained.importance.items(), key=lambda item: -item[1]):
        lines.append(f"  {pad(name, wide)} {bar(share, 20)} {words.percent(share)}")
    for one in explained.contradictions:
        tags = ", ".join(str(number) for number in one["trials"])
        lines.append(words("why.contradiction", tags=tags, judgment=one["judgment"]))
    operators = list(explained.operators.items())
    lines += [
        words("why.noise", operator=name, factor=words.number(noise, 1), first=operators[0][0])
        for name, noise in operators[1:]
    ]
    return lines


def champion_lines(
    words: Words,
    view: CampaignView,
    body: ChampionBody,
    recommended: Recommendation | None,
    explained: Explanation | None,
) -> list[tuple[str, str]]:
    """The lines of the page with their styles; also for plain lines."""
    champion = body.champion
    if champion is None:
        return [(words("champion.none"), "")]
    lines: list[tuple[str, str]] = []
    if recommended is not None and recommended.setting is not None:
        lines.append((words("champion.recommended"), STRONG))
        other = champion.setting
        have = rows(words, view.parameters, recommended.setting, other)
        wide = max(cell_len(row.name) for row in have)
        for row in have:
            change = f"  {row.mark} {row.difference}".rstrip() if row.mark else ""
            lines.append((f"    {pad(row.name, wide)}  {row.value}{change}", STRONG))
        lines.append((words("champion.same") if recommended.same_as_champion else words("champion.model"), ""))
        chances = []
        if recommended.p_better is not None and not recommended.same_as_champion:
            chances.append(words("champion.better", percent=words.percent(recommended.p_better)))
        if recommended.p_valid is not None:
            chances.append(words("champion.valid", percent=words.percent(recommended.p_valid)))
        lines += [(", ".join(chances), ""), ("", "")]
    lines.append((f"{words('champion.part')}: {champion.tag}   {about_part(words, champion)}", STRONG))
    lines.append((f"    {brief(words, view, champion.setting)}", ""))
    lines.append((f"{words('champion.evidence')}: {record(words, body)}", ""))
    if explained is not None and explained.outlook:
        look = explained.outlook
        key = "champion.stop" if look["stop"] else "champion.go_on"
        lines += [("", ""), (words("champion.outlook"), STRONG)]
        lines.append((words(key, percent=words.percent(look["left"]), against=words.percent(look["against"])), ""))
        lines.append((words("champion.next", percent=words.percent(look["next_better"])), ""))
    return lines


def record(words: Words, body: ChampionBody) -> str:
    """How often the champion won, lost and drew."""
    counted = [j for j in body.judgments if j.retracted is None]
    if not counted or body.champion is None:
        return words("champion.no_duels")
    won = sum(j.winner == body.champion.number for j in counted)
    tied = sum(j.winner is None for j in counted)
    return words("champion.record", won=won, lost=len(counted) - won - tied, tied=tied)
