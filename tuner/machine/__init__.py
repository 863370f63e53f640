"""An adapter in a process of its own, seen from both sides, and what can be said about adapters."""
