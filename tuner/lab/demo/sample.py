"""Finds the sample configuration of the simulated machine: the checkout's, or the one installed with the package."""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from tuner.errors import ConfigError

SAMPLE = "configs/sasena.toml"
SHARED = "share/process-tuner"


def sample_config() -> Path:
    """Return its path."""
    for path in _sample_places():
        if path.is_file():
            return path
    raise ConfigError(f"{SAMPLE} was not installed with tuner; give a configuration with --config")


def _sample_places() -> Iterator[Path]:
    root = Path(__file__).parents[3]
    yield root / SAMPLE
    yield root / SHARED / SAMPLE  # where `pip install --target` puts it
    try:
        installed = files("process-tuner") or []
    except PackageNotFoundError:
        return
    for file in installed:
        if file.as_posix().endswith(f"{SHARED}/{SAMPLE}"):
            yield Path(str(file.locate()))
