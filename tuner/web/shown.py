"""What the page's templates need: a campaign's view, the model's answers and a seat, put into words."""

from collections.abc import Callable, Mapping
from typing import Any

from tuner.basics.sentences import sentence_in
from tuner.basics.vocabulary import Mode, Phase
from tuner.console.campaign_text import (
    about_part,
    alarms,
    brief,
    budget,
    contract_lines,
    daemon_alarms,
    machine_text,
    news_text,
    pace,
    phase_text,
    reason_text,
    rows,
)
from tuner.console.keyboard import ANSWERS, BY_HAND, CONTROL, GRADES, SCREENS, Key, obstacle
from tuner.console.language import LANGUAGES, Words
from tuner.console.session import Session
from tuner.core.space.values import Value
from tuner.web.engineer import Engineer
from tuner.web.model import ModelAnswers
from tuner.web.photos import Photos
from tuner.web.seat import Seat
from tuner.web.steering import alarm_rows, restricting
from tuner.wire.messages import CampaignView, JudgmentView, TrialView

PAGES = {
    "question": "/",
    "engineer": "/engineer",
    "history": "/history",
    "alarms": "/alarms",
    "board": "/board",
    "sign_in": "/sign-in",
}
PAGE_KEYS = {"engineer": "c", "history": "t", "alarms": "m"}  # as in the console
_BIG = (ANSWERS[0], ANSWERS[2], ANSWERS[1])  # left, can't tell, right: as the parts lie
_SMALL = (
    BY_HAND,
    *ANSWERS[3:],
    *(key for key in CONTROL if key.ops),
    *(key for key in SCREENS if key.ops and key.id != "keep"),  # its form is on the engineer's window
)


_STOPS = {
    "campaign_held": "held",
    "campaign_resumed": "resumed",
    "campaign_stopped": "stopped",
    "campaign_aborted": "aborted",
    "home_answered": "homing",
}


def seen(view: CampaignView | None) -> str:
    """What a page is about: a form that comes from an older one is not done."""
    if view is None:
        return ""
    return f"{view.duel.number if view.duel else 0}.{view.trial.number if view.trial else 0}"


def still_seen(key: Key, sent: str, view: CampaignView | None) -> bool:
    """Whether a form is about what is there now; an answer is about its question, whatever is made meanwhile."""
    now = seen(view)
    return sent.partition(".")[0] == now.partition(".")[0] if key.action == "answer" else sent == now


def pictured(view: CampaignView | None) -> list[str]:
    """What adapters said of the pictures of parts that a page may show now."""
    if view is None:
        return []
    parts = [view.trial, view.champion, *((view.duel.left, view.duel.right) if view.duel else ())]
    return [one.photo for one in parts if one is not None and one.photo]


