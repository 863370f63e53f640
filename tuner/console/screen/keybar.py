"""The fixed keys at the bottom, always in the same place; and lines of which each can be clicked or touched."""

from collections.abc import Callable, Sequence

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import Click
from textual.geometry import Size
from textual.screen import Screen
from textual.widgets import Static

from tuner.basics.vocabulary import Mode
from tuner.console.keyboard import Key, obstacle
from tuner.console.language import Words
from tuner.wire.messages import CampaignView, Welcome

TALL_FROM = 36  # lines from which keys are large enough for a glove
WIDE_FROM, _NARROW_BELOW = 120, 80  # columns: keys of equal width; keys in several lines


def sized(screen: Screen[None], size: Size) -> None:
    """Mark a screen by how much room its keys have."""
    screen.set_class(size.height >= TALL_FROM, "tall")
    screen.set_class(size.width >= WIDE_FROM, "wide")
    screen.set_class(size.width < _NARROW_BELOW, "narrow")


def whole(screen: Screen[None]) -> bool:
    """Say whether all of a screen is there: not before its first paint, nor while it is taken away piece by piece."""
    return bool(screen.display and screen.query(KeyBar))


class Line(Static):
    """A text that is sent only if it is another one: what is not sent again costs nothing on a slow line."""

    _last: tuple[Text, str | Style] | None = None  # texts are equal also where only their own style differs

    def draw(self, text: Text) -> None:
        if self._last != (text, text.style):
            self._last = (text, text.style)
            self.update(text)


class Touchable(Line):
    """A line that does something when it is touched."""

    def __init__(self, touched: Callable[[], object], text: Text | None = None, *, classes: str) -> None:
        super().__init__(text or "", classes=classes)
        self._touched = touched

    def on_click(self, event: Click) -> None:
        event.stop()
        self._touched()


class KeyCell(Touchable):
    """A key: touching is pressing."""

    def __init__(self, key: Key, press: Callable[[Key], object]) -> None:
        super().__init__(lambda: press(key), classes="key")
        self.key = key

    def put(self, words: Words, *, live: bool, mode: str = "") -> None:
        """Show the key; what does nothing now is dim but stays where it is."""
        held = self.key.action == "hold" and mode == Mode.HELD
        text = Text(no_wrap=True)
        text.append(f" {self.key.shown} ", "bold reverse" if live else "dim reverse")
        text.append(words("key.go_on" if held else self.key.text), "" if live else "dim")
        self.draw(text)


class KeyBar(Vertical):
    """Rows of keys, and what a touched one does."""

    def __init__(self, press: Callable[[Key], object], *rows: Sequence[Key]) -> None:
        super().__init__()
        self._press = press
        self._rows = rows

    def compose(self) -> ComposeResult:
        for row in self._rows:
            with Horizontal(classes="keys"):
                for key in row:
                    yield KeyCell(key, self._press)

    def put(self, words: Words, view: CampaignView | None, rights: Welcome | None) -> None:
        """Show all keys in a language; those are dim that do nothing now."""
        for cell in self.query(KeyCell):
            cell.put(words, live=obstacle(cell.key, view, rights) is None, mode="" if view is None else view.mode)
            cell.set_class(not cell.key.on_bar(view), "absent")
        for row in self.query(".keys"):
            row.set_class(all(cell.has_class("absent") for cell in row.children), "absent")
