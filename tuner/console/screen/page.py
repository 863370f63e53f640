"""A page on the screen: its title, its lines, and keys to go back and to move on."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Static

from tuner.console.keyboard import BACK, LANGUAGE, Key
from tuner.console.language import Words
from tuner.console.pages.alarms import AlarmsPage
from tuner.console.pages.champion import ChampionPage
from tuner.console.pages.page import ALARM, Page
from tuner.console.pages.why import WhyPage
from tuner.console.screen.keybar import KeyBar, sized, whole
from tuner.wire.messages import CampaignView

if TYPE_CHECKING:
    from tuner.console.screen.app import ConsoleApp


def bindings(keys: Iterable[Key]) -> list[BindingType]:
    """What Textual wants to know of keys whose actions are the screen's own."""
    return [Binding(key.bound, key.action, show=False) for key in keys]


class PageScreen(Screen[None]):
    """Shows a page as lines."""

    BINDINGS: ClassVar[list[BindingType]] = bindings((BACK, LANGUAGE))

    def __init__(self, page: Page) -> None:
        super().__init__(classes="page")
        self.page = page

    @property
    def console(self) -> "ConsoleApp":
        return cast("ConsoleApp", self.app)

    @property
    def words(self) -> Words:
        return self.console.actions.words

    @property
    def view(self) -> CampaignView | None:
        return self.console.session.view(self.page.campaign)

    def compose(self) -> ComposeResult:
        yield Static(id="title")
        yield from self.compose_body()
        yield Static(id="help")
        yield KeyBar(lambda key: self.run_worker(self.run_action(key.action)), (*self.page.keys, LANGUAGE, BACK))

    def compose_body(self) -> ComposeResult:
        with VerticalScroll(id="body"):
            yield Static(id="text")

    def on_mount(self) -> None:
        self.put()
        self.begin()

    def begin(self) -> None:
        self.run_worker(self.page.load(self.console.session.client, self.put))

    def on_resize(self, event: Resize) -> None:
        sized(self, event.size)
        self.call_after_refresh(self.put)

    def put(self) -> None:
        if not whole(self):
            return
        words, page, view = self.words, self.page, self.view
        self.query_one("#title", Static).update(" · ".join(filter(None, (words(page.title), page.campaign))))
        text, bad = self.console.message()
        hint = words(page.hint) if page.hint else ""
        self.query_one("#help", Static).update(Text(text or hint, ALARM if bad else ""))
        self.query_one(KeyBar).put(words, view, self.console.session.welcome)
        self.put_body()

    def put_body(self) -> None:
        lines = self.page.show(self.words, self.console.session)
        self.query_one("#text", Static).update(Text("\n").join(lines))

    def session_changed(self) -> None:
        if self.is_mounted:
            self.call_next(self.put)

    def action_back(self) -> None:
        self.console.say("")
        self.dismiss(None)

    async def action_language(self) -> None:
        await self.console.actions.language()
        self.console.say("")
        self.put()


class AlarmsScreen(PageScreen):
    """The alarms, which can be acknowledged; they are asked for again when something happens."""

    page: AlarmsPage
    BINDINGS: ClassVar[list[BindingType]] = bindings(AlarmsPage.keys)
    _seen_n = 0

    def session_changed(self) -> None:
        if self.is_mounted and self.view is not None and self.view.n != self._seen_n:
            self._seen_n = self.view.n
            self.begin()
        super().session_changed()

    @work
    async def action_acknowledge(self) -> None:
        """The newest alarm that nobody has acknowledged."""
        (key,) = self.page.keys
        alarm = next((one for one in self.view.alarms if one.acknowledged_at is None), None) if self.view else None
        if alarm is None:
            self.console.say(self.words("cannot.no_alarm"), bad=True)
        else:
            await self.console.actions.press(key, self.view, alarm)
        self.put()


class WhyScreen(PageScreen):
    """The reasons; a comparison that a circle of answers turns on can be asked again."""

    page: WhyPage
    BINDINGS: ClassVar[list[BindingType]] = bindings(WhyPage.keys)

    @work
    async def action_again(self) -> None:
        """Ask again what the first circle turns on."""
        (key,) = self.page.keys
        circle = self.page.circle
        if circle is None:
            self.console.say(self.words("cannot.no_circle"), bad=True)
        else:
            await self.console.actions.press(key, self.view, circle["judgment"], " / ".join(circle.get("pair", ())))
        self.put()


class ChampionScreen(PageScreen):
    """The champion, whose setting can be copied."""

    page: ChampionPage
    BINDINGS: ClassVar[list[BindingType]] = bindings(ChampionPage.keys)

    def action_copy(self) -> None:
        """Put the recommended setting on the clipboard of the terminal."""
        text = self.page.copied(self.view) if self.view is not None else None
        if text is not None:
            self.app.copy_to_clipboard(text)
            self.console.say(self.words("say.copied"))
            self.put()
