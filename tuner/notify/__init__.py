"""Tells receivers outside what happens: each in a thread of its own that reads the journal and blocks nobody."""
