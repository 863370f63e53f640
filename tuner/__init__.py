"""Tune a manufacturing process by asking people which of two parts is better.

The library: a `Space` of parameters, an `Optimizer` to ask and tell, and the `SkewGP` posterior underneath. Clients of
the daemon are in `tuner.wire.client`, what an adapter needs is in `tuner.adapter`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tuner.errors import TunerError

if TYPE_CHECKING:
    from tuner.core.optimizer.contract import ContractHold
    from tuner.core.optimizer.optimizer import Optimizer
    from tuner.core.optimizer.questions import Question
    from tuner.core.optimizer.records import Proposal
    from tuner.core.optimizer.strategy import Strategy
    from tuner.core.posterior.observations import Observations
    from tuner.core.posterior.skewgp import SkewGP
    from tuner.core.space.parameters import Choice, Continuous, Integer, SpaceError, Stepped
    from tuner.core.space.space import Space

    __version__: str

__all__ = [
    "Choice",
    "Continuous",
    "ContractHold",
    "Integer",
    "Observations",
    "Optimizer",
    "Proposal",
    "Question",
    "SkewGP",
    "Space",
    "SpaceError",
    "Stepped",
    "Strategy",
    "TunerError",
    "__version__",
]

# loaded when first asked for, so that `tuner --help` does not wait for scipy
_HOMES = {
    "Choice": "space.parameters",
    "Continuous": "space.parameters",
    "ContractHold": "optimizer.contract",
    "Integer": "space.parameters",
    "Observations": "posterior.observations",
    "Optimizer": "optimizer.optimizer",
    "Proposal": "optimizer.records",
    "Question": "optimizer.questions",
    "SkewGP": "posterior.skewgp",
    "Space": "space.space",
    "SpaceError": "space.parameters",
    "Stepped": "space.parameters",
    "Strategy": "optimizer.strategy",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("process-tuner")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"tuner.core.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
