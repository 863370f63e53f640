"""Part of tuner."""
