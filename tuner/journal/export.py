"""Events as text for people and other programs: a table, JSON lines, CSV."""

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Literal, TextIO

from rich.table import Table
from rich.text import Text

from tuner.basics.files import csv_cell
from tuner.journal.records import Row

Format = Literal["jsonl", "csv"]

_WIDEST = 24  # columns of a name in the table
_quoted = json.JSONEncoder(ensure_ascii=False).encode


def json_line(row: Row) -> str:
    """Return an event as one line of JSON, with the body exactly as it was hashed."""
    try:
        json.loads(row.body)
        body = row.body
    except ValueError:  # a damaged body is shown as the text that it is
        body = _quoted(row.body)
    return (
        f'{{"seq":{row.seq},"campaign":{_quoted(row.campaign)},"at":{_quoted(row.at)},"type":{_quoted(row.type)},'
        f'"actor":{_quoted(row.actor)},"body":{body},"hash":{_quoted(row.hash)}}}'
    )


def write(rows: Iterable[Row], file: TextIO, format_: Format) -> int:
    """Write events to a file and return how many there were; CSV begins with the names of the columns.

    In CSV, a text that a spreadsheet would take for a formula has an apostrophe before it.
    """
    count = 0
    if format_ == "jsonl":
        for count, row in enumerate(rows, 1):  # noqa: B007 - counted for the answer
            file.write(json_line(row) + "\n")
        return count
    writer = csv.writer(file, lineterminator="\n")
    names = [field.name for field in fields(Row)]
    writer.writerow(names)
    for count, row in enumerate(rows, 1):  # noqa: B007 - counted for the answer
        writer.writerow([csv_cell(getattr(row, name)) for name in names])
    return count


def table(rows: Iterable[Row]) -> Table:
    """Return a table for the terminal; a body is cut to the width that is left."""
    made = Table(box=None, pad_edge=False, expand=True)
    made.add_column("time (UTC)", no_wrap=True)
    made.add_column("event", justify="right", no_wrap=True)
    for name in ("campaign", "type", "actor"):
        made.add_column(name, no_wrap=True, overflow="ellipsis", max_width=_WIDEST)
    made.add_column("body", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        time = row.at[:19].replace("T", " ")
        made.add_row(
            *(Text(_printable(cell)) for cell in (time, str(row.seq), row.campaign, row.type, row.actor, row.body))
        )
    return made


def _printable(text: str) -> str:
    """Keep what the terminal would obey from reaching it."""
    return "".join(_characters(text))


def _characters(text: str) -> Iterator[str]:
    for character in text:
        yield character if character.isprintable() else "\N{REPLACEMENT CHARACTER}"
