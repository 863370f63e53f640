"""Writes tables as CSV, Excel, Parquet or JSON: whole or not at all, through no link, no text a formula."""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from tuner.basics.files import FileNotWrittenError, check_writable, csv_cell, make_directory, whole_file
from tuner.basics.text import listed, shown
from tuner.errors import TunerError
from tuner.tables.table import Cell, Table

NAMES = ("csv", "xlsx", "parquet", "json")
ONE_FILE = frozenset({"xlsx", "json"})  # the others have a file for each table
_EXTRAS = {"xlsx": "openpyxl", "parquet": "pyarrow"}
_XLSX_ROWS = 1_048_576
_XLSX_TEXT = 32_767
_CUT = " ... (cut: a cell has no room for more)"
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_WIDEST = 60  # characters of a column in Excel


class FormatError(TunerError):
    """The tables cannot be written so."""

    exit_code: ClassVar[int] = 2


def format_of(target: Path, named: str | None) -> str:
    """The format: as named, else by the target's ending, else CSV in a directory.

    Raises:
        FormatError: The name and the ending are not the same, or what it needs is not installed.
    """
    ending = target.suffix.removeprefix(".").lower()
    if named is None and ending and ending not in NAMES:
        raise FormatError(f"{shown(target.name)}: say --format, or let the name end with one of {listed(NAMES)}")
    chosen = named or ending or "csv"
    if ending in NAMES and ending != chosen:
        raise FormatError(f"{shown(target.name)} ends with .{ending}, but the format is {chosen}")
    needed = _EXTRAS.get(chosen)
    if needed is not None:
        try:
            import_module(needed)
        except ImportError:
            raise FormatError(
                f'{chosen} needs {needed}: pip install "process-tuner[{chosen}]", or write csv or json'
            ) from None
    return chosen


def files_of(target: Path, chosen: str, names: Sequence[str]) -> dict[Path, tuple[str, ...]]:
    """Which tables go into which file: one file if the format or the target's ending says so, else one each."""
    if chosen in ONE_FILE:
        return {target: tuple(names)}
    if target.suffix.lower() == f".{chosen}":
        return {target: (names[0],)}
    return {target / f"{name}.{chosen}": (name,) for name in names}


def check(files: Sequence[Path], target: Path) -> None:
    """Make the directory of the files if there is to be one, and say at once that one cannot be written."""
    if target not in files:
        make_directory(target)
    for file in files:
        try:
            check_writable(file)
        except FileNotWrittenError as error:
            raise FormatError(str(error)) from None


def write(file: Path, tables: Sequence[Table], chosen: str) -> None:
    """Write tables to one file."""
    with whole_file(file) as binary:
        _WRITERS[chosen](binary, tables)


def _csv(binary: BinaryIO, tables: Sequence[Table]) -> None:
    text = io.TextIOWrapper(binary, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    (one,) = tables
    writer.writerow([csv_cell(name) for name in one.names])
    for row in one.rows:
        writer.writerow([csv_cell(_text(cell)) for cell in row])
    text.detach()


def _text(cell: Cell) -> object:
    """A cell of CSV: times as ISO 8601 in UTC, yes and no as true and false; numbers in full."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell.isoformat() if isinstance(cell, datetime) else repr(cell) if isinstance(cell, float) else cell


def _json(binary: BinaryIO, tables: Sequence[Table]) -> None:
    made = {one.name: [dict(zip(one.names, map(_plain, row), strict=True)) for row in one.rows] for one in tables}
    binary.write(json.dumps(made, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n")


def _plain(cell: Cell) -> Cell:
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    return cell.isoformat() if isinstance(cell, datetime) else cell


def _parquet(binary: BinaryIO, tables: Sequence[Table]) -> None:
    import pyarrow as arrow  # type: ignore[import-untyped,unused-ignore]
    from pyarrow import parquet

    kinds: dict[str, Any] = {
        "text": arrow.string(),
        "whole": arrow.int64(),
        "number": arrow.float64(),
        "yes/no": arrow.bool_(),
        "time": arrow.timestamp("us", tz="UTC"),
    }
    (one,) = tables
    fields = [arrow.field(c.name, kinds[c.kind], metadata={"unit": c.unit, "meaning": c.meaning}) for c in one.columns]
    columns = zip(*one.rows, strict=True) if one.rows else ([] for _ in one.columns)
    arrays = [arrow.array(list(cells), field.type) for cells, field in zip(columns, fields, strict=True)]
    parquet.write_table(arrow.Table.from_arrays(arrays, schema=arrow.schema(fields)), binary)


def _xlsx(binary: BinaryIO, tables: Sequence[Table]) -> None:
    from openpyxl import Workbook
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    book = Workbook()
    book.remove(book.worksheets[0])
    for one in tables:
        if len(one.rows) >= _XLSX_ROWS:
            raise FormatError(
                f"the table {one.name} has {len(one.rows)} rows, a sheet has room for {_XLSX_ROWS}: use csv"
            )
        sheet = book.create_sheet(one.name)
        sheet.freeze_panes = "A2"
        for across, column in enumerate(one.columns, 1):
            head = sheet.cell(1, across)
            _fill(head, column.name)
            head.font = Font(bold=True)
            widest = max((len(str(row[across - 1] or "")) for row in one.rows), default=0)
            sheet.column_dimensions[get_column_letter(across)].width = 2 + min(_WIDEST, max(len(column.name), widest))
        for down, row in enumerate(one.rows, 2):
            for across, value in enumerate(row, 1):
                if value is not None:
                    _fill(sheet.cell(down, across), value)
    book.save(binary)


def _fill(cell: Any, value: Cell) -> None:
    """Set a cell; a text stays a text whatever it begins with, also after somebody edited it."""
    if isinstance(value, str):
        text = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", value)
        cell.value = text if len(text) <= _XLSX_TEXT else text[: _XLSX_TEXT - len(_CUT)] + _CUT
        cell.data_type = "s"
        if csv_cell(text) != text:
            cell.quotePrefix = True
    elif isinstance(value, datetime):  # Excel knows no time zones: the column's unit says UTC
        cell.value = value.astimezone(UTC).replace(tzinfo=None)
        cell.number_format = "yyyy-mm-dd hh:mm:ss"
    else:
        cell.value = value


_WRITERS: dict[str, Callable[[BinaryIO, Sequence[Table]], None]] = {
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
    "xlsx": _xlsx,
}
