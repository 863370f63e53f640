"""What all pages share: what they ask of the daemon, and their lines as far as the answers are there."""

from collections.abc import AsyncIterator, Callable
from typing import ClassVar

from rich.text import Text

from tuner.console.keyboard import Key
from tuner.console.language import Words
from tuner.console.session import Session
from tuner.errors import TunerError
from tuner.wire.aio import AsyncClient
from tuner.wire.messages import CampaignView

ALARM = "bold #ffffff on #b00000"
STRONG = "bold"
QUIET = "dim"


class Page:
    """A page about one campaign; a `brief` one, for plain lines, has only the newest of what may be long."""

    title: ClassVar[str]
    hint: ClassVar[str | None] = None
    keys: ClassVar[tuple[Key, ...]] = ()
    about_campaign: ClassVar[bool] = True

    def __init__(self, campaign: str, *, brief: bool = False) -> None:
        self.campaign = campaign
        self.brief = brief
        self.failed = ""
        self.loading = True

    async def load(self, client: AsyncClient, changed: Callable[[], None]) -> None:
        """Ask for all that the page needs; `changed` is called when more of it is there."""
        try:
            async for _ in self.fetch(client):
                changed()
        except TunerError as error:
            self.failed = str(error)
        self.loading = False
        changed()

    async def fetch(self, client: AsyncClient) -> AsyncIterator[None]:
        """Ask the daemon, and yield after each answer that can be shown."""
        for _ in ():
            yield

    def show(self, words: Words, session: Session) -> list[Text]:
        """The page's lines."""
        view = session.view(self.campaign)
        return [] if view is None else self.lines(words, session, view)

    def lines(self, words: Words, session: Session, view: CampaignView) -> list[Text]:
        """The lines, as far as they are known."""
        raise NotImplementedError

    def unknown(self, words: Words) -> list[Text]:
        """What is said for what is not there yet: that the model computes, or why there is no answer."""
        if self.failed:
            return [Text(words("champion.not_ready", text=self.failed))]
        return [Text(words("champion.computing"), QUIET)] if self.loading else []
