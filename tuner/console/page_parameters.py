"""The parameters' screen: one cut through the champion at a time, as a text plot."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from tuner.console.page import Page
from tuner.console.paint import QUIET, STRONG
from tuner.console.plot import plot
from tuner.errors import TunerError
from tuner.wire.messages import Slices, TrialView


class ParametersPage(Page):
    """What the model believes along each parameter."""

    title_key: ClassVar[str] = "parameters.title"
    help_key: ClassVar[str | None] = "parameters.help"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", show=False),
        Binding("right,space,p,P", "turn(1)", show=False),
    ]

    def __init__(self, campaign: str) -> None:
        super().__init__(campaign)
        self._slices: Slices | None = None
        self._trials: list[TrialView] = []
        self._failed = ""
        self.chosen = 0

    def compose_body(self) -> ComposeResult:
        """The plot fills the screen."""
        yield Static(id="plot")

    def begin(self) -> None:
        """Ask the model."""
        self.run_worker(self._fetch())

    async def _fetch(self) -> None:
        client = self.console.session.client
        try:
            self._trials = (await client.trials(self.campaign, limit=500)).trials
            self._slices = await client.slices(self.campaign)
        except TunerError as error:
            self._failed = str(error)
        self.put()

    def action_turn(self, step: int) -> None:
        """Another parameter."""
        if self._slices is not None and self._slices.slices:
            self.chosen = (self.chosen + step) % len(self._slices.slices)
            self.put()

    def put_body(self) -> None:
        """The plot, or why there is none."""
        words = self.words
        widget = self.query_one("#plot", Static)
        have = self._slices
        if have is None:
            failed = words("champion.not_ready", text=self._failed)
            widget.update(Text(failed if self._failed else words("champion.computing"), QUIET))
            return
        if have.champion is None or not have.slices:
            widget.update(words("parameters.none"))
            return
        cut = have.slices[self.chosen]
        parameter = next(p for p in self.view.parameters if p.name == cut.name)
        width, height = max(30, widget.size.width - 2), widget.size.height
        text = Text(no_wrap=True)
        names = "  ".join(f"[{one.name}]" if one is cut else one.name for one in have.slices)
        text.append(f"{names}\n", STRONG)
        text.append(words("parameters.at", value=words.value(cut.at, parameter)) + " · ")
        text.append(words("parameters.quality", percent=words.percent(have.mass)) + "\n", QUIET)
        for line in plot(words, cut, parameter, self._trials, width, height - 3):
            text.append(line + "\n")
        text.append(words("parameters.legend"), QUIET)
        widget.update(text)
