"""What a face of the console can do, whatever it looks like: ask, say, show; and how a console is started."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tuner.console.pages.page import Page
from tuner.console.requests import KeyRequest
from tuner.console.session import GUARD_S
from tuner.wire.messages import CampaignView

CHOICE_KEYS = "123456789abcdefghijklmnopqrstuvwxyz"
LONGEST = 500  # characters of a text that is asked for


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


@dataclass(frozen=True, slots=True)
class Choice:
    """Something to choose: the key, the words, what it stands for, and more about it where there is room."""

    key: str
    words: str
    value: str
    about: str = ""


class Ui(Protocol):
    """A face of the console: all that an action needs of the screen or of plain lines."""

    @property
    def view(self) -> CampaignView | None:
        """The campaign as the operator sees it now: answers are about this one."""

    async def ask(
        self, question: str, offers: Sequence[str] = (), longest: int = LONGEST, *, secret: bool = False
    ) -> str | None:
        """Ask for a text; `offers` are some that are often given, a secret is not shown."""

    async def choose(
        self, question: str, choices: Sequence[Choice], details: str = "", *, usual: bool = False
    ) -> str | None:
        """Ask for one of a few things, by its value; `usual`: the first is what the key is for, a yes is enough."""

    def say(self, text: str, *, bad: bool = False) -> None:
        """Tell the operator something."""

    def sending(self) -> None:
        """A request is on its way."""

    def done(self, request: KeyRequest, ms: float) -> None:
        """The daemon has taken a request, so many milliseconds after the key."""

    async def show_page(self, page: type[Page], campaign: str) -> None:
        """Show a page about a campaign."""

    def redraw(self) -> None:
        """Who is signed in, the language or the campaign has changed."""

    def leave(self) -> None:
        """End the console."""
