"""Measurements anyone can run again: speed, tables, rivals, the daemon from outside."""
