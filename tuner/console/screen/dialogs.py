"""Small windows: choose one of a few by a key, or give a text (a reason, a name, a lot)."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.events import Click, Key
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tuner.console.actions import LONGEST, Choice


class ChoiceLine(Static):
    """A choice that can be touched."""

    class Chosen(Message):
        """It was touched."""

        def __init__(self, value: str) -> None:
            super().__init__()
            self.value = value

    def __init__(self, choice: Choice) -> None:
        text = Text()
        text.append(f" {choice.key} ", "bold reverse")
        text.append(f"  {choice.words}" + (f"   {choice.about}" if choice.about else ""))
        super().__init__(text, classes="choice")
        self._value = choice.value

    def on_click(self, event: Click) -> None:
        """Touching is pressing."""
        event.stop()
        self.post_message(self.Chosen(self._value))


class ChooseDialog(ModalScreen[str | None]):
    """Asks for one of a few things; any other key leaves without one.

    Args:
        question: What is asked.
        choices: What there is.
        leave: The words beside Escape.
        details: Lines under the question.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]

    def __init__(self, question: str, choices: Sequence[Choice], leave: str, details: str = "") -> None:
        super().__init__()
        self._question = question
        self._choices = {choice.key: choice for choice in choices}
        self._leave = leave
        self._details = details

    def compose(self) -> ComposeResult:
        """The question, the choices, and the way out."""
        with Vertical(classes="dialog"):
            yield Static(Text(self._question, "bold"), classes="question")
            if self._details:
                with VerticalScroll(classes="details", can_focus=False):
                    yield Static(Text(self._details))
            for choice in self._choices.values():
                yield ChoiceLine(choice)
            yield ChoiceLine(Choice("Esc", self._leave, ""))

    def on_key(self, event: Key) -> None:
        """Take a choice's key; keys that mean nothing here do nothing."""
        pressed = (event.character or event.key).lower()  # the same with Caps Lock
        if pressed in self._choices:
            event.stop()
            self.dismiss(self._choices[pressed].value)

    def on_choice_line_chosen(self, event: ChoiceLine.Chosen) -> None:
        """Take a touched choice."""
        self.dismiss(event.value or None)

    def action_leave(self) -> None:
        """Choose nothing."""
        self.dismiss(None)


class TextDialog(ModalScreen[str | None]):
    """Asks for a text.

    Args:
        question: What is asked.
        hint: A line under the field.
        offers: Texts that a function key or a touch gives.
        longest: How many characters it may have.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False, priority=True)]

    def __init__(self, question: str, hint: str, offers: Sequence[str] = (), longest: int = LONGEST) -> None:
        super().__init__()
        self._question = question
        self._hint = hint
        self._offers = tuple(offers)
        self._longest = longest

    def compose(self) -> ComposeResult:
        """The question, a field, and what is offered."""
        with Vertical(classes="dialog"):
            yield Static(Text(self._question, "bold"), classes="question")
            yield Input(max_length=self._longest)
            for number, offer in enumerate(self._offers, 1):
                yield ChoiceLine(Choice(f"F{number}", offer, offer))
            yield ChoiceLine(Choice("Esc", self._hint, ""))

    def on_mount(self) -> None:
        """Ready to type, also for a badge reader."""
        self.query_one(Input).focus()

    def on_key(self, event: Key) -> None:
        """Function keys give the offers."""
        name = event.key
        if name.startswith("f") and name[1:].isdigit() and 1 <= int(name[1:]) <= len(self._offers):
            event.stop()
            self.dismiss(self._offers[int(name[1:]) - 1])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter gives the text."""
        text = " ".join(event.value.split())
        if text:
            self.dismiss(text)

    def on_choice_line_chosen(self, event: ChoiceLine.Chosen) -> None:
        """A touched offer, or the way out."""
        self.dismiss(event.value or None)

    def action_leave(self) -> None:
        """Give none."""
        self.dismiss(None)
