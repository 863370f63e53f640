"""Proposals under a scrap contract: growth from known-good ground in stages, then the best of what may be tried.

A setting may be tried if its risk, under the exact posterior of validity, keeps within what the account allows. A step
of the kind `grow` is the allowed setting whose part, if it is good, would open the most promising ground: what one more
part would teach is the draws of the posterior, weighed again by how likely each makes that part. All other steps are
those of a campaign without a contract, on allowed ground.

Glossary:
    U    (p, D) settings       G    (q, D) settings all over the space       P    (S, p + q) Phi(g) under joint draws
"""

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.spatial.distance import cdist

from tuner.basics.sentences import say
from tuner.core.linalg import FloatArray
from tuner.core.optimizer.acquisition import Threshold
from tuner.core.optimizer.assurance import Assurance, assure, setting_key
from tuner.core.optimizer.contract import Account, Contract, ContractHold, outcomes_of, settle
from tuner.core.optimizer.ground import connected
from tuner.core.optimizer.knowledge import Knowledge
from tuner.core.optimizer.proposer import AcquisitionName, Choice, centres, choose
from tuner.core.optimizer.records import Assured
from tuner.core.optimizer.search import around, candidates
from tuner.core.optimizer.strategy import Strategy
from tuner.core.space.space import BoolArray


@dataclass(frozen=True, eq=False)
class Keeping:
    """What may be tried now under a contract; as an acquisition zero there, and next to nothing elsewhere.

    Attributes:
        limit: The risk of the setting alone, without scrap by chance, that may be run.
        narrow: Whether only known ground may be used: near a trial that gave a part.
    """

    known: Knowledge
    strategy: Strategy
    contract: Contract
    account: Account
    assurance: Assurance
    limit: float
    narrow: bool
    rng: np.random.Generator
    _seen: dict[bytes, FloatArray] = field(default_factory=dict)

    def values(self, X: FloatArray) -> FloatArray:
        """Return zero where a setting may be tried, else far less."""
        return np.where(self.mask(X), 0.0, -1e6)

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return what leads a climb back: the posterior at one fit; where it ends the exact one decides."""
        if self.known.validity is None:
            return 0.0, np.zeros(len(x))
        least = 1.0 - self.limit
        return Threshold(self.known.validity, least, self.strategy.acquiring.steepness).gradient(x)

    def mask(self, X: FloatArray) -> BoolArray:
        """Say which settings may be tried."""
        key = np.ascontiguousarray(X).tobytes()
        if key not in self._seen:
            self._seen[key] = self._mask(X)
        return self._seen[key].astype(bool)

    def _mask(self, X: FloatArray) -> FloatArray:
        fine = np.ones(len(X), dtype=bool)
        if self.narrow:
            numbers = self.strategy.contracting
            made = self.known.ledger.rows(self.known.ledger.usable)
            gap = cdist(X / self._lengthscales, made / self._lengthscales).min(axis=1)
            fine &= gap <= numbers.near
        some = np.flatnonzero(fine)
        fine[some] = self.assurance.screen(X[some]) <= self.limit + self.strategy.contracting.screened
        some = np.flatnonzero(fine)
        fine[some] = self.assurance.within(X[some], self.limit)
        if self.contract.strictness == "certain":
            some = np.flatnonzero(fine)
            fine[some] = self.assurance.sure(X[some], self.own_rate) >= self.contract.confidence
        return fine.astype(np.float64)

    @property
    def own_rate(self) -> float:
        """What is left of the rate for settings, once chance has taken its share."""
        return max(_of_setting(self.contract.rate, self.assurance.base), 1e-6)

    @property
    def _lengthscales(self) -> FloatArray:
        shortest = [m.hyper.kernel.lengthscales for m in self.assurance.members]
        return np.asarray(np.min(shortest, axis=0))

    def allowed(self, U: FloatArray) -> FloatArray:
        """Return the rows that may be tried."""
        return U[self.mask(U)] if len(U) else U

    def ground(self, U: FloatArray) -> FloatArray:
        """Return the rows that may be tried; if these are none, such next to a trial that gave a part.

        Raises:
            ContractHold: There are none either.
        """
        fine = self.allowed(U)
        if len(fine):
            return fine
        space, numbers = self.known.space, self.strategy.contracting
        made = self.known.ledger.rows(self.known.ledger.usable)
        reach = numbers.near * self._lengthscales
        count = max(self.strategy.near[1], 1)
        near = [around(space, row, count, reach, self.rng, self.strategy.search) for row in made]
        rows = space.snap(np.concatenate([*near, *(space.neighbours(row) for row in made)]))
        fine = self.allowed(rows[space.feasible(rows)])
        if len(fine):
            return fine
        account = self.account
        spent = {"scrap": account.scrap, "parts": account.parts, "allowed": account.allowed * 100.0}
        raise ContractHold(say("contract.no_setting", rate=self.contract.rate, **spent))


def keeping(
    known: Knowledge, strategy: Strategy, contract: Contract, budget: int | None, rng: np.random.Generator
) -> Keeping:
    """Return what may be tried now.

    Raises:
        ContractHold: Nothing may be.
    """
    ledger = known.ledger
    usable = ledger.usable
    if not usable:
        raise ContractHold(say("contract.no_ground"))
    account = settle(contract, outcomes_of(ledger.trials.values()), budget, pending=len(ledger.pending))
    if contract.budget is not None and account.scrap >= max(contract.budget, 1):
        raise ContractHold(say("contract.budget", budget=contract.budget, parts=account.parts))
    assurance = assure(known, strategy, int(rng.integers(2**31)))
    safest = float(assurance.risk(ledger.rows(usable)).min())
    expected = 1.0 - (1.0 - assurance.base) * (1.0 - safest)
    if expected > contract.rate:
        shares = {"expected": expected * 100.0, "chance": assurance.base * 100.0}
        raise ContractHold(say("contract.cannot_hold", rate=contract.rate, **shares))
    numbers = strategy.contracting
    least = min(numbers.relief * safest, _of_setting(contract.rate, assurance.base))
    limit = _of_setting(account.allowed, assurance.base)
    narrow = account.known_ground or limit < least
    return Keeping(known, strategy, contract, account, assurance, max(limit, least), narrow, rng)


def recommending_within(strategy: Strategy, contract: Contract) -> Strategy:
    """Return the strategy whose recommendations keep the contract's rate too."""
    telling = strategy.telling
    least = max(telling.recommended_validity, 1.0 - contract.rate)
    return replace(strategy, telling=replace(telling, recommended_validity=least))


