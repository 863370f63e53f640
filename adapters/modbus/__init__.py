"""Machines that speak Modbus: TCP, TLS or a serial line."""

from adapters.modbus.adapter import ModbusAdapter

__all__ = ["ModbusAdapter"]
