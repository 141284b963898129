import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from corpusmill.text.buckets import (
    LEADERS,
    candidate_pairs,
    distinct,
    in_ways,
    jaccard,
    no_leaders,
    pairs_of,
    scatter,
    settle,
    shared,
    take_sets,
)
from corpusmill.text.sketch import packed

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
    bucket, found = shared(keys)
    twice = [k for k in dict.fromkeys(keys.tolist()) if (keys == k).sum() > 1]
    assert found == len(twice)
    assert bucket.tolist() == [twice.index(k) if k in twice else -1 for k in keys.tolist()]


def slow_candidates(bucket, documents, sketches, low, high):
    """The definition, read aloud: who leads; with which leaders each is a pair; its place in the bucket; pairs whose
    sketches were compared; pairs that were not."""
    leads, masks, ranks = [], [], []
    compared = not_compared = 0
    for _, own in itertools.groupby(range(len(bucket)), key=lambda i: bucket[i]):
        led: list[int] = []
        unsettled = 0
        for rank, i in enumerate(own):
            certain = False
            mask = 0
            for k, j in enumerate(led):
                if documents[i] == documents[j]:
                    certain = True
                    break
                compared += 1
                share = float((sketches[i] == sketches[j]).mean())
                if share >= low:
                    mask |= 1 << k
                if share >= high:
                    certain = True
                    break
            leads.append(not certain and len(led) < LEADERS)
            if not certain:
                not_compared += unsettled - len(led)
                unsettled += 1
            if leads[-1]:
                led.append(i)
            masks.append(mask)
            ranks.append(rank)
    return leads, masks, ranks, [compared, not_compared]


@given(
    hnp.arrays(np.int32, st.integers(0, 60), elements=st.integers(0, 2)),
    hnp.arrays(np.uint64, (60, 4), elements=st.integers(0, 2)),
    st.sampled_from([(0.25, 0.75), (0.5, 0.5), (0.0, 1.0), (0.25, 2.0)]),
    st.integers(1, 30),
)
def test_candidates_are_those_of_the_definition_however_many_records_are_given_at_a_time(
    bucket, sketches, bounds, at_a_time
):
    low, high = bounds
    bucket.sort()
    documents = np.arange(len(bucket)) % 45  # the last ones are documents that came before
    sketches = sketches[documents]
    lanes, words = sketches.shape[1], packed(sketches)
    state = no_leaders(words.shape[1])
    found: list[list[Any]] = [[], [], []]
    for first in range(0, len(bucket), at_a_time):
        some = slice(first, first + at_a_time)
        rows = np.arange(len(words[some]))[::-1].copy()
        met = candidate_pairs(bucket[some], documents[some], rows, words[some][::-1].copy(), lanes, low, high, state)
        found[0] += met.leads.tolist()
        found[1] += met.mask.tolist()
        found[2] += met.rank.tolist()
    assert (*found, state.counts.tolist()) == slow_candidates(bucket, documents.tolist(), sketches, low, high)


@given(hnp.arrays(np.uint16, st.integers(0, 20)))
def test_the_bits_of_masks_are_pairs(masks):
    rows, leader = pairs_of(masks)
    want = [(row, k) for row, mask in enumerate(masks.tolist()) for k in range(16) if mask >> k & 1]
    assert sorted(zip(rows.tolist(), leader.tolist())) == want


