"""What a table is: columns with a type, a unit and a meaning, and rows of plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "whole", "number", "yes/no", "time"]
Cell = object  # str, int, float, bool, datetime in UTC, or None


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: As it stands in the first row.
        kind: What its cells are; a cell may always be empty.
        meaning: One sentence.
        unit: Of its numbers, if they have one.
    """

    name: str
    kind: Kind
    meaning: str
    unit: str = ""


@dataclass(frozen=True)
class Table:
    """A name, columns, and rows that have a cell for each column."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)


def table(name: str, columns: Sequence[Column], rows: Sequence[Mapping[str, Cell]]) -> Table:
    """A table of rows that are told by the names of the columns; what is missing is empty."""
    return Table(name, tuple(columns), tuple(tuple(row.get(column.name) for column in columns) for row in rows))


_ABOUT = (
    Column("table", "text", "name of the table"),
    Column("column", "text", "name of the column"),
    Column("type", "text", "text, whole, number, yes/no, or time (UTC)"),
    Column("unit", "text", "unit of its numbers"),
    Column("meaning", "text", "what it says"),
)


def about(tables: Sequence[Table]) -> Table:
    """The table `columns`: what every column of the others means, and its unit."""
    rows = [
        {"table": one.name, "column": c.name, "type": c.kind, "unit": c.unit, "meaning": c.meaning}
        for one in tables
        for c in one.columns
    ]
    return table("columns", _ABOUT, rows)
