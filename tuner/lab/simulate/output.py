"""Writes the runs of a simulation as CSV, JSON or Parquet, by the name of the file."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from tuner.basics.files import FileNotWrittenError, check_writable, csv_cell, whole_file, write_text
from tuner.basics.text import shown
from tuner.errors import TunerError
from tuner.lab.simulate.results import RunResult

SUFFIXES = (".csv", ".json", ".parquet")


class OutputError(TunerError):
    """The results cannot be written so."""

    exit_code: ClassVar[int] = 2


def check_output(path: Path) -> None:
    """Say at once, and not after the runs, that a file cannot be written.

    Raises:
        OutputError: Its format is not known or not installed, there is no such directory, or it is not ours to write.
    """
    if path.suffix not in SUFFIXES:
        raise OutputError(f"{shown(path.name)}: the results are written as one of {', '.join(SUFFIXES)}")
    if path.suffix == ".parquet":
        try:
            import_module("pyarrow.parquet")
        except ImportError:
            raise OutputError(
                'Parquet needs pyarrow: pip install "process-tuner[parquet]", or write .csv or .json'
            ) from None
    try:
        check_writable(path)
    except FileNotWrittenError as error:
        raise OutputError(str(error)) from None


def write(path: Path, runs: Sequence[RunResult], about: Mapping[str, Any]) -> None:
    """Write one line for each run; JSON has the setting of every trial too, and what the simulation was."""
    rows = _filled([run.row() for run in runs])
    if path.suffix == ".csv":
        write_text(path, _csv(rows))
    elif path.suffix == ".json":
        whole = {**about, "runs": [_finite(asdict(run)) for run in runs]}
        write_text(path, json.dumps(whole, indent=1, allow_nan=False) + "\n")
    else:
        with whole_file(path) as file:
            _parquet(file, rows)


def _filled(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every row with the columns of all: a run that ended before its first part knows no names of parameters."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in names} for row in rows]


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _finite(run: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: a regret without a part is null."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in run.items()}


def _parquet(file: BinaryIO, rows: Sequence[dict[str, Any]]) -> None:
    # without type information of its own, and absent from a normal installation
    table = import_module("pyarrow").Table.from_pylist(list(rows))
    import_module("pyarrow.parquet").write_table(table, file)
