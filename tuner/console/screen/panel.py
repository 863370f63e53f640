"""The panel of a large terminal: it asks for itself when something happened, one campaign at a time."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from rich.text import Text
from textual import work

from tuner.console.campaign_text import fit
from tuner.console.language import Words
from tuner.console.map_text import LEAST_LINES, map_lines
from tuner.console.pages.overview import OverviewPage
from tuner.console.pages.page import QUIET, STRONG
from tuner.console.screen.keybar import Line
from tuner.console.screen.plot import plot
from tuner.errors import TunerError
from tuner.wire.aio import AsyncClient
from tuner.wire.messages import CampaignView

if TYPE_CHECKING:
    from tuner.console.screen.app import ConsoleApp

_MAP_FROM = 26  # lines: below, what is known of each parameter alone has no room beside a map
_AGAIN_S = 5.0  # after a question that the model could not answer
_LEAST_PLOT = 11  # lines: a picture, its axis, its title and its legend


class Panel(Line):
    """How the champion came about, what matters, what is believed; a map, and a picture, where there is room."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._page: OverviewPage | None = None
        self._of: dict[str, int] = {}  # what was asked for last, and of which event of the campaign
        self._busy: set[str] = set()

    @property
    def console(self) -> "ConsoleApp":
        return cast("ConsoleApp", self.app)

    def put(self, words: Words, view: CampaignView | None) -> None:
        """Draw what is known, and ask for what is new."""
        if view is None or not self.display or not self.size.width:
            self.draw(Text())
            return
        if self._page is None or self._page.campaign != view.name:
            self._page, self._of = OverviewPage(view.name), {}
        self.draw(Text("\n", no_wrap=True).join(self._drawn(words, view, self._page)))
        self._ask("trials", self._page, self._page.fetch_trials, view.n)
        self._ask("model", self._page, self._page.fetch_model, view.n)
        if self._of.get("model") == view.n and "model" not in self._busy:
            self._ask("maps", self._page, self._page.fetch_maps, view.n)

    def _drawn(self, words: Words, view: CampaignView, page: OverviewPage) -> list[Text]:
        width, height = self.content_size
        mapped = page.maps is not None and page.maps.maps and height >= _MAP_FROM
        lines = page.drawn(words, view, width, height - (LEAST_LINES + 1 if mapped else 0))
        if page.maps is not None and mapped:
            drawn = map_lines(words, page.maps.maps[0], view, page.trials, width, height - len(lines) - 1)
            styles = [STRONG, *[""] * (len(drawn) - 2), QUIET]
            lines += [Text(), *map(Text, drawn, styles)] if drawn else []
        cut, left = page.first, height - len(lines) - 1
        parameter = next((one for one in view.parameters if cut is not None and one.name == cut.name), None)
        if cut is None or parameter is None or left < _LEAST_PLOT:
            return lines
        picture = plot(words, cut, parameter, page.trials, width, left - 2)
        title = Text(fit(f"{parameter.called}: {words('parameters.quality')}", width), STRONG)
        return [*lines, Text(), title, *map(Text, picture), Text(fit(words("parameters.legend"), width), QUIET)]

    def _ask(self, what: str, page: OverviewPage, fetch: Callable[[AsyncClient], Awaitable[None]], n: int) -> None:
        """Ask once for each event, and not again before there was an answer."""
        if self._of.get(what) != n and what not in self._busy and (what == "trials" or page.trials):
            self._of[what] = n
            self._busy.add(what)  # now: the worker begins later
            self._fetch(what, page, fetch)

    @work
    async def _fetch(self, what: str, page: OverviewPage, fetch: Callable[[AsyncClient], Awaitable[None]]) -> None:
        try:
            await fetch(self.console.session.client)
        except TunerError:  # what was known stays, and it is asked again in a while
            self.set_timer(_AGAIN_S, partial(self._forget, what))
        finally:
            self._busy.discard(what)
        page.loading = page.loading and what != "model"
        self._put_again()

    def _forget(self, what: str) -> None:
        """A question got no answer: ask it again."""
        self._of.pop(what, None)
        self._put_again()

    def _put_again(self) -> None:
        if self.is_mounted and self.console.main.is_mounted:
            self.put(self.console.actions.words, self.console.main.shown)
