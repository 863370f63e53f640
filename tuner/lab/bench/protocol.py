"""The common protocol: some uniform settings, each judged against the champion, then duels that the optimiser asks for.

A run is a pure function of the problem, the seed and the options (the seconds apart), so that it can be done anywhere.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.optimizer import Optimizer
from tuner.core.optimizer.proposer import AcquisitionName
from tuner.core.optimizer.strategy import Strategy
from tuner.core.space.parameters import Continuous, Integer, Value
from tuner.core.space.space import Space
from tuner.lab.judges.scripted import ExactJudge, FlippingJudge, Judge, ProbitJudge
from tuner.problems import Problem, get_problem

_POINTS, _JUDGE = 1, 2  # streams of random numbers, so that all options of a seed begin at the same settings


@dataclass(frozen=True)
class Options:
    """How a run is done.

    Attributes:
        flips: Probability of a wrong answer.
        noise: Standard deviation of the judge's view of the difference, in units of the cost.
        acquisition: Of the optimiser.
        start: Uniform settings told at first.
        trials: Trials asked for afterwards; each valid one is a duel with the champion.
        trusting: Whether the judge's answers are never doubted: so the published rivals are.
    """

    flips: float = 0.0
    noise: float = 0.0
    acquisition: AcquisitionName = "auto"
    start: int = 11
    trials: int = 40
    trusting: bool = False

    def __post_init__(self) -> None:
        if self.flips and self.noise:
            raise ValueError("a judge either flips answers or has noise, not both")
        if self.start < 0 or self.trials < 0:
            raise ValueError(f"start and trials are counts, not {self.start} and {self.trials}")

    @property
    def strategy(self) -> Strategy:
        """How proposals are made."""
        return Strategy(doubt=math.inf) if self.trusting else Strategy()

    @property
    def judge(self) -> Judge:
        """Who answers the duels."""
        if self.flips:
            return FlippingJudge(self.flips)
        return ProbitJudge(self.noise) if self.noise else ExactJudge()


@dataclass(frozen=True)
class Run:
    """What came of one run.

    Attributes:
        problem: Name of the problem.
        seed: Of the settings, the judge and the optimiser.
        regret: The champion's true cost minus the known minimum, after each asked trial; infinite without a champion.
        scrap: Non-valid trials among those asked for.
        seconds: Processor time of each proposal; not part of the result that a seed determines.
    """

    problem: str
    seed: int
    regret: tuple[float, ...]
    scrap: int
    seconds: tuple[float, ...] = field(compare=False)


def box_space(problem: Problem) -> Space:
    """Return the problem's box as a space of parameters p0, p1, ..., continuous or whole numbers."""
    sides = enumerate(zip(problem.low, problem.high, strict=True))
    return Space(
        [
            Integer(f"p{i}", int(a), int(b)) if i in problem.integers else Continuous(f"p{i}", a, b)
            for i, (a, b) in sides
        ]
    )


def start_points(problem: Problem, seed: int, count: int) -> FloatArray:
    """Return the uniform settings of a seed in the unit cube, (count, d): the same for everyone who is compared."""
    return np.random.default_rng([seed, _POINTS]).random((count, problem.d))


def to_box(problem: Problem, points: FloatArray) -> FloatArray:
    """Return points of the unit cube in the problem's box, on whole numbers where it has them."""
    box = np.asarray(problem.bounds[:, 0] + np.ptp(problem.bounds, axis=1) * points)
    box[..., list(problem.integers)] = np.rint(box[..., list(problem.integers)])
    return box


def judge_rng(seed: int) -> np.random.Generator:
    """Return the judge's random numbers of a seed."""
    return np.random.default_rng([seed, _JUDGE])


def run_protocol(name: str, seed: int, options: Options) -> Run:
    """Do one run.

    Raises:
        UnknownProblemError: No problem has this name.
    """
    problem = get_problem(name)
    space = box_space(problem)
    optimizer = Optimizer(
        space,
        seed=seed,
        acquisition=options.acquisition,
        budget=options.start + options.trials,
        strategy=options.strategy,
    )
    machine = _Machine(problem, optimizer, options.judge, judge_rng(seed))
    for point in to_box(problem, start_points(problem, seed, options.start)):
        setting = {n: _as(space, i, v) for i, (n, v) in enumerate(zip(space.names, point.tolist(), strict=True))}
        champion = optimizer.champion
        machine.make(optimizer.add(setting), setting, champion)
    regret, seconds, scrap = [], [], 0
    for _ in range(options.trials):
        begin = time.process_time()
        proposal = optimizer.ask()
        seconds.append(time.process_time() - begin)
        scrap += not machine.make(proposal.number, proposal.setting, proposal.opponent)
        regret.append(machine.regret())
    return Run(name, seed, tuple(regret), scrap, tuple(seconds))


def _as(space: Space, place: int, value: float) -> Value:
    return int(value) if isinstance(space.parameters[place], Integer) else value


@dataclass
class _Machine:
    """Makes the parts, has them judged by what each part cost, and knows what each setting truly costs now."""

    problem: Problem
    optimizer: Optimizer
    judge: Judge
    rng: np.random.Generator
    parts: dict[int, float] = field(default_factory=dict)
    points: dict[int, FloatArray] = field(default_factory=dict)

    @property
    def present(self) -> Problem:
        """The problem as it is after the trials so far: some drift."""
        return self.problem.at_trial(len(self.optimizer.ledger.trials) - 1)

    def make(self, number: int, setting: Mapping[str, Value], opponent: int | None) -> bool:
        """Run a trial, tell its outcome and its duel, and return whether it was valid."""
        point = np.array([[float(value) for value in setting.values()]])
        problem = self.present
        valid = bool(problem.is_valid(point)[0])
        self.optimizer.tell_outcome(number, valid)
        if not valid:
            return False
        self.points[number] = point
        # a stream of their own is not needed: problems without noise draw nothing
        self.parts[number] = float(
            (problem.part_costs(point, self.rng) if problem.noise else problem.evaluate(point))[0]
        )
        if opponent is not None:
            wins = self.judge.prefers_new(self.parts[number], self.parts[opponent], self.rng)
            winner, loser = (number, opponent) if wins else (opponent, number)
            self.optimizer.tell_judgment(winner, loser)
        return True

    def regret(self) -> float:
        """Return the true cost of the champion's setting above the known minimum, both as they are now."""
        champion = self.optimizer.champion
        if champion is None:
            return math.inf
        problem = self.present
        return max(float(problem.evaluate(self.points[champion])[0]) - problem.minimum, 0.0)
