"""What is run: methods, problems, seeds and budgets of each of the paper's figures, as a list of independent tasks."""

from dataclasses import dataclass, replace

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.lab.paper.rivals import ModelName
from tuner.problems import Problem, get_problem

PROTOCOL = 1  # part of every key: raise it when the protocol changes, and old runs are not mixed with new ones
START = 11  # uniform settings told at first, each judged against the best so far: ten duels
ACQUISITIONS = ("ucb", "eiig-0.1", "eiig-0.5", "thompson")
FUNCTIONS = ("forrester", "six_hump", "goldstein_price", "levy2", "rosenbrock5", "hartmann6")
PENALISED = "sasena_penalised"
FIGURES = (2, 3, 4, 5, 6, 7)


@dataclass(frozen=True)
class Method:
    """Who proposes: a model with an acquisition, or our default (`model` None).

    Attributes:
        name: As on the page.
        model: The paper's model, or None for our default optimiser.
        acquisition: Of the optimiser.
        mixed: Whether the model sees outcomes; in the paper's Figure 7 the rival sees a penalised cost instead.
    """

    name: str
    model: ModelName | None
    acquisition: str
    mixed: bool = False


AUTO = Method("auto", None, "auto")
MODELS: tuple[ModelName, ...] = ("gpl", "skewgp")
RIVALS = tuple(Method(f"{model}-{name}", model, name) for name in ACQUISITIONS for model in MODELS)
MIXED_ACQUISITIONS = ("ucb", "eiig-0.1", "thompson")
MIXED = tuple(
    Method(f"{how}-{name}", "skewgp", name, how == "mixed")
    for name in MIXED_ACQUISITIONS
    for how in ("penalised", "mixed")
)
METHODS = {method.name: method for method in (*RIVALS, *MIXED, AUTO)}


@dataclass(frozen=True)
class Task:
    """One run: all that determines its result."""

    figure: int
    problem: str
    method: str
    seed: int
    asked: int

    @property
    def key(self) -> str:
        """What names the run in the file of finished ones."""
        return f"v{PROTOCOL}/figure{self.figure}/{self.problem}/{self.method}/asked{self.asked}/seed{self.seed}"


@dataclass(frozen=True)
class Scale:
    """How much is run.

    Attributes:
        name: "quick" or "full".
        seeds: Runs of each method.
        functions: Of Figure 4.
        asked: Trials asked for after the start, by figure.
        draws: Draws of the posterior in the examples without runs (Section 4, Figures 3 and 6).
        grid: Points of their grid.
    """

    name: str
    seeds: int
    functions: tuple[str, ...]
    asked: dict[int, int]
    draws: int
    grid: int


# the paper's: 20 trials of 100 duels, ten of them the start; Figure 5 shows 100 iterations
FULL = Scale("full", 20, FUNCTIONS, {4: 90, 5: 100, 7: 90}, draws=8000, grid=521)
QUICK = Scale("quick", 6, ("forrester", "six_hump"), {4: 20, 5: 15, 7: 20}, draws=2000, grid=261)
SCALES = {scale.name: scale for scale in (QUICK, FULL)}


def tasks_of(scale: Scale, figures: tuple[int, ...] = FIGURES) -> list[Task]:
    """Return every run in order of seed, so that what is finished early is balanced over the methods."""
    return [task for seed in range(scale.seeds) for task in _of_seed(scale, figures, seed)]


def _of_seed(scale: Scale, figures: tuple[int, ...], seed: int) -> list[Task]:
    tasks = []
    if 5 in figures:
        tasks += [Task(5, "waves", method.name, seed, scale.asked[5]) for method in (*RIVALS, AUTO)]
    if 4 in figures:
        tasks += [
            Task(4, problem, method.name, seed, scale.asked[4])
            for problem in scale.functions
            for method in (*RIVALS, AUTO)
        ]
    if 7 in figures:
        tasks += [
            Task(7, PENALISED if method.name.startswith("penalised") else "sasena", method.name, seed, scale.asked[7])
            for method in (*MIXED, AUTO)
        ]
    return tasks


def problem_of(name: str) -> Problem:
    """Return the problem; the paper's penalised Sasena is valid everywhere, and dear where it should not be."""
    if name != PENALISED:
        return get_problem(name)
    sasena = get_problem("sasena")

    def penalised(points: FloatArray) -> FloatArray:
        outside = np.maximum(0.0, -np.sin(points[:, 0] - points[:, 1] - np.pi / 8))
        return np.asarray(sasena.function(points) + 1e8 * outside**2)

    return replace(sasena, name=PENALISED, function=penalised, validity=None)
