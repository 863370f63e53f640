"""Line controllers that speak ZeroMQ: either they connect to tuner and ask for jobs, or tuner connects to them."""

from adapters.line.adapter import LineAdapter

__all__ = ["LineAdapter"]