def _of_setting(risk: float, base: float) -> float:
    """Return what of a risk is left for the setting, once chance has taken its share."""
    return max((risk - base) / (1.0 - base), 0.0)


def choose_within(
    known: Knowledge,
    strategy: Strategy,
    contract: Contract,
    acquisition: AcquisitionName,
    budget: int | None,
    rng: np.random.Generator,
) -> Choice:
    """Choose the next row under a contract.

    Raises:
        ContractHold: None keeps it.
    """
    kept = keeping(known, strategy, contract, budget, rng)
    own = [t for t in known.ledger.trials.values() if not t.earlier]
    kinds = [t.kind for t in own]
    G = known.space.sample(strategy.contracting.points, rng, known.tried)
    chosen = _again(kept)
    if chosen is None and (not kinds or kinds[-1] != "grow") and not kept.narrow:
        chosen = _grow(kept, G, rng)
    if chosen is None:
        kind = acquisition
        if acquisition == "auto":
            kind = "improve" if kinds.count("improve") <= kinds.count("refine") else "refine"
        left = None if budget is None else budget - len(own)
        chosen = choose(known, strategy, kind, kept.limit, rng, left, kept)
    return Choice(chosen.row, chosen.kind, chosen.opponent, _assured(kept, chosen, G))


def _again(kept: Keeping) -> Choice | None:
    """Return a scrap setting worth making again: probably chance, not yet sure, and not beaten already."""
    known, assurance, numbers = kept.known, kept.assurance, kept.strategy.contracting
    if kept.account.known_ground or known.champion is None:
        return None
    made = Counter(setting_key(t) for t in known.ledger.trials.values())
    for number in sorted(assurance.suspended):
        trial, chance = known.ledger.trials[number], assurance.chance[number]
        if trial.earlier or made[setting_key(trial)] > 1 or chance > numbers.confirm:
            continue
        row = known.ledger.rows([trial])
        risk = (1.0 - chance) + chance * float(assurance.risk(row)[0])
        wanted = float(known.model.win_probability(row, known.champion)[0]) >= kept.strategy.telling.worth
        if risk <= kept.limit and wanted:
            return Choice(row[0], "again")
    return None


