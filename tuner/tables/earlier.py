"""Reads trials and judgments of an earlier campaign from the tables that `tuner export` writes, or from like ones."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from pydantic import ValidationError

from tuner.basics.files import csv_cell
from tuner.basics.text import listed, shown
from tuner.basics.vocabulary import Stage
from tuner.campaign.earlier import DISCOUNT, EarlierJudgment, EarlierTrial, ImportEarlier
from tuner.campaign.importing import one_line
from tuner.campaign.terms import Terms
from tuner.config.campaign import Earlier
from tuner.core.optimizer.records import Memory
from tuner.errors import TunerError
from tuner.tables.campaign_tables import MEASURED, SETTING
from tuner.tables.formats import NAMES, format_of
from tuner.tables.table import Cell

Row = Mapping[str, Cell]
T = TypeVar("T", bound=Sized)
LARGEST_BYTES = 200_000_000  # of one file, also unpacked: what a stranger sends is not read without end
MOST_CELLS = 2_000_000  # of one table, also empty ones: a few bytes can stand for millions of them
_BATCH = 1000  # rows
_NEEDED = ("trials", "judgments", "events")
_YES, _NO = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0"})
_CLOSED = frozenset({Stage.DONE, Stage.REJECTED, Stage.DROPPED})


class NotReadError(TunerError):
    """The tables cannot be read as those of a campaign; nothing was imported."""

    exit_code: ClassVar[int] = 2


def is_file(source: Path) -> bool:
    """Whether a source is a file or a directory of tables, rather than the name of a campaign."""
    return len(source.parts) > 1 or source.suffix.removeprefix(".").lower() in NAMES or source.exists()


def configured(earlier: Earlier, directory: Path, terms: Terms) -> ImportEarlier | None:
    """What the table [campaign.earlier] of a file in a directory names, if that is no other campaign."""
    path = directory / Path(earlier.source).expanduser()
    if not is_file(Path(earlier.source)) and not path.exists():
        return None
    return read_earlier(path, {one.name: one.kind for one in terms.parameters}, earlier.discount)


def read_earlier(path: Path, kinds: Mapping[str, str], discount: float = DISCOUNT) -> ImportEarlier:
    """What the tables of a file or a directory tell, for a campaign with parameters of these kinds.

    Raises:
        NotReadError: They cannot be read, or are no such tables; the sentence says what to do.
    """
    tables = _tables(path)
    if not tables.get("trials"):
        raise NotReadError(f"{path}: there is no table trials with a row in it: write one with `tuner export`")
    numbers = [_number(row.get("trial"), place, f"{path}: trials") for place, row in enumerate(tables["trials"], 1)]
    if len(set(numbers)) != len(numbers):
        raise NotReadError(f"{path}: the table trials has a trial twice: each has a number of its own")
    while tables["trials"] and not _closed(tables["trials"][-1]):  # it is still on its road there
        tables["trials"], numbers = tables["trials"][:-1], numbers[:-1]
    if not numbers:
        raise NotReadError(f"{path}: no trial of it has an outcome yet")
    place = {number: at for at, number in enumerate(numbers, 1)}
    try:
        return ImportEarlier(
            source=one_line(f"file {path.name}"),
            trials=tuple(
                _trial(row, kinds, place, f"{path}: trial {n}", own=discount == 1.0)
                for n, row in zip(place, tables["trials"], strict=True)
            ),
            judgments=tuple(_judgment(row, place, path) for row in tables.get("judgments", ()) if _counts(row)),
            discount=discount,
            model=_memory(tables.get("events", ())) if numbers == list(place.values()) else None,
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise NotReadError(f"{path}: {where}: {first['msg']}") from None


def _tables(path: Path) -> dict[str, list[Row]]:
    if not path.exists():
        raise NotReadError(f"{path}: there is no such file or directory")
    try:
        if path.is_dir():
            return {
                name: rows
                for name in _NEEDED
                for ending in ("csv", "parquet")
                if (file := path / f"{name}.{ending}").is_file()
                for rows in _read(file, ending).values()
            }
        return _read(path, format_of(path, None))
    except TunerError:
        raise
    except Exception as error:  # noqa: BLE001 - a stranger's file, read by others' libraries: each has its own errors
        raise NotReadError(f"{path} cannot be read: {str(error) or type(error).__name__}") from None


def _read(file: Path, kind: str) -> dict[str, list[Row]]:
    if file.stat().st_size > LARGEST_BYTES:
        raise ValueError(f"it has more than {LARGEST_BYTES} bytes")
    if kind == "json":
        return _json(file)
    if kind == "xlsx":
        return _xlsx(file)
    rows = _csv(file) if kind == "csv" else _parquet(file)
    name = file.stem if file.stem in _NEEDED else "trials"
    return {name: rows}


def _json(file: Path) -> dict[str, list[Row]]:
    made = json.loads(file.read_text("utf-8"))
    if not isinstance(made, dict) or not all(
        isinstance(rows, list) and all(isinstance(row, dict) for row in rows) for rows in made.values()
    ):
        raise ValueError("it is no object of tables, each a list of rows")
    return made


def _csv(file: Path) -> list[Row]:
    with file.open(newline="", encoding="utf-8-sig") as text:
        rows = _few(csv.DictReader(text))
        return [{name: _unquoted(cell) for name, cell in row.items() if name} for row in rows]


def _few(rows: Iterable[T]) -> Iterator[T]:
    """The rows, as long as they are not too many."""
    cells = 0
    for row in rows:
        cells += 1 + len(row)
        if cells > MOST_CELLS:
            raise ValueError(f"it has more than {MOST_CELLS} cells")
        yield row


def _unquoted(cell: Any) -> Cell:
    """A text without the apostrophe that keeps a spreadsheet from taking it for a formula; None if it is empty."""
    text = cell if isinstance(cell, str) else ""
    return (text[1:] if text[:1] == "'" and csv_cell(text[1:]) == text else text) or None


def _parquet(file: Path) -> list[Row]:
    from pyarrow import parquet  # type: ignore[import-untyped,unused-ignore]

    rows: list[Row] = []
    size = 0
    with parquet.ParquetFile(file) as table:
        if table.metadata.num_rows * max(1, table.metadata.num_columns) > MOST_CELLS:
            raise ValueError(f"it has more than {MOST_CELLS} cells")
        at_once = max(1, min(_BATCH, LARGEST_BYTES // max(1, file.stat().st_size)))  # one text may stand in every row
        for batch in table.iter_batches(batch_size=at_once):
            size += sum(_plain(column).nbytes for column in batch.columns)
            if size > LARGEST_BYTES:
                raise ValueError(f"it has more than {LARGEST_BYTES} bytes when it is unpacked")
            rows += cast("list[Row]", batch.to_pylist())
    return rows


def _plain(column: Any) -> Any:
    """A column with every text where it stands, as it will be in memory."""
    return column.dictionary_decode() if hasattr(column, "dictionary_decode") else column


def _xlsx(file: Path) -> dict[str, list[Row]]:
    from zipfile import ZipFile

    from openpyxl import load_workbook

    with ZipFile(file) as packed:
        if sum(info.file_size for info in packed.infolist()) > LARGEST_BYTES:
            raise ValueError(f"it has more than {LARGEST_BYTES} bytes when it is unpacked")
    book = load_workbook(file, read_only=True, data_only=True)
    tables: dict[str, list[Row]] = {}
    for name in _NEEDED:
        if name in book.sheetnames:
            head, *rows = _few(book[name].iter_rows(values_only=True))
            tables[name] = [dict(zip(map(str, head), row, strict=True)) for row in rows]
    book.close()
    return tables


def _closed(row: Row) -> bool:
    stage = row.get("stage")
    return stage in _CLOSED if stage else row.get("valid") is not None


def _trial(row: Row, kinds: Mapping[str, str], place: Mapping[int, int], where: str, *, own: bool) -> EarlierTrial:
    setting = {name.removeprefix(SETTING): cell for name, cell in row.items() if name.startswith(SETTING)}
    if not setting:
        raise NotReadError(f"{where}: there is no column {SETTING}NAME for a parameter; there are {listed(list(row))}")
    empty = [name for name, cell in setting.items() if cell is None]
    if empty:
        raise NotReadError(f"{where}: {SETTING}{empty[0]} is empty")
    known = {name: _text(row.get(name)) for name in ("kind", "source", "tag", "lot") if row.get(name) is not None}
    excluded, photo = row.get("excluded"), row.get("photo")
    measured = {name.removeprefix(MEASURED): cell for name, cell in row.items() if name.startswith(MEASURED)}
    return EarlierTrial(
        setting={name: _value(cell, kinds.get(name, "")) for name, cell in setting.items()},
        valid=_flag(row.get("valid"), where),
        stage=str(row.get("stage") or "done") if _closed(row) else "dropped",  # type: ignore[arg-type]
        excluded=None if excluded is None else one_line(str(excluded)),
        outcome_reason=one_line(_text(row.get("outcome_reason"))),
        opponent=_other(row.get("opponent"), place, where),
        repeats=_other(row.get("repeats"), place, where),
        measurements={
            name: _measured(cell, name, where) for name, cell in measured.items() if own and cell is not None
        },
        photo=str(photo) if own and photo is not None else None,
        **known,  # type: ignore[arg-type]
    )


def _judgment(row: Row, place: Mapping[int, int], path: Path) -> EarlierJudgment:
    where = f"{path}: judgment {row.get('judgment') or ''}".rstrip()
    left, right = (_number(row.get(side), None, where) for side in ("left", "right"))
    winner = row.get("winner")
    numbers = [left, right, *([] if winner is None else [_number(winner, None, where)])]
    for number in numbers:
        if number not in place:
            raise NotReadError(f"{where} speaks of trial {number}, which the table trials does not have")
    left, right, *won = (place[number] for number in numbers)
    return EarlierJudgment(
        left=left,
        right=right,
        winner=won[0] if won else None,
        clearly=_flag(row.get("clearly"), where),
        operator=one_line(_text(row.get("operator")))[:64],
    )


def _counts(row: Row) -> bool:
    counts = row.get("counts")
    return row.get("retracted") is None if counts is None else bool(_flag(counts, "judgments: counts"))


def _memory(events: Sequence[Row]) -> Memory | None:
    """What the model remembered last; None: the table was cut or is not there, and the model is fitted anew."""
    for row in reversed(events):
        try:
            told = json.loads(str(row.get("body") or "{}")).get("model")
            if told is not None:
                return Memory.from_json(told)
        except (ValueError, TypeError, AttributeError):
            return None
    return None


def _value(cell: Cell, kind: str) -> float | int | str:
    """A cell as the value of a parameter of this kind; what is none stays as it is, and is refused with a sentence."""
    if kind == "choice" or isinstance(cell, bool):
        return _text(cell)
    try:
        number = float(str(cell))
    except ValueError:
        return _text(cell)
    return int(number) if kind == "integer" and number.is_integer() else number


def _measured(cell: Cell, name: str, where: str) -> float:
    try:
        return float(str(cell))
    except ValueError:
        raise NotReadError(f"{where}: {MEASURED}{name} must be a number, not {shown(cell)}") from None


def _other(cell: Cell, place: Mapping[int, int], where: str) -> int | None:
    """Another trial; None too if its row is not there any more."""
    return None if cell is None else place.get(_number(cell, None, where))


def _number(cell: Cell, otherwise: int | None, where: str) -> int:
    try:
        number = float(str(cell)) if cell is not None else otherwise
        if number is not None and number == int(number) and number >= 1:
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise NotReadError(f"{where}: the number of a trial is 1 or more, not {shown(cell)}")


def _flag(cell: Cell, where: str) -> bool | None:
    word = str(cell).strip().lower()
    if cell is None or word in _YES | _NO:
        return None if cell is None else word in _YES
    raise NotReadError(f"{where}: allowed are true and false, not {shown(cell)}")


def _text(cell: Cell) -> str:
    return "" if cell is None else str(cell)
