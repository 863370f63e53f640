"""Every defect of docs/faults.md names the tests that keep it away, and they exist."""

import ast
import re
from functools import cache

import pytest

from tests.docs.documents import ROOT

PAGE = (ROOT / "docs" / "faults.md").read_text()
ROWS = [line for line in PAGE.splitlines() if line.startswith("|") and "---" not in line][1:]
TEST = re.compile(r'(tests/[\w/]+\.py)(?:::(\w+))?(?: -k ("[^"]+"|\w+))?')


@cache
def names_in(file):
    """The tests of a file, and the words of what they are parametrised with."""
    tree = ast.parse((ROOT / file).read_text())
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [node.name for node in found if node.name.startswith("test_")]


def cells(row):
    return [cell.strip() for cell in row.strip("|").split(" | ")]


def test_every_row_has_a_sentence_since_when_and_a_test():
    assert len(ROWS) > 80
    for row in ROWS:
        assert len(cells(row)) == 3, row
        assert TEST.search(cells(row)[2]), row


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_the_tests_that_a_row_names_exist(row):
    named = TEST.findall(cells(row)[2])
    files = [file for file, _, _ in named]
    assert all((ROOT / file).is_file() for file in files), files
    for file, name, words in named:
        assert not name or name in names_in(file), f"{file} has no {name}"
        for word in re.split(" or ", words.strip('"')) if words else ():
            everywhere = [one for each in files for one in names_in(each)]
            assert any(word in one for one in everywhere), f"no test of {files} has {word!r} in its name"
