"""The champion: the setting to copy to the master recipe, the evidence, and whether going on is worth it."""

from collections.abc import AsyncIterator
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text

from tuner.console.campaign_text import about_part, brief, pad, rows
from tuner.console.keys import CHAMPION, Key
from tuner.console.language import Words
from tuner.console.pages.page import STRONG, Page
from tuner.console.session import Session
from tuner.wire.aio import AsyncClient
from tuner.wire.messages import CampaignView, ChampionBody, TrialView
from tuner.wire.model_answers import Explanation, Recommendation


class ChampionPage(Page):
    """What to write down."""

    title: ClassVar[str] = "champion.title"
    keys: ClassVar[tuple[Key, ...]] = CHAMPION
    body: ChampionBody | None = None
    recommended: Recommendation | None = None
    explained: Explanation | None = None

    async def fetch(self, client: AsyncClient) -> AsyncIterator[None]:
        """Ask for the record, then the model."""
        self.body = await client.champion(self.campaign)
        yield
        if self.body.champion is not None:
            self.recommended = await client.recommendation(self.campaign)
            yield
            self.explained = await client.explanation(self.campaign)
            yield

    def copied(self, view: CampaignView) -> str | None:
        """The recommended setting for a clipboard."""
        if self.recommended is None or self.recommended.setting is None:
            return None
        units = {parameter.name: parameter.unit for parameter in view.parameters}
        setting = self.recommended.setting.items()
        return "\n".join(f"{name} = {value} {units.get(name, '')}".rstrip() for name, value in setting)

    def lines(self, words: Words, session: Session, view: CampaignView) -> list[Text]:
        """As much as is known."""
        if self.body is None:
            return self.unknown(words)
        champion = self.body.champion
        if champion is None:
            return [Text(words("champion.none"))]
        lines = self._recommended_lines(words, view, champion)
        lines.append(Text(f"{words('champion.part')}: {champion.tag}   {about_part(words, champion)}", STRONG))
        lines.append(Text(f"    {brief(words, view, champion.setting)}"))
        lines.append(Text(f"{words('champion.evidence')}: {record(words, self.body)}"))
        look = self.explained.outlook if self.explained is not None else None
        if look:
            chances = {"percent": words.percent(look["left"]), "against": words.percent(look["against"])}
            lines += [Text(), Text(words("champion.outlook"), STRONG)]
            lines.append(Text(words("champion.stop" if look["stop"] else "champion.go_on", **chances)))
            lines.append(Text(words("champion.next", percent=words.percent(look["next_better"]))))
        if self.explained is None:
            lines += [Text(), *self.unknown(words)]
        return lines

    def _recommended_lines(self, words: Words, view: CampaignView, champion: TrialView) -> list[Text]:
        have = self.recommended
        if have is None or have.setting is None:
            return []
        lines = [Text(words("champion.recommended"), STRONG)]
        compared = rows(words, view.parameters, have.setting, champion.setting)
        wide = max(cell_len(row.name) for row in compared)
        for row in compared:
            change = f"  {row.mark} {row.difference}".rstrip() if row.mark else ""
            lines.append(Text(f"    {pad(row.name, wide)}  {row.value}{change}", STRONG))
        lines.append(Text(words("champion.same") if have.same_as_champion else words("champion.model")))
        chances = []
        if have.p_better is not None and not have.same_as_champion:
            chances.append(words("champion.better", percent=words.percent(have.p_better)))
        if have.p_valid is not None:
            chances.append(words("champion.valid", percent=words.percent(have.p_valid)))
        return [*lines, Text(", ".join(chances)), Text()]


def record(words: Words, body: ChampionBody) -> str:
    """How often the champion won, lost and drew."""
    counted = [j for j in body.judgments if j.retracted is None]
    if not counted or body.champion is None:
        return words("champion.no_duels")
    won = sum(j.winner == body.champion.number for j in counted)
    tied = sum(j.winner is None for j in counted)
    return words("champion.record", won=won, lost=len(counted) - won - tied, tied=tied)
