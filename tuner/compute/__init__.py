"""Proposals and explanations are computed in other processes, never in the daemon's event loop."""
