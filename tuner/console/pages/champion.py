"""The champion: the setting to copy to the master recipe, the evidence, and whether going on is worth it."""

from collections.abc import AsyncIterator
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text

from tuner.console.campaign_text import about_part, brief, pad, rows
from tuner.console.keyboard import CHAMPION, Key
from tuner.console.language import Words
from tuner.console.pages.page import STRONG, Page
from tuner.console.restricting import outside_text
from tuner.console.session import Session
from tuner.core.space.values import Value
from tuner.wire.aio import AsyncClient
from tuner.wire.messages import CampaignView, ChampionBody, ParameterView, TrialView
from tuner.wire.model_answers import Explanation, Recommendation, WindowView

_EVEN = 0.5  # below it the champion is believed better


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
        if self.explained is None:
            lines += [Text(), *self.unknown(words)]
        return lines

    def _recommended_lines(self, words: Words, view: CampaignView, champion: TrialView) -> list[Text]:
        have = self.recommended
        if have is None or have.setting is None:
            return []
        lines = [Text(words("champion.recommended"), STRONG)]
        compared = rows(words, view.parameters, have.setting, champion.setting)
        changes = [f"{row.mark} {row.difference}".rstrip() for row in compared]
        wide, wider, widest = (
            max(cell_len(text) for text in column)
            for column in ([row.name for row in compared], [row.value for row in compared], changes)
        )
        windows = {one.name: one for one in have.window}
        for row, change, parameter in zip(compared, changes, view.parameters, strict=True):
            line = Text(f"    {pad(row.name, wide)}  {pad(row.value, wider)}  {pad(change, widest)}".rstrip(), STRONG)
            if parameter.name in windows:
                room = wide + wider + widest + 10
                line.pad_right(max(0, room - line.cell_len))
                line.append(window(words, windows[parameter.name], parameter))
            lines.append(line)
        lines += [Text(sentence, style) for sentence, style in reasons(words, view, have)]
        return [*lines, Text()]


def reasons(words: Words, view: CampaignView, have: Recommendation) -> list[tuple[str, str]]:
    """What speaks for the recommended setting, each sentence with its style."""
    said = []
    if have.window_valid is not None:
        kept = {"valid": words.percent(have.window_valid), "better": words.percent(have.window_better or 0.0)}
        named = "champion.window" if have.window_better is None else "champion.window_better"
        said.append((words(named, **kept), ""))
    if have.keep:
        said.append((words("champion.keep"), STRONG))
    else:
        safer = (have.p_better or 0.0) < _EVEN and not have.same_as_champion
        unlike = "champion.safer" if safer else "champion.model"
        said.append((words("champion.same" if have.same_as_champion else unlike), ""))
    chances = []
    if have.p_better is not None and not have.same_as_champion and not have.keep:
        chances.append(words("champion.better", percent=words.percent(have.p_better)))
    if have.better_than_known_good is not None:
        chances.append(words("champion.better_known_good", percent=words.percent(have.better_than_known_good)))
    if have.p_valid is not None:
        chances.append(words("champion.valid", percent=words.percent(have.p_valid)))
    said.append((", ".join(chances), ""))
    bolder = view.trial.p_better if view.trial is not None and view.trial.source == "model" else None
    if bolder is not None and have.p_better is not None and bolder > have.p_better:
        told = {"tag": view.trial.tag, "percent": words.percent(bolder)} if view.trial else {}
        said.append((words("champion.bolder", **told), ""))
    if outside := outside_text(words, view, have.outside):
        said.append((outside, STRONG))
    if have.parts:
        duels = words("champion.record", won=have.won, lost=have.lost, tied=have.tied)
        said.append((words("champion.made", parts=have.parts, duels=duels), ""))
    return said


def window(words: Words, one: WindowView, parameter: ParameterView) -> str:
    """How far a parameter may wander alone."""
    if one.low is None or one.high is None:
        return words("champion.options", options=", ".join(one.options))
    low, high = (words.value(_whole(end, parameter), parameter, unit=end is one.high) for end in (one.low, one.high))
    return words("champion.range", low=low, high=high)


def _whole(end: float, parameter: ParameterView) -> Value:
    return round(end) if parameter.kind == "integer" else end


def record(words: Words, body: ChampionBody) -> str:
    """How often the champion won, lost and drew."""
    counted = [j for j in body.judgments if j.retracted is None]
    if not counted or body.champion is None:
        return words("champion.no_duels")
    won = sum(j.winner == body.champion.number for j in counted)
    tied = sum(j.winner is None for j in counted)
    return words("champion.record", won=won, lost=len(counted) - won - tied, tied=tied)
