"""What runs without a real machine come to under a scrap contract, in sentences: of `tuner simulate` and `rehearse`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from tuner.basics.text import counted
from tuner.basics.vocabulary import Mode
from tuner.campaign.contract_words import agreed_scrap, agreed_sentences, told_why
from tuner.config.campaign import Campaign, ScrapContract


class Run(Protocol):
    """What is looked at of a run."""

    @property
    def mode(self) -> str:
        """The campaign's last mode."""

    @property
    def reason(self) -> str:
        """Why it is in it."""

    @property
    def scrap(self) -> int:
        """How many parts were scrap."""

    @property
    def trials(self) -> int:
        """How many parts were made."""


@dataclass(frozen=True)
class Kept:
    """A contract, and how many parts it is about."""

    contract: ScrapContract
    planned: int

    @classmethod
    def of(cls, campaign: Campaign, planned: int) -> "Kept | None":
        """The contract of a campaign; None: it has none."""
        return None if campaign.scrap is None else cls(campaign.scrap, planned)

    def lines(self, runs: Sequence[Run]) -> Iterator[str]:
        """What was agreed, in how many runs it was kept, and which were held and why."""
        agreed, most = (
            " ".join(agreed_sentences(self.contract, self.planned)),
            agreed_scrap(self.contract, self.planned),
        )
        yield f"scrap contract: {agreed}"
        kept, worst = sum(run.scrap <= most for run in runs), max((run.scrap for run in runs), default=0)
        usual = median(run.scrap for run in runs) if runs else 0
        yield f"  kept in {kept} of {counted(len(runs), 'run')}; scrap: usually {usual:g}, at most {worst}"
        if kept < len(runs):
            yield "  beyond the count a run goes on with known ground; to hold there, set budget in [campaign.scrap]"
        held = [run for run in runs if run.mode == Mode.HELD and told_why(run.reason) != run.reason]
        for why, times in Counter(told_why(run.reason) for run in held).most_common(3):
            parts = [run.trials for run in held if told_why(run.reason) == why]
            yield f"  held in {times} of {counted(len(runs), 'run')}, after {min(parts)} parts at the earliest: {why}"
        if not held:
            yield "  held in none"
