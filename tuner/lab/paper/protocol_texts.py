"""What the page says about the protocol, with the numbers that the code uses."""

from tuner.lab.paper.compare import LEAST_PAIRS, MOST_SASENA
from tuner.lab.paper.rivals import ALWAYS_UNTIL, CANDIDATES, DRAWS, PRIOR, THEN_EVERY
from tuner.lab.paper.runs import LENGTHSCALE, VARIANCE
from tuner.lab.paper.sampled_bound import SAMPLES
from tuner.lab.paper.tasks import START


def protocol_texts() -> tuple[str, ...]:
    """Return the paragraphs."""
    return (
        f"A run begins with {START} uniform settings of its seed, the same for all methods, each judged against the "
        f"best so far: {START - 1} duels. Then the method asks; each valid trial is judged against the champion x_r "
        "without error, and takes its place if it wins. Regret is the true cost of x_r above the known minimum. The "
        "full version of Figure 4 has 100 duels in all, that of Figure 5 has 100 after the start, as the paper says.",
        "GPL and SkewGP run in the same loop (our optimiser's ask and tell) with the same candidates and climbs: "
        f"{CANDIDATES} uniform ones, then four ascents by L-BFGS-B (the paper: 5000 and one). Only the posterior "
        "differs, and where hyper-parameters are fitted, each model's own approximation of the evidence (Laplace's, "
        "expectation propagation's). The fit maximises the evidence times the same wide priors for both: lengthscale "
        f"{PRIOR.lengthscale:g} of the box (log-sd {PRIOR.lengthscale_spread:g}), variance {PRIOR.variance:g} in units "
        f"of the noise (log-sd {PRIOR.variance_spread:g}); after every trial up to {ALWAYS_UNTIL} and then at every "
        f"{THEN_EVERY}th, warm. The paper maximises the likelihood alone, by annealing and by standard BO.",
        f"UCB is the upper end of the shortest interval with 95 % of {SAMPLES} samples with fixed deviates, for both "
        f"models; EIIG is a closed form given {DRAWS} draws of the truncated vector; Thompson sampling climbs one "
        "drawn function. Draws come from exact Hamiltonian Monte Carlo, not lin-ess, which mixes slowly. EIIG is "
        "maximised with + IG; with the printed minus it does not optimise (docs/decisions.md). `auto` is our default, "
        "as a user gets it, with its own design, priors and search.",
        f"Section 4 and Figures 3, 5 and 6: lengthscale {LENGTHSCALE:g} in units of x on [-2.6, 2.6], kernel variance "
        f"{VARIANCE:g} and unit noise (the first claim of Section 4 says why). Figure 6: the eight points of Section "
        "4, those left of -0.2 non-valid. Figure 7: penalised runs see the cost + 1e8 max(0, h)^2 and have no "
        "outcomes; mixed runs see outcomes, and duels of valid trials only. There a regret above "
        f"{MOST_SASENA:g} (a champion in the penalised region, or none) counts as {MOST_SASENA:g}.",
        f"A ratio is undecided if its 95 % bootstrap interval holds 1 or fewer than {LEAST_PAIRS} seeds are paired. A "
        "proposal whose numbers do not converge is replaced by a uniform setting and counted. Results depend on the "
        "seeds alone, not on the number of processes; processor times depend on the machine and its load.",
    )
