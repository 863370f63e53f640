"""Machines with a serial port and a line protocol: what is sent are templates, what is understood are patterns."""

from adapters.serial.adapter import SerialAdapter

__all__ = ["SerialAdapter"]
