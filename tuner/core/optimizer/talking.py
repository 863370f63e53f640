"""The numbers behind what is said and what is asked: parts of the strategy, explained as its other numbers are."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Telling:
    """What is said about a campaign.

    Attributes:
        trusted: How far from the champion a recommendation may lie, in lengthscales (by hand; not measured).
        recommended_validity: The least P(valid) of a recommendation, once anything was scrap, where any trial has as
            much; else not less than the champion's (by hand; not measured).
        believed: How likely a setting must be better than the known-good one to be recommended instead of it (by hand;
            not measured).
        lucky: By how much the log-odds to be better shrink, as they are said, of the setting with the largest posterior
            mean ("Chances that come true": .62 +- .09 by 588 proposals of the seeds for choosing; 1 says .65 where
            it is .56).
        window_valid: The P(valid) that a process window keeps: less than a recommendation has, or it would have no
            width where that lies on the border (by hand; not measured).
        window_better: The chance to be better than the known-good setting that a process window keeps (by hand; not
            measured).
        window_slack: By how much both may fall in a window where they are less than they should be (by hand; not
            measured).
        window_points: Values of a parameter that are looked at for its window (by hand; not measured).
        importance_points: Settings that the importance of parameters is averaged over (by hand; not measured).
        outlook_draws: Functions drawn to say what is left (by hand; not measured).
        outlook_uniform: Settings over the whole space at which they are looked at (by hand; not measured).
        outlook_share: One in so many of a proposal's candidates around the best trials, beside them (by hand; not
            measured).
        likely_valid: P(valid) of a setting that counts as one that makes a part (by hand; not measured).
        worth: Below this chance that something better is left it is time to stop (by hand; not measured).
    """

    trusted: float = 0.3
    recommended_validity: float = 0.95
    believed: float = 0.75
    lucky: float = 0.6
    window_valid: float = 0.9
    window_better: float = 0.9
    window_slack: float = 0.05
    window_points: int = 201
    importance_points: int = 512
    outlook_draws: int = 200
    outlook_uniform: int = 200
    outlook_share: int = 5
    likely_valid: float = 0.5
    worth: float = 0.05


@dataclass(frozen=True)
class Asking:
    """What is asked beside new parts' duels: see suspicion.py.

    Attributes:
        suspicious: Above which probability of a slip a duel is asked again (pilots; "Slips are asked again": .15 with
            .02 below is no better).
        crowning: The same for the duel that made the champion (pilots: none < .1 < .05 < .02 in the worst cases, and in
            looks).
        most_looks: At one duel (pilots; not measured).
        slips: Share of wrong answers that is expected before anything is known (pilots; not measured).
        slips_weight: How many looks that expectation counts for (pilots; not measured).
        operator_weight: How many looks what is known of the other operators counts for (by hand; not measured).
        comparisons: Further comparisons of a part ("Slips are asked again": none cost .8 decades with an exact judge).
        price: Of a look: how many nats its answer must be expected to tell. .26 asks duels of .2 to .8 of an operator
            who is wrong once in eleven answers, and compares nothing for one who is wrong once in six ("Further
            comparisons by what they tell"; others not measured).
        draws: Functions drawn to say so (by hand, for the time; not measured).
        spare_looks: How many looks must be left for a further comparison, so that some remain for doubtful answers
            ("Slips are asked again": 4 does as 2 at 10 % slips).
        credit_looks: How many looks doubtful answers may be ahead of the parts made: the first slips come early, and a
            slip that makes a champion cannot wait (by hand; "Slips are asked again": without it comparisons harm at
            20 % slips).
        repeat_after: New duels after which an old one is asked again, whatever the model says; None: as the model
            says. A number is a rule of its own: then the model asks nothing (by hand; not measured).
    """

    suspicious: float = 0.25
    crowning: float = 0.05
    most_looks: int = 7
    slips: float = 0.1
    slips_weight: float = 10.0
    operator_weight: float = 10.0
    comparisons: int = 2
    price: float = 0.26
    draws: int = 1000
    spare_looks: float = 2.0
    credit_looks: float = 3.0
    repeat_after: int | None = None
