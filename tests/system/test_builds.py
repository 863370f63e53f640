"""Wheel and sdist are the same bytes whoever builds them, wherever and whenever, with the same compiler."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

from tests.docs.documents import ROOT

BUILD = """
import os, sys
sys.path.insert(0, "scripts")
import build_backend
os.mkdir("out")
print(build_backend.build_sdist("out"), build_backend.build_wheel("out"), file=sys.stderr)
"""
MOMENT = "1700000000"


def built(sources, there, touched_s, umask):
    """Both archives, built in a copy of the sources with other times and rights."""
    source = shutil.copytree(sources, there)
    for path in source.rglob("*"):
        os.utime(path, (touched_s, touched_s))
    done = subprocess.run(
        [sys.executable, "-c", BUILD],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": MOMENT},
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return sorted((source / "out").iterdir())


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    there = tmp_path_factory.mktemp("builds")
    ignored = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "*.so", "__pycache__", "logs", "screens")
    # once: somebody may be working in the checkout meanwhile
    sources = shutil.copytree(ROOT, there / "sources", ignore=ignored)
    return (
        built(sources, there / "one", 1_000_000_000, 0o022),
        built(sources, there / "another-place", 1_500_000_000, 0o077),
    )


@pytest.mark.slow
def test_two_builds_at_two_times_in_two_places_are_the_same_bytes(builds):
    one, two = builds
    assert [path.name for path in one] == [path.name for path in two]
    assert len(one) == 2
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


@pytest.mark.slow
def test_the_wheel_has_the_bill_of_materials_and_a_true_record(builds):
    (wheel,) = [path for path in builds[0] if path.suffix == ".whl"]
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (bill,) = [name for name in names if ".dist-info/sboms/" in name]
        assert json.loads(archive.read(bill))["bomFormat"] == "CycloneDX"
        record = names[-1]
        assert record.endswith(".dist-info/RECORD")
        rows = [line.rsplit(",", 2) for line in archive.read(record).decode().splitlines()]
        assert [row[0] for row in rows] == names
        for name, digest, size in rows[:-1]:
            data = archive.read(name)
            found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={found}", len(data))


@pytest.mark.slow
def test_the_sources_can_be_built_from_their_archive(builds, tmp_path):
    (sdist,) = [path for path in builds[0] if path.suffix == ".gz"]
    (wheel,) = [path for path in builds[0] if path.suffix == ".whl"]
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    command = [sys.executable, "-c", BUILD]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": MOMENT}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (source / "out" / wheel.name).read_bytes() == wheel.read_bytes()
