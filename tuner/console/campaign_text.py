"""A campaign's view in words: rows of settings, the machine's line, what is awaited; no widgets, no colours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rich.cells import cell_len, chop_cells, set_cell_size

from tuner.basics.sentences import say
from tuner.basics.text import share_text
from tuner.basics.vocabulary import ENDED, Mode, Phase
from tuner.console.language import Words
from tuner.console.requests import KeyRequest
from tuner.console.session import News, Session
from tuner.core.space.values import Value
from tuner.wire.messages import CampaignView, ContractView, ParameterView, TrialView

HIGHER, LOWER, OTHER = "▲", "▼", "≠"
_TAGGED = frozenset({Phase.AWAITING_APPROVAL, Phase.SENDING, Phase.SETTLING, Phase.RUNNING})
_AWAITED = frozenset({"verify", "ready", "link", "people"})  # a newer daemon may wait for something else
_MOVING = frozenset({Phase.SENDING, Phase.RETURNING_HOME})


@dataclass(frozen=True, slots=True)
class Row:
    """One parameter of a setting beside another setting.

    Attributes:
        name: The parameter.
        value: With its unit.
        mark: An arrow where it differs, else empty.
        difference: By how much, with a sign; empty for choices.
    """

    name: str
    value: str
    mark: str
    difference: str


def rows(
    words: Words, parameters: Sequence[ParameterView], setting: Mapping[str, Value], other: Mapping[str, Value] | None
) -> list[Row]:
    """A setting's parameters in their order, compared with another setting."""
    found = []
    for parameter in parameters:
        value = setting[parameter.name]
        beside = value if other is None else other[parameter.name]
        mark = difference = ""
        if isinstance(value, str) or isinstance(beside, str):
            mark = OTHER if value != beside else ""
        elif value != beside:
            mark = HIGHER if value > beside else LOWER
            difference = words.difference(value, beside, parameter)
        found.append(Row(parameter.called, words.value(value, parameter), mark, difference))
    return found


def brief(
    words: Words,
    view: CampaignView,
    setting: Mapping[str, Value] | None,
    separator: str = "  ",
    beside: Mapping[str, Value] | None = None,
) -> str:
    """A setting in one line; what differs from another setting comes first, since the line may be cut."""
    if setting is None:
        return words("top.unknown")
    known = [parameter for parameter in view.parameters if parameter.name in setting]
    if beside is not None:
        known.sort(key=lambda parameter: setting[parameter.name] == beside.get(parameter.name))
    return separator.join(f"{one.called} {words.value(setting[one.name], one)}" for one in known)


def changes(words: Words, view: CampaignView, setting: Mapping[str, Value], other: Mapping[str, Value]) -> list[str]:
    """What differs between two settings, a line each."""
    return [
        f"{row.mark} {row.name} {row.value}" + (f" ({row.difference})" if row.difference else "")
        for row in rows(words, view.parameters, setting, other)
        if row.mark
    ]


def machine_text(words: Words, view: CampaignView) -> tuple[str, bool]:
    """How sure the machine's setting is, and whether that is as it should be."""
    machine = view.machine
    if machine.home_failed:
        return words("top.not_home"), False
    if view.dry_run:
        return words("top.dry_run"), True  # nothing is sent, so nothing can be verified
    if machine.requested is None:
        return "", True
    if not machine.verified:
        return words("top.unverified"), view.phase in _MOVING  # on its way it cannot be verified yet
    return words("top.verified") + (f", {words('top.home')}" if machine.home else ""), True


def wait_text(words: Words, view: CampaignView) -> str:
    """What the campaign waits for at its machine, in the reader's language; nothing if it does not."""
    waiting = view.waiting
    if waiting is None:
        return ""
    if waiting.awaited not in _AWAITED:
        return words.told(waiting.text)
    return words(f"wait.{waiting.awaited}", text=waiting.text)


def by_hand_text(words: Words, view: CampaignView, separator: str = ", ") -> str:
    """What somebody is to change by hand; nothing if nobody is."""
    setting = {} if view.change is None else view.change.setting
    known = [parameter for parameter in view.parameters if parameter.name in setting]
    return separator.join(f"{one.called}: {words.value(setting[one.name], one)}" for one in known)


