"""The name of what computes proposals: equal names compute equal proposals, bit for bit, on one kind of processor."""

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def engine_name() -> str:
    """Return the versions, and a digest of the source and of the compiled loop.

    Versions alone do not tell: numbers may change between two releases, and without a compiler.
    """
    package = Path(__file__).parent.parent
    files = (path for name in ("core", "compute") for path in (package / name).rglob("*"))
    parts = sorted(path for path in files if path.suffix in (".py", ".so"))
    digest = hashlib.sha256(b"\0".join(part.read_bytes() for part in parts)).hexdigest()[:12]
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    return f"tuner {version('process-tuner')} ({digest}, {libraries}, {platform.machine()})"
