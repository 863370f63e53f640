"""Machines that speak OPC UA: parameters are variables, a part is started by a variable or a method."""

from adapters.opcua.adapter import OpcuaAdapter

__all__ = ["OpcuaAdapter"]