def test_a_large_bucket_takes_linear_work_and_what_is_not_compared_is_counted():
    def counts(sketches):
        n, lanes = sketches.shape
        words = packed(sketches)
        state = no_leaders(words.shape[1])
        candidate_pairs(np.zeros(n, np.int32), np.arange(n), np.arange(n), words, lanes, 0.5, 0.9, state)
        return state.counts.tolist()

    n = 5000
    assert counts(np.zeros((n, 4), np.uint64)) == [n - 1, 0]
    most = LEADERS * (LEADERS - 1) // 2 + (n - LEADERS) * LEADERS
    digits = np.arange(n, dtype=np.uint64)[:, None] >> np.arange(0, 16, 4, dtype=np.uint64)  # four lanes of four bits
    assert counts(digits) == [most, n * (n - 1) // 2 - most]


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
    """In one way, and in two: the lower similarity, and the larger share."""
    number = len(sets)
    ways = [sets]
    if data.draw(st.booleans()):
        ways.append(data.draw(st.lists(st.lists(st.integers(0, 9), max_size=8), min_size=number, max_size=number)))
    pairs = data.draw(st.lists(st.tuples(*[st.integers(0, number - 1)] * 2), max_size=8))
    a, b = np.array([p[0] for p in pairs], np.int64), np.array([p[1] for p in pairs], np.int64)
    similarity, alone = jaccard(a, b, *in_ways([members_of(way) for way in ways]))
    want_similarity, want_alone = [1.0] * len(pairs), [0.0] * len(pairs)
    for way in ways:
        for p, (i, j) in enumerate(pairs):
            one, other = set(way[i]), set(way[j])
            alike = len(one & other) / len(one | other) if one and other else 0.0
            want_similarity[p] = min(want_similarity[p], alike)
            want_alone[p] = max(want_alone[p], len(other - one) / len(other) if other else 0.0)
    assert similarity.tolist() == want_similarity
    assert alone.tolist() == want_alone


def members_of(sets):
    """The sets' members as hashes: their last two bits do not tell two apart."""
    offsets = np.cumsum([0] + [len(s) for s in sets])
    return np.array([x << 2 | x & 3 for s in sets for x in s], np.uint64), offsets


LARGE = st.lists(st.one_of(st.integers(0, 60), st.integers(0, 2**64 - 1)), max_size=40)


@given(st.lists(st.tuples(LARGE, LARGE), max_size=5), st.booleans())
def test_members_that_are_the_same_in_two_ways_are_held_once(documents, both):
    ways = [[own[way] for own in documents] for way in range(1 + both)]
    given_ways = [
        (np.array([x for s in sets for x in s], np.uint64), np.cumsum([0] + [len(s) for s in sets])) for sets in ways
    ]
    hashes, ends, sizes = in_ways(given_ways)
    for number in range(len(documents)):
        own = [{x >> 2 for x in sets[number]} for sets in ways]
        want = sorted((x << 2) + sum(1 << way for way, some in enumerate(own) if x in some) for x in set().union(*own))
        assert hashes[ends[number] : ends[number + 1]].tolist() == want
        assert sizes[number].tolist() == [len(some) for some in own]


@st.composite
def similar_pairs(draw):
    n = draw(st.integers(1, 12))
    pairs = draw(
        st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] < p[1]), max_size=25)
    )
    return n, {(a, b): draw(st.sampled_from([0.7, 0.8, 0.9, 1.0])) for a, b in sorted(pairs)}


@given(similar_pairs(), st.integers(1, 30))
def test_a_document_is_dropped_only_for_a_verified_duplicate_that_is_kept(case, at_a_time):
    n, similar = case
    duplicate_of, score = np.full(n, -1, np.int32), np.zeros(n)
    ordered = sorted(similar, key=lambda pair: (pair[1], pair[0]))
    for block in (ordered[first : first + at_a_time] for first in range(0, len(ordered), at_a_time)):
        # What is known to be dropped need not be compared.
        known = [similar[pair] if duplicate_of[pair[0]] < 0 else np.nan for pair in block]
        earlier, later = (np.array([pair[side] for pair in block], np.int32) for side in (0, 1))
        settle(later, earlier, np.array(known), 0.8, duplicate_of, score)
    for d in range(n):
        kept = [(-similar[a, d], a) for a in range(d) if similar.get((a, d), 0) >= 0.8 and duplicate_of[a] < 0]
        assert duplicate_of[d] == (min(kept)[1] if kept else -1)
        assert score[d] == (-min(kept)[0] if kept else 0)
