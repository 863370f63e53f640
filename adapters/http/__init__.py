"""Machines and plant systems with a REST interface: requests from templates, values at paths into JSON."""

from adapters.http.adapter import HttpAdapter

__all__ = ["HttpAdapter"]
