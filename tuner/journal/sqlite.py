"""sqlite-utils without pandas, which it loads wherever it is installed: that takes half a second of every start."""

import sys

_ABSENT = "pandas" not in sys.modules
if _ABSENT:
    sys.modules["pandas"] = None  # type: ignore[assignment]  # an import of it now fails at once, as if it were not there
try:
    from sqlite_utils import Database, Migrations
finally:
    if _ABSENT:
        del sys.modules["pandas"]

__all__ = ["Database", "Migrations"]
