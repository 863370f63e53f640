"""Measurements anyone can run again: speed, tables, the paper's experiments."""
