"""Two screens of plain text: alarms with what happened, and why this setting."""

from typing import ClassVar

from rich.text import Text

from tuner.console import show
from tuner.console.page import Page
from tuner.console.paint import ALARM, QUIET, STRONG
from tuner.console.tell import matters, newest, reasons
from tuner.errors import TunerError
from tuner.wire.messages import Explanation


class AlarmsPage(Page):
    """What is abnormal now, in every campaign, and what was."""

    title_key: ClassVar[str] = "alarms.title"

    def put_body(self) -> None:
        """Alarms first, then news, the newest first."""
        words, session = self.words, self.console.session
        text = Text()
        names = [self.campaign, *(name for name in session.campaigns if name != self.campaign)]
        found = []
        for name in names:
            for key, fields in show.alarms(session, session.view(name)):
                line = words(key, **fields) if key == "alarms.link" else f"{name}: {words(key, **fields)}"
                if line not in found:
                    found.append(line)
        for line in found:
            text.append(" ! ", ALARM)
            text.append(f" {line}\n", STRONG)
        if not found:
            text.append(words("alarms.none") + "\n")
        text.append(f"\n{words('alarms.news')}\n", STRONG)
        for news in session.news:
            text.append(f"{words.clock(news.at, seconds=True)}  ", QUIET)
            text.append(show.news_words(words, news) + "\n")
        self.text_body(text)


class WhyPage(Page):
    """Why this setting: the model's reasons and what matters."""

    title_key: ClassVar[str] = "why.title"

    def __init__(self, campaign: str) -> None:
        super().__init__(campaign)
        self._explained: Explanation | None = None
        self._failed = ""

    def begin(self) -> None:
        """Ask the model, which takes a moment."""
        self.run_worker(self._fetch())

    async def _fetch(self) -> None:
        try:
            self._explained = await self.console.session.client.explanation(self.campaign)
        except TunerError as error:
            self._failed = str(error)
        self.put()

    def put_body(self) -> None:
        """The trial's reasons at once, the model's when they come."""
        words, view = self.words, self.view
        trial = newest(view)
        text = Text()
        if trial is None:
            text.append(words("why.none"))
        else:
            for line in reasons(words, view, trial):
                text.append(line + "\n")
        if self._explained is not None:
            for line in matters(words, view, self._explained):
                text.append(line + "\n")
        else:
            text.append(
                "\n"
                + (words("champion.not_ready", text=self._failed) if self._failed else words("champion.computing")),
                QUIET,
            )
        self.text_body(text)
