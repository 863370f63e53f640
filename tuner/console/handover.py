"""The shift handover of a campaign: what was tried, the champion, what is pending, what was undone and why."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median

import click

from tuner.basics.files import write_text
from tuner.basics.sentences import sentence_in
from tuner.basics.vocabulary import Stage
from tuner.console.campaign_text import brief, by_hand_text, contract_lines, machine_text, pad, phase_text, reason_text
from tuner.console.handover_html import Section, page
from tuner.console.language import Words
from tuner.console.pages.champion import record
from tuner.console.pages.history import COLUMNS, cells
from tuner.console.restricting import restriction_lines
from tuner.errors import TunerError
from tuner.wire.client import Client
from tuner.wire.endpoint import Link
from tuner.wire.messages import CampaignView, ChampionBody, EventMessage, JudgmentView, TrialView

_FIND_S = 3.0  # a person waits: where no daemon is, none will be in a moment
_PAGE = 500
_TAG = 6
_LISTED = 30  # trials on one page
_UNDONE = {
    "judgment_retracted": "handover.retracted",
    "trial_excluded": "handover.excluded",
    "proposal_rejected": "handover.rejected",
    "trial_dropped": "handover.dropped",
}


@dataclass(frozen=True, slots=True)
class Shift:
    """What a handover is made of: the campaign now, and what happened since the shift began."""

    view: CampaignView
    champion: ChampionBody
    since: datetime
    now: datetime
    trials: tuple[TrialView, ...]
    judgments: tuple[JudgmentView, ...]
    events: tuple[EventMessage, ...]


def run_handover(link: Link, language: str, campaign: str | None, hours: float, html: Path | None) -> None:
    """Print the handover of one campaign or of all, and write it as a page."""
    words = Words(language)
    with Client(link, find_s=_FIND_S) as client:
        names = [campaign] if campaign else [line.name for line in client.status().campaigns]
        if not names:
            raise TunerError(words("cannot.no_campaign"))
        reports = [report(words, gather(client, name, hours)) for name in names]
    for title, subtitle, sections in reports:
        click.echo("\n".join(plain(title, subtitle, sections)))
    if html is not None:
        write_text(html, page(language, reports))


def gather(client: Client, name: str, hours: float) -> Shift:
    """Ask the daemon for everything since so many hours ago."""
    view = client.snapshot(name)
    now = datetime.fromisoformat(view.now)
    since = now - timedelta(hours=hours)
    events = tuple(_events(client, name, since))
    trials, judgments = _trials(client, name)
    return Shift(
        view=view,
        champion=client.champion(name),
        since=since,
        now=now,
        trials=tuple(sorted(trials, key=lambda trial: trial.number)),
        judgments=tuple(j for j in judgments if datetime.fromisoformat(j.at) >= since),
        events=events,
    )


def _events(client: Client, name: str, since: datetime) -> Iterator[EventMessage]:
    found: list[EventMessage] = []
    before = None
    while True:
        one = client.history(name, before=before, limit=_PAGE)
        fresh = [event for event in one.events if datetime.fromisoformat(event.at) >= since]
        found += fresh
        if not one.more or len(fresh) < len(one.events):
            return iter(found[::-1])
        before = one.events[-1].n


def _trials(client: Client, name: str) -> tuple[list[TrialView], list[JudgmentView]]:
    """All trials, for their tags: what was undone may be old."""
    trials: list[TrialView] = []
    judgments: dict[int, JudgmentView] = {}
    before = None
    while True:
        one = client.trials(name, before=before, limit=_PAGE)
        trials += one.trials
        judgments |= {judgment.number: judgment for judgment in one.judgments}
        if not one.more:
            return trials, list(judgments.values())
        before = one.trials[-1].number


def report(words: Words, shift: Shift) -> tuple[str, str, list[Section]]:
    """Title, subtitle and sections."""
    view = shift.view
    title = words("handover.title", name=f"{view.name} ({view.machine_name})")
    moments = {"from": f"{shift.since.astimezone():%Y-%m-%d %H:%M}", "to": f"{shift.now.astimezone():%Y-%m-%d %H:%M}"}
    sections = [
        _state(words, view),
        _champion(words, shift),
        Section(words("handover.pending"), tuple(pending(words, view)) or (words("handover.nothing_pending"),)),
        _tried(words, shift),
        Section(words("handover.undone"), tuple(undone(words, shift)) or (words("handover.nothing_undone"),)),
        Section(words("handover.people"), tuple(people(words, shift.judgments)) or ("-",)),
        Section(words("handover.faults"), tuple(faults(words, shift.events)) or (words("handover.no_faults"),)),
    ]
    if view.restrictions:
        sections.insert(1, Section(words("handover.restricted"), tuple(restriction_lines(words, view))))
    return title, words("handover.made_at", **moments), sections


def _state(words: Words, view: CampaignView) -> Section:
    sure, _ = machine_text(words, view)
    setting = brief(words, view, view.machine.read_back, " · ")
    mode, why = words.known(f"mode.{view.mode}", view.mode), "" if view.fault else reason_text(words, view)
    lines = [
        f"{mode}: {why}" if why else f"{mode}. {phase_text(words, view)}",
        f"{words('handover.machine')}: {setting}" + (f" ({sure})" if sure else ""),
    ]
    if view.fault:
        lines.append(words("alarms.fault", text=view.fault))
    if view.lot:
        lines.append(words("top.lot", lot=view.lot))
    about = contract_lines(words, view)
    if about:
        lines += [f"{words('contract.title')}: {about[0]}", *about[1:]]
    return Section(words("handover.state"), tuple(lines))


def _champion(words: Words, shift: Shift) -> Section:
    champion = shift.champion.champion
    if champion is None:
        return Section(words("handover.champion"), (words("champion.none"),))
    fresh = champion.ended_at is not None and datetime.fromisoformat(champion.ended_at) >= shift.since
    first = f"{champion.tag}: {brief(words, shift.view, champion.setting, ' · ')}"
    note = f" ({words('handover.changed')})" if fresh else ""
    evidence = f"{words('champion.evidence')}: {record(words, shift.champion)}"
    return Section(words("handover.champion"), (first + note, evidence))


def pending(words: Words, view: CampaignView) -> Iterator[str]:
    """What the next shift finds open."""
    if view.duel is not None:
        tags = {"left": view.duel.left.tag, "right": view.duel.right.tag}
        yield words("handover.pending_duel", number=view.duel.number, **tags)
    if view.change is not None:
        yield words("handover.pending_change", number=view.change.number, text=by_hand_text(words, view))
    if view.trial is not None:
        key = "pending_approval" if view.trial.stage == Stage.PROPOSED else "pending_outcome"
        yield words(f"handover.{key}", tag=view.trial.tag)
    if view.machine.home_wanted is not None:
        yield words("handover.pending_home")
    if view.machine.home_failed is not None:
        yield words("alarms.home_failed", text=view.machine.home_failed)


def _tried(words: Words, shift: Shift) -> Section:
    tags = {trial.number: trial.tag for trial in shift.trials}
    fresh = [t for t in shift.trials if datetime.fromisoformat(t.ended_at or t.proposed_at) >= shift.since]
    if not fresh:
        return Section(words("handover.tried"), (words("handover.nothing_tried"),))
    made = {"valid": sum(t.valid is True for t in fresh), "scrap": sum(t.valid is False for t in fresh)}
    lines = [words("handover.summary", count=len(fresh), **made)]
    if len(fresh) > _LISTED:
        lines.append(words("handover.older", count=len(fresh) - _LISTED))
    judgments = sorted(shift.judgments, key=lambda judgment: -judgment.number)
    heads = tuple(words(f"history.{name}") for name in COLUMNS)
    rows = [
        tuple(cell.plain for cell in cells(words, shift.view, trial, judgments, tags, cut=False))
        for trial in fresh[-_LISTED:]
    ]
    return Section(words("handover.tried"), tuple(lines), (heads, *rows))


def undone(words: Words, shift: Shift) -> Iterator[str]:
    """What was taken back, left out or refused, by whom and why."""
    tags = {trial.number: trial.tag for trial in shift.trials}
    for event in shift.events:
        key = _UNDONE.get(event.type)
        if key is not None:
            number = event.body.get("trial", event.body.get("judgment"))
            reason = sentence_in(event.body, "reason") or words("handover.no_reason")
            fields = {"number": number, "tag": tags.get(int(number or 0), f"#{number}"), "who": event.actor}
            yield f"{words.clock(event.at)} " + words(key, reason=reason, **fields)


def people(words: Words, judgments: tuple[JudgmentView, ...]) -> Iterator[str]:
    """Who answered how often, and how long an answer usually took."""
    for name in sorted({judgment.operator for judgment in judgments}):
        took = [j.took_s for j in judgments if j.operator == name and j.took_s is not None]
        seconds = words.number(median(took), 1) if took else "-"
        count = sum(judgment.operator == name for judgment in judgments)
        yield f"{name}: {words('handover.answers', count=count, seconds=seconds)}"


def faults(words: Words, events: tuple[EventMessage, ...]) -> Iterator[str]:
    """What went wrong."""
    for event in events:
        if event.type == "campaign_held" and event.body.get("fault"):
            yield f"{words.clock(event.at)} {words('alarms.fault', text=sentence_in(event.body, 'reason'))}"
        if event.type == "home_answered" and event.body.get("result") != "applied":
            yield f"{words.clock(event.at)} {words('alarms.home_failed', text=sentence_in(event.body, 'text'))}"


def plain(title: str, subtitle: str, sections: list[Section]) -> list[str]:
    """The handover as lines for a terminal or a receipt printer: a trial takes two or three short ones."""
    lines = [title, subtitle]
    for section in sections:
        lines += ["", section.title, *(f"  {line}" for line in section.lines)]
        for tag, outcome, judged, setting, at in section.table[1:]:
            lines += [f"  {pad(tag, _TAG)} {at}  {outcome}", f"  {'':{_TAG}} {setting}"]
            lines += [f"  {'':{_TAG}} {judgment}" for judgment in judged.split("; ") if judgment != "-"]
    return [*lines, ""]
