"""The parameters on the screen: one cut through the champion at a time, as a text plot."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from tuner.console.pages.page import QUIET, STRONG
from tuner.console.pages.parameters import ParametersPage
from tuner.console.screen.page import PageScreen
from tuner.console.screen.plot import plot


class ParametersScreen(PageScreen):
    """What the model believes along each parameter."""

    page: ParametersPage
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", show=False),
        Binding("right,space,p,P", "turn(1)", show=False),
    ]
    _chosen = 0

    def compose_body(self) -> ComposeResult:
        yield Static(id="plot")

    def action_turn(self, step: int) -> None:
        if self.page.slices is not None and self.page.slices.slices:
            self._chosen = (self._chosen + step) % len(self.page.slices.slices)
            self.put()

    def put_body(self) -> None:
        words, have, view = self.words, self.page.slices, self.view
        widget = self.query_one("#plot", Static)
        if have is None or have.champion is None or not have.slices or view is None:
            missing = self.page.unknown(words) if have is None else [Text(words("parameters.none"))]
            widget.update(Text("\n").join(missing))
            return
        cut = have.slices[self._chosen]
        parameter = next(p for p in view.parameters if p.name == cut.name)
        width, height = max(30, widget.size.width - 2), widget.size.height
        text = Text(no_wrap=True)
        called = {one.name: one.called for one in view.parameters}
        names = "  ".join(f"[{called[one.name]}]" if one is cut else called[one.name] for one in have.slices)
        text.append(f"{names}\n", STRONG)
        text.append(words("parameters.at", value=words.value(cut.at, parameter)) + " · ")
        text.append(words("parameters.quality") + "\n", QUIET)
        for line in plot(words, cut, parameter, self.page.trials, width, height - 3):
            text.append(line + "\n")
        text.append(words("parameters.legend"), QUIET)
        widget.update(text)
