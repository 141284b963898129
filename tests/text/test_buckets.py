import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from corpusmill.text.buckets import LEADERS, candidates, distinct, jaccard, scatter, shared, survivors, take_sets

# Few keys, spread over the whole range, so that documents meet and all slices are used.
KEYS = st.sampled_from([0, 1, 7, 2**63, 2**63 + 5, 2**64 - 1, 2**62, 3 * 2**62])


def slow_scatter(keys, slices):
    """The definition: records by partition, documents in order within each."""
    bits = slices.bit_length() - 1
    records = [
        (b * slices + (int(k) >> (64 - bits) if bits else 0), d, int(k))
        for d, row in enumerate(keys)
        for b, k in enumerate(row)
    ]
    return sorted(records, key=lambda record: (record[0], record[1]))


@given(
    keys=st.integers(1, 4).flatmap(
        lambda bands: hnp.arrays(np.uint64, st.tuples(st.integers(0, 12), st.just(bands)), elements=KEYS)
    ),
    slices=st.sampled_from([1, 2, 8]),
)
def test_scatter_sorts_records_by_partition(keys, slices):
    offsets, sorted_keys, rows = scatter(keys, slices)
    partition = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    want = slow_scatter(keys, slices)
    assert list(zip(partition.tolist(), rows.tolist(), sorted_keys.tolist())) == want


def test_scatter_refuses_slices_that_no_top_bits_can_make():
    with pytest.raises(ValueError, match="power of two, got 3"):
        scatter(np.zeros((1, 1), np.uint64), 3)


@given(hnp.arrays(np.uint64, st.integers(0, 30), elements=KEYS))
def test_shared_numbers_the_keys_that_occur_twice(keys):
    bucket, buckets = shared(keys)
    twice = [k for k in dict.fromkeys(keys.tolist()) if (keys == k).sum() > 1]
    assert buckets == len(twice)
    assert bucket.tolist() == [twice.index(k) if k in twice else -1 for k in keys.tolist()]


def slow_candidates(bucket, at, sketches, low, high):
    """The definition, read aloud."""
    leaders: dict[Any, list[int]] = {}
    pairs: list[Any] = []
    for i, b in enumerate(bucket):
        certain = False
        for j in leaders.setdefault(b, []):
            share = float((sketches[at[i]] == sketches[at[j]]).mean())
            if at[i] == at[j]:
                certain = True
                break
            if share >= low:
                pairs.append((j, i, share))
            if share >= high:
                certain = True
                break
        if not certain and len(leaders[b]) < LEADERS:
            leaders[b].append(i)
    return pairs


@given(
    hnp.arrays(np.int32, st.integers(0, 30), elements=st.integers(0, 2)),
    hnp.arrays(np.uint16, (40, 4), elements=st.integers(0, 2)),
    st.sampled_from([(0.25, 0.75), (0.5, 0.5), (0.0, 1.0)]),
)
def test_candidates_are_those_of_the_definition(bucket, sketches, bounds):
    at = np.arange(len(bucket)) % 25  # the last ones are documents that came before
    left, right, share = candidates(bucket, 3, at, sketches, *bounds)
    assert list(zip(left.tolist(), right.tolist(), share.tolist())) == slow_candidates(bucket, at, sketches, *bounds)


def test_a_giant_bucket_takes_linear_time():
    n = 5000
    alike = candidates(np.zeros(n, np.int32), 1, np.arange(n), np.zeros((n, 8), np.uint16), 0.5, 0.9)
    assert len(alike[0]) == n - 1
    unlike = candidates(
        np.zeros(n, np.int32), 1, np.arange(n), np.arange(n * 8, dtype=np.uint16).reshape(n, 8), 0.0, 1.0
    )
    assert len(unlike[0]) <= n * LEADERS


SETS = st.lists(st.lists(st.integers(0, 9), max_size=8), min_size=1, max_size=6)


@given(st.lists(st.lists(st.one_of(KEYS, st.integers(0, 40), st.integers(0, 2**64 - 1)), max_size=60), max_size=5))
def test_distinct_sets_are_sorted_and_taken_by_number(sets):
    offsets = np.cumsum([0] + [len(s) for s in sets])
    hashes, ends = distinct(np.array([x for s in sets for x in s], np.uint64), offsets)
    want = [sorted(set(s)) for s in sets]
    assert [hashes[a:b].tolist() for a, b in itertools.pairwise(ends)] == want
    some = np.arange(0, len(sets), 2)
    places = np.cumsum([1] + [len(want[i]) for i in some])
    out = np.zeros(places[-1], np.uint64)
    take_sets(hashes, ends, some, places, out)
    assert out.tolist() == [0] + [x for i in some for x in want[i]]


@given(SETS, st.data())
def test_jaccard_is_that_of_sets(sets, data):
    offsets = np.cumsum([0] + [len(s) for s in sets])
    hashes, ends = distinct(np.array([x for s in sets for x in s], np.uint64), offsets)
    pairs = data.draw(st.lists(st.tuples(*[st.integers(0, len(sets) - 1)] * 2), max_size=8))
    a, b = np.array([p[0] for p in pairs], np.int64), np.array([p[1] for p in pairs], np.int64)
    union = [set(sets[i]) | set(sets[j]) for i, j in pairs]
    want = [len(set(sets[i]) & set(sets[j])) / len(u) if u else 1.0 for (i, j), u in zip(pairs, union)]
    assert jaccard(a, b, hashes, ends).tolist() == want


@st.composite
def duplicate_pairs(draw):
    n = draw(st.integers(1, 12))
    pairs = draw(
        st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] < p[1]), max_size=25)
    )
    return n, [(a, b, draw(st.sampled_from([0.8, 0.9, 1.0]))) for a, b in sorted(pairs)]


@given(duplicate_pairs(), st.randoms())
def test_a_document_is_dropped_only_for_a_verified_duplicate_that_is_kept(case, random):
    n, pairs = case
    random.shuffle(pairs)
    arrays: list[Any] = [
        np.array([p[k] for p in pairs], dtype) for k, dtype in ((0, np.int32), (1, np.int32), (2, np.float64))
    ]
    duplicate_of, score = (column.tolist() for column in survivors(n, *arrays))
    verified = {(a, b): s for a, b, s in pairs}
    for d in range(n):
        kept = [(-verified[a, d], a) for a in range(d) if (a, d) in verified and duplicate_of[a] < 0]
        assert duplicate_of[d] == (min(kept)[1] if kept else -1)
        assert score[d] == (-min(kept)[0] if kept else 0)
