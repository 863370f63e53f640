"""What came of a scripted run, as plain data."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tuner.campaign.state import CampaignTrial
from tuner.report.truth import Setting, Truth
from tuner.wire.messages import TrialView


@dataclass(frozen=True)
class RunResult:
    """One run; everything but the seconds follows from the configuration, the judge and the seed.

    Attributes:
        seed: Of proposals, machine and judge.
        mode: The campaign's last mode; Complete unless something went wrong.
        regret: The champion's true cost minus the known optimum's; infinite without a champion.
        recommended_regret: The same for the recommended setting.
        cost: The champion's true cost, if there is a champion.
        scrap: Trials that made no part.
        winners: The winner of each judgment; None: it was a tie.
        seconds: What the run took.
    """

    seed: int
    mode: str
    reason: str
    regret: float
    recommended_regret: float
    cost: float | None
    scrap: int
    champion: Setting | None
    recommended: Setting | None
    settings: tuple[Setting, ...]
    valid: tuple[bool | None, ...]
    winners: tuple[int | None, ...]
    seconds: float = field(compare=False)

    @classmethod
    def of(
        cls, truth: Truth, trials: Iterable[CampaignTrial | TrialView], *, champion: Setting | None, **ended: Any
    ) -> "RunResult":
        """Compare what a run ended with and the truth; only trials that were run count."""
        done = [trial for trial in trials if trial.stage == "done"]
        return cls(
            regret=truth.regret(champion),
            recommended_regret=truth.regret(ended["recommended"]),
            cost=None if champion is None else truth.cost(champion),
            champion=champion,
            settings=tuple(trial.setting for trial in done),
            valid=tuple(trial.valid for trial in done),
            **ended,
        )

    @property
    def trials(self) -> int:
        """How many trials were run."""
        return len(self.settings)

    @property
    def judgments(self) -> int:
        """How many questions were answered."""
        return len(self.winners)

    @property
    def complete(self) -> bool:
        """Whether the budget was used up, rather than something having gone wrong."""
        return self.mode == "Complete"

    def row(self) -> dict[str, Any]:
        """The run as one line of a table: plain numbers and texts, None where there is none."""
        numbers: dict[str, Any] = {
            "seed": self.seed,
            "regret": self.regret,
            "recommended_regret": self.recommended_regret,
            "cost": self.cost,
            "scrap": self.scrap,
            "trials": self.trials,
            "judgments": self.judgments,
            "seconds": self.seconds,
            "mode": self.mode,
        }
        names = self.settings[0] if self.settings else ()
        for label, setting in (("champion", self.champion), ("recommended", self.recommended)):
            numbers |= {f"{label}.{name}": None if setting is None else setting[name] for name in names}
        return numbers
