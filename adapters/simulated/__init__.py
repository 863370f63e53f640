"""A machine that is not there: any test problem by name, with the validity the problem has, and faults on request."""

from adapters.simulated.adapter import SimulatedAdapter

__all__ = ["SimulatedAdapter"]
