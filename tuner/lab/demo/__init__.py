"""The demo: a simulated machine tuned through the real daemon, before your eyes."""
