import pytest

from tests.faults.fuzz_parsers import CORPUS, TARGETS

KEPT = [
    pytest.param(path.parent.name, path, id=f"{path.parent.name}-{path.name}") for path in sorted(CORPUS.glob("*/*"))
]


def test_every_target_has_inputs_to_begin_with():
    assert {path.name for path in CORPUS.iterdir()} == TARGETS.keys()
    assert all(list((CORPUS / name).iterdir()) for name in TARGETS)


@pytest.mark.parametrize(("target", "path"), KEPT)
def test_what_was_kept_is_read_or_refused_with_the_parsers_own_error(target, path):
    TARGETS[target](path.read_bytes())
