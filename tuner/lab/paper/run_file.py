"""The file of the paper's finished runs."""

from pathlib import Path

from tuner.lab.bench.run_file import RunFile
from tuner.lab.paper.runs import Record


class RunStore(RunFile[Record]):
    """Finished runs by key, in one file of a directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, Record.from_json)
