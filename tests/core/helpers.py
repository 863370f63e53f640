"""Helpers for tests of the optimiser: a mixed space, a light strategy, and a loop with an exact judge."""

from tuner import Choice, Continuous, Integer, Optimizer, Space, Stepped
from tuner.core.optimizer.strategy import Strategy

LIGHT = Strategy(draws=60, uniform=100, near=(30, 10))
MIXED = Space(
    [
        Continuous("x", -1, 2, unit="bar"),
        Integer("k", 1, 8),
        Stepped("s", 0.1, 0.7, 0.1),
        Choice("c", ["a", "b", "c"]),
    ],
    ["x + s <= 2", "k + 4*x >= 0"],
)


def tell(optimizer, proposal, quality, valid=lambda setting: True, operator=None):
    """Tell the outcome, and judge the trial against the proposal's champion by its true quality."""
    made = bool(valid(proposal.setting))
    optimizer.tell_outcome(proposal.number, made)
    if made and proposal.opponent is not None:
        champion = optimizer.ledger.trials[proposal.opponent].setting
        better = quality(proposal.setting) > quality(champion)
        pair = (proposal.number, proposal.opponent)
        optimizer.tell_judgment(*(pair if better else pair[::-1]), operator=operator)


def run(optimizer: Optimizer, count, quality, valid=lambda setting: True):
    """Ask and tell; return the proposals."""
    proposals = []
    for _ in range(count):
        proposals.append(optimizer.ask())
        tell(optimizer, proposals[-1], quality, valid)
    return proposals
