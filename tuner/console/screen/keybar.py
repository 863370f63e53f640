"""The fixed keys at the bottom: always in the same place, and each can be clicked or touched."""

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from tuner.console.keys import Key, obstacle
from tuner.console.language import Words
from tuner.wire.messages import CampaignView, Welcome

TALL_FROM = 36  # lines from which keys are large enough for a glove
_WIDE_FROM, _NARROW_BELOW = 120, 80  # columns: keys of equal width; keys in several lines


def sized(screen: Screen[None], size: Size) -> None:
    """Mark a screen by how much room its keys have."""
    screen.set_class(size.height >= TALL_FROM, "tall")
    screen.set_class(size.width >= _WIDE_FROM, "wide")
    screen.set_class(size.width < _NARROW_BELOW, "narrow")


class KeyCell(Static):
    """One key that can be touched."""

    class Pressed(Message):
        """The cell was touched."""

        def __init__(self, key: Key) -> None:
            super().__init__()
            self.key = key

    def __init__(self, key: Key) -> None:
        super().__init__(classes="key")
        self.key = key
        self._drawn: tuple[str, bool] | None = None

    def on_click(self, event: Click) -> None:
        """Touching is pressing."""
        event.stop()
        self.post_message(self.Pressed(self.key))

    def put(self, words: Words, *, live: bool) -> None:
        """Show the key; what does nothing now is dim but stays where it is."""
        if self._drawn == (words.language, live):
            return
        self._drawn = (words.language, live)
        text = Text(no_wrap=True)
        text.append(f" {self.key.shown} ", "bold reverse" if live else "dim reverse")
        text.append(words(self.key.text), "" if live else "dim")
        self.update(text)


class KeyBar(Vertical):
    """Rows of keys."""

    def __init__(self, *rows: Sequence[Key]) -> None:
        super().__init__()
        self._rows = rows

    def compose(self) -> ComposeResult:
        """A line for each row."""
        for row in self._rows:
            with Horizontal(classes="keys"):
                for key in row:
                    yield KeyCell(key)

    def put(self, words: Words, view: CampaignView | None, rights: Welcome | None) -> None:
        """Show all keys in a language; those are dim that do nothing now."""
        for cell in self.query(KeyCell):
            cell.put(words, live=obstacle(cell.key, view, rights) is None)
