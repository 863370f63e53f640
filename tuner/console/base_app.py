"""What the console's app keeps: who is signed in, which campaign is shown, what was said; and how a deed is done."""

import asyncio
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Literal

from textual.app import App

from tuner.console import deeds, show
from tuner.console.deeds import CannotError, Deed
from tuner.console.main_screen import MainScreen
from tuner.console.session import GUARD_S, Session, Told
from tuner.console.words import Words
from tuner.wire.aio import AsyncClient
from tuner.wire.messages import CampaignView, TrialView

_AFTER_LOSS = ("alarms.taken_after_all", "alarms.not_taken", "alarms.meanwhile", "alarms.meanwhile_nothing")


@dataclass(frozen=True, slots=True)
class Options:
    """How a console is started.

    Attributes:
        language: The first language.
        operator: Who is signed in; None: the console asks.
        campaign: Which campaign to show; None: the only one, or the console asks.
        guard_s: How long a new question takes no answer.
    """

    language: str = "en"
    operator: str | None = None
    campaign: str | None = None
    guard_s: float = GUARD_S


class BaseApp(App[None]):
    """The operator's console without its keys.

    Args:
        client: Makes the client, called inside the event loop.
        options: How to start.
        clock: Monotonic seconds.
    """

    CSS_PATH = Path(__file__).with_name("console.tcss")
    ENABLE_COMMAND_PALETTE = False
    TITLE = "tuner"
    animation_level: Literal["none"] = "none"  # every frame costs on a serial line

    BINDINGS: ClassVar = []

    def __init__(
        self, client: Callable[[], AsyncClient], options: Options, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._client = client
        self._clock = clock
        self.options = options
        self.words = Words(options.language)
        self.operator = options.operator
        self.campaign = options.campaign
        self.main = MainScreen()
        self.told_ms: list[float] = []  # from key to acknowledgement
        self._message: tuple[str, bool] = ("", False)
        self._undoable_at_s: float | None = None
        self._scrapped: dict[str, tuple[TrialView, datetime]] = {}
        self._answered: tuple[str, int] | None = None
        self._asked_campaign = False
        self._heard = 0

    @property
    def view(self) -> CampaignView | None:
        """The campaign that is shown."""
        return self.session.view(self.campaign) if self.campaign else None

    async def on_mount(self) -> None:
        """Connect and ask who is there."""
        client = self._client()
        client.actor = self.operator
        only = (self.options.campaign,) if self.options.campaign else ()
        self.session = Session(client, self._changed, only, self._clock)
        await self.push_screen(self.main)
        self.run_worker(self.session.run(), name="session", exit_on_error=True)
        if not self.is_headless:  # told to end, it gives the terminal back as it was
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.exit, None, 128 + signal.SIGTERM)
        if self.operator is None:
            self.ask_operator()

    async def on_unmount(self) -> None:
        """Give the sockets back."""
        await self.session.client.close()

    def _changed(self) -> None:
        """The session knows something new."""
        self._say_news()
        names = list(self.session.campaigns)
        if self.campaign is None and names and self.session.complete:
            if len(names) == 1:
                self.campaign = names[0]
            elif not self._asked_campaign and self.screen is self.main:  # one question at a time
                self._asked_campaign = True
                self.ask_campaign()
        if self.main.is_mounted:
            self.main.call_next(self.main.put)
        for screen in self.screen_stack:
            notice = getattr(screen, "session_changed", None)
            if notice is not None:
                notice()

    def _say_news(self) -> None:
        """After a lost link what happened meanwhile is said at once; the alarm screen keeps it."""
        fresh = [news for _, news in zip(range(self.session.told - self._heard), self.session.news, strict=False)]
        self._heard = self.session.told
        told = [news for news in reversed(fresh) if news.key in _AFTER_LOSS]
        if told:
            bad = any(news.key == "alarms.not_taken" for news in told)
            self.say(" · ".join(show.news_words(self.words, news) for news in told), bad=bad)

    def say(self, text: str, *, bad: bool = False, undoable: bool = False) -> None:
        """Show a message until the next one."""
        self._message = (text, bad)
        self._undoable_at_s = self._clock() if undoable else None
        self.main.call_next(self.main.tick)

    def message(self) -> tuple[str, bool]:
        """What was said last, and how long it can be taken back; whether it is bad news."""
        text, bad = self._message
        view = self.view
        if self._undoable_at_s is not None and view is not None:
            left_s = view.undo_minutes * 60 - (self._clock() - self._undoable_at_s)
            if left_s > 0:
                text += " · " + self.words("say.undo_left", left=self.words.span(left_s))
        return text, bad

    def refuse(self, error: CannotError) -> None:
        """Say why a key does nothing."""
        fields = dict(error.fields)
        if "mode" in fields:
            fields["mode"] = self.words.known(f"mode.{fields['mode']}", str(fields["mode"]))
        self.say(self.words(error.key, **fields), bad=True)

    def show_campaign(self, name: str) -> None:
        """Show another campaign."""
        self.campaign = name
        self.say("")
        self.main.put()

    def check(self, deed: Deed) -> None:
        """Find out before a dialog whether a deed can be asked for at all.

        Raises:
            CannotError: Nobody is signed in, the last key is on its way, or the console's key does not allow it.
        """
        session = self.session
        if self.operator is None:
            self.ask_operator()
            raise CannotError("cannot.signed_out")
        if session.busy:
            raise CannotError("cannot.busy")
        if not self.may(deed.call.op):
            raise CannotError("cannot.not_allowed", role=session.welcome.role if session.welcome else "")

    def may(self, op: str) -> bool:
        """Whether the console's key allows an operation."""
        welcome = self.session.welcome
        return welcome is None or op in welcome.ops

    async def do(self, deed: Deed) -> Told:
        """Ask the daemon and say what came of it.

        Raises:
            CannotError: It was not even tried.
        """
        words, session = self.words, self.session
        self.check(deed)
        self.say(words("say.sending"))
        told = await session.act(deed)
        if told.kind == "done":
            self.told_ms.append(told.ms)
            took = words("say.took", ms=words.number(told.ms))
            self.say(f"{words(deed.said, **deed.fields)} · {took}", undoable=deed.undoable)
        elif told.kind == "refused":
            known = words.known(f"refused.{told.code}", words("refused.other"))
            self.say(f"{known} {told.text}", bad=True)
        elif told.kind == "unknown":
            self.say(words("cannot.unknown"), bad=True)
        elif told.code == "no_link":
            self.say(words("cannot.no_link"), bad=True)
        else:
            self.say(words("cannot.unsent", text=told.text), bad=True)
        return told

    def need_view(self) -> CampaignView:
        """What the operator sees now."""
        view = self.main.shown
        if view is None:
            raise CannotError("cannot.no_campaign" if self.session.linked else "cannot.no_link")
        return view

    def _took_s(self, view: CampaignView) -> float:
        """How long the question has been on this screen; refuses an answer that was meant for the one before."""
        duel = deeds.duel_of(view)
        if self._answered == (view.name, duel.number):  # the daemon has it, the screen does not know yet
            raise CannotError("cannot.no_duel")
        took_s = self._clock() - self.main.duel_shown_s
        if self.main.duel_shown != (view.name, duel.number) or took_s < self.options.guard_s:
            raise CannotError("cannot.fast")
        return round(took_s, 3)

    def ask_operator(self) -> None:
        """Ask who is there."""
        raise NotImplementedError

    def ask_campaign(self) -> None:
        """Ask which campaign to show."""
        raise NotImplementedError