def beside_text(words: Words, view: CampaignView) -> str:
    """What somebody is to change by hand while the campaign does or waits for something else."""
    if view.change is None or view.phase == Phase.AWAITING_CHANGE:
        return ""
    return words("wait.by_hand", text=by_hand_text(words, view))


def phase_text(words: Words, view: CampaignView) -> str:
    """What the campaign does or waits for now, in the reader's language."""
    tag = view.trial.tag if view.trial is not None else ""
    if view.phase == Phase.RUNNING and view.dry_run:
        return words("phase.dry_run", tag=tag)
    if view.phase == Phase.WAITING_FOR_WINDOW and view.wake_at:
        return words("phase.waiting_until", time=words.clock(view.wake_at))
    if view.phase == Phase.AWAITING_CHANGE:
        return words("phase.awaiting_change", text=by_hand_text(words, view))
    if view.phase in _TAGGED:
        return words(f"phase.{view.phase}", tag=tag)
    if view.phase == Phase.ASKING and _once_more(view):
        return words("phase.asking_again")
    return words.known(f"phase.{view.phase}", words.told(view.phase_text))


def _once_more(view: CampaignView) -> bool:
    """Whether the last answer was about the same two parts: whoever is not told thinks that the key was not taken."""
    last = next((one for one in view.judgments if one.retracted is None), None)
    asked = view.duel and {view.duel.left.number, view.duel.right.number}
    return last is not None and {last.left, last.right} == asked


def reason_text(words: Words, view: CampaignView) -> str:
    """Why it does not go on; nothing if it does."""
    return words.told(view.fault or (view.reason if view.mode in (Mode.HELD, *ENDED) else ""))


def pace(words: Words, session: Session, view: CampaignView) -> tuple[str, float | None]:
    """How long the phase lasts beside what is usual, and the share done if it is known."""
    now, waiting = session.now(view.name), view.waiting
    if waiting is not None:
        passed = (now - datetime.fromisoformat(waiting.since)).total_seconds()
        if waiting.at_most_s is None:
            return words("wait.elapsed", elapsed=words.span(passed)), None
        elapsed = words.span(min(passed, waiting.at_most_s))
        return words("wait.limit", elapsed=elapsed, limit=words.span(waiting.at_most_s)), None
    passed = (now - datetime.fromisoformat(view.phase_since)).total_seconds()
    elapsed = words.span(passed)
    progress = session.campaigns[view.name].progress
    share = None if progress is None else progress.done
    expected_s = view.phase_expected_s
    if expected_s:
        if passed > expected_s * 1.5 + 1:
            return words("wait.over", elapsed=elapsed, expected=words.span(expected_s)), 1.0
        share = min(1.0, passed / expected_s)
        return words("wait.expected", elapsed=elapsed, expected=words.span(expected_s)), share
    return words("wait.elapsed", elapsed=elapsed), share


def budget(words: Words, session: Session, view: CampaignView) -> str:
    """How much is used, how many questions are left, and when the end is expected."""
    have = view.budget
    parts = [words("wait.trials", spent=words.number(have.spent), trials=words.number(have.trials))]
    if view.contract is not None:
        parts.append(contract_short(words, view.contract))
        if view.contract.known_ground and view.mode == Mode.EXECUTE:
            parts.append(words("contract.known_ground"))
    elif have.scrap_limit is None:
        parts.append(words("wait.scrap", scrap=words.number(have.scrap)))
    else:
        parts.append(
            words("wait.scrap_of", scrap=words.number(have.scrap), limit=words.number(max(have.scrap_limit, 1)))
        )
    if have.questions_left_this_hour is not None:
        parts.append(words("wait.questions_left", count=have.questions_left_this_hour))
    if have.estimated_s is not None:
        parts.append(words("wait.end", time=words.clock(session.now(view.name) + timedelta(seconds=have.estimated_s))))
    elif view.mode == Mode.EXECUTE:
        parts.append(words("wait.end_unknown"))
    return " · ".join(parts)


def measured_text(words: Words, trial: TrialView) -> str:
    """What was measured on a part, in one line; nothing where nothing was."""
    values = "  ".join(f"{name} {words.value(value)}" for name, value in trial.measurements.items())
    return f"{words('page.measured')}: {values}" if values else ""


