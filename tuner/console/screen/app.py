"""The console on a terminal: a `Ui` made of a main screen, pages and dialogs."""

import asyncio
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from textual.app import App

from tuner.console.actions import Actions
from tuner.console.campaign_text import news_text
from tuner.console.keyboard import BY_SHOWN, SIGN_IN, Key
from tuner.console.pages.alarms import AlarmsPage
from tuner.console.pages.champion import ChampionPage
from tuner.console.pages.history import HistoryPage
from tuner.console.pages.page import Page
from tuner.console.pages.parameters import ParametersPage
from tuner.console.pages.why import WhyPage
from tuner.console.requests import KeyRequest
from tuner.console.screen.dialogs import ChooseDialog, TextDialog
from tuner.console.screen.history import HistoryScreen
from tuner.console.screen.main import MainScreen
from tuner.console.screen.page import AlarmsScreen, ChampionScreen, PageScreen, WhyScreen
from tuner.console.screen.parameters import ParametersScreen
from tuner.console.session import Session
from tuner.console.ui import LONGEST, Choice, Options
from tuner.wire.aio import AsyncClient
from tuner.wire.messages import CampaignView

_SCREENS: dict[type[Page], type[PageScreen]] = {
    AlarmsPage: AlarmsScreen,
    WhyPage: WhyScreen,
    ChampionPage: ChampionScreen,
    HistoryPage: HistoryScreen,
    ParametersPage: ParametersScreen,
}
_AFTER_LOSS = ("alarms.taken_after_all", "alarms.not_taken", "alarms.meanwhile", "alarms.meanwhile_nothing")


class ConsoleApp(App[None]):
    """The operator's console."""

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
        self._options = options
        self.main = MainScreen()
        self._message: tuple[str, bool] = ("", False)
        self._undoable_at_s: float | None = None
        self._asked_campaign = False
        self._heard = 0

    async def on_mount(self) -> None:
        """Connect and ask who is there."""
        only = (self._options.campaign,) if self._options.campaign else ()
        self.session = Session(self._client(), self.redraw, only, self._clock)
        self.actions = Actions(self, self.session, self._options)
        await self.push_screen(self.main)
        if not self.is_headless:  # told to end, it gives the terminal back as it was
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.exit, None, 128 + signal.SIGTERM)
        if self.actions.operator is None:
            self.press(SIGN_IN)
        self.run_worker(self.session.run(), name="session", exit_on_error=True)

    async def on_unmount(self) -> None:
        await self.session.client.close()

    def press(self, key: Key) -> None:
        """Do what a key stands for, beside the screen."""
        self.run_worker(self.actions.press(key))

    def action_press(self, shown: str) -> None:
        self.press(BY_SHOWN[shown])

    @property
    def view(self) -> CampaignView | None:
        """What is painted; the session may know more already."""
        return self.main.shown

    async def ask(
        self, question: str, offers: Sequence[str] = (), longest: int = LONGEST, *, secret: bool = False
    ) -> str | None:
        hint = self.actions.words("ask.reason_hint")
        return await self.push_screen_wait(TextDialog(question, hint, offers, longest, secret=secret))

    async def choose(
        self, question: str, choices: Sequence[Choice], details: str = "", *, usual: bool = False
    ) -> str | None:
        leave = self.actions.words("key.cancel")
        return await self.push_screen_wait(ChooseDialog(question, choices, leave, details, self._options.guard_s))

    async def show_page(self, page: type[Page], campaign: str) -> None:
        await self.push_screen(_SCREENS.get(page, PageScreen)(page(campaign)))

    def leave(self) -> None:
        self.exit()

    def redraw(self) -> None:
        """The session knows something new, or the operator wants something else to be shown."""
        self._say_news()
        names = list(self.session.campaigns)
        if self.actions.campaign is None and names and self.session.complete:
            if len(names) == 1:
                self.actions.campaign = names[0]
            elif not (self._asked_campaign or self.actions.asking):  # one question at a time
                self._asked_campaign = True
                self.run_worker(self._choose_campaign())
        if self.main.is_mounted:
            self.main.call_next(self.main.put)
        for screen in self.screen_stack:
            if isinstance(screen, PageScreen):
                screen.session_changed()

    async def _choose_campaign(self) -> None:
        await self.actions.choose_campaign()
        if self.actions.campaign is None:
            self.actions.show_campaign(next(iter(self.session.campaigns)))

    def _say_news(self) -> None:
        """After a lost link what happened meanwhile is said at once; the alarm screen keeps it."""
        fresh = [news for _, news in zip(range(self.session.told - self._heard), self.session.news, strict=False)]
        self._heard = self.session.told
        told = [news for news in reversed(fresh) if news.key in _AFTER_LOSS]
        if told:
            bad = any(news.key == "alarms.not_taken" for news in told)
            self.say(" · ".join(news_text(self.actions.words, news) for news in told), bad=bad)

    def say(self, text: str, *, bad: bool = False) -> None:
        """Show a message until the next one."""
        self._message = (text, bad)
        self._undoable_at_s = None
        self.main.call_next(self.main.tick)

    def sending(self) -> None:
        self.say(self.actions.words("say.sending"))

    def done(self, request: KeyRequest, ms: float) -> None:
        """What was done, how long that took, and how long it can be taken back."""
        words = self.actions.words
        self.say(f"{request.said(words)} · {words('say.took', ms=words.number(ms))}")
        self._undoable_at_s = self._clock() if request.undoable else None

    def message(self) -> tuple[str, bool]:
        """What was said last, and how long it can be taken back; whether it is bad news."""
        text, bad = self._message
        view, words = self.view, self.actions.words
        if self._undoable_at_s is not None and view is not None:
            left_s = view.undo_minutes * 60 - (self._clock() - self._undoable_at_s)
            if left_s > 0:
                text += " · " + words("say.undo_left", left=words.span(left_s))
        return text, bad

    def action_help_quit(self) -> None:
        """Ctrl+C is pressed by habit: it says how to leave, in the reader's language, and covers no key."""
        self.say(self.actions.words("say.leave"))
        self.redraw()
