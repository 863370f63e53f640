"""The help: every key with a sentence; what cannot be done now says why."""

from itertools import chain
from typing import ClassVar

from rich.text import Text

from tuner.console.campaign_text import pad
from tuner.console.keyboard import ALARMS, BAR, CHAMPION, HISTORY, MAIN, WHY, Key, obstacle
from tuner.console.language import Words
from tuner.console.pages.page import QUIET, STRONG, Page
from tuner.console.session import Session

_WIDE = 10  # columns of a key's name


class HelpPage(Page):
    """Made from the table of keys."""

    title: ClassVar[str] = "help.title"
    about_campaign: ClassVar[bool] = False

    def show(self, words: Words, session: Session) -> list[Text]:
        """In plain lines the names of the keys are enough."""
        if self.brief:
            view = session.view(self.campaign)
            named = ", ".join(f"{key.shown} {words(key.text)}" for key in chain.from_iterable(BAR) if key.on_bar(view))
            return [Text(f"{words('line.help')}: {named}")]
        lines = [self._line(words, session, key) for key in MAIN]
        for page, keys in (("history", HISTORY), ("champion", CHAMPION), ("why", WHY), ("alarms", ALARMS)):
            lines += [Text(), Text(words(f"{page}.title"), STRONG), *(self._line(words, session, key) for key in keys)]
        return lines

    def _line(self, words: Words, session: Session, key: Key) -> Text:
        reason = obstacle(key, session.view(self.campaign), session.welcome)
        line = Text.assemble((pad(key.shown, _WIDE), STRONG), words(key.help), style=QUIET if reason else "")
        return line if reason is None else line.append(f" ({reason.sentence(words)})")
