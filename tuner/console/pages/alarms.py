"""The alarms: what is abnormal now, in every campaign, what to do, and what happened when."""

from collections.abc import AsyncIterator, Sequence
from itertools import islice
from typing import ClassVar

from rich.text import Text

from tuner.console.campaign_text import alarms, daemon_alarms, news_text
from tuner.console.keyboard import ALARMS, Key
from tuner.console.language import Words
from tuner.console.pages.page import ALARM, QUIET, STRONG, Page
from tuner.console.session import Session
from tuner.wire.aio import AsyncClient
from tuner.wire.messages import AlarmView, CampaignView

_MOST, _BRIEF = 50, 10  # alarms that are asked for, pieces of news
_LINK = "alarms.link"
_NEXT = {
    "refused": "next.setting_refused",
    "unverified": "next.setting_unverified",
    "failed": "next.setting_failed",
    "home": "next.home_failed",
}


class AlarmsPage(Page):
    """What is abnormal, then the history of alarms, then news; the newest first."""

    title: ClassVar[str] = "alarms.title"
    hint: ClassVar[str | None] = "alarms.help"
    keys: ClassVar[tuple[Key, ...]] = ALARMS
    history: Sequence[AlarmView] = ()

    async def fetch(self, client: AsyncClient) -> AsyncIterator[None]:
        """Ask for the campaign's alarms: the journal knows when each came."""
        self.history = (await client.alarms(self.campaign, limit=_BRIEF if self.brief else _MOST)).alarms
        yield

    def lines(self, words: Words, session: Session, view: CampaignView) -> list[Text]:
        """All that is known."""
        lines: list[Text] = []
        for where, key, fields in self._now(session, view):
            lines.append(Text.assemble((" ! ", ALARM), (f" {where}{words(key, **fields)}", STRONG)))
            lines.append(Text(f"    {words('alarms.next')} {words('next.' + key.removeprefix('alarms.'))}"))
        lines += [] if lines else [Text(words("alarms.none"))]
        if self.history:
            lines += [Text(), Text(words("alarms.history"), STRONG)]
            for one in self.history:
                lines += alarm_lines(words, one)
        lines += [Text(), Text(words("alarms.news"), STRONG)]
        for news in islice(session.news, _BRIEF if self.brief else None):
            lines.append(Text.assemble((f"{words.clock(news.at, seconds=True)}  ", QUIET), news_text(words, news)))
        return lines

    def _now(self, session: Session, view: CampaignView) -> list[tuple[str, str, dict[str, object]]]:
        """What is abnormal: where, and a text's key and fields; a lost link is told once."""
        names = [view.name, *(name for name in session.campaigns if name != view.name)]
        found = [(name, *one) for name in names for one in alarms(session, session.view(name))]
        link = [("", key, fields) for _, key, fields in found if key == _LINK][:1]
        own = [(name, key, fields) for name, key, fields in found if key != _LINK]
        beside = [(name and f"{name}: ", key, fields) for name, key, fields in [*own, *daemon_alarms(session)]]
        return link + beside


def alarm_lines(words: Words, one: AlarmView) -> list[Text]:
    """An alarm of the history: when and what, then what became of it, then what to do while it is not over."""
    came = Text.assemble((f"{words.clock(one.at, seconds=True)}  ", QUIET), f"{one.number}  ", alarm_text(words, one))
    over = words("alarms.open") if one.cleared_at is None else words("alarms.over", time=words.clock(one.cleared_at))
    lines = [came, Text(f"          {over} · {seen_text(words, one)}", "" if one.cleared_at is None else QUIET)]
    if one.cleared_at is None:
        lines.append(Text(f"          {words('alarms.next')} {next_text(words, one)}"))
    return lines


def alarm_text(words: Words, one: AlarmView) -> str:
    """What happened."""
    return words("alarms.home_failed" if one.cause == "home" else "alarms.fault", text=one.text)


def next_text(words: Words, one: AlarmView) -> str:
    """What to do."""
    return words(_NEXT.get(one.cause, "next.fault"))


def seen_text(words: Words, one: AlarmView) -> str:
    """Who has acknowledged it, and when."""
    if one.acknowledged_at is None:
        return words("alarms.unacknowledged")
    return words("alarms.acknowledged", who=one.acknowledged_by, time=words.clock(one.acknowledged_at))
