"""Space, exact Skew Gaussian Process, optimiser: pure; no I/O, clock, logging or global random state."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuner.core.posterior.fitting import Fit, Prior, fit, fit_hyper
    from tuner.core.posterior.laplace import Laplace
    from tuner.core.posterior.observations import Observations
    from tuner.core.posterior.separate import SeparateSkewGP
    from tuner.core.posterior.skewgp import SkewGP

__all__ = ["Fit", "Laplace", "Observations", "Prior", "SeparateSkewGP", "SkewGP", "fit", "fit_hyper"]

# loaded when first asked for: scipy takes a second, and the config's constraint parser needs none of it
_HOMES = {
    "Fit": "posterior.fitting",
    "Prior": "posterior.fitting",
    "fit": "posterior.fitting",
    "fit_hyper": "posterior.fitting",
    "Laplace": "posterior.laplace",
    "Observations": "posterior.observations",
    "SeparateSkewGP": "posterior.separate",
    "SkewGP": "posterior.skewgp",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
