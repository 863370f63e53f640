import pytest

from tests.faults.fuzz_parsers import CORPUS, TARGETS


def test_every_target_has_inputs_to_begin_with():
    assert {path.name for path in CORPUS.iterdir()} == TARGETS.keys()


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_kept_is_read_or_refused_with_the_parsers_own_error(target):
    kept = list((CORPUS / target).iterdir())
    assert kept
    for path in kept:
        try:
            TARGETS[target](path.read_bytes())
        except Exception as error:
            error.add_note(f"by {path}")
            raise
