"""Tune a manufacturing process by asking people which of two parts is better."""
