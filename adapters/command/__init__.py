"""Any program as a machine: each call starts it with one JSON object on stdin and expects one on stdout."""

from adapters.command.adapter import CommandAdapter

__all__ = ["CommandAdapter"]
