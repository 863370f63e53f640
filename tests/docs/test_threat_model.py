"""Every threat of docs/threat-model.md has its tests by name, and they exist."""

import ast
import re

import pytest

from tests.docs.documents import ROOT

PAGE = (ROOT / "docs" / "threat-model.md").read_text()
NAMED = sorted(set(re.findall(r"tests/[\w/]+\.py::\w+", PAGE)))
TABLES = [part.partition("\n## ")[0] for part in PAGE.split("\n| threat |")[1:]]
ROWS = [line for table in TABLES for line in table.splitlines()[2:] if line.startswith("|")]


def functions_of(file):
    found = ast.walk(ast.parse((ROOT / file).read_text()))
    return {node.name for node in found if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("node", NAMED)
def test_a_test_that_the_threat_model_names_exists(node):
    file, _, name = node.partition("::")
    assert name.startswith("test_")
    assert name in functions_of(file)


def test_every_threat_names_a_test():
    assert len(ROWS) > 25
    assert [row for row in ROWS if not re.search(r"tests/[\w/]+\.py::test_\w+ ?[,|]", row)] == []
