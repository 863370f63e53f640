"""The champion's screen: the setting to copy to the master recipe, the evidence, and whether going on is worth it."""

from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from tuner.console.keys import Key, both
from tuner.console.page import Page
from tuner.console.paint import QUIET
from tuner.console.tell import champion_lines
from tuner.errors import TunerError
from tuner.wire.messages import ChampionBody, Explanation, Recommendation


class ChampionPage(Page):
    """What to write down."""

    title_key: ClassVar[str] = "champion.title"
    keys: ClassVar[tuple[Key, ...]] = (Key("y", "y", "key.copy", "copy"),)
    BINDINGS: ClassVar[list[BindingType]] = [Binding(both("y"), "copy", show=False)]

    def __init__(self, campaign: str) -> None:
        super().__init__(campaign)
        self._champion: ChampionBody | None = None
        self._recommended: Recommendation | None = None
        self._explained: Explanation | None = None
        self._failed = ""

    def begin(self) -> None:
        """Ask for the record, then the model."""
        self.run_worker(self._fetch())

    async def _fetch(self) -> None:
        client = self.console.session.client
        try:
            self._champion = await client.champion(self.campaign)
            self.put()
            if self._champion.champion is not None:
                self._recommended = await client.recommendation(self.campaign)
                self.put()
                self._explained = await client.explanation(self.campaign)
        except TunerError as error:
            self._failed = str(error)
        self.put()

    def action_copy(self) -> None:
        """Put the recommended setting on the clipboard of the terminal."""
        have = self._recommended
        if have is not None and have.setting is not None:
            units = {parameter.name: parameter.unit for parameter in self.view.parameters}
            lines = [f"{name} = {value} {units.get(name, '')}".rstrip() for name, value in have.setting.items()]
            self.app.copy_to_clipboard("\n".join(lines))
            self.console.say(self.words("say.copied"))
            self.put()

    def put_body(self) -> None:
        """As much as is known."""
        words, view = self.words, self.view
        text = Text()
        if self._champion is None:
            text.append(words("champion.computing") if not self._failed else self._failed, QUIET)
        elif self._champion.champion is None:
            text.append(words("champion.none"))
        else:
            for line, style in champion_lines(words, view, self._champion, self._recommended, self._explained):
                text.append(line + "\n", style)
            if self._failed:
                text.append("\n" + words("champion.not_ready", text=self._failed))
            elif self._explained is None:
                text.append("\n" + words("champion.computing"), QUIET)
        self.text_body(text)
