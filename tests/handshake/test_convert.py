"""How values become a machine's and back: tags as numbers, bits of words."""

import itertools

import pytest

from tuner.adapter import LinkError, RefusedError
from tuner.handshake import tag_number, with_bit
from tuner.handshake.convert import to_number
from tuner.handshake.places import Measurement


@pytest.mark.parametrize("bits", [16, 32])
def test_a_tag_as_number_fits_its_place_and_differs_from_the_part_before(bits):
    for series in ("abcdef", "3f9a1c", "zzzzzz"):
        numbers = [tag_number(f"{series}-P{number}", bits) for number in range(1, 2000)]
        assert all(0 < number < 2 ** (bits - 1) for number in numbers)
        assert all(one != other for one, other in itertools.pairwise(numbers))


def test_one_bit_of_a_word_changes_and_no_other():
    assert with_bit("start", 0b1010, 0, True) == 0b1011
    assert with_bit("start", 0b1010, 3, False) == 0b0010


@pytest.mark.parametrize(("word", "raw", "error"), [(True, 1, LinkError), ("7", 1, LinkError), (7, 2, RefusedError)])
def test_what_has_no_bits_or_is_none_is_told(word, raw, error):
    with pytest.raises(error):
        with_bit("start", word, 0, raw)


@pytest.mark.parametrize("raw", [10**4000, -(10**4000), float("inf"), 1e308])
def test_a_number_that_is_too_large_to_compute_with_is_told(raw):
    with pytest.raises(LinkError, match=r"width reads .* not a finite number"):
        to_number("width", Measurement(scale=1e3), raw)
