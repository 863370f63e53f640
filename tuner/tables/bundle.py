"""One file for support: a campaign's events without secrets, logs, versions and the doctor's findings."""

import io
import json
import platform
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from tuner.basics.files import whole_file
from tuner.errors import TunerError
from tuner.journal.export import json_line
from tuner.journal.records import Row

FORMAT = 1
LEFT_OUT = "(left out)"
LARGEST_BYTES = 200_000_000  # of one file in a bundle: what a stranger sends is not unpacked without end
LAST_LOG_BYTES = 1_000_000
EVENTS, MANIFEST = "events.jsonl", "manifest.json"
# what zipfile, zlib and json raise for archives that are not as they should be
_DAMAGE = (ValueError, AttributeError, KeyError, RuntimeError, EOFError, zlib.error)
_SECRET = re.compile(r"password|secret|token|passphrase|credential|api_?key|private", re.IGNORECASE)
_PLACE = re.compile(r"_(file|env|variable)$")  # where a secret is, not the secret itself
_TABLES = frozenset({"environment", "headers"})  # whatever is in them may be one


class BundleError(TunerError):
    """A file is no bundle, or not one of this version."""


def without_secrets(value: Any, key: str = "") -> Any:
    """Plain data with every value left out that its key calls a secret, and passwords in addresses."""
    if isinstance(value, Mapping):
        hidden = key in _TABLES
        return {name: LEFT_OUT if hidden else without_secrets(one, name) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(one, key) for one in value]
    if _SECRET.search(key) and not _PLACE.search(key) and value not in (None, "", False):
        return LEFT_OUT
    return re.sub(r"(\w+://[^/:@\s]+):[^/@\s]+@", rf"\1:{LEFT_OUT}@", value) if isinstance(value, str) else value


def clean(row: Row) -> Row:
    """An event without secrets; only its terms can have some."""
    if row.type not in ("campaign_created", "terms_changed"):
        return row
    return replace(row, body=json.dumps(without_secrets(json.loads(row.body))))


def write(target: Path, campaign: str, rows: Sequence[Row], made: str, doctor: str, logs: Sequence[Path]) -> None:
    """Write a bundle."""
    cleaned = [clean(row) for row in rows]
    manifest = {
        "format": FORMAT,
        "campaign": campaign,
        "made": made,
        "events": len(rows),
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": dict(sorted({one.name: one.version for one in distributions()}.items())),
        "note": "values that a key calls a secret are left out, so that the hashes of these events do not fit them",
    }
    terms: dict[str, Any] = next(
        (json.loads(row.body)["terms"] for row in reversed(cleaned) if "terms" in json.loads(row.body)), {}
    )
    with whole_file(target) as binary, zipfile.ZipFile(binary, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr(MANIFEST, json.dumps(manifest, indent=1))
        bundle.writestr("terms.json", json.dumps(terms, indent=1, ensure_ascii=False))
        bundle.writestr(EVENTS, "".join(json_line(row) + "\n" for row in cleaned))
        bundle.writestr("doctor.txt", doctor)
        for file in logs:
            bundle.writestr(f"logs/{file.name}", _last(file))


def _last(file: Path) -> bytes:
    """The end of a log, whole lines."""
    with file.open("rb") as log:
        log.seek(0, io.SEEK_END)
        size = log.tell()
        log.seek(max(0, size - LAST_LOG_BYTES))
        data = log.read()
    return data if size <= LAST_LOG_BYTES else data.partition(b"\n")[2]


def read(path: Path) -> Iterator[Row]:
    """The events of a bundle; nothing of it is written anywhere.

    Raises:
        BundleError: It is none.
    """
    try:
        with zipfile.ZipFile(path) as bundle:
            known = {info.filename: info for info in bundle.infolist()}
            if not {MANIFEST, EVENTS} <= known.keys():
                raise BundleError(f"{path} is no bundle of `tuner bundle`")
            if max(known[MANIFEST].file_size, known[EVENTS].file_size) > LARGEST_BYTES:
                raise BundleError(f"{path} has more than {LARGEST_BYTES} bytes of events")
            version = json.loads(bundle.read(MANIFEST)).get("format")
            if version != FORMAT:
                raise BundleError(f"{path} is a bundle of format {version}, this tuner reads format {FORMAT}")
            lines = bundle.read(EVENTS).decode().splitlines()
    except (OSError, zipfile.BadZipFile) as error:
        raise BundleError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except _DAMAGE as error:
        raise BundleError(f"{path} is damaged: {str(error) or type(error).__name__}") from None
    for number, line in enumerate(lines, 1):
        try:
            told = json.loads(line)
            body = json.dumps(told.pop("body"))
            row = Row(**told, body=body)
            if not isinstance(row.seq, int) or not all(isinstance(one, str) for one in astuple(row)[1:]):
                raise TypeError("a value of another type")  # noqa: TRY301 - like the others
            yield row
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise BundleError(f"{path}: line {number} of {EVENTS} is damaged: {error}") from None
