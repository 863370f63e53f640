"""Ask for the next setting, tell what came of it: the library that the daemon and any Python user call."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, overload

import numpy as np

from tuner.core.optimizer.champion import standing
from tuner.core.optimizer.contract import Account, Strictness, agree, outcomes_of, settle
from tuner.core.optimizer.explain import Outlook, cycles, importance, outlook, proposal_of, resolving_duel
from tuner.core.optimizer.fit_json import fit_from, fit_json
from tuner.core.optimizer.growth import recommending_within
from tuner.core.optimizer.learner import Aim, Chooser, Learner, Remembering, choose_next
from tuner.core.optimizer.ledger import Ledger
from tuner.core.optimizer.proposer import (
    AcquisitionName,
    Fits,
    Knowledge,
    ValidityName,
    is_eiig,
    learn,
)
from tuner.core.optimizer.questions import Asked, Question
from tuner.core.optimizer.recommending import recommended, recommended_setting
from tuner.core.optimizer.records import (
    FITS,
    REJECTED,
    STATE_VERSION,
    Memory,
    OptimizerState,
    Proposal,
    Recommended,
)
from tuner.core.optimizer.strategy import Strategy
from tuner.core.optimizer.suspicion import model_question
from tuner.core.space.space import Setting, Space

READABLE = (1, STATE_VERSION)
OPTIONS = (
    *("seed", "acquisition", "validity", "budget", "scrap_budget", "scrap_rate", "strictness", "confidence"),
    *("tray", "looks_per_part"),
)
ACQUISITIONS = ("auto", "ucb", "thompson", "eiig", "ei", "eubo", "hb-ei")
VALIDITIES = ("auto", "separate", "shared", "none")


class Optimizer:
    """Preferential optimisation of a space by ask and tell.

    Args:
        space: The parameters and their constraints.
        seed: The same seed and the same words give the same proposals, bit for bit: on one machine, with the same
            packages and number of BLAS threads (OPENBLAS_NUM_THREADS=1, set before numpy is imported, is fastest too).
        acquisition: "auto", or one of ucb, thompson, eiig, ei, eubo, hb-ei; "eiig-0.5" sets EIIG's k (0.1).
        validity: "auto" and "separate": a latent function of its own; "shared": the paper's one latent; "none".
        budget: How many trials there will be; it shapes the design and how risks are taken.
        scrap_budget: How many of them may be non-valid; by default an eighth of the budget.
        scrap_rate: The scrap contract: at most this share of the parts may be scrap; None: none was agreed. It
            grows from a setting that is known to be good: add that first. `ask` raises
            `ContractHold` where no setting keeps it.
        strictness: Of the contract: "expected", or "certain": only settings that keep the rate with the `confidence`.
        confidence: Of "certain".
        tray: How many parts are kept, so that they can be compared again; None: all. The champion's always is.
        looks_per_part: How many looks there may be for each part made, in the long run: `question` asks suspicious
            answers again, and more, while there are fewer. At 1 it asks about new parts alone.
        strategy: The numbers behind it all.
        learner: What fits the model, and
        chooser: what chooses the next setting from it, if not the strategy: see tuner.core.optimizer.learner.
    """

    def __init__(
        self,
        space: Space,
        *,
        seed: int = 0,
        acquisition: AcquisitionName = "auto",
        validity: ValidityName = "auto",
        budget: int | None = None,
        scrap_budget: int | None = None,
        scrap_rate: float | None = None,
        strictness: Strictness = "expected",
        confidence: float = 0.95,
        tray: int | None = None,
        looks_per_part: float = 1.5,
        strategy: Strategy | None = None,
        learner: Learner = learn,
        chooser: Chooser = choose_next,
    ) -> None:
        if acquisition not in ACQUISITIONS and not is_eiig(acquisition):
            raise ValueError(f"there is no acquisition {acquisition!r}; choose one of {', '.join(ACQUISITIONS)}")
        if validity not in VALIDITIES:
            raise ValueError(f"there is no validity model {validity!r}; choose one of {', '.join(VALIDITIES)}")
        self.space = space
        self.seed = _whole("seed", seed)
        self.acquisition: AcquisitionName = acquisition
        self.validity: ValidityName = validity
        self.budget = None if budget is None else _whole("budget", budget)
        self.scrap_budget = None if scrap_budget is None else _whole("scrap_budget", scrap_budget)
        self.scrap_rate, self.strictness, self.confidence = scrap_rate, strictness, confidence
        self.contract = agree(scrap_rate, self.scrap_budget, strictness, confidence)
        self.tray = None if tray is None else _whole("tray", tray)
        if isinstance(looks_per_part, bool) or not isinstance(looks_per_part, int | float) or not looks_per_part >= 1.0:
            raise ValueError(f"looks_per_part is a number, 1 or more, not {looks_per_part!r}")
        self.looks_per_part = float(looks_per_part)
        self.strategy = strategy or Strategy()
        if self.contract is not None:
            self.strategy = recommending_within(self.strategy, self.contract)
        self._learner, self._chooser = Remembering(learner), chooser
        self.ledger = Ledger(space)
        self._asks = 0
        self._hand: tuple[int, ...] = ()
        self._fits = Fits()
        self._leader: int | None = None

    @overload
    def ask(self, *, within: Mapping[str, Any] | None = ...) -> Proposal: ...
    @overload
    def ask(self, n: int, *, within: Mapping[str, Any] | None = ...) -> list[Proposal]: ...
    def ask(self, n: int | None = None, *, within: Mapping[str, Any] | None = None) -> Proposal | list[Proposal]:
        """Propose the next setting, or several for several machines; settings under way count as pending.

        `within` restricts this proposal: by name a value to keep, (low, high) where either may be None, or a list of
        options. What lies outside still informs the model, and may be champion.
        """
        ground = self._ground(within)
        if n is None:
            return self._propose(self.learned(), ground)
        if _whole("the number of proposals", n) < 1:
            raise ValueError(f"ask for at least one proposal, not {n!r}")
        return [self._propose(self.learned(), ground) for _ in range(n)]

    def _ground(self, within: Mapping[str, Any] | None) -> Space | None:
        return self.space.within(within) if within else None

    def add(self, setting: Mapping[str, Any]) -> int:
        """Enter a setting of one's own choice as a trial, and return its number."""
        return self.ledger.add(setting).number

    def __repr__(self) -> str:
        trials, judgments = len(self.ledger.trials), len(self.ledger.active)
        said = "no champion yet" if self.champion is None else f"champion {self.champion}"
        return f"<Optimizer of {', '.join(self.space.names)}: {trials} trials, {judgments} judgments, {said}>"

    def warm_start(
        self,
        trials: Sequence[tuple[Mapping[str, Any], bool]],
        judgments: Sequence[tuple[int, int]] = (),
        discount: float = 0.5,
    ) -> list[int]:
        """Enter what an earlier campaign found; its trials inform the model but are never champion nor counted.

        Args:
            trials: (setting, valid) of each earlier trial.
            judgments: (winner, loser) of each earlier duel, as places in `trials`.
            discount: What an earlier answer counts for: its noise is expected to be 1 / discount times as large.

        Returns:
            The numbers of the trials.
        """
        return self.ledger.warm_start(trials, judgments, discount)

    def tell_outcome(self, number: int, valid: bool, reason: str | None = None) -> None:
        """Tell whether a trial made a part."""
        made = [trial.number for trial in self.ledger.trials.values() if trial.valid]
        self.ledger.outcome(number, valid, reason)
        if valid and number not in made:
            self._hand = (*(one for one in self._hand if one != number), int(number))
            self._put_away(2)  # it stays until it is judged

    def tell_judgment(
        self, winner: int, loser: int, operator: str | None = None, *, clearly: bool | None = None
    ) -> int:
        """Tell which of two trials made the better part; return the judgment's number.

        Args:
            winner: Number of the better one.
            loser: Number of the other one.
            operator: Who says so.
            clearly: Whether it is clearly better: False says that it is, but not clearly; None that nobody asked.
        """
        judgment = self.ledger.judge(winner, loser, clearly=clearly, operator=operator)
        self._put_away(1)
        return judgment

    def tell_tie(self, left: int, right: int, operator: str | None = None) -> int:
        """Tell that the judge could not say which is better; return the judgment's number."""
        judgment = self.ledger.judge(left, right, tie=True, operator=operator)
        self._put_away(1)
        return judgment

    def _put_away(self, least: int) -> None:
        """Keep as many parts as the tray takes."""
        if self.tray is not None and len(self._hand) > max(self.tray, least):
            self._hand = self._asked.put_away(max(self.tray, least))

    @property
    def hand(self) -> tuple[int, ...] | None:
        """The trials whose parts are still there to be compared, oldest first; None: all."""
        everything = self.tray is None and {trial.number for trial in self.ledger.usable} <= set(self._hand)
        return None if everything else self._hand

    def retract(self, number: int) -> None:
        """Take a judgment back."""
        self.ledger.retract(number)

    def exclude(self, number: int) -> None:
        """Leave a trial and everything said about it out of account."""
        self.ledger.exclude(number)

    @property
    def champion(self) -> int | None:
        """The best trial so far, or None.

        It is the one that won its duels; where the judges' answers are doubted, go in a circle, or some were ties, the
        one that the model believed best when it was fitted last (`ask`, `question`, `recommendation`), while something
        that was said of it counts.
        """
        candidates = [trial.number for trial in self.ledger.usable]
        return standing(self._leader, candidates, self.ledger.active) or self.ledger.champion

    def _rng(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, self._asks, purpose])

    def learned(self) -> Knowledge:
        """Return everything told so far, fitted by the learner."""
        seed = self.seed * 1_000_003 + self._asks
        known = self._learner(self.ledger, self.strategy, self._fits, self.validity, seed)
        return replace(known, at_hand=self.hand)

    def _propose(self, known: Knowledge, ground: Space | None) -> Proposal:
        aim = Aim(self.acquisition, self.budget, self._risk(), self.contract)
        if ground is not None:
            known = replace(known, ground=ground)
        chosen = self._chooser(known, self.strategy, aim, self._rng(0))
        proposal = proposal_of(known, chosen, self.strategy.telling)
        self.ledger.add_proposal(proposal)
        self._asks += 1
        self._remember(known)
        return proposal

    def _remember(self, known: Knowledge) -> None:
        self._fits = known.fits
        self._lead(known)

    def _lead(self, known: Knowledge) -> Knowledge:
        self._leader = known.champion_id if known.led_by_model else None
        return known

    def _risk(self) -> float:
        own = [t for t in self.ledger.trials.values() if not t.earlier and t.excluded != REJECTED]
        asked = [t for t in own if t.kind != "told"]
        budget = None if self.budget is None else self.budget - (len(own) - len(asked))
        scrap = sum(t.valid is False for t in asked)
        return self.strategy.allowed_risk(scrap, len(asked), budget, self.scrap_budget)

    @property
    def account(self) -> Account | None:
        """What happened under the scrap contract so far, and what the next part may risk; None: there is none."""
        if self.contract is None:
            return None
        return settle(self.contract, outcomes_of(self.ledger.trials.values()), self.budget)

    def recommend(self) -> Setting:
        """Return the setting for the master recipe: see `recommendation`, which also says how far to trust it.

        Raises:
            TellError: There is no valid trial yet.
        """
        return recommended_setting(self._lead(self.learned()).of_all_parts, self.strategy, self._rng(1))

    def recommendation(self, known: Knowledge | None = None) -> Recommended:
        """Return the setting believed best where parts are likely, with its evidence and its process window.

        The known-good setting is kept where nothing is believed better. `known` is what `learned` returns, if it is at
        hand.

        Raises:
            TellError: There is no valid trial yet.
        """
        return recommended(self._lead(known or self.learned()).of_all_parts, self.strategy, self._rng(1))

    def question(self) -> Question | None:
        """Return the next duel worth asking, or None.

        A new part's; an old one again, because its answer is probably a slip; or a further comparison. It looks like
        any other question: a judge need not know that it was asked before.
        """
        return self._asked.question(repeat_after=self.strategy.asking.repeat_after) or self._question()

    @overload
    def next_step(
        self, *, propose: Literal[True] = ..., within: Mapping[str, Any] | None = ...
    ) -> Question | Proposal: ...
    @overload
    def next_step(self, *, propose: bool, within: Mapping[str, Any] | None = ...) -> Question | Proposal | None: ...
    def next_step(self, *, propose: bool = True, within: Mapping[str, Any] | None = None) -> Question | Proposal | None:
        """Return the next duel worth asking, or if there is none the next setting to try: both from one fit.

        Without `propose` it is None instead of a setting. `within` restricts a setting, as in `ask`.
        """
        ground = self._ground(within)
        plain = self._asked.question(repeat_after=self.strategy.asking.repeat_after)
        if plain is not None:
            return plain
        known = self.learned()
        question = self._question()
        if question is None and propose:
            return self._propose(known, ground)
        self._remember(known)
        return question

    @property
    def _asked(self) -> Asked:
        trials = list(self.ledger.trials.values())
        return Asked(trials, self.ledger.active, *self.ledger.decided, hand=self.hand)

    def _question(self) -> Question | None:
        """What the model wants to ask; it is fitted only if there may be a question."""
        asked = self._asked
        numbers, looks = self.strategy.asking, asked.looks_left(self.looks_per_part)
        may_ask = numbers.repeat_after is None and self.looks_per_part > 1.0 and bool(asked.own)
        if not may_ask or looks + numbers.credit_looks < 1.0:
            return None
        return model_question(self._lead(self.learned()), looks, numbers)

    def operators(self) -> dict[str | None, float]:
        """Return the noise of each operator who has judged, relative to the first: a careless one has more."""
        noise = self.learned().model.hyper.noise
        judged = {j.judge for j in self.ledger.active}
        return {who[0]: float(noise[i]) for i, who in enumerate(self.ledger.judges) if who in judged and who[1] == 1.0}

    def importance(self) -> dict[str, float]:
        """Return each parameter's share of what moves the expected quality."""
        return importance(self.learned(), self.strategy, self._rng(2))

    def outlook(self, *, against: float = 0.75) -> Outlook:
        """Say whether a setting may be left that would win at least this share of its duels with the champion."""
        return outlook(self.learned(), self.strategy, self._rng(3), against=against)

    def contradictions(self) -> list[tuple[list[int], int]]:
        """Return each circle of judgments with the number of the judgment worth asking again."""
        found = cycles(self.ledger)
        if not found:
            return []
        known = self.learned()
        return [(cycle, resolving_duel(known, cycle).number) for cycle in found]

    @property
    def memory(self) -> Memory:
        """What it carries from one proposal to the next."""
        fits = {name: fit_json(getattr(self._fits, name)) for name in FITS}
        return Memory(asks=self._asks, leader=self._leader, doubted=self._fits.doubted, fits=fits)

    def state(self) -> dict[str, Any]:
        """Return everything as plain JSON data; `from_state` goes on from there, bit for bit (see `seed`)."""
        trials, judgments = (tuple(told.values()) for told in (self.ledger.trials, self.ledger.judgments))
        return OptimizerState.of(self, trials=trials, judgments=judgments, **self.memory.to_json()).to_json()

    @classmethod
    def from_state(
        cls,
        space: Space,
        state: Mapping[str, Any],
        *,
        strategy: Strategy | None = None,
        learner: Learner = learn,
        chooser: Chooser = choose_next,
    ) -> Self:
        """Go on from a state."""
        if not isinstance(state, Mapping) or state.get("version") not in READABLE:
            version = state.get("version") if isinstance(state, Mapping) else state
            raise ValueError(f"this is no state of version {STATE_VERSION}: {version!r}")
        try:
            told = OptimizerState.from_json(json.loads(json.dumps(state)))
            seam: dict[str, Any] = {"strategy": strategy, "learner": learner, "chooser": chooser}
            optimizer = cls(space, **seam, **{name: getattr(told, name) for name in OPTIONS})
            optimizer.ledger = Ledger.rebuilt(space, told.trials, told.judgments)
            made = (trial.number for trial in optimizer.ledger.usable)
            optimizer._hand = tuple(made) if told.hand is None else tuple(_whole("hand", one) for one in told.hand)
            optimizer._asks = _whole("asks", told.asks)
            fitted = {name: fit_from(told.fits[name], space) for name in FITS}
            optimizer._fits = Fits(doubted=told.doubted is True, **fitted)
            if told.leader is not None:
                optimizer._leader = optimizer.ledger.trials[_whole("leader", told.leader)].number
        except KeyError as error:
            raise ValueError(f"the state lacks {error}") from error
        except (TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"the state is damaged: {error}") from error
        return optimizer


def _whole(name: str, number: Any) -> int:
    """Return a whole number that is not negative, or say that it is none."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
        raise ValueError(f"{name} must be a whole number, zero or more, got {number!r}")
    return int(number)
