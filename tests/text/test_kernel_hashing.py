"""Hashes that leave the process are XXH64, whatever the length, alignment and seed."""

import random
import re

import numpy as np
import pytest
import xxhash
from hypothesis import example, given, settings
from hypothesis import strategies as st
from text_strategies import batches, raw_strings, strings

from corpusmill.text.hashing import SECOND_SEED, hash64, hash128, hash_spans, line_hashes, paragraph_hashes


def xxh64(text, seed=0):
    return xxhash.xxh64_intdigest(text.encode() if isinstance(text, str) else text, seed)


@pytest.mark.parametrize("shift", range(9))
def test_equals_the_wheel_at_every_length_and_alignment(shift):
    data = random.Random(5).randbytes(40_000)
    values = [data[i : i + size] for size, i in zip(range(301), range(0, 40_000, 131), strict=False)]
    assert hash64(raw_strings(data[:shift], *values))[1:].tolist() == [xxh64(value) for value in values]


@settings(max_examples=40)
@given(st.binary(max_size=100), st.integers(0, 2**64 - 1))
def test_equals_the_wheel_with_every_seed(value, seed):
    assert hash64(raw_strings(value), seed).tolist() == [xxh64(value, seed)]


def test_a_128_bit_hash_is_two_seeds():
    found = hash128(strings("one", None, "zwei"))
    assert found.tolist() == [[xxh64(t), xxh64(t, SECOND_SEED)] for t in ("one", "", "zwei")]


@settings(max_examples=60)
@given(batches)
@example(["\n \n\n\u3000\n", " a \n\n \n b\n\n\n c", "\n\na", "a\n\n"])
@pytest.mark.parametrize(("pieces", "separator"), [(line_hashes, r"\n"), (paragraph_hashes, r"\n{2,}")])
def test_pieces_are_where_they_are_said_to_be(pieces, separator, batch):
    found = pieces(strings(*batch))
    for d, text in enumerate(batch):
        mine = slice(found.offsets[d], found.offsets[d + 1])
        wanted = [piece.strip() for piece in re.split(separator, text) if piece.strip()]
        raw = text.encode()
        assert [raw[a:b].decode() for a, b in zip(found.start[mine], found.end[mine], strict=True)] == wanted
        assert found.hi[mine].tolist() == [xxh64(piece) for piece in wanted]
        assert found.lo[mine].tolist() == [xxh64(piece, SECOND_SEED) for piece in wanted]
    assert found.offsets[-1] == len(found.hi) and isinstance(found.hi, np.ndarray)


def test_spans_hash_as_the_text_they_hold():
    spans = np.array([[1, 9, 0, 3], [0, 9, 1, 1], [1, 9, 2, 4], [0, 9, 0, 3]])
    wanted = [xxh64(piece, 5) for piece in ("zwe", "", "ei", "one")]
    assert hash_spans(strings("other", "one", "zwei")[1:], spans, 5).tolist() == wanted
    assert hash_spans(strings(), spans[:0]).tolist() == []


@pytest.mark.parametrize("span", [[0, 0, 4], [0, -1, 2], [0, 2, 1], [1, 0, 0], [-1, 0, 1]])
def test_refuses_spans_outside_their_document(span):
    with pytest.raises(ValueError, match="inside its document"):
        hash_spans(strings("one"), np.array([span]))
