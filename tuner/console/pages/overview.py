"""The panel beside the duel on a large terminal: how the champion came about, what matters, what is believed."""

from collections.abc import AsyncIterator, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text

from tuner.console.campaign_text import bar, fit, folded, pad
from tuner.console.language import Words
from tuner.console.pages.page import QUIET, STRONG, Page
from tuner.console.restricting import restriction_lines
from tuner.console.session import Session
from tuner.console.slice_text import best_of, strip
from tuner.core.optimizer.champion import champion_of
from tuner.core.optimizer.records import Judgment
from tuner.wire.aio import AsyncClient
from tuner.wire.messages import CampaignView, JudgmentView, TrialView
from tuner.wire.model_answers import Explanation, Maps, Slices, SliceView

_MOST = 200  # trials
_STAR, _DOT, _SCRAP, _OPEN = "★", "·", "x", "?"
_LEAST_STRIP = 12


class OverviewPage(Page):
    """Trials at once, the model's answers when they come; what is older is shown until then."""

    title: ClassVar[str] = "panel.title"
    trials: Sequence[TrialView] = ()
    judgments: Sequence[JudgmentView] = ()
    explained: Explanation | None = None
    slices: Slices | None = None
    maps: Maps | None = None

    async def fetch(self, client: AsyncClient) -> AsyncIterator[None]:
        """Ask for the trials, then the model."""
        await self.fetch_trials(client)
        yield
        await self.fetch_model(client)
        yield

    async def fetch_trials(self, client: AsyncClient) -> None:
        """Ask what was tried, which takes a moment."""
        page = await client.trials(self.campaign, limit=_MOST)
        self.trials, self.judgments = page.trials[::-1], page.judgments[::-1]

    async def fetch_model(self, client: AsyncClient) -> None:
        """Ask the model, which takes seconds; what it said before stays until then."""
        if any(trial.valid for trial in self.trials):
            self.explained = await client.explanation(self.campaign)
            self.slices = await client.slices(self.campaign)

    async def fetch_maps(self, client: AsyncClient) -> None:
        """Ask for the maps, which takes the model longest; only a large panel shows one."""
        if self.slices is not None and self.slices.slices:
            self.maps = await client.maps(self.campaign)

    def lines(self, words: Words, session: Session, view: CampaignView) -> list[Text]:
        """For plain lines: as wide as most terminals are."""
        return self.drawn(words, view, 78, 40)

    def drawn(self, words: Words, view: CampaignView, width: int, height: int) -> list[Text]:
        """The panel's lines, not more than there is room for."""
        lines = [*_restricted(words, view, width), *self._progress(words, view, width)]
        if self.explained is not None and self.explained.importance:
            lines += [Text(), *self._importance(words, view, width)]
        if self.slices is not None and self.slices.slices:
            lines += [Text(), *self._slices(words, view, width, height - len(lines) - 1)]
        elif self.loading:
            lines += [Text(), Text(words("champion.computing"), QUIET)]
        return lines[:height]

    @property
    def first(self) -> SliceView | None:
        """The parameter that matters most."""
        shares = self.explained.importance if self.explained is not None else {}
        have = self.slices.slices if self.slices is not None else []
        return max(have, key=lambda cut: shares.get(cut.name, 0.0), default=None)

    def _progress(self, words: Words, view: CampaignView, width: int) -> list[Text]:
        """A mark for each trial, and the champions one after the other."""
        if not self.trials:
            return [Text(words("why.none"), QUIET)]
        champions = reigns(self.trials, self.judgments)
        marks = [_mark(trial, champions) for trial in self.trials]
        lines = [Text(fit(words("panel.progress"), width), STRONG)]
        for begin in range(0, len(marks), width):
            lines.append(Text("".join(marks[begin : begin + width])))
        tags = {trial.number: trial.tag for trial in self.trials}
        chain = [tags[number] for number in champions if number in tags]
        if view.champion is not None and (not chain or chain[-1] != view.champion.tag):
            chain.append(view.champion.tag)  # the model's word, where answers are doubted
        while len(chain) > 2 and cell_len(" → ".join(chain)) > width - 2:
            chain = ["…", *chain[2:]] if chain[0] == "…" else ["…", *chain[1:]]
        lines.append(Text(fit(" → ".join(chain), width)))
        return lines + [Text(line, QUIET) for line in folded(words("panel.legend"), width, 2)]

    def _importance(self, words: Words, view: CampaignView, width: int) -> list[Text]:
        shares = self.explained.importance if self.explained is not None else {}
        called = {one.name: one.called for one in view.parameters}
        names = {name: fit(called.get(name, name), max(8, width // 3)) for name in shares}
        wide = max(cell_len(name) for name in names.values())
        room = max(4, width - wide - 8)
        ordered = sorted(shares.items(), key=lambda item: -item[1])
        drawn = [Text(f"{pad(names[name], wide)} {bar(share, room)} {words.percent(share)}") for name, share in ordered]
        return [Text(fit(words("why.importance"), width), STRONG), *drawn]

    def _slices(self, words: Words, view: CampaignView, width: int, height: int) -> list[Text]:
        """A strip for each parameter: its chance to be better, from low to high, with the champion's place."""
        have = self.slices.slices if self.slices is not None else []
        shares = self.explained.importance if self.explained is not None else {}
        ordered = sorted(have, key=lambda cut: -shares.get(cut.name, 0.0))
        by_name = {one.name: one for one in view.parameters}
        lines = [Text(fit(words("panel.slices"), width), STRONG)]
        names = {cut.name: fit(by_name[cut.name].called, max(8, width // 4)) for cut in ordered}
        told = {cut.name: best_of(words, cut, by_name[cut.name]) for cut in ordered}
        wide, wider = (max(cell_len(text) for text in texts.values()) for texts in (names, told))
        room = max(_LEAST_STRIP, width - wide - wider - 2)
        for cut in ordered[: max(0, height - 2)]:
            lines.append(Text(fit(f"{pad(names[cut.name], wide)} {strip(cut, room)} {told[cut.name]}", width)))
        return [*lines, Text(fit(words("panel.slices_legend"), width), QUIET)]


def _restricted(words: Words, view: CampaignView, width: int) -> list[Text]:
    have = restriction_lines(words, view)
    if not have:
        return []
    lines = [Text(line) for text in have for line in folded(text, width, 3)]
    return [Text(words("restriction.title"), STRONG), *lines, Text()]


def _mark(trial: TrialView, champions: Sequence[int]) -> str:
    if trial.valid is False:
        return _SCRAP
    if trial.valid is None or trial.excluded is not None:
        return _OPEN if trial.valid is None and trial.ended_at is None else " "
    return _STAR if trial.number in champions else _DOT


def reigns(trials: Sequence[TrialView], judgments: Sequence[JudgmentView]) -> list[int]:
    """The champions one after the other: after each answer, by all that counts of what was said until then."""
    valid = [trial.number for trial in trials if trial.valid and trial.excluded is None]
    said = [
        Judgment(number=one.number, left=one.left, right=one.right, winner=one.winner)
        for one in sorted(judgments, key=lambda judgment: judgment.number)
        if one.retracted is None
    ]
    found = valid[:1]
    for count in range(1, len(said) + 1):
        made = [number for number in valid if number <= max(max(one.left, one.right) for one in said[:count])]
        champion = champion_of(made, said[:count])[0]
        if champion is not None and champion in found:
            found = found[: found.index(champion) + 1]  # an answer that was a slip has made nobody champion
        elif champion is not None:
            found.append(champion)
    return found