def contract_short(words: Words, contract: ContractView) -> str:
    """Scrap against a contract in a few words."""
    rate = say("value.number", number=share_text(contract.rate))
    counts = {"scrap": contract.scrap, "parts": contract.parts, "left": contract.left, "planned": contract.planned}
    return words("contract.short", **counts, rate=rate)


def contract_lines(words: Words, view: CampaignView) -> list[str]:
    """Everything a scrap contract says now; nothing where there is none."""
    return [] if view.contract is None else [words.told(text) for text in view.contract.texts]


def about_part(words: Words, trial: TrialView) -> str:
    """When and of what a part was made."""
    parts = []
    if trial.ended_at:
        parts.append(words("duel.made", time=words.clock(trial.ended_at)))
    if trial.lot:
        parts.append(words("duel.lot", lot=trial.lot))
    return " · ".join(parts)


def alarms(session: Session, view: CampaignView | None) -> list[tuple[str, dict[str, object]]]:
    """What is abnormal now: texts' keys and fields."""
    found: list[tuple[str, dict[str, object]]] = []
    if not session.linked and session.lost:
        found.append(("alarms.link", {"text": session.lost}))
    if view is None:
        return found
    if view.fault:
        found.append(("alarms.fault", {"text": view.fault}))
    if view.machine.home_failed:
        found.append(("alarms.home_failed", {"text": view.machine.home_failed}))
    elif _doubtful(view):
        found.append(("alarms.unverified", {}))
    return found


def daemon_alarms(session: Session) -> list[tuple[str, str, dict[str, object]]]:
    """What is abnormal besides the campaigns that are shown: the one that it is about, a text's key and fields."""
    found: list[tuple[str, str, dict[str, object]]] = [("", "alarms.daemon", {"text": text}) for text in session.needs]
    return found + [(name, "alarms.set_aside", {"text": why}) for name, why in sorted(session.set_aside.items())]


def _doubtful(view: CampaignView) -> bool:
    machine = view.machine
    if view.dry_run or view.phase in _MOVING:
        return False
    return machine.requested is not None and not machine.verified


def news_text(words: Words, news: News) -> str:
    """A piece of news in the reader's language."""
    fields = dict(news.fields)
    if news.key == "alarms.link_back":
        fields["span"] = words.span(float(str(fields["span"])))
    if news.key == "alarms.meanwhile":
        fields["text"] = _meanwhile(words, fields["text"])
    what = fields.get("what")
    if isinstance(what, KeyRequest):
        # what was wanted, and not what is said when it was done: "stopped" after "not taken" would be read as stopped
        fields["what"] = what.named(words)
    where = f"{news.campaign}: " if news.campaign else ""
    return where + words(news.key, **fields)


def _meanwhile(words: Words, counts: object) -> str:
    have: dict[str, object] = dict(counts)  # type: ignore[call-overload]
    parts = [words("count.events", count=have["events"])]
    parts += [words(f"count.{key}", count=have[key]) for key in ("trials", "scrap") if have[key]]
    if have["judgments"]:
        parts.append(words("count.judgments", count=have["judgments"], who=have["who"]))
    parts += [words(f"count.{key}", text=have[key]) for key in ("held", "stopped") if have[key]]
    return ", ".join(parts)


def fit(text: str, width: int) -> str:
    """The text cut to a width, with a mark where it was cut."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)).rstrip() + "…"


def folded(text: str, width: int, most: int) -> list[str]:
    """A sentence in lines, broken between words where there are any; the last of `most` is cut if it must be."""
    lines, rest = list[str](), text
    while cell_len(rest) > width and len(lines) < most - 1:
        head = chop_cells(rest, width)[0]
        space = head.rfind(" ")
        at = space if space > len(head) // 2 and rest[len(head) : len(head) + 1] not in ("", " ") else len(head)
        lines.append(rest[:at].rstrip())
        rest = rest[at:].lstrip()
    return [*lines, fit(rest, width)]


def pad(text: str, width: int) -> str:
    """The text filled up to a width."""
    return text + " " * max(0, width - cell_len(text))


def bar(share: float, width: int) -> str:
    """A progress bar of plain blocks."""
    full = round(min(1.0, max(0.0, share)) * width)
    return "█" * full + "░" * (width - full)
