"""Adapters that ship with tuner; each is found by its entry point, as a third party's would be."""
