"""The part of an adapter that is the same wherever a lost connection is made again when it is needed."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from adapters.shared.values import Deadline
from tuner.adapter import Adapter, AdapterSettings, LinkError, ParameterInfo
from tuner.basics.sentences import say

S = TypeVar("S", bound=AdapterSettings)


class ReachingAdapter(Adapter[S], Generic[S]):
    """Connects whenever the machine is asked for something, once the daemon has opened it."""

    def __init__(self, settings: S, parameters: Sequence[ParameterInfo]) -> None:
        super().__init__(settings, parameters)
        self._wanted = False  # whether the daemon has opened us; the connection may be lost in between

    @abstractmethod
    def _reach(self, deadline: Deadline) -> None:
        """Connect unless we are connected."""

    def open(self, deadline_s: float) -> None:
        """Connect; whether the machine is well is told by `health`."""
        self._wanted = True
        self._reach(Deadline(deadline_s))

    def _ready(self, deadline_s: float) -> Deadline:
        if not self._wanted:
            raise LinkError(say("adapter.not_open"))
        deadline = Deadline(deadline_s)
        self._reach(deadline)
        return deadline
