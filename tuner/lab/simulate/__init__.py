"""Scripted runs: a configuration's simulated machine, tuned by a scripted judge instead of people."""
