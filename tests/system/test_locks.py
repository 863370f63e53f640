"""The locks name all that pyproject.toml asks for; the bill of materials and the licences are those of the locks."""

import json
import re
from importlib.metadata import PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts import lock, sbom
from tests.docs.documents import ROOT

ALL = lock.names()


def test_every_extra_has_a_lock_or_a_reason():
    extras = set(lock.project()["project"]["optional-dependencies"])
    assert {path.stem for path in lock.LOCKS.glob("*.txt")} == set(ALL)
    assert set(ALL) == {lock.BUILD, lock.BASE} | extras - lock.UNLOCKED.keys()


@pytest.mark.parametrize("name", ALL)
def test_a_lock_satisfies_what_pyproject_asks_for(name):
    below = {} if name in (lock.BASE, lock.BUILD) else lock.pins(lock.BASE)
    pins = {**below, **lock.pins(name)}
    for text in lock.wanted(name):
        wanted = Requirement(text)
        assert wanted.specifier.contains(pins[canonicalize_name(wanted.name)]), f"{text}: run `make lock`"


@pytest.mark.parametrize("name", ALL)
def test_a_lock_has_all_that_its_packages_need(name):
    below = {} if name in (lock.BASE, lock.BUILD) else lock.pins(lock.BASE)
    pins = {**below, **lock.pins(name)}
    looked = 0
    for package, version in pins.items():
        try:
            found = distribution(package)
        except PackageNotFoundError:
            continue  # of another Python
        if found.version != version:
            continue  # this environment is not from the lock; the one of CI is
        looked += 1
        for text in found.requires or []:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                assert needed.specifier.contains(pins[canonicalize_name(needed.name)]), f"{package} needs {text}"
    assert looked


@pytest.mark.parametrize("name", ALL)
def test_a_lock_names_packages_versions_and_hashes_and_nothing_else(name):
    text = (lock.LOCKS / f"{name}.txt").read_text()
    entry = r"[a-z0-9.-]+==[0-9a-z.+]+( ; [^\\\n]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n"
    assert re.fullmatch(rf"#[^\n]+\n({entry})+", text)


def test_locks_agree_so_that_any_of_them_can_be_installed_together():
    versions = {}
    for name in ALL:
        for package, version in lock.pins(name).items():
            assert versions.setdefault(package, version) == version, package


def test_every_way_of_installing_goes_by_the_locks():
    text = (ROOT / "Makefile").read_text()
    installs = [line.strip() for line in text.splitlines() if re.search(r"(pip|PIP\)).* install ", line)]
    free = [line for line in installs if "LOCKS_OF" not in line and "$(OURSELVES)" not in line]
    # the rivals, and the tool that writes the locks
    assert free == ["$(PIP) install $(TORCH)", '$(PIP) install -e ".[$(EXTRAS),peers]"', '$(PIP) install "uv>=0.9,<1"']
    assert len(installs) > len(free)


def test_the_bill_of_materials_has_exactly_what_the_locks_have():
    bill = json.loads(sbom.SBOM.read_text())
    table = lock.project()["project"]
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    us = bill["metadata"]["component"]
    assert (us["name"], us["version"]) == (table["name"], table["version"]), "run `python -m scripts.sbom`"
    assert {one["name"]: one["version"] for one in bill["components"]} == sbom.versions(), (
        "run `python -m scripts.sbom`"
    )
    references = {us["bom-ref"], *(one["bom-ref"] for one in bill["components"])}
    assert {one["ref"] for one in bill["dependencies"]} == references
    assert {name for one in bill["dependencies"] for name in one["dependsOn"]} <= references


def test_the_page_of_licences_is_made_from_the_bill_of_materials():
    bill = json.loads(sbom.SBOM.read_text())
    assert sbom.PAGE.read_text() == sbom.page(bill), "run `python -m scripts.sbom`"


def test_a_licence_that_asks_for_more_than_to_be_named_is_told_on_the_page():
    bill = json.loads(sbom.SBOM.read_text())
    strict = [one["name"] for one in bill["components"] if "GPL" in one["licenses"][0]["expression"]]
    assert strict == ["asyncua"]
