"""The parameters: what the model believes along each of them, through the champion."""

from collections.abc import AsyncIterator
from typing import ClassVar

from rich.text import Text

from tuner.console.language import Words
from tuner.console.pages.page import Page
from tuner.console.session import Session
from tuner.wire.aio import AsyncClient
from tuner.wire.messages import CampaignView, TrialView
from tuner.wire.model_answers import Slices


class ParametersPage(Page):
    """A sentence for each parameter; the screen draws them."""

    title: ClassVar[str] = "parameters.title"
    hint: ClassVar[str | None] = "parameters.help"
    slices: Slices | None = None
    trials: tuple[TrialView, ...] = ()

    async def fetch(self, client: AsyncClient) -> AsyncIterator[None]:
        """Ask for what was tried, where it is drawn, and the model."""
        if not self.brief:
            self.trials = tuple((await client.trials(self.campaign, limit=500)).trials)
        self.slices = await client.slices(self.campaign)
        yield

    def lines(self, words: Words, session: Session, view: CampaignView) -> list[Text]:
        """Where each parameter is expected best."""
        if self.slices is None:
            return self.unknown(words)
        lines = []
        for cut in self.slices.slices:
            parameter = next(p for p in view.parameters if p.name == cut.name)
            best = max(range(len(cut.values)), key=cut.mean.__getitem__)
            values = {"best": words.value(cut.values[best], parameter), "at": words.value(cut.at, parameter)}
            lines.append(
                Text(words("line.slice", name=parameter.called, valid=words.percent(cut.valid[best]), **values))
            )
        return lines or [Text(words("parameters.none"))]
