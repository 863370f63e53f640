"""One run of the suite: a campaign from the known-good setting on, as a user of the library does it.

A run is a pure function of its task, the seconds apart, so that it can be done anywhere.
"""

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tuner.core.linalg import NotPositiveDefiniteError
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.optimizer.proposer import AcquisitionName
from tuner.core.optimizer.strategy import Strategy
from tuner.core.space.space import Setting
from tuner.lab.bench.suite.instances import Instance
from tuner.lab.bench.suite.people import PEOPLE

CHECKED = (20, 40, 80)  # parts after which it is looked at what the user is given
MOST_LOOKS = 12  # of one part; whatever asks more often than this is not listened to
WORTH = 0.1  # a choice worth less, in units of the range, may be at any level
_JUDGED, _INSTEAD = 21, 22  # streams of random numbers


@dataclass(frozen=True)
class Given:
    """What the user is given after some parts.

    Attributes:
        parts: How many.
        champion: The champion's true regret, in units of the known-good setting's.
        recommended: That of the recommended setting; infinite if it makes no part.
        looks: Looks spent so far.
        scrap: Parts that were not made so far.
        right: Of the choices worth it: how many are at their best level in the recommendation.
        of: How many such choices there are.
    """

    parts: int
    champion: float
    recommended: float
    looks: int
    scrap: int
    right: int = 0
    of: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return plain data; an infinite regret is null."""
        return {k: v if math.isfinite(v) else None for k, v in vars(self).items()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Given":
        """Return what `to_json` wrote."""
        regrets = {name: math.inf if data[name] is None else data[name] for name in ("champion", "recommended")}
        return cls(**{**data, **regrets})


@dataclass(frozen=True)
class Forecast:
    """What was said of a part before it was made, and what came of it.

    Attributes:
        p_valid: The chance that it is valid, as it was said.
        valid: Whether it was.
        p_better: The chance that it is better than its opponent, as it was said.
        better: Whether it truly is; None where there is no part, no opponent, or no difference.
    """

    p_valid: float
    valid: bool
    p_better: float | None = None
    better: bool | None = None

    def to_json(self) -> list[Any]:
        """Return plain data, short: there is one of each part."""
        rounded = None if self.p_better is None else round(self.p_better, 4)
        return [round(self.p_valid, 4), int(self.valid), rounded, None if self.better is None else int(self.better)]

    @classmethod
    def from_json(cls, data: list[Any]) -> "Forecast":
        """Return what `to_json` wrote."""
        p_valid, valid, p_better, better = data
        return cls(p_valid, bool(valid), p_better, None if better is None else bool(better))


@dataclass(frozen=True)
class SuiteRun:
    """A finished run.

    Attributes:
        given: What the user is given, at each of the parts looked at.
        forecasts: One of each part asked for.
        seconds: Processor time of all proposals and questions.
        failed: Proposals that could not be computed (the numbers did not converge); a uniform setting took their place.
    """

    given: tuple[Given, ...]
    forecasts: tuple[Forecast, ...]
    seconds: float = field(compare=False)
    failed: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "given": [one.to_json() for one in self.given],
            "forecasts": [one.to_json() for one in self.forecasts],
            "seconds": round(self.seconds, 3),
            "failed": self.failed,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "SuiteRun":
        """Return what `to_json` wrote."""
        return cls(
            tuple(Given.from_json(one) for one in data["given"]),
            tuple(Forecast.from_json(one) for one in data["forecasts"]),
            float(data["seconds"]),
            int(data["failed"]),
        )


def judge_rng(seed: int, look: int) -> np.random.Generator:
    """Return the judge's random numbers at a look."""
    return np.random.default_rng([seed, _JUDGED, look])


def run_instance(
    instance: Instance,
    seed: int,
    budget: int,
    *,
    strategy: Strategy | None = None,
    acquisition: AcquisitionName = "auto",
) -> SuiteRun:
    """Tune a process with the optimiser, as a user of the library does, and return what he is given.

    Args:
        instance: The process.
        seed: Of the optimiser and the judge; the suite takes the instance's own.
        budget: How many parts are made after the known-good setting's.
        strategy: The numbers behind the optimiser.
        acquisition: Of the optimiser.
    """
    optimizer = Optimizer(instance.space, seed=seed, budget=budget + 1, strategy=strategy, acquisition=acquisition)
    return Campaign(instance, optimizer, seed).run(budget)


