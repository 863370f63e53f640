"""The house as a newcomer finds it: rooms with front doors, and nothing loose in the hall."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.docs.documents import ROOT

PUBLIC = {"__init__", "__main__", "adapter", "errors", "problems", "testing"}

# room -> the modules that other rooms may import; all others are private to their room. None: every module is a front door.
DOORS: dict[str, set[str] | None] = {}