def _grow(kept: Keeping, G: FloatArray, rng: np.random.Generator) -> Choice | None:
    """Return the allowed setting whose part would open the most promising ground, if any opens enough."""
    known, strategy, numbers = kept.known, kept.strategy, kept.strategy.contracting
    if known.champion is None:
        return None
    closed = ~kept.mask(G)
    if not closed.any():
        return None
    space, lengthscales = known.space, known.model.hyper.kernel.lengthscales
    centre, counts = centres(known, strategy)
    U = kept.allowed(candidates(space, centre, counts, lengthscales, strategy.uniform, rng, strategy.search))
    if not len(U):
        return None
    risk = kept.assurance.screen(U)
    half = numbers.expanders // 2
    some = np.unique(np.concatenate([np.argsort(-risk, kind="stable")[:half], rng.permutation(len(U))[:half]]))
    gain = _opened(kept, U[some], G[closed], rng)
    best = int(np.argmax(gain))
    return Choice(U[some][best], "grow") if gain[best] >= numbers.worth else None


def _opened(kept: Keeping, U: FloatArray, G: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the share of the promising ground G, which is closed, that a part at each row would open or bring nearer.

    Each joint draw is weighed by the chance with which it gives that part.
    """
    known = kept.known
    if known.champion is None:
        return np.zeros(len(U))
    P, w = kept.assurance.joint(np.vstack([U, G]), kept.strategy.contracting.joint, rng)
    own, others = P[:, : len(U)], P[:, len(U) :]
    weight = w[:, None] * own
    chance = weight.sum(axis=0)
    after = 1.0 - (weight.T @ others) / chance[:, None]
    before = 1.0 - w @ others
    promise = known.model.win_probability(G, known.champion)
    promise = promise / max(float(promise.sum()), 1e-12)
    opened = (chance[:, None] * (after <= kept.limit)) @ promise
    nearer = (chance[:, None] * np.maximum(before - after, 0.0)) @ promise
    return np.asarray(opened + nearer)


def _assured(kept: Keeping, chosen: Choice, G: FloatArray) -> Assured:
    """Return what is known of the proposal, and of what is not proposed."""
    assurance, account, contract, known = kept.assurance, kept.account, kept.contract, kept.known
    row = chosen.row[None]
    stage = chosen.kind if chosen.kind in ("grow", "again") else "known ground" if kept.narrow else "inside"
    closed = G[~kept.mask(G)]
    refused: dict[str, float | int | str] | None = None
    refused_risk = refused_better = None
    if len(closed) and known.champion is not None:
        best = closed[int(np.argmax(known.mean.mean(closed)))][None]
        better = float(known.model.win_probability(best, known.champion)[0])
        if better > kept.strategy.telling.likely_valid:
            refused = known.ledger.space.decode(best[0])
            refused_risk, refused_better = float(assurance.whole_risk(best)[0]), better
    return Assured(
        allowed=account.allowed,
        risk=float(assurance.whole_risk(row)[0]),
        low=assurance.low(chosen.row, contract.confidence),
        sure=float(assurance.sure(row, kept.own_rate)[0]),
        caution=account.caution,
        base=assurance.base,
        parts=account.parts,
        scrap=account.scrap,
        left=account.left,
        stage=stage,
        refused=refused,
        refused_risk=refused_risk,
        refused_better=refused_better,
        unreached=_unreached(kept, G),
    )


def _unreached(kept: Keeping, G: FloatArray) -> float:
    """Return the share of the likely valid ground that nothing likely valid connects with the champion."""
    champion = kept.known.champion
    if champion is None:
        return 0.0
    U = np.vstack([champion, G])

    def probability(X: FloatArray) -> FloatArray:
        return 1.0 - kept.assurance.screen(X)

    chance = probability(U)
    reached = connected(U, chance, probability, kept.strategy.ground)
    return float(chance[~reached].sum() / max(float(chance.sum()), 1e-300))