@dataclass
class Campaign:
    """One campaign: makes the parts, has them judged, and looks at what the user is given.

    Attributes:
        repeats: Whether an old duel is asked again when the optimiser wants it.
        recommends: Whether the model's recommendation is looked at; of rivals it is the champion's setting.
        opening: Settings that come first instead of proposals.
    """

    instance: Instance
    optimizer: Optimizer
    seed: int
    repeats: bool = True
    recommends: bool = True
    opening: tuple[Setting, ...] = ()
    looks: int = 0
    scrap: int = 0
    failed: int = 0

    def __post_init__(self) -> None:
        self._person = PEOPLE[self.instance.group.people]()
        self._costs: dict[int, float] = {}

    def run(self, budget: int) -> SuiteRun:
        """Make so many parts after the known-good setting's."""
        self._make(self.optimizer.add(self.instance.start), self.instance.start)
        given, forecasts, seconds = [], [], 0.0
        for part in range(1, budget + 1):
            begin = time.process_time()
            forecasts += self._part(part)
            seconds += time.process_time() - begin
            if part in CHECKED or part == budget:
                given.append(self._given(part))
        return SuiteRun(tuple(given), tuple(forecasts), seconds, self.failed)

    def _part(self, part: int) -> list[Forecast]:
        if part <= len(self.opening):
            brought = self.opening[part - 1]
            self._make(self.optimizer.add(brought), brought)
            self._ask()
            return []
        try:
            proposal = self.optimizer.ask()
        except (ArithmeticError, NotPositiveDefiniteError):
            # as the daemon does, which then proposes without a model
            self.failed += 1
            instead = self.instance.space.sample(1, np.random.default_rng([self.seed, _INSTEAD, part]))[0]
            brought = self.instance.space.decode(instead)
            self._make(self.optimizer.add(brought), brought)
            self._ask()
            return []
        valid = self._make(proposal.number, proposal.setting)
        better = None
        if valid and proposal.opponent is not None:
            new, old = self._costs[proposal.number], self._costs[proposal.opponent]
            better = None if new == old else new < old
        self._ask()
        p_valid = 1.0 if proposal.p_valid is None else proposal.p_valid
        return [Forecast(p_valid, valid, proposal.p_better, better)]

    def _make(self, number: int, setting: Setting) -> bool:
        # the known-good setting is known to be good: chance does not scrap its part
        valid = number == 1 or self.instance.makes_part(setting, number)
        self.optimizer.tell_outcome(number, valid)
        if valid:
            self._costs[number] = self.instance.cost(setting)
        self.scrap += not valid
        return valid

    def _ask(self) -> None:
        """Answer what is asked."""
        for _ in range(MOST_LOOKS):
            question = self.optimizer.question()
            if question is None or (question.repeat and not self.repeats):
                return
            new, old = question.number, question.opponent
            rng = judge_rng(self.seed, self.looks)
            self.looks += 1
            better, operator = self._person.answer(self._costs[new], self._costs[old], rng)
            if better == "tie":
                self.optimizer.tell_tie(new, old, operator)
            elif better == "new":
                self.optimizer.tell_judgment(new, old, operator)
            else:
                self.optimizer.tell_judgment(old, new, operator)

    def _given(self, parts: int) -> Given:
        # as the daemon does, which has the model look once more before a campaign ends
        number = self.optimizer.learned().champion_id if self.recommends else self.optimizer.champion
        champion = self.instance.start if number is None else self.optimizer.ledger.trials[number].setting
        recommended = self.optimizer.recommend() if self.recommends else champion
        right = self.instance.right_levels(recommended, WORTH)
        return Given(
            parts=parts,
            champion=self.instance.regret(champion),
            recommended=self.instance.regret(recommended),
            looks=self.looks,
            scrap=self.scrap,
            right=sum(right),
            of=len(right),
        )
