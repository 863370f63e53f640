"""Parameters that cost something to change, such as a tool that a person swaps: changed rarely, and in blocks.

A change costs `change_cost` parts beside the one that is made. One that was changed stays until as many parts were made
since: then no more was spent on changes than on parts, whatever comes. And it stays to the end once fewer are left.
"""

from dataclasses import dataclass

import numpy as np

from tuner.core.linalg import FloatArray
from tuner.core.optimizer.search import Kept
from tuner.core.space.space import BoolArray, Space

SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Changes:
    """What changes cost now.

    Attributes:
        costs: (parameters,) what a change of each costs, in parts.
        last: (D,) what the machine was set to last.
        held: (parameters,) which are not to be changed now.
    """

    costs: FloatArray
    last: FloatArray
    held: BoolArray

    def kept(self, space: Space) -> Kept | None:
        """Return what is held, if anything is."""
        return Kept(self.held[space.groups], self.last) if self.held.any() else None

    def changed(self, space: Space, U: FloatArray) -> BoolArray:
        """Say which parameters that cost something each row changes, (p, parameters)."""
        moved = np.zeros((len(U), len(self.costs)), dtype=bool)
        for place in np.flatnonzero(self.costs):
            own = space.groups == place
            moved[:, place] = ~_alike(U[:, own], self.last[own])
        return moved


def costly_changes(space: Space, tried: FloatArray, left: int | None) -> Changes | None:
    """Return what changes cost after the rows `tried`, in their order; None if they cost nothing.

    `left` is how many parts may still be made, if anybody knows.
    """
    costs = np.array([parameter.change_cost for parameter in space.parameters])
    if not costs.any() or not len(tried):
        return None
    last = tried[-1]
    held = np.zeros(len(costs), dtype=bool)
    for place in np.flatnonzero(costs):
        own = space.groups == place
        same = _alike(tried[:, own], last[own])
        since = len(same) if same.all() else int(np.argmin(same[::-1]))
        held[place] = since < costs[place] or (left is not None and left <= costs[place])
    return Changes(costs, last, held)


def _alike(rows: FloatArray, row: FloatArray) -> BoolArray:
    """Say which rows are the same but for a rounding: to a setting and back may move a coordinate by one."""
    return np.asarray(np.isclose(rows, row, rtol=0.0, atol=SAME).all(axis=1))
