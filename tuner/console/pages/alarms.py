"""The alarms: what is abnormal now, in every campaign, and what happened."""

from itertools import islice
from typing import ClassVar

from rich.text import Text

from tuner.console.campaign_text import alarms, news_text
from tuner.console.language import Words
from tuner.console.pages.page import ALARM, QUIET, STRONG, Page
from tuner.console.session import Session
from tuner.wire.messages import CampaignView

_BRIEF = 10  # pieces of news


class AlarmsPage(Page):
    """Alarms first, then news, the newest first."""

    title: ClassVar[str] = "alarms.title"

    def lines(self, words: Words, session: Session, view: CampaignView) -> list[Text]:
        """All that is known; nothing is asked for."""
        names = [view.name, *(name for name in session.campaigns if name != view.name)]
        found: dict[str, None] = {}
        for name in names:
            for key, fields in alarms(session, session.view(name)):
                found[words(key, **fields) if key == "alarms.link" else f"{name}: {words(key, **fields)}"] = None
        lines = [Text.assemble((" ! ", ALARM), (f" {line}", STRONG)) for line in found]
        lines += [] if found else [Text(words("alarms.none"))]
        lines += [Text(), Text(words("alarms.news"), STRONG)]
        for news in islice(session.news, _BRIEF if self.brief else None):
            lines.append(Text.assemble((f"{words.clock(news.at, seconds=True)}  ", QUIET), news_text(words, news)))
        return lines
