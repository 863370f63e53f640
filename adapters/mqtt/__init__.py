"""Machines on an MQTT broker: settings, triggers and results are messages; an old retained one is never a new part."""

from adapters.mqtt.adapter import MqttAdapter

__all__ = ["MqttAdapter"]
