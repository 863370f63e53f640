"""Why this setting: the model's reasons and what matters."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.text import Text

from tuner.console.campaign_text import bar, brief, changes, contract_lines, pad
from tuner.console.keyboard import WHY, Key
from tuner.console.language import Words
from tuner.console.pages.page import Page
from tuner.console.session import Session
from tuner.wire.aio import AsyncClient
from tuner.wire.messages import CampaignView, TrialView
from tuner.wire.model_answers import Explanation


class WhyPage(Page):
    """The trial's reasons at once, the model's when they come."""

    title: ClassVar[str] = "why.title"
    keys: ClassVar[tuple[Key, ...]] = WHY
    explained: Explanation | None = None

    @property
    def circle(self) -> Mapping[str, Any] | None:
        """The first circle of answers."""
        return next(iter(self.explained.contradictions), None) if self.explained is not None else None

    async def fetch(self, client: AsyncClient) -> AsyncIterator[None]:
        """Ask the model, which takes a moment."""
        self.explained = await client.explanation(self.campaign)
        yield

    def lines(self, words: Words, session: Session, view: CampaignView) -> list[Text]:
        """As far as it is known."""
        trial = _newest(view)
        lines = [words("why.none")] if trial is None else _reasons(words, view, trial)
        if view.contract is not None:
            lines += ["", words("contract.title"), *(f"  {line}" for line in contract_lines(words, view))]
        if self.explained is not None:
            return [Text(line) for line in (*lines, *_matters(words, self.explained))]
        return [*(Text(line) for line in (*lines, "")), *self.unknown(words)]


def _newest(view: CampaignView) -> TrialView | None:
    """The trial that "this setting" is about: the one under way, else the newer one of the question."""
    if view.trial is not None:
        return view.trial
    if view.duel is not None:
        return max(view.duel.left, view.duel.right, key=lambda trial: trial.number)
    return view.champion


def _reasons(words: Words, view: CampaignView, trial: TrialView) -> list[str]:
    """Why a trial has its setting, as far as the view knows."""
    lines = [f"{trial.tag}: {brief(words, view, trial.setting)}", words.known(f"why.{trial.source}", trial.source)]
    champion = view.champion
    tag = champion.tag if champion is not None and champion.number == trial.opponent else f"#{trial.opponent}"
    if trial.p_better is not None and trial.opponent is not None:
        lines.append(words("why.better", percent=words.percent(trial.p_better), tag=tag))
    if trial.p_valid is not None:
        lines.append(words("why.valid", percent=words.percent(trial.p_valid)))
    if champion is not None and champion.number == trial.opponent:
        changed = changes(words, view, trial.setting, champion.setting)
        lines.append(words("why.changes", tag=tag) if changed else words("why.no_change"))
        lines += [f"  {line}" for line in changed]
    if trial.source == "model" and trial.reason:
        lines += ["", words("why.said"), words.told(trial.reason)]
    return lines


def circle_text(words: Words, one: Mapping[str, Any]) -> str:
    """Answers that go in a circle, and the comparison that is worth asking again; an older daemon has no tags."""
    tags = one.get("tags") or [f"#{number}" for number in one["trials"]]
    pair = one.get("pair") or [f"#{one['judgment']}"]
    return words("why.contradiction", tags=" > ".join([*tags, tags[0]]), pair=" / ".join(pair))


def _matters(words: Words, explained: Explanation) -> list[str]:
    """Which parameters matter, which answers contradict each other, and whose answers scatter."""
    lines = ["", words("why.importance")]
    wide = max(cell_len(name) for name in explained.importance)
    for name, share in sorted(explained.importance.items(), key=lambda item: -item[1]):
        lines.append(f"  {pad(name, wide)} {bar(share, 20)} {words.percent(share)}")
    for one in explained.contradictions:
        lines.append(circle_text(words, one))
    operators = list(explained.operators.items())
    lines += [
        words("why.noise", operator=name, factor=words.number(noise, 1), first=operators[0][0])
        for name, noise in operators[1:]
    ]
    return lines
