"""Hashes that leave the process are XXH64, whatever the length, alignment and seed."""

import random

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.hashing import SECOND_SEED, hash64, hash128, hash_spans
from text_strategies import raw_strings, strings


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
    hashes = hash128(strings("one", None, "zwei"))
    assert hashes.tolist() == [[xxh64(t), xxh64(t, SECOND_SEED)] for t in ("one", "", "zwei")]


def test_spans_hash_as_the_text_they_hold():
    spans = np.array([[1, 9, 0, 3], [0, 9, 1, 1], [1, 9, 2, 4], [0, 9, 0, 3]])
    wanted = [xxh64(piece, 5) for piece in ("zwe", "", "ei", "one")]
    assert hash_spans(strings("other", "one", "zwei")[1:], spans, 5).tolist() == wanted
    assert hash_spans(strings(), spans[:0]).tolist() == []


@pytest.mark.parametrize("span", [[0, 0, 4], [0, -1, 2], [0, 2, 1], [1, 0, 0], [-1, 0, 1]])
def test_refuses_spans_outside_their_document(span):
    with pytest.raises(ValueError, match="within its document"):
        hash_spans(strings("one"), np.array([span]))
