"""The one table of keys: what each does, what it needs, and its texts.

Key bar, dimming, help, the commands of plain lines and the table in docs/console.md are made from it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain

from tuner.basics.vocabulary import Answer, Mode
from tuner.console.requests import (
    CannotError,
    by_hand,
    change_of,
    duel_of,
    proposal_of,
    repeat_choices,
    scrap_choices,
    unacknowledged,
)
from tuner.wire.messages import CampaignView, Welcome


@dataclass(frozen=True, slots=True)
class Key:
    """A key.

    Attributes:
        shown: What is pressed, as it stands on the key; plain lines take the same.
        id: Of its texts: `key.ID` on the key bar, `help.ID` on the help page.
        action: The method of `Actions`, for a key of one page the action of its screen.
        argument: What the method is given.
        ops: The operation it asks the daemon for, by the modes where it can; none: it always works.
        needs: Finds what it is about in a view, or raises the reason why there is nothing.
        where: The campaigns where it is on the key bar; by default all.
    """

    shown: str
    id: str
    action: str
    argument: str | int | None = None
    ops: Mapping[Mode, str] = field(default_factory=dict)
    needs: Callable[[CampaignView], object] | None = None
    where: Callable[[CampaignView], bool] | None = None

    @property
    def text(self) -> str:
        """The text on the key bar."""
        return f"key.{self.id}"

    @property
    def help(self) -> str:
        """The text on the help page."""
        return f"help.{self.id}"

    def on_bar(self, view: CampaignView | None) -> bool:
        """Whether it has its place on the key bar while a campaign is shown."""
        return self.where is None or (view is not None and self.where(view))

    @property
    def bound(self) -> str:
        """Textual's names, also with Caps Lock: `h` must hold the machine in either case."""
        if len(self.shown) == 1 and self.shown.isalpha():
            return f"{self.shown},{self.shown.upper()}"
        return _BOUND.get(self.shown, self.shown.lower())


_BOUND = {"?": "question_mark", "+": "plus", "Esc": "escape,backspace,q,Q", "Shift+Tab": "shift+tab"}
_TUNING = (Mode.EXECUTE, Mode.HELD)


def _in(op: str, *modes: Mode) -> dict[Mode, str]:
    return dict.fromkeys(modes or Mode, op)


def _graded_duel(view: CampaignView) -> object:
    """An open question of a graded campaign."""
    if not view.graded:
        raise CannotError("cannot.not_graded")
    return duel_of(view)


_OUTCOME = _in("trial.outcome")
_MOVES = _in("campaign.start") | _in("campaign.stop", *_TUNING)

ANSWERS = (
    Key("1", "left", "answer", Answer.LEFT, _in("judgment.give"), duel_of),
    Key("2", "right", "answer", Answer.RIGHT, _in("judgment.give"), duel_of),
    Key("0", "tie", "answer", Answer.TIE, _in("judgment.tie"), duel_of),
    Key("x", "scrap", "scrap", None, _OUTCOME, scrap_choices),
    Key("r", "repeat", "repeat", None, _in("trial.repeat", *_TUNING), repeat_choices),
    Key("u", "undo", "undo", None, _in("judgment.retract")),
)
_CLEARLY = (_in("judgment.give"), _graded_duel, lambda view: view.graded)
GRADES = (
    Key("3", "clearly_left", "answer", Answer.CLEARLY_LEFT, *_CLEARLY),
    Key("4", "clearly_right", "answer", Answer.CLEARLY_RIGHT, *_CLEARLY),
)
BY_HAND = Key("f", "confirm", "confirm", None, _in("change.confirm"), change_of, lambda view: view.change is not None)
CONTROL = (
    Key("a", "approve", "approve", None, _in("proposal.approve", Mode.EXECUTE), proposal_of),
    Key("n", "reject", "reject", None, _in("proposal.reject", *_TUNING), proposal_of),
    Key("h", "hold", "hold", None, {Mode.EXECUTE: "campaign.hold", Mode.HELD: "campaign.resume"}),
    Key("s", "stop", "stop", None, _MOVES),
    Key("v", "valid", "valid", None, _OUTCOME, by_hand),
    Key("?", "why", "show_page", "why"),
    Key("l", "language", "language"),
)
SCREENS = (
    Key("t", "history", "show_page", "history"),
    Key("c", "champion", "show_page", "champion"),
    Key("p", "parameters", "show_page", "parameters"),
    Key("m", "alarms", "show_page", "alarms"),
    Key("o", "operator", "sign_in"),
    Key("k", "keep", "restrict", None, _in("parameter.freeze")),
    Key("g", "lot", "lot", None, _in("lot.change")),
    Key("q", "quit", "leave"),
)
UNSEEN = (  # on no key bar, for there is no room
    Key("Tab", "next", "other_campaign", 1),
    Key("Shift+Tab", "previous", "other_campaign", -1),
    Key("F1", "help", "show_page", "help"),
)
HISTORY = (
    Key("e", "exclude", "exclude", None, _in("trial.exclude")),
    Key("z", "retract", "retract", None, _in("judgment.retract")),
    Key("w", "again", "again", None, _in("judgment.again", *_TUNING)),
    Key("+", "more", "more"),
)
WHY = (Key("w", "again", "again", None, _in("judgment.again", *_TUNING)),)
ALARMS = (Key("a", "acknowledge", "acknowledge", None, _in("alarm.acknowledge"), unacknowledged),)
CHAMPION = (Key("y", "copy", "copy"),)
BACK = Key("Esc", "back", "back")

BAR = (ANSWERS, (*GRADES, BY_HAND), CONTROL, SCREENS)
MAIN = (*chain.from_iterable(BAR), *UNSEEN)
BY_SHOWN = {key.shown: key for key in MAIN}
SIGN_IN, LANGUAGE = BY_SHOWN["o"], BY_SHOWN["l"]


def obstacle(key: Key, view: CampaignView | None, rights: Welcome | None) -> CannotError | None:
    """Why a key does nothing now; None: it is offered.

    Args:
        key: Which.
        view: The campaign that the operator sees.
        rights: What the daemon allows the console's key; None: not known yet.
    """
    if not key.ops:
        return None
    if view is None:
        return CannotError("cannot.no_campaign")
    if key.needs is not None:
        try:
            key.needs(view)
        except CannotError as error:
            return error
    op = next((op for mode, op in key.ops.items() if mode == view.mode), None)
    if op is None:
        return CannotError("cannot.mode", mode=view.mode)
    if rights is not None and op not in rights.ops:
        return CannotError("cannot.not_allowed", role=rights.role)
    return None
