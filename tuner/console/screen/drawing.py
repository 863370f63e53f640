"""Draws the main screen's pieces as styled text: grey, and colour only with a word for what is abnormal."""

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from tuner.basics.vocabulary import Phase
from tuner.console.campaign_text import (
    about_part,
    alarms,
    bar,
    beside_text,
    brief,
    daemon_alarms,
    fit,
    folded,
    machine_text,
    measured_text,
    pace,
    pad,
    phase_text,
    reason_text,
    rows,
    wait_text,
)
from tuner.console.language import Words
from tuner.console.pages.page import ALARM, QUIET, STRONG
from tuner.console.picture import LEAST_LINES, half_blocks, picture_of
from tuner.console.screen.large_letters import large_letters
from tuner.console.session import Session
from tuner.core.space.values import Value
from tuner.wire.messages import CampaignView, TrialView

_LARGE_LINES = 7  # a large tag, the title above it and a line below
_MARGIN = 2
_MOST_WAITING = 4


def top(words: Words, session: Session, view: CampaignView | None, operator: str | None, width: int) -> Text:
    """The first line: machine, lot, state, alarms; link and operator at the right."""
    text = Text(no_wrap=True)
    if view is not None:
        text.append(view.machine_name, STRONG)
        text.append(f"  {words('top.lot', lot=view.lot) if view.lot else words('top.no_lot')}  ")
        text.append(words.known(f"mode.{view.mode}", view.mode), STRONG)
        if view.dry_run:
            text.append(f"  {words('top.dry_run')}", STRONG)
        if view.fault:
            text.append("  ")
            text.append(f" ! {words('top.fault')} ", ALARM)
        count = len(alarms(session, view)) + len(daemon_alarms(session))
        if count:
            text.append("  ")
            text.append(f" ! {words('top.alarms', count=count)} ", ALARM)
    right = Text()
    if session.linked:
        right.append(words("top.link_up"), QUIET)
    elif session.lost_at is None or not session.lost:
        right.append(words("top.link_new"))
    else:
        since = words.clock(session.lost_at, seconds=True)
        right.append(f" ! {words('top.link_down', time=since)} ", ALARM)
    right.append(f"  {operator or words('top.nobody')}", STRONG if operator else "")
    text.truncate(max(0, width - right.cell_len - 1), overflow="ellipsis")
    text.append(" " * max(1, width - text.cell_len - right.cell_len))
    return text.append_text(right)


def machine(words: Words, view: CampaignView, width: int) -> Text:
    """What the machine runs now, and what was asked of it, in as many lines as that takes.

    Where the two are the same one setting is enough; where they differ, what was asked for and is not there yet.
    """
    sure, fine = machine_text(words, view)
    labels = [words("top.machine_now"), words("top.requested")]
    wide = max(cell_len(label) for label in labels)
    have, asked = view.machine.read_back, view.machine.requested
    note = f" {sure} " if sure else ""
    room = width - wide - 2
    sides = ((have, asked), (asked, have))
    pieces = [
        brief(words, view, setting, "\n", beside=None if view.machine.verified else other).split("\n")
        for setting, other in sides
    ]
    now, then = wrapped(pieces[0], room, note), pieces[1]
    if view.machine.verified and len(now) > 1:
        then = []
    elif not view.machine.verified and have is not None and asked is not None and len(now) > 1:
        then = then[: sum(value != have.get(name) for name, value in asked.items())] or then
    text = Text(no_wrap=True)
    for label, lines in zip(labels, (now, wrapped(then, room) if then else []), strict=True):
        for number, line in enumerate(lines):
            text.append("\n" if text else "")
            text.append(f"{pad(label if not number else '', wide)}  ", QUIET)
            if label is labels[0] and not number and note:
                text.append(pad(line, room - cell_len(note)))
                text.append(note, QUIET if fine else ALARM)
            else:
                text.append(line)
    return text


def wrapped(pieces: Sequence[str], room: int, note: str = "") -> list[str]:
    """Pieces in lines, none broken unless it is wider than a line; the first line leaves room for a note."""
    lines, line = list[str](), ""
    for piece in pieces:
        longest = room - (cell_len(note) if not lines else 0)
        joined = f"{line}  {piece}" if line else piece
        if line and cell_len(joined) > longest:
            lines.append(line)
            line = piece
        else:
            line = joined
    return [fit(one, room - (cell_len(note) if not number else 0)) for number, one in enumerate([*lines, line])]


