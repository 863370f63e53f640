"""What runs without a real machine come to under a scrap contract, in sentences: of `tuner simulate` and `rehearse`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol, TypeVar

from tuner.basics.text import counted
from tuner.basics.vocabulary import Mode
from tuner.campaign.contract_words import agreed_scrap, agreed_sentences, kind_of, told_why
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


R = TypeVar("R", bound=Run)


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
        for alike in by_reason(held):
            when = f"after {counted(alike[0].trials, 'part')} at the earliest"
            yield f"  held in {len(alike)} of {counted(len(runs), 'run')}, {when}: {told_why(alike[0].reason)}"
        if not held:
            yield "  held in none"


def by_reason(runs: Sequence[R]) -> list[list[R]]:
    """Runs that ended for the same kind of reason together, the most first; in each kind the shortest first."""
    kinds: dict[str, list[R]] = {}
    for run in sorted(runs, key=lambda run: run.trials):
        kinds.setdefault(kind_of(run.reason), []).append(run)
    return sorted(kinds.values(), key=len, reverse=True)
