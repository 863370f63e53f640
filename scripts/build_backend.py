"""Builds wheel and sdist to the same bytes from the same sources, with the bill of materials in the wheel (PEP 770).

pip, build and uv call it by pyproject.toml. It is setuptools' own backend; afterwards the archives are written anew:
entries sorted, every time that of SOURCE_DATE_EPOCH (else 1980, where zip begins), no owner, and RECORD made anew.
"""

import base64
import gzip
import hashlib
import io
import os
import tarfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (  # noqa: F401 - what an installer asks of a backend
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = Path(__file__).parents[1]
SBOM = ROOT / "locks" / "sbom.cdx.json"
_FIRST = 315_532_800  # 1980: a zip knows nothing before
_MODE = 0o644
_PROGRAM_MODE = 0o755


def build_wheel(directory: str, settings: Any = None, metadata: str | None = None) -> str:
    """Build the wheel; its name."""
    name = build_meta.build_wheel(directory, settings, metadata)
    _seal(Path(directory) / name)
    return name


def build_sdist(directory: str, settings: Any = None) -> str:
    """Build the archive of sources; its name."""
    name = build_meta.build_sdist(directory, settings)
    _settle(Path(directory) / name)
    return name


def _moment() -> int:
    return max(_FIRST, int(os.environ.get("SOURCE_DATE_EPOCH", _FIRST)))


def _seal(wheel: Path) -> None:
    """Add the bill of materials, list every file with its hash, and write the archive anew."""
    with zipfile.ZipFile(wheel) as archive:
        content = {info.filename: archive.read(info) for info in archive.infolist() if not info.is_dir()}
        programs = {info.filename for info in archive.infolist() if info.external_attr >> 16 & 0o100}
    (record,) = [name for name in content if name.endswith(".dist-info/RECORD")]
    del content[record]
    content[f"{record.removesuffix('RECORD')}sboms/{SBOM.name}"] = SBOM.read_bytes()
    lines = [f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in sorted(content.items())]
    date = datetime.fromtimestamp(_moment(), UTC).timetuple()[:6]
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in [*sorted(content.items()), (record, f"{''.join(lines)}{record},,\n".encode())]:
            info = zipfile.ZipInfo(name, date)
            info.external_attr = (0o100000 | (_PROGRAM_MODE if name in programs else _MODE)) << 16
            info.create_system = 3  # Unix, wherever it is built
            archive.writestr(info, data, zipfile.ZIP_DEFLATED, 9)


def _settle(sdist: Path) -> None:
    """Write an archive of sources anew, without times, owners and the order of a directory."""
    with tarfile.open(sdist) as archive:
        entries = [(entry, archive.extractfile(entry)) for entry in archive.getmembers() if entry.isfile()]
        files = {entry.name: (entry.mode & 0o100, file.read() if file else b"") for entry, file in entries}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, (program, data) in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = len(data), _moment(), _PROGRAM_MODE if program else _MODE
            archive.addfile(info, io.BytesIO(data))
    sdist.write_bytes(gzip.compress(buffer.getvalue(), 9, mtime=_moment()))


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