def column(
    words: Words,
    view: CampaignView,
    title: str,
    trial: TrialView,
    other: Mapping[str, Value] | None,
    width: int,
    height: int,
) -> Text:
    """One part: its title, its tag in large letters or its picture, its setting with what differs marked."""
    inner = max(10, width - 2 * _MARGIN)
    text = Text(no_wrap=True)
    text.append(fit(f"{title}   {about_part(words, trial)}", inner) + "\n", STRONG)
    picture = picture_of(trial.photo)
    # below title, tag, setting and measurements: a picture is worth more than large letters
    free = height - 2 - len(view.parameters) - (2 if trial.measurements else 0)
    if picture is not None and free < LEAST_LINES:
        picture = None
    large = picture is None and height >= _LARGE_LINES + len(view.parameters) + (2 if trial.measurements else 0)
    lines = large_letters(trial.tag, large=large)
    if picture or max(len(line) for line in lines) > inner or height < 1 + len(lines) + len(view.parameters):
        lines = [trial.tag]  # the setting matters more than large letters
    text.append("\n".join(lines) + "\n", STRONG)
    have = rows(words, view.parameters, trial.setting, other)
    links = [f"{words('duel.photo')} {trial.photo}"] if trial.photo and picture is None else []
    room = height - len(lines) - 1 - len(links) - (1 if large else 0)
    measured = measured_text(words, trial)
    # where there is not room for all, the setting matters more
    told = folded(measured, inner, 2)[: max(0, room - len(have))] if measured else []
    links, room = links + told, room - len(told)
    if large:
        text.append("\n")
    if len(have) > room:  # what differs is what matters
        have = sorted(have, key=lambda row: not row.mark)
    left_out = max(0, len(have) - room)
    if left_out:
        have = have[: max(1, room - 1)]
        left_out = len(view.parameters) - len(have)
    name_width = min(max(cell_len(row.name) for row in have), inner // 2)
    value_width = max(cell_len(row.value) for row in have)
    for row in have:
        style = STRONG if row.mark else QUIET
        text.append(pad(fit(row.name, name_width), name_width) + " ", style)
        text.append(f"{row.mark or ' '} {pad(row.value, value_width)}", style)
        text.append(f"  {row.difference}\n" if row.difference else "\n", style)
    if left_out:
        text.append(f"+ {left_out}\n", QUIET)
    for link in links:
        text.append(fit(link, inner) + "\n")
    return text if picture is None else text.append_text(half_blocks(picture, inner, free))


def waiting(words: Words, session: Session, view: CampaignView, width: int) -> Text:
    """What is awaited, why it is not going on, and a bar as far as something is known; at most four lines."""
    told, share = pace(words, session, view)
    sentence = wait_text(words, view) or phase_text(words, view)
    if view.duel is not None and view.phase == Phase.ASKING:
        sentence = f"{words('duel.number', number=view.duel.number)}: {sentence}"
    room = width - cell_len(told) - 2
    beside = beside_text(words, view)
    reason = reason_text(words, view)
    most = 2 if beside or reason else _MOST_WAITING - 1
    first = folded(sentence, room, 2)[0]
    rest = sentence.removeprefix(first).strip() if sentence.startswith(first) else ""
    more = folded(rest, width, most - 1) if rest else []
    text = Text(no_wrap=True)
    text.append(pad(first, room) + "  ", STRONG)
    text.append(told + "\n", QUIET)
    for line in more:
        text.append(line + "\n", STRONG)
    if beside or reason:
        style = ALARM if view.fault else STRONG if beside else ""
        lines = folded("  ".join(filter(None, (beside, reason))), width, _MOST_WAITING - 1 - len(more))
        text.append("\n".join(lines), style)
        return text
    return text.append_text(_going_on(words, session, view, share, width))


def _going_on(words: Words, session: Session, view: CampaignView, share: float | None, width: int) -> Text:
    """How far what is under way has come."""
    text, progress = Text(), session.campaigns[view.name].progress
    if view.duel is not None and view.duel.left.setting == view.duel.right.setting:
        text.append(words("duel.same"))
    elif share is not None and view.phase != Phase.ASKING:
        note = f" {words.number(share * 100)} %" + (f"  {words.told(progress.text)}" if progress else "")
        text.append(bar(share, max(10, width // 2)))
        text.append(fit(note, width - max(10, width // 2)))
    elif view.waiting is not None:
        text.append(fit(phase_text(words, view), width), QUIET)
    elif progress is not None and view.phase != Phase.ASKING:
        text.append(fit(words.told(progress.text), width), QUIET)
    return text
