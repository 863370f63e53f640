"""Siemens S7 controllers: parameters, handshake and measurements are places in data blocks, flags and outputs."""

from adapters.s7.adapter import S7Adapter

__all__ = ["S7Adapter"]
