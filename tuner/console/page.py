"""What all screens beside the main one share: a title, a body that scrolls, keys to go back and to move on."""

from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Static

from tuner.console.keybar import KeyBar, KeyCell
from tuner.console.keys import Key, both
from tuner.console.main_screen import sized
from tuner.console.paint import ALARM
from tuner.console.words import Words
from tuner.wire.messages import CampaignView

if TYPE_CHECKING:
    from tuner.console.app import ConsoleApp

BACK = Key("Esc", "escape", "key.back", "back")
LANGUAGE = Key("l", "l", "key.language", "language")


class Page(Screen[None]):
    """A screen about one campaign.

    Args:
        campaign: Which.
    """

    keys: ClassVar[tuple[Key, ...]] = ()
    title_key: ClassVar[str] = ""
    help_key: ClassVar[str | None] = None

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace,q,Q", "back", show=False),
        Binding(both("l"), "language", show=False),
    ]

    def __init__(self, campaign: str) -> None:
        super().__init__(classes="page")
        self.campaign = campaign

    @property
    def console(self) -> "ConsoleApp":
        """The app."""
        return cast("ConsoleApp", self.app)

    @property
    def words(self) -> Words:
        """The language."""
        return self.console.words

    @property
    def view(self) -> CampaignView:
        """The campaign as last seen."""
        view = self.console.session.view(self.campaign)
        if view is None:
            raise LookupError(self.campaign)
        return view

    def compose(self) -> ComposeResult:
        """Title, body, help, keys."""
        yield Static(id="title")
        yield from self.compose_body()
        yield Static(id="help")
        yield KeyBar((*self.keys, LANGUAGE, BACK))

    def compose_body(self) -> ComposeResult:
        """The body."""
        with VerticalScroll(id="body"):
            yield Static(id="text")

    def on_mount(self) -> None:
        """Show what is known and fetch the rest."""
        self.put()
        self.begin()

    def begin(self) -> None:
        """Fetch what the page needs."""

    def on_resize(self, event: Resize) -> None:
        """Large keys where there is room."""
        sized(self, event.size)
        self.call_after_refresh(self.put)

    def put(self) -> None:
        """Show title, help and keys, then the body."""
        if not self.query(KeyBar):  # before the first paint, and after the last
            return
        words = self.words
        self.query_one("#title", Static).update(f"{words(self.title_key)} · {self.campaign}")
        text, bad = self.console.message()
        hint = words(self.help_key) if self.help_key else ""
        self.query_one("#help", Static).update(Text(text or hint, ALARM if bad else ""))
        self.query_one(KeyBar).put(words)
        self.put_body()

    def put_body(self) -> None:
        """Show the body."""

    def text_body(self, text: Text) -> None:
        """Replace the body's text."""
        self.query_one("#text", Static).update(text)

    def session_changed(self) -> None:
        """The session knows something new."""
        if self.is_mounted and self.console.session.view(self.campaign) is not None:
            self.call_next(self.put)

    def on_key_cell_pressed(self, event: KeyCell.Pressed) -> None:
        """A touched key does what the key does."""
        self.run_worker(self.run_action(event.key.action))

    def action_back(self) -> None:
        """To the main screen."""
        self.console.say("")
        self.dismiss(None)

    def action_language(self) -> None:
        """The next language, here too."""
        self.console.action_language()
        self.console.say("")
        self.put()
