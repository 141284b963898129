"""Sketches equal their definitions, and estimate the Jaccard index without bias."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.compile import kernel
from corpusmill.text.sketch import (
    EMPTY,
    band_keys,
    equal_share,
    packed,
    similarity,
    sketch,
    sketch_hashes,
    sketch_m61,
    unequal_lanes,
)

WORD = 2**64 - 1
documents = st.lists(st.lists(st.integers(0, WORD), max_size=12), min_size=1, max_size=4)


def as_arrays(documents) -> tuple[Any, Any]:
    hashes = np.array([x for document in documents for x in document], np.uint64)
    return hashes, np.cumsum([0] + [len(document) for document in documents])


def mix(a, b):
    return (a * b & WORD) ^ (a * b >> 64)


def slow_sketch(shingles, k):
    """The definition: throw after throw until no lane is empty."""
    lanes = [EMPTY] * k
    throw = 0
    while shingles and EMPTY in lanes:
        for x in shingles:
            h = mix(x ^ 0xA0761D6478BD642F, (throw * 0x8EBC6AF09C88C6E3 & WORD) ^ 0xE7037ED1A0B428DB)
            lane = ((h >> 32) * k) >> 32 if throw < k else throw - k
            value = throw << 48 | (h * 0x8EBC6AF09C88C6E3 & WORD) >> 16
            lanes[lane] = min(lanes[lane], value)
        throw += 1
    return lanes


@settings(max_examples=60)
@given(documents, st.integers(1, 20))
def test_equals_its_definition(documents, k):
    assert sketch(*as_arrays(documents), k).tolist() == [slow_sketch(document, k) for document in documents]


@settings(max_examples=60)
@given(documents, st.integers(1, 20))
def test_m61_is_the_least_of_each_hash_function(documents, k):
    random = np.random.RandomState(1)
    a = random.randint(1, 2**61 - 1, dtype=np.uint64, size=(1, k)).ravel().tolist()
    b = random.randint(0, 2**61 - 1, dtype=np.uint64, size=(1, k)).ravel().tolist()
    wanted = [
        [min(((x * a[j] + b[j]) & WORD) % (2**61 - 1) for x in document) if document else EMPTY for j in range(k)]
        for document in documents
    ]
    assert sketch_m61(*as_arrays(documents), k).tolist() == wanted


@settings(max_examples=40)
@given(documents)
def test_order_and_repeats_do_not_matter(documents):
    shuffled = [document[::-1] + document for document in documents]
    assert np.array_equal(sketch(*as_arrays(documents), 8), sketch(*as_arrays(shuffled), 8))


@pytest.mark.parametrize("union", [30, 300])
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_estimates_are_unbiased_and_no_worse_than_independent_permutations(union, share):
    k, pairs = 112, 600
    random = np.random.default_rng(20)
    common, only = round(union * share), (union - round(union * share)) // 2
    hashes = random.integers(0, WORD, (pairs, common + 2 * only), np.uint64, endpoint=True)
    left, right = hashes[:, : common + only], np.delete(hashes, np.s_[common : common + only], axis=1)
    truth = common / (common + 2 * only)
    offsets = np.arange(pairs + 1) * (common + only)
    estimates = similarity(sketch(left.ravel(), offsets, k), sketch(right.ravel(), offsets, k))
    ideal = np.sqrt(truth * (1 - truth) / k)
    assert abs(estimates.mean() - truth) < 4 * ideal / np.sqrt(pairs)
    assert estimates.std() < 1.05 * ideal


def test_band_keys_are_equal_where_all_lanes_of_the_band_are():
    lanes = np.arange(12, dtype=np.uint64).reshape(1, 12).repeat(3, 0)
    lanes[1, 5] += np.uint64(1)  # band 1 of rows 4
    lanes[2, 11] += np.uint64(1)  # left over: 12 lanes make 5 bands of 2
    keys = band_keys(lanes, 3)
    assert (keys[0] == keys[1]).tolist() == [True, False, True]
    assert (band_keys(lanes, 5)[0] == band_keys(lanes, 5)[2]).all()
    assert len(set(band_keys(np.zeros((1, 12), np.uint64), 12)[0].tolist())) == 12


def test_similarity_is_the_share_of_equal_lanes():
    assert similarity(np.array([[1, 2, 3, 4]]), np.array([[1, 2, 3, 5]])).tolist() == [0.75]


def test_a_document_without_shingles_is_empty_in_every_lane():
    assert (sketch(*as_arrays([[], [1]]), 3)[0] == EMPTY).all()


def test_refuses_what_makes_no_sketch():
    with pytest.raises(ValueError, match="32767 lanes, not 0"):
        sketch(*as_arrays([[1]]), 0)
    with pytest.raises(ValueError, match="offsets must not decrease"):
        sketch(np.zeros(1, np.uint64), np.array([0, 2]), 4)
    with pytest.raises(ValueError, match="1 to 4 bands, not 5"):
        band_keys(np.zeros((1, 4), np.uint64), 5)


@given(st.integers(0, 2**32 - 1), st.integers(0, 9), st.integers(1, 130))
def test_hashes_of_sketches_are_sums_of_lanes_times_odd_numbers(seed, documents, lanes):
    sketches = np.random.default_rng(seed).integers(0, 2**16, (documents, lanes)).astype(np.uint16)

    def mixed(x):
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
        return x ^ x >> 31

    factors = [mixed((lane + 1) * 0x9E3779B97F4A7C15 % 2**64) | 1 for lane in range(lanes)]
    slow = [sum(int(value) * factor for value, factor in zip(sketch, factors)) % 2**64 for sketch in sketches]
    assert sketch_hashes(sketches).tolist() == slow


@given(st.integers(0, 2**32), st.integers(1, 40))
def test_packed_lanes_keep_four_bits_of_each_and_are_compared_word_by_word(seed, lanes):
    draw = np.random.default_rng(seed)
    one, other = draw.integers(0, 2**64, (2, 1, lanes), np.uint64)
    other = np.where(draw.random(lanes) < 0.5, one, other)
    words = [packed(side)[0].tolist() for side in (one, other)]
    for side, made in zip((one, other), words):
        whole = sum((lane & 15) << 4 * place for place, lane in enumerate(side[0].tolist()))
        assert made == [whole >> 64 * word & 2**64 - 1 for word in range(-(-lanes // 16))]
    differ = sum((a ^ b) & 15 != 0 for a, b in zip(one[0].tolist(), other[0].tolist()))
    assert _unequal(*(np.array(made, np.uint64) for made in words)) == differ


@kernel
def _unequal(one, other):
    found = np.int64(0)
    for word in range(len(one)):
        found += np.int64(unequal_lanes(one[word], other[word]))
    return found


def test_unequal_lanes_agree_by_four_bits_as_often_as_chance_has_it():
    documents = np.random.default_rng(7).integers(0, 2**64, (400, 112), np.uint64)
    lanes = packed(documents)[:, :, None] >> (4 * np.arange(16, dtype=np.uint64)) & np.uint64(15)
    flat = lanes.reshape(400, 112)
    share = (flat[:200] == flat[200:]).mean()
    assert abs(share - equal_share(0.0)) < 5 * np.sqrt(equal_share(0.0) / (200 * 112))
