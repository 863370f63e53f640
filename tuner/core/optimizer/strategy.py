"""Every number behind `auto`, in one place: what it means, where it is from, and how much depends on it.

After each number stands (source; how sensitive results are to it). A source in quotes is a heading or a bold entry of
docs/experiments.md; "pilots" are prototypes that were measured before this code was written; "by hand": nobody compared
others. tests/core/optimizer keeps such numbers out of the other modules of the optimiser; what stays there are
tolerances of algorithms whose results they do not choose.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from tuner.core.optimizer.talking import Asking as Asking
from tuner.core.optimizer.talking import Telling as Telling
from tuner.core.posterior.fitting import Prior
from tuner.core.space.parameters import Choice
from tuner.core.space.space import Space


@dataclass(frozen=True)
class Search:
    """How an acquisition is maximised.

    Attributes:
        others: Next best trials that candidates are put around (pilots; not measured).
        finest: Log10 of the smallest perturbation of a centre, in lengthscales (pilots: small scales are what reaches
            a regret of 1e-5; not measured since).
        moved: How many parameters half of the perturbations move, on average, if there are more than two
            (pilots; not measured).
        screened: Candidates whose exact value is computed (pilots; not measured).
        starts: Best candidates among which the climbs' starts are sought (by hand; not measured).
        climbs: Climbs, each from another of the best candidates (pilots; not measured).
        apart: Distance in the unit cube that two starts keep (by hand; not measured).
        iterations: Steps of a climb (by hand; not measured).
        rounds: How often a climb may go on from a neighbour on the grid (by hand; not measured).
        floor: What the threshold on P(valid) may cost a row while there are others (by hand; not measured).
    """

    others: int = 4
    finest: float = -3.0
    moved: float = 1.5
    screened: int = 100
    starts: int = 50
    climbs: int = 4
    apart: float = 1e-2
    iterations: int = 40
    rounds: int = 20
    floor: float = -1.0


@dataclass(frozen=True)
class Levels:
    """How options of choices, and levels of coarse numbers, are chosen.

    Attributes:
        stretch: By how much the median lengthscale of a choice is longer than a number's; its options are one apart, so
            that 4 makes them one lengthscale apart where the median is .25 ("Levels": 1 makes them strangers).
        most: Values up to which an integer or a stepped parameter counts as one of levels (pilots; not measured).
        combinations: Combinations of levels that are looked at; of more than that those with one change against the
            champion, then with two (pilots; not measured).
        reach: How far around the champion, in lengthscales ("Levels": with 1 a level is refuted later, and numbers are
            refined less; .3 and 1 find the right level alike).
        near: Settings around the champion at which each combination is looked at (by hand; pilots had 100).
        rows: Settings looked at in all; with many combinations there are fewer around the champion (by hand, for the
            time it takes; not measured).
    """

    stretch: float = 4.0
    most: int = 8
    combinations: int = 64
    reach: float = 0.3
    near: int = 40
    rows: int = 800


@dataclass(frozen=True)
class Ground:
    """How much of the budget looks for other valid ground once a trial was non-valid.

    Attributes:
        least: The least share of the budget that goes to the design, in two dimensions
            ("Other ground": .3 does almost as well).
        points: Settings at which P(valid) is looked at (pilots; not measured).
        neighbours: How many of them each is joined with (pilots; not measured).
        passable: P(valid) from which on ground connects, also half-way between two settings (pilots; not measured).
        known: How far a valid trial tells what is around it, as a lengthscale in the unit cube (pilots; not measured).
    """

    least: float = 0.2
    points: int = 1000
    neighbours: int = 8
    passable: float = 0.5
    known: float = 0.25


@dataclass(frozen=True)
class Acquiring:
    """What acquisitions weigh.

    Attributes:
        steepness: By how much a nat of log P(valid) below the floor lowers an acquisition ("A floor on P(valid)
            instead of a power of it"; a floor of any steepness beats a power, other values not measured).
        reach: How far proposals keep from settings under way, in lengthscales (by hand; not measured).
        information_weight: k of EIIG (the paper; .1 and .5 differ by problem, "What did not help").
        credible_mass: Of UCB's interval (the paper; not measured).
        screening_draws: Draws that rank candidates by expected improvement (pilots: 128 draws can fail badly as the
            whole posterior; as a screen not measured).
    """

    steepness: float = 20.0
    reach: float = 0.3
    information_weight: float = 0.1
    credible_mass: float = 0.95
    screening_draws: int = 64


@dataclass(frozen=True)
class Improving:
    """When improving steps believe one draw of f at every trial, without noise, as HB-EI does, and nothing is refined.

    Attributes:
        parameters: With so many parameters or more; with fewer once a trial was non-valid ("Draws that are believed":
            from 6 on -.5 decades; with 2 to 5 and no scrap neither is better).
        refined: The share of refining steps then ("Draws that are believed": .2 gives up a third of the gain, .5 with
            restless lengthscales half of it).
        near: With so many parameters, the share of improving steps that stay near the champion ("Four to ten
            parameters": .15 decades; four in five do alike; with fewer parameters, near scrap, it does not help).
        reach: How near, in lengthscales: each time another distance between these, by its logarithm ("Four to ten
            parameters": .2 to 2 does alike).
    """

    parameters: int = 6
    refined: float = 0.0
    near: float = 0.5
    reach: tuple[float, float] = (0.05, 1.0)


@dataclass(frozen=True)
class Refitting:
    """How often and how far hyper-parameters are fitted.

    Attributes:
        valid_labels: Valid trials, far from each other, that carry P(valid) before the first scrap (by hand, for the
            time that more of them take; not measured).
        tolerance: Relative gain of the objective at which a fit ends ("Speed"; a cold fit ends within .01 nat).
        warm_iterations: Steps of a fit from the last one (pilots: the schedule made no difference).
        first_iterations: Steps of the unsteady judge's first fit ("Speed": within .004 nat of three cold starts in 36
            of 36 cases).
        sparser: Rows from which on fits are made at every second, and at every fourth answer (pilots: the schedule
            made no difference).
        doubt_from: Duels before which no answer is doubted (by hand; not measured).
        doubt_every: Duels between two looks at whether to doubt (by hand; not measured).
        coarse_from: Rows from which on warm fits are coarse ("Speed": proposals below are not touched, bit for bit;
            above, who is doubted was the same in 20 of 20 campaigns).
    """

    valid_labels: int = 60
    tolerance: float = 1e-4
    warm_iterations: int = 4
    first_iterations: int = 12
    sparser: tuple[int, int] = (50, 100)
    doubt_from: int = 12
    doubt_every: int = 4
    coarse_from: int = 100


@dataclass(frozen=True)
class Contracting:
    """How a scrap contract is kept: see assurance.py and growth.py.

    Attributes:
        known_good: How far inside good ground the known-good setting is taken to be, as a normal score: as if it had
            given some twenty parts (by hand; not measured).
        lengthscales: Steps of the logarithm of all lengthscales, around the fit, that are averaged over (by hand; not
            measured).
        variances: Factors of the median variance that are averaged over (by hand; not measured).
        negligible: The weight below which hyper-parameters are left out (by hand, for the time; not measured).
        draws: Draws of the validity's posterior at each of the hyper-parameters (by hand, for the time; not measured).
        screened: Settings whose risk by EP exceeds the limit by more are not looked at exactly; a Gaussian has a heavy
            tail where little is known, so that a small excess says nothing (by hand, for the time; not measured).
        base_scrap: Scrap by chance that is expected of `base_parts` parts before anything is known (by hand; not
            measured).
        base_parts: What that expectation counts for, in parts (by hand; not measured).
        base_rounds: Rounds in which base rate and chances are made to agree (by hand; no difference from 10 on).
        by_chance: From which chance on a scrap part was chance, and the model does not learn from it (by hand; not
            measured).
        confirm: Up to which chance such a part is made again to see (by hand; not measured).
        near: How far known ground reaches around a trial that gave a part, in lengthscales (by hand; not measured).
        relief: By how much more than at the least risky trial known ground may risk (by hand; not measured).
        points: Settings all over the space at which it is looked at what a part would open (by hand; not measured).
        expanders: Allowed settings whose part is looked at for what it would open (by hand; not measured).
        joint: Draws that are weighed again for it (by hand; not measured).
        worth: The least share of the promising ground that a part must open to be made for that (by hand; not
            measured).
    """

    known_good: float = 2.5
    lengthscales: tuple[float, ...] = (-0.7, 0.0, 0.7)
    variances: tuple[float, ...] = (0.1, 1.0)
    negligible: float = 0.02
    draws: int = 120
    screened: float = 0.15
    base_scrap: float = 0.2
    base_parts: float = 40.0
    base_rounds: int = 20
    by_chance: float = 0.8
    confirm: float = 0.98
    near: float = 0.25
    relief: float = 1.5
    points: int = 200
    expanders: int = 40
    joint: int = 400
    worth: float = 0.02


SEARCH, LEVELS, GROUND, IMPROVING = Search(), Levels(), Ground(), Improving()
ACQUIRING, REFITTING, TELLING, ASKING = Acquiring(), Refitting(), Telling(), Asking()
CONTRACTING = Contracting()


@dataclass(frozen=True)
class Strategy:
    """How proposals are made.

    Attributes:
        preference: Priors of the preferences' hyper-parameters. A judge without noise wants a huge variance: then
            the last, small steps can still be told from noise ("The prior on the variance": a median of 1e4 costs a
            factor of 5 to 20 in regret; longer lengthscales in many dimensions, wider priors: no better).
        unsteady: The same for a judge whose answers are sometimes wrong ("A judge who flips": a variance of 3 or 30
            does alike, 100 is worse).
        doubt: By how many nats the evidence must favour the unsteady judge before the answers are doubted (by hand;
            not measured).
        clear: What a clear difference is to a judge without noise, in units of that noise: finer differences than a
            hundredth of it are noise (by hand, well below 1e4, where EP often fails on grades that contradict each
            other; not measured).
        unsteady_clear: The same for a judge whose answers are sometimes wrong (by hand; not measured).
        level: Prior variance of the share of valid settings before the first scrap, in units of the validity's variance
            ("Before the first scrap": 0 says one half of ground that nothing is known of, whatever was made elsewhere).
        validity: Priors of the validity's hyper-parameters (pilots; "What did not help": a variance of 100 for the
            preferences beside it, a Matern kernel).
        refined: Share of refining steps among the improving and refining ones, where draws are not believed (pilots:
            every other step; .2 and 0 free trapped runs and cost precision, "Draws that are believed").
        improving: When improving steps believe a draw.
        restless: Log standard deviation by which the lengthscales are varied before a draw, in up to two dimensions:
            how wrong a fit may be ("Restless lengthscales": 0 costs Goldstein-Price's median a factor of 1000; in 4-D
            to 6-D 0 and twice as much do alike).
        design: Share of the budget that goes to the space-filling design in two dimensions ("Space-filling between
            other steps"; half of the budget costs precision without scrap).
        islands: The most of it once a trial was non-valid: valid ground may lie in islands, and more of it must be
            seen, as far as the posterior says that it may be there ("More design where parts were scrap", "Other
            ground"; others not measured).
        least_design: The fewest trials of the design (by hand; not measured).
        assumed_budget: Trials expected where no budget is given (by hand; not measured).
        scrap_rate: Share of the trials that may be non-valid, if no scrap budget is given (by hand; twice the scrap is
            worth a factor of 4 in regret on a border, pilots).
        least_risk: The smallest probability of scrap that a proposal may run (by hand; not measured).
        most_risk: The largest ("A floor on P(valid) instead of a power of it": a floor of .5 throughout trebles
            the scrap).
        draws: Draws of the posterior that carry means and probabilities ("What did not help": 4000 do no better).
        uniform: Candidates over the whole space (pilots; not measured).
        near: Candidates around the champion and around each of the next best trials (pilots; not measured).
        filled: Candidates of a design step (by hand; not measured).
        search: How acquisitions are maximised.
        levels: How options and levels are chosen.
        ground: How much of the budget looks for other valid ground.
        acquiring: What they weigh.
        refitting: How often and how far hyper-parameters are fitted.
        telling: What is said.
        asking: What is asked beside new parts' duels.
        contracting: How a scrap contract is kept.
    """

    preference: Prior = field(
        default_factory=lambda: Prior(
            lengthscale=0.25, lengthscale_spread=0.6, variance=1e8, variance_spread=5.0, variance_cap=1e11
        )
    )
    unsteady: Prior = field(
        default_factory=lambda: Prior(lengthscale=0.25, lengthscale_spread=0.6, variance=30.0, variance_spread=1.5)
    )
    doubt: float = 3.0
    clear: float = 100.0
    unsteady_clear: float = 3.0
    validity: Prior = field(
        default_factory=lambda: Prior(
            lengthscale=0.3, lengthscale_spread=0.6, variance=100.0, variance_spread=1.5, variance_cap=1e5
        )
    )
    level: float = 1.0
    refined: float = 0.5
    improving: Improving = IMPROVING
    restless: float = 0.5
    design: float = 0.35
    islands: float = 0.5
    least_design: int = 3
    assumed_budget: int = 50
    scrap_rate: float = 0.125
    least_risk: float = 0.05
    most_risk: float = 0.5
    draws: int = 1000
    uniform: int = 2000
    near: tuple[int, int] = (500, 125)
    filled: int = 400
    search: Search = SEARCH
    levels: Levels = LEVELS
    ground: Ground = GROUND
    acquiring: Acquiring = ACQUIRING
    refitting: Refitting = REFITTING
    telling: Telling = TELLING
    asking: Asking = ASKING
    contracting: Contracting = CONTRACTING

    def stretched(self, space: Space) -> "Strategy":
        """Return the strategy whose priors know which parameters of a space are choices."""
        stretch = tuple(self.levels.stretch if isinstance(p, Choice) else 1.0 for p in space.parameters)
        priors = {name: getattr(self, name) for name in ("preference", "unsteady", "validity")}
        return replace(self, **{name: replace(prior, stretch=stretch) for name, prior in priors.items()})

    def variation(self, parameters: int) -> float:
        """Return the log standard deviation of the lengthscales before a draw."""
        return self.restless * min(1.0, float(np.sqrt(2.0 / parameters)))

    def design_size(self, parameters: int, budget: int | None, share: float) -> tuple[int, int]:
        """Return how many trials fill the space at first, and in all; fewer in one and in many dimensions."""
        total = self.assumed_budget if budget is None else budget
        whole = max(self.least_design, round(share * min(parameters / 2.0, 2.0 / parameters) * total))
        return min(whole, 2 * parameters + 1), whole

    def allowed_risk(self, scrap: int, trials: int, budget: int | None, scrap_budget: int | None) -> float:
        """Return the probability of scrap that the next trial may run: what is left of the scrap over what is left.

        `scrap`, `trials` and `budget` count proposals only, not settings that people brought along.
        """
        total = trials + self.assumed_budget if budget is None else budget
        allowed = self.scrap_rate * total if scrap_budget is None else scrap_budget
        rate = max(allowed - scrap, 0.0) / max(total - trials, 1)
        return float(np.clip(rate, self.least_risk, self.most_risk))
