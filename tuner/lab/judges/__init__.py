"""Scripted judges: they say which of two parts is better, without or with errors."""
