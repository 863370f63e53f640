"""Writes locks/sbom.cdx.json and docs/licences.md from the locks and what is installed: python -m scripts.sbom.

The bill of materials (CycloneDX) names what the daemon and its extras consist of; the wheel
carries it under .dist-info/sboms. It has no time and no random number in it: the same locks give the same bytes.
"""

import json
import re
import uuid
from importlib.metadata import Distribution, distribution
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.lock import BASE, BUILD, LOCKS, ROOT, names, pins, project

SBOM = LOCKS / "sbom.cdx.json"
PAGE = ROOT / "docs" / "licences.md"
NOT_INSTALLED = (BUILD, "dev", "fuzz")  # tools that make and check, no part of what runs
# where a package's metadata do not name a licence of the SPDX list: read in its own licence file
READ_BY_HAND = {
    "aiomqtt": "BSD-3-Clause",
    "click-default-group": "BSD-3-Clause",
    "contourpy": "BSD-3-Clause",
    "cycler": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "kiwisolver": "BSD-3-Clause",
    "matplotlib": "PSF-2.0",
    "partd": "BSD-3-Clause",
    "pyserial": "BSD-3-Clause",
    "scipy": "BSD-3-Clause",
    "sqlite-fts4": "Apache-2.0",
    "zict": "BSD-3-Clause",
}
CLASSIFIERS = {
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "GNU Lesser General Public License v3 or later (LGPLv3+)": "LGPL-3.0-or-later",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "ISC License (ISCL)": "ISC",
}
_VAGUE = re.compile("BSD|Apache|Apache 2(.0)?")
_SPDX = re.compile(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*")


def licence(package: str, found: Distribution) -> str:
    """The licence of a package as an SPDX expression."""
    metadata = found.metadata
    if package in READ_BY_HAND:
        return READ_BY_HAND[package]
    if metadata.get("License-Expression"):
        return str(metadata["License-Expression"])
    known = [CLASSIFIERS.get(c.rpartition(" :: ")[2]) for c in metadata.get_all("Classifier") or [] if "License" in c]
    said = str(metadata.get("License") or "").strip()
    if _SPDX.fullmatch(said) and not _VAGUE.fullmatch(said):
        return said
    if known and all(known):
        return " OR ".join(sorted({one for one in known if one}))
    raise SystemExit(
        f"{package} does not name its licence ({said[:60]!r}, {known}): read it and put it into READ_BY_HAND"
    )


def where() -> dict[str, list[str]]:
    """Each package of an installation, and the locks that have it."""
    found: dict[str, list[str]] = {}
    for name in names():
        if name not in NOT_INSTALLED:
            for package in pins(name):
                found.setdefault(package, []).append(name)
    return dict(sorted(found.items()))


def versions() -> dict[str, str]:
    """Of every package of an installation."""
    return {package: pins(locks[0])[package] for package, locks in where().items()}


def installed(package: str, version: str) -> Distribution:
    """A package in this environment, with the version of the lock."""
    found = distribution(package)
    if found.version != version:
        raise SystemExit(f"{package} {found.version} is installed, the lock has {version}: run `make clean test` first")
    return found


def needs(found: Distribution, known: dict[str, str]) -> list[str]:
    """The packages that one needs, of those that are known."""
    wanted = [Requirement(text) for text in found.requires or []]
    chosen = {canonicalize_name(one.name) for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})}
    return sorted(purl(name, known[name]) for name in chosen if name in known)


def purl(package: str, version: str) -> str:
    """A package's address in bills of materials."""
    return f"pkg:pypi/{package}@{version}"


def bill() -> dict[str, Any]:
    """The bill of materials."""
    table = project()["project"]
    us = purl(table["name"], table["version"])
    known, locks = versions(), where()
    found = {package: installed(package, version) for package, version in known.items()}
    components = [
        {
            "type": "library",
            "bom-ref": purl(package, version),
            "name": package,
            "version": version,
            "purl": purl(package, version),
            "scope": "required" if BASE in locks[package] else "optional",
            "licenses": [{"expression": licence(package, found[package])}],
            "properties": [{"name": "process-tuner:lock", "value": lock} for lock in locks[package]],
        }
        for package, version in known.items()
    ]
    direct = [canonicalize_name(Requirement(text).name) for text in table["dependencies"]]
    graph = [{"ref": us, "dependsOn": sorted(purl(name, known[name]) for name in direct)}]
    graph += [{"ref": purl(name, version), "dependsOn": needs(found[name], known)} for name, version in known.items()]
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": us,
                "name": table["name"],
                "version": table["version"],
                "purl": us,
                "licenses": [{"expression": table["license"]}],
            }
        },
        "components": components,
        "dependencies": graph,
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {**content, "serialNumber": f"urn:uuid:{number}"}


def page(content: dict[str, Any]) -> str:
    """The page of licences."""
    rows = [
        f"| {one['name']} | {one['version']} | {one['licenses'][0]['expression']} | "
        f"{', '.join(entry['value'] for entry in one['properties'])} |\n"
        for one in content["components"]
    ]
    return (
        "# Licences\n\n"
        "<!-- made by python -m scripts.sbom -->\n"
        "tuner itself is under the MIT licence (LICENSE). Its wheel contains no code of others: the packages below\n"
        "are installed beside it, each with the text of its licence in its own `.dist-info`. Whoever hands on an\n"
        "image or a disk with all of it hands on those texts too. Under a licence that asks for more than that:\n"
        "`asyncua` (LGPL; only with the extra `opcua`), imported as it is and replaceable by another version of it.\n\n"
        "| package | version | licence | lock |\n|---|---|---|---|\n" + "".join(rows)
    )


def main() -> None:
    """Write both."""
    content = bill()
    SBOM.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(content))


if __name__ == "__main__":
    main()
