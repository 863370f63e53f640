"""Tune a manufacturing process by asking people which of two parts is better.

The library: a `Space` of parameters, an `Optimizer` to ask and tell, and the `SkewGP` posterior underneath.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuner.core.optimizer import Optimizer, Proposal
    from tuner.core.parameters import Choice, Continuous, Integer, Stepped
    from tuner.core.questions import Question
    from tuner.core.skewgp import SkewGP
    from tuner.core.space import Space

__all__ = ["Choice", "Continuous", "Integer", "Optimizer", "Proposal", "Question", "SkewGP", "Space", "Stepped"]

# loaded when first asked for, so that `tuner --help` does not wait for scipy
_HOMES = {
    "Choice": "parameters",
    "Continuous": "parameters",
    "Integer": "parameters",
    "Optimizer": "optimizer",
    "Proposal": "optimizer",
    "Question": "questions",
    "SkewGP": "skewgp",
    "Space": "space",
    "Stepped": "parameters",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"tuner.core.{_HOMES[name]}"), name)
