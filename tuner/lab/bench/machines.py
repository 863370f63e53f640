"""Configurations of simulated machines for measurements of the daemon."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tuner.lab.local_daemon import START_S, LocalDaemon

_HEAD = """
[compute]
workers = {workers}
speculate = {speculate}
"""

_CAMPAIGN = """
[[campaign]]
name = "{name}"
machine = "{name}"
seed = {seed}
[campaign.budget]
trials = {trials}
[campaign.policy]
autostart = {autostart}
approval = false
repeat_after = 0
[campaign.adapter]
name = "simulated"
[campaign.adapter.settings]
problem = "sasena"
seconds_per_trial = {seconds}
[[campaign.parameter]]
kind = "continuous"
name = "x1"
low = 0.0
high = 5.0
start = 3.5
[[campaign.parameter]]
kind = "continuous"
name = "x2"
low = 0.0
high = 5.0
start = 1.5
"""


def head(*, workers: int = 2, speculate: bool = True) -> str:
    """The daemon's part of a configuration."""
    return _HEAD.format(workers=workers, speculate="true" if speculate else "false")


def campaign(name: str, *, trials: int, seconds: float, seed: int = 0, autostart: bool = True) -> str:
    """One campaign on a simulated machine."""
    begins = "true" if autostart else "false"
    return _CAMPAIGN.format(name=name, trials=trials, seconds=float(seconds), seed=seed, autostart=begins)


@contextmanager
def daemon(
    config: str, journal: Path | None = None, start_s: float = START_S, more: Sequence[str] = ()
) -> Iterator[LocalDaemon]:
    """A daemon in a directory that is removed afterwards, if wanted with a journal to begin with, and `more` files."""
    with tempfile.TemporaryDirectory(prefix="tuner-") as directory:
        place = Path(directory)
        (place / "tuner.toml").write_text(config)
        others = [place / f"more{number}.toml" for number in range(len(more))]
        for path, text in zip(others, more, strict=True):
            path.write_text(text)
        state = place / "state"
        if journal is not None:
            state.mkdir(mode=0o700)
            for file in journal.parent.glob(f"{journal.name}*"):
                (state / file.name).write_bytes(file.read_bytes())
        with LocalDaemon(place / "tuner.toml", state, start_s, others) as running:
            yield running
