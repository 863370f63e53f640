"""The scrap contract: how much scrap is agreed, what really happened, and what the next part may risk because of it.

Plain Python: the daemon's own process folds the account out of a campaign's outcomes, and computes nothing else. The
model's side, which settings keep within the risk, is assurance.py and growth.py.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, get_args

from tuner.core.optimizer.records import REJECTED, Record, Trial

Strictness = Literal["expected", "certain"]
_UNIT = NormalDist()


class ContractHold(Exception):  # noqa: N818 - an answer, not a defect: tuning holds before the part is made
    """No setting is known that keeps the scrap contract; the text says why, and what to do."""


@dataclass(frozen=True)
class Pace:
    """How the allowed risk follows what happened.

    Attributes:
        step: By how much a scrap part raises the caution, in units of the normal score; a good part lowers it by the
            rate times as much, so that in the long run scrap and rate agree, whatever the model believes (by hand;
            not measured).
        most: The largest risk of one part, in units of the rate, however long there was no scrap (by hand; not
            measured).
        least: The smallest risk that is asked of a part, in units of the rate: ground that is known (by hand; not
            measured).
        spare: What is aimed at, in units of the rate: the rest is for a model that is a little wrong (by hand; not
            measured).
        start: By how much the caution begins above the aim: good parts have to earn the risk, because where the rate
            allows one scrap part or none nothing is left to learn from ("The scrap contract": with 0 a rate of .02
            gave .037 of 25 parts, with .6 .009; higher rates hardly differ).
    """

    step: float = 1.0
    most: float = 3.0
    least: float = 0.25
    spare: float = 0.8
    start: float = 0.6


@dataclass(frozen=True, kw_only=True)
class Contract(Record):
    """What was agreed: at most this share of the parts may be scrap.

    Attributes:
        rate: The share, such as 0.05.
        budget: The most scrap in all; None: as the rate says.
        strictness: "expected": a part's chance to be scrap keeps within the allowed risk, on average over what is not
            known. "certain": moreover its setting is known, with the confidence, to keep the rate itself.
        confidence: Of "certain".
    """

    rate: float
    budget: int | None = None
    strictness: Strictness = "expected"
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name in ("rate", "confidence"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < 1.0:
                meant = "" if isinstance(value, bool) or not isinstance(value, int | float) else meant_in_percent(value)
                raise ValueError(f"the {name} of a scrap contract lies between 0 and 1, not {value!r}{meant}")
        if self.rate >= 0.5:
            raise ValueError(f"a scrap contract allows less than half of the parts to be scrap, not {self.rate!r}")
        if self.strictness not in get_args(Strictness):
            raise ValueError(f"a scrap contract is {' or '.join(get_args(Strictness))}, not {self.strictness!r}")
        if self.budget is not None and (isinstance(self.budget, bool) or not isinstance(self.budget, int)):
            raise ValueError(f"the budget of a scrap contract is a whole number, not {self.budget!r}")
        if self.budget is not None and self.budget < 0:
            raise ValueError(f"the budget of a scrap contract is zero or more, not {self.budget!r}")


def agree(
    rate: float | None, budget: int | None, strictness: Strictness = "expected", confidence: float = 0.95
) -> Contract | None:
    """Return the contract, or None where no rate is given; then nothing else of one may be."""
    if rate is not None:
        return Contract(rate=rate, budget=budget, strictness=strictness, confidence=confidence)
    if (strictness, confidence) != ("expected", 0.95):
        raise ValueError("strictness and confidence are of a scrap contract: say its scrap_rate too, such as 0.05")
    return None


@dataclass(frozen=True, kw_only=True)
class Account(Record):
    """What happened under a contract so far: a fold of the outcomes, the same whoever folds them.

    Attributes:
        parts: Parts made, scrap among them.
        scrap: Those that were scrap, for whatever reason.
        caution: The normal score that the next part has to keep: the conformal floor.
        allowed: The risk that the next part may run.
        left: How much more scrap there may be until the planned end; without one, until the next part.
        known_ground: Whether only ground that is known may be used now: another scrap part would break the contract.
    """

    parts: int
    scrap: int
    caution: float
    allowed: float
    left: int
    known_ground: bool


def outcomes_of(trials: Iterable[Trial]) -> list[bool]:
    """Return whether each part that was made in this campaign was valid, in order; what was left out was made too."""
    return [one.valid for one in trials if one.valid is not None and not one.earlier and one.excluded != REJECTED]


def settle(
    contract: Contract,
    outcomes: Iterable[bool],
    planned: int | None = None,
    *,
    pending: int = 0,
    pace: Pace | None = None,
) -> Account:
    """Fold what happened into the account; of `pending` parts nobody knows yet, so each may still be scrap.

    The caution follows it as in adaptive conformal inference (Gibbs and Candes 2021): up by `step` times one minus the
    aim with a scrap part, down by `step` times the aim with any other. Whatever the model believes, the share of scrap
    then keeps to the aim in the long run, while ground that is known gives none. Beside it stands the count itself:
    where one more scrap part would exceed what was agreed, nothing but known ground is used.
    """
    pace = pace or Pace()
    rate = contract.rate
    aim = pace.spare * rate
    lowest, highest = _score(min(pace.most * rate, 0.5)), _score(aim) + max(pace.step, pace.start)
    caution, parts, scrap = _score(aim) + pace.start, 0, 0
    for valid in outcomes:
        parts, scrap = parts + 1, scrap + (not valid)
        caution = min(max(caution + pace.step * ((not valid) - aim), lowest), highest)
    most = _most(contract, parts, planned)
    left = max(most - scrap, 0)
    spent = left <= pending
    allowed = pace.least * rate if spent else max(1.0 - _UNIT.cdf(caution), pace.least * rate)
    return Account(parts=parts, scrap=scrap, caution=caution, allowed=allowed, left=left, known_ground=spent)


def _most(contract: Contract, parts: int, planned: int | None) -> int:
    """Return how much scrap there may be in all; where no end is planned, one more than the parts so far allow."""
    by_rate = share(contract.rate, parts + 1) + 1 if planned is None else share(contract.rate, max(planned, parts + 1))
    most = max(by_rate, 1)
    return most if contract.budget is None else min(most, contract.budget)


def share(rate: float, parts: int) -> int:
    """Return how many of so many parts a rate allows: .29 of 100 are 29, though binary numbers say 28.999..."""
    return int(rate * parts + 1e-9)


def meant_in_percent(number: float) -> str:
    """Say what was probably meant by a share that is written in percent."""
    return f"; {number:g} % is {number / 100.0:g}" if 0.0 < number < 100.0 else ""


def _score(risk: float) -> float:
    return -_UNIT.inv_cdf(risk)
