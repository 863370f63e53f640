"""Every place that docs/architecture.md names is there: a walk that leads nowhere is worse than none."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.documents import ROOT

PAGE = ROOT / "docs" / "architecture.md"
PLACE = re.compile(r"`((?:tuner|adapters|tests|scripts|configs|docs|examples)/[\w./*-]+?)(?::([\w.]+))?`")


def places() -> list[tuple[str, str]]:
    return sorted({(match[1], match[2] or "") for match in PLACE.finditer(PAGE.read_text())})


@cache
def names_in(file: Path) -> frozenset[str]:
    """Functions, classes, methods and module-level names, as `name` and `Class.name`."""
    found: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        for name in _named(node):
            found.add(name)
        if isinstance(node, ast.ClassDef):
            found.update(f"{node.name}.{name}" for inner in node.body for name in _named(inner))
    return frozenset(found)


def _named(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


@pytest.mark.parametrize(("path", "name"), places())
def test_every_place_named_in_the_architecture_is_there(path, name):
    if "*" in path:
        assert list(ROOT.glob(path)), f"nothing is called {path}"
        return
    file = ROOT / path
    assert file.exists(), f"there is no {path}"
    if name:
        assert name in names_in(file), f"{path} has no {name}"


def test_the_walks_name_functions_and_not_files_only():
    assert sum(bool(name) for _, name in places()) >= 40
