"""The panel of a large terminal: it asks for itself when something happened, one campaign at a time."""

from typing import TYPE_CHECKING, cast

from rich.text import Text
from textual import work

from tuner.console.language import Words
from tuner.console.pages.overview import OverviewPage
from tuner.console.screen.keybar import Line
from tuner.wire.messages import CampaignView

if TYPE_CHECKING:
    from tuner.console.screen.app import ConsoleApp


class Panel(Line):
    """How the champion came about, what matters, what is believed."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._page: OverviewPage | None = None
        self._asking = False

    def put(self, words: Words, view: CampaignView | None) -> None:
        """Draw what is known, and ask for what is new."""
        if view is None or not self.display or not self.size.width:
            self.draw(Text())
            return
        if self._page is None or self._page.campaign != view.name:
            self._page = OverviewPage(view.name)
        self.draw(Text("\n", no_wrap=True).join(self._page.drawn(words, view, *self.content_size)))
        if self._page.n != view.n and not self._asking:
            self._ask(self._page, view.n)

    @work
    async def _ask(self, page: OverviewPage, n: int) -> None:
        console = cast("ConsoleApp", self.app)
        self._asking = True
        try:
            async for _ in page.look(console.session.client):
                self._draw_again()
        finally:
            self._asking, page.loading, page.n = False, False, n
        self._draw_again()

    def _draw_again(self) -> None:
        console = cast("ConsoleApp", self.app)
        if self.is_mounted and console.main.is_mounted:
            self.put(console.actions.words, console.main.shown)
