"""The history: every trial with its outcome and judgments."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from rich.text import Text

from tuner.basics.sentences import say
from tuner.basics.vocabulary import Stage
from tuner.console.campaign_text import brief, fit
from tuner.console.keyboard import HISTORY, Key
from tuner.console.language import Words
from tuner.console.pages.page import STRONG, Page
from tuner.console.pages.why import circle_text
from tuner.console.session import Session
from tuner.errors import TunerError
from tuner.wire.aio import AsyncClient
from tuner.wire.messages import CampaignView, JudgmentView, TrialView

CIRCLE = "↻"
NO_REASON = "answer.taken_back"  # told where nobody gave one
COLUMNS = ("tag", "outcome", "judgment", "setting", "at")
_LEAST_OF_CIRCLE = 3
_MOST, _BRIEF = 100, 10  # trials that are asked for at a time
_WIDTHS = (20, 60, 40)  # columns that outcome, judgments and setting may take on a screen


class HistoryPage(Page):
    """Trials and judgments, the newest first."""

    title: ClassVar[str] = "history.title"
    hint: ClassVar[str | None] = "history.help"
    keys: ClassVar[tuple[Key, ...]] = HISTORY
    trials: Sequence[TrialView] = ()
    judgments: Sequence[JudgmentView] = ()
    circles: Sequence[Mapping[str, Any]] = ()
    more = False

    async def fetch(self, client: AsyncClient) -> AsyncIterator[None]:
        """Ask for the newest trials."""
        await self.fetch_before(client, None)
        yield
        await self.fetch_circles(client)
        yield

    async def fetch_circles(self, client: AsyncClient) -> None:
        """Ask which answers go in a circle, where there are enough; without the model's answer there are none."""
        if len(self.judgments) >= _LEAST_OF_CIRCLE:
            with suppress(TunerError):
                self.circles = (await client.explanation(self.campaign)).contradictions

    def in_circle(self, trial: TrialView) -> list[Mapping[str, Any]]:
        """The circles of answers that a trial is part of."""
        return [one for one in self.circles if trial.number in one["trials"]]

    async def fetch_before(self, client: AsyncClient, before: int | None) -> None:
        """Ask for the trials before one, beside those that are there; with None for the newest instead of them."""
        page = await client.trials(self.campaign, before=before, limit=_BRIEF if self.brief else _MOST)
        newer = [trial for trial in self.trials if before is not None and trial.number >= before]
        self.trials = newer + page.trials
        have = {j.number: j for j in (*self.judgments, *page.judgments)}
        self.judgments = sorted(have.values(), key=lambda j: -j.number)
        self.more = page.more

    @property
    def tags(self) -> dict[int, str]:
        """The parts' tags by the trials' numbers."""
        return {trial.number: trial.tag for trial in self.trials}

    def lines(self, words: Words, session: Session, view: CampaignView) -> list[Text]:
        """A line for each trial, the newest last."""
        if self.failed:
            return [Text(words.told(self.failed))]
        rows = [self.row(words, view, trial) for trial in reversed(self.trials)]
        return [Text(". ".join(cell.plain for cell in row)) for row in rows] or [Text(words("history.empty"))]

    def row(self, words: Words, view: CampaignView, trial: TrialView) -> list[Text]:
        """A row of the table; a trial whose answers go in a circle is marked."""
        row = cells(words, view, trial, self.judgments, self.tags)
        return [row[0].append(f" {CIRCLE}"), *row[1:]] if self.in_circle(trial) else row

    def detail(self, words: Words, view: CampaignView, trial: TrialView) -> str:
        """Everything about a trial, for what does not fit into its row."""
        told = [judged(words, trial, judgment, self.tags) for judgment in about(trial, self.judgments)]
        told += [circle_text(words, one) for one in self.in_circle(trial)]
        return "\n".join([f"{trial.tag}: {outcome(words, trial)}", brief(words, view, trial.setting), *told])


def about(trial: TrialView, judgments: Sequence[JudgmentView]) -> list[JudgmentView]:
    """The judgments of a trial, in their order."""
    return [j for j in judgments if trial.number in (j.left, j.right)]


def outcome(words: Words, trial: TrialView) -> str:
    """What became of a trial."""
    if trial.excluded is not None:
        return words("history.excluded", reason=trial.excluded)
    if trial.stage in (Stage.REJECTED, Stage.DROPPED):
        return words(f"history.{trial.stage}")
    if trial.valid is None:
        return words("history.open")
    return words("history.valid") if trial.valid else f"{words('history.nonvalid')}: {words.told(trial.outcome_reason)}"


def judged(words: Words, trial: TrialView, judgment: JudgmentView, tags: dict[int, str]) -> str:
    """A judgment as seen from one of its trials."""
    other = judgment.right if judgment.left == trial.number else judgment.left
    tag = tags.get(other, f"#{other}")
    text = words(f"history.{judgment.of_other(trial.number)}", tag=tag)
    took = "" if judgment.took_s is None else f" {words('history.took', seconds=words.number(judgment.took_s, 1))}"
    text += f" ({judgment.operator}{took})"
    if judgment.looks > 1:
        text += " " + words("history.looks", agreeing=judgment.agreeing, looks=judgment.looks)
    if judgment.retracted is not None:
        alone = say(NO_REASON)
        given = judgment.retracted not in ("", alone)
        text += " " + (words("history.retracted", reason=judgment.retracted) if given else words.told(alone))
    return text


def cells(
    words: Words,
    view: CampaignView,
    trial: TrialView,
    judgments: Sequence[JudgmentView],
    tags: dict[int, str],
    *,
    cut: bool = True,
) -> list[Text]:
    """A row of the table; cut to a screen's width, or whole."""
    champion = " *" if view.champion is not None and view.champion.number == trial.number else ""
    told = "; ".join(judged(words, trial, judgment, tags) for judgment in about(trial, judgments))
    long = (outcome(words, trial), told or "-", brief(words, view, trial.setting, " · "))
    became, told, setting = (fit(text, width) for text, width in zip(long, _WIDTHS, strict=True)) if cut else long
    return [
        Text(f"{trial.tag}{champion}", STRONG),
        Text(became, STRONG if trial.valid is False or trial.excluded is not None else ""),
        Text(told),
        Text(setting),
        Text(words.clock(trial.ended_at or trial.proposed_at)),
    ]
