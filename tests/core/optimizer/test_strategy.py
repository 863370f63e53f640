"""One place for the numbers of the strategy."""

import ast
import dataclasses
import inspect
from pathlib import Path

import pytest

from tests.docs.documents import ROOT
from tuner.core.optimizer import strategy
from tuner.core.optimizer.strategy import (
    Acquiring,
    Asking,
    Ground,
    Improving,
    Levels,
    Refitting,
    Search,
    Strategy,
    Telling,
)

CORE = Path(strategy.__file__).parent
GROUPS = (Search, Levels, Ground, Acquiring, Improving, Refitting, Telling, Asking, Strategy)

# modules that decide what is proposed, asked and said
OPTIMIZER = sorted(file.stem for file in CORE.glob("*.py") if file.stem not in ("__init__", "records", "strategy"))

# limits and tolerances of algorithms, which do not choose their results, and numbers of formulas
TOLERANCES = {
    "acquisition": {"_LOG_ROOT", "_LEAST"},
    "changes": {"SAME"},
    "dueling": {"_ROOT", "_BUMP_HEIGHTS", "_BUMP_WIDTHS"},
    "surface": {"LEAST_VARIANCE"},
}


def numeric(node):
    """Whether an expression is made of numbers alone, such as 0.5 * np.log(2.0) or (50, 100)."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    numbers = [n for n in ast.walk(node) if isinstance(n, ast.Constant) and type(n.value) in (int, float)]
    texts = [n for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return bool(numbers) and not texts and names <= {"np", "math"}


def numbers_of(module):
    """Names that a module gives to numbers."""
    found = set()
    for node in ast.parse((CORE / f"{module}.py").read_text()).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and numeric(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets}
    return found


@pytest.mark.parametrize("module", OPTIMIZER)
def test_a_module_of_the_optimiser_has_no_number_of_its_own(module):
    assert numbers_of(module) == TOLERANCES.get(module, set()), "a number of the strategy belongs into Strategy"


@pytest.mark.parametrize("group", GROUPS)
def test_each_number_is_explained_with_its_source_and_how_sensitive_it_is(group):
    _, _, said = inspect.getdoc(group).partition("Attributes:\n")
    entries = dict(entry.split(":", 1) for entry in said.replace("\n        ", " ").strip().splitlines())
    entries = {name.strip(): text for name, text in entries.items()}
    fields = [f for f in dataclasses.fields(group) if not dataclasses.is_dataclass(f.default)]
    assert {f.name for f in fields} <= set(entries)
    for one in fields:
        sources = ("by hand", "pilots", "the paper", '("')
        assert any(source in entries[one.name] for source in sources), one.name
        known = ("not measured", ":", "no difference", "pilots", "worth", "differ", ";")
        assert any(word in entries[one.name].partition("(")[2] for word in known), one.name


@pytest.mark.parametrize("group", GROUPS)
def test_the_sources_that_are_quoted_are_in_the_experiments(group):
    page = (ROOT / "docs" / "experiments.md").read_text()
    doc = " ".join(inspect.getdoc(group).split())
    quoted = [text for text in doc.split('"')[1::2] if text[0].isupper()]
    assert all(text in page for text in quoted), [text for text in quoted if text not in page]