class Shown:
    """Everything that one seat sees now."""

    def __init__(
        self, seat: Seat, shared: Session, photos: Photos, model: ModelAnswers, *, login: bool, closed: bool
    ) -> None:
        self._seat = seat
        self._shared = shared
        self._photos = photos
        self._model = model
        self._login = login
        self._closed = closed
        self._words: Words = seat.actions.words
        names = list(shared.campaigns)
        # not before all have been seen: the one asked for may come last
        if shared.complete and seat.actions.campaign not in names and len(names) == 1:
            seat.actions.campaign = names[0]

    def fields(self, name: str) -> dict[str, Any]:
        """The fields of a page's template; before somebody signed in nothing of a campaign is among them."""
        if self._closed:
            return {**self._common("sign_in", None), "campaigns": [], "alarm_count": 0, "needs": [], "lost": ""}
        view = self._seat.view
        more: Mapping[str, Callable[[CampaignView], dict[str, Any]]] = {
            "question": self._question,
            "engineer": self._engineer,
            "history": self._history,
        }
        found = more[name](view) if view is not None and name in more else {}
        return {**self._common(name, view), **found, **(self._alarms() if name == "alarms" else {})}

    def about(self, action: str, number: int) -> tuple[CampaignView, TrialView | JudgmentView] | None:
        """What a row of the history is about: the campaign, and the trial or judgment of that number."""
        view = self._seat.view
        if view is None:
            return None
        page = self._model.about(view.name, view.n).trials
        if page is None:
            return None
        listed = page.judgments if action in ("retract", "again") else page.trials
        found = next((one for one in listed if one.number == number), None)
        return None if found is None else (view, found)

    def _common(self, name: str, view: CampaignView | None) -> dict[str, Any]:
        words, seat, shared = self._words, self._seat, self._shared
        lost = "" if shared.linked else words("top.link_new")
        if not shared.linked and shared.lost_at is not None:
            lost = words("top.link_down", time=words.clock(shared.lost_at, seconds=True))
        welcome = seat.session.welcome
        text, bad = seat.said
        pages = [one for one in PAGES if one != "sign_in"]
        return {
            "w": words,
            "page": name,
            "page_keys": PAGE_KEYS,
            "pages": {one: PAGES[one] for one in pages},
            "back": name,
            "token": seat.token,
            "operator": seat.operator,
            "proved": seat.proved,
            "role": welcome.role if welcome is not None else "",
            "login": self._login,
            "closed": self._closed,
            "people": bool(shared.welcome and shared.welcome.people),
            "languages": {code: Words(code)("language.name") for code in LANGUAGES},
            "view": view,
            "seen": seen(view),
            "said": text,
            "bad": bad,
            "question": seat.question,
            "lost": lost,
            "campaigns": [self._line(one) for one in shared.campaigns],
            "mode": "" if view is None else words.known(f"mode.{view.mode}", view.mode),
            "alarm_count": len(daemon_alarms(shared))
            + (sum(len(alarms(shared, shared.view(one))) for one in shared.campaigns) or (0 if shared.linked else 1)),
            "needs": [self._beside(*one)["text"] for one in daemon_alarms(shared)],
            "undo_key": ANSWERS[-1].shown if seat.undoable else None,
        }

    def _line(self, name: str) -> dict[str, Any]:
        """A campaign on the wall board."""
        words, view = self._words, self._shared.campaigns[name].view
        return {
            "name": name,
            "machine": view.machine_name,
            "mode": words.known(f"mode.{view.mode}", view.mode),
            "phase": phase_text(words, view),
            "asking": view.phase == Phase.ASKING,
            "alarms": [words(key, **fields) for key, fields in alarms(self._shared, view) if key != "alarms.link"],
            "budget": budget(words, self._shared, view),
            "champion": view.champion.tag if view.champion else "",
            "setting": brief(words, view, view.champion.setting, " · ") if view.champion else "",
            "share": min(1.0, view.budget.spent / max(1, view.budget.trials)),
        }

    def _button(self, key: Key, view: CampaignView) -> dict[str, Any]:
        words = self._words
        why = obstacle(key, view, self._seat.session.welcome)
        text = words(key.text)
        if key.shown == "h" and view.mode == Mode.HELD:
            text = words("page.go_on")
        if key.shown == "s" and view.mode not in (Mode.EXECUTE, Mode.HELD):
            text = words("page.start")
        return {"key": key.shown, "id": key.id, "text": text, "why": "" if why is None else why.sentence(words)}

    def _machine(self, view: CampaignView) -> dict[str, Any]:
        words = self._words
        sure, fine = machine_text(words, view)
        told, share = pace(words, self._shared, view)
        progress = self._shared.campaigns[view.name].progress
        return {
            "machine_now": brief(words, view, view.machine.read_back, " · "),
            "requested": brief(words, view, view.machine.requested, " · "),
            "sure": sure,
            "fine": fine,
            "phase": phase_text(words, view),
            "pace": told,
            "share": share,
            "doing": words.told(progress.text) if progress is not None and view.phase != Phase.ASKING else "",
            "reason": reason_text(words, view),
            "budget": budget(words, self._shared, view),
            "contract": contract_lines(words, view),
        }

    def _question(self, view: CampaignView) -> dict[str, Any]:
        duel = view.duel if view.phase == Phase.ASKING else None
        if duel is not None:
            self._seat.actions.question_seen(view)
        parts = []
        if duel is not None:
            parts = [
                self._part(view, "left", duel.left, duel.right.setting),
                self._part(view, "right", duel.right, duel.left.setting),
            ]
        elif view.trial is not None or view.champion is not None:
            champion = view.champion
            for title, one, other in (("champion", champion, None), ("proposed", view.trial, champion)):
                if one is not None:
                    parts.append(self._part(view, title, one, other.setting if other is not None else None))
        return {
            **self._machine(view),
            "duel": duel,
            "parts": parts,
            "same": duel is not None and duel.left.setting == duel.right.setting,
            "big": [self._button(key, view) for key in _BIG],
            "grades": [self._button(key, view) for key in GRADES] if view.graded else [],
            "small": [self._button(key, view) for key in _SMALL if key.on_bar(view)],
            "pictured": any(part["photo"] for part in parts),
            "still": ("hold", "scrap", "undo"),
        }

    def _part(
        self, view: CampaignView, title: str, trial: TrialView, other: Mapping[str, Value] | None
    ) -> dict[str, Any]:
        words = self._words
        return {
            "id": title,
            "title": words(f"duel.{title}"),
            "tag": trial.tag,
            "about": about_part(words, trial),
            "rows": rows(words, view.parameters, trial.setting, other),
            "measured": [(name, words.value(value)) for name, value in trial.measurements.items()],
            "photo": self._photos.address(trial.photo),
            "champion": view.champion is not None and view.champion.number == trial.number,
        }

    def _engineer(self, view: CampaignView) -> dict[str, Any]:
        known = self._model.about(view.name, view.n)
        window = Engineer(self._words, view, known)
        return {
            **self._machine(view),
            **window.fields(),
            "small": [self._button(key, view) for key in (BY_HAND, *CONTROL) if key.ops and key.on_bar(view)],
            **restricting(self._words, view, self._seat.session.welcome),
            "proposal": None if view.trial is None else self._part(view, "proposed", view.trial, None),
        }

    def _history(self, view: CampaignView) -> dict[str, Any]:
        window = Engineer(self._words, view, self._model.about(view.name, view.n))
        allowed = self._seat.session.welcome
        ops = frozenset(allowed.ops) if allowed is not None else frozenset()
        return {
            "history": window.history(),
            "may_exclude": "trial.exclude" in ops,
            "may_retract": "judgment.retract" in ops,
            "may_repeat": "trial.repeat" in ops and view.mode in (Mode.EXECUTE, Mode.HELD),
        }

    def _alarms(self) -> dict[str, Any]:
        words, shared = self._words, self._shared
        found = []
        if not shared.linked:
            found.append(
                {"where": "", "text": words("alarms.link", text=shared.lost or ""), "next": words("next.link")}
            )
        for name in shared.campaigns:
            for key, fields in alarms(shared, shared.view(name)):
                if key != "alarms.link":
                    step = words(f"next.{key.removeprefix('alarms.')}")
                    since = words.clock(shared.campaigns[name].view.since)
                    found.append({"where": f"{since} {name}", "text": words(key, **fields), "next": step})
        found += [self._beside(*one) for one in daemon_alarms(shared)]
        news = [(words.clock(one.at, seconds=True), news_text(words, one)) for one in shared.news]
        own = [(words.clock(one.at, seconds=True), news_text(words, one)) for one in self._seat.session.news]
        view, rights = self._seat.view, self._seat.session.welcome
        history = alarm_rows(words, self._model.about(view.name, view.n).alarms, rights) if view is not None else []
        told = {"news": sorted([*news, *own], reverse=True), "stops": self._stops()}
        return {"alarms": found, "alarm_history": history, **told}

    def _beside(self, where: str, key: str, fields: Mapping[str, object]) -> dict[str, Any]:
        """What is abnormal, and of no campaign that is shown."""
        words = self._words
        return {"where": where, "text": words(key, **fields), "next": words(f"next.{key.removeprefix('alarms.')}")}

    def _stops(self) -> list[tuple[str, str, str, str]]:
        """When tuning was held, aborted or went on, by whom and why: the newest first, from the journal."""
        view, words = self._seat.view, self._words
        if view is None:
            return []
        return [
            (
                words.clock(event.at),
                words.known(f"what.{_STOPS.get(event.type, '')}", event.type),
                event.actor,
                words.told(sentence_in(event.body, "reason") or sentence_in(event.body, "text")),
            )
            for event in self._model.about(view.name, view.n).stops
        ]
