"""Small windows: choose one of a few by a key, or give a text (a reason, a name, a lot)."""

import time
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tuner.console.campaign_text import pad
from tuner.console.screen.keybar import Touchable
from tuner.console.ui import LONGEST, Choice


class Dialog(ModalScreen[str | None]):
    """A question with a few answers that can be touched, and a way out."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False, priority=True)]

    def __init__(self, question: str, choices: Sequence[Choice], leave: str, quiet_s: float = 0.0) -> None:
        super().__init__()
        self._quiet_s = quiet_s
        self._clock = time.monotonic
        self._last_s = self._clock()
        self._question = question
        self._choices = {choice.key.lower(): choice for choice in choices}
        self._leave = Choice("Esc", leave, "")

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Text(self._question, "bold"), classes="question")
            yield from self.compose_body()
            wide = max((cell_len(choice.words) for choice in self._choices.values() if choice.about), default=0)
            for choice in (*self._choices.values(), self._leave):
                about = f"{pad(choice.words, wide)}   {choice.about}" if choice.about else choice.words
                text = Text.assemble((f" {choice.key} ", "bold reverse"), f"  {about}")
                yield Touchable(partial(self.dismiss, choice.value or None), text, classes="choice")

    def compose_body(self) -> ComposeResult:
        yield from ()

    def on_key(self, event: Key) -> None:
        """Take a choice's key, also with Caps Lock; keys that mean nothing here do nothing."""
        choice = self._choices.get((event.character or event.key).lower())
        if choice is None:
            return
        event.stop()
        quiet_s, self._last_s = self._clock() - self._last_s, self._clock()
        # the key that opened it, pressed twice or held down, must not answer it: a pause comes before an answer
        if quiet_s >= self._quiet_s:
            self.dismiss(choice.value)

    def action_leave(self) -> None:
        self.dismiss(None)


class ChooseDialog(Dialog):
    """Asks for one of a few things; `details` are lines under the question."""

    def __init__(
        self, question: str, choices: Sequence[Choice], leave: str, details: str = "", quiet_s: float = 0.0
    ) -> None:
        super().__init__(question, choices, leave, quiet_s)
        self._details = details

    def on_mount(self) -> None:
        """From now on it can be read."""
        self._last_s = self._clock()

    def compose_body(self) -> ComposeResult:
        if self._details:
            with VerticalScroll(classes="details", can_focus=False):
                yield Static(Text(self._details))


class TextDialog(Dialog):
    """Asks for a text of at most `longest` characters; a function key or a touch gives one of the offers."""

    def __init__(
        self, question: str, leave: str, offers: Sequence[str] = (), longest: int = LONGEST, *, secret: bool = False
    ) -> None:
        super().__init__(question, [Choice(f"F{number}", text, text) for number, text in enumerate(offers, 1)], leave)
        self._longest = longest
        self._secret = secret

    def compose_body(self) -> ComposeResult:
        yield Input(max_length=self._longest, password=self._secret)

    def on_mount(self) -> None:
        """Ready to type, also for a badge reader."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        text = " ".join(event.value.split())
        if text:
            self.dismiss(text)
