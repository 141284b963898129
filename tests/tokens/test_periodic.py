import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.tokens.periodic import most_repeats, periodic_spans

ids_of_documents = st.lists(st.lists(st.integers(0, 2), max_size=24), min_size=1, max_size=4)


def times(ids, start, p):
    """How often ids[start:start + p] occurs in sequence from there on."""
    count = 0
    while ids[start + count * p : start + (count + 1) * p] == ids[start : start + p]:
        count += 1
        if start + count * p + p > len(ids):
            break
    return count


@given(ids_of_documents, st.integers(1, 4), st.integers(0, 3))
def test_the_period_that_occurs_most_often_in_sequence(documents, low, more):
    ids = np.array([i for ids in documents for i in ids], np.uint32)
    offsets = np.cumsum([0, *map(len, documents)])
    out = np.empty((len(documents), 2), np.int64)
    most_repeats(ids, offsets, low, low + more, out)
    for ids, found in zip(documents, out.tolist()):
        best = max(
            (
                (times(ids, start, p), -p)
                for p in range(low, low + more + 1)
                for start in range(len(ids) - p + 1)
                if times(ids, start, p) > 1
            ),
            default=(0, 0),
        )
        assert found == [best[0], -best[1]]


@given(st.lists(st.integers(0, 2), max_size=20), st.integers(1, 3), st.integers(0, 3), st.integers(2, 4))
def test_places_are_the_longest_of_their_period_and_in_none_of_a_smaller_one(ids, low, more, at_least):
    expected: list[list[int]] = []
    for p in range(low, low + more + 1):
        for start in range(len(ids)):
            end = start + p
            while end < len(ids) and ids[end] == ids[end - p]:
                end += 1
            starts_here = start == 0 or start - 1 + p >= len(ids) or ids[start - 1] != ids[start - 1 + p]
            inside = any(a <= start and end <= b for a, b, q, _ in expected if q < p)
            if end > start + p and end <= len(ids) and starts_here and (end - start) // p >= at_least and not inside:
                expected.append([start, end, p, (end - start) // p])
    out = np.empty((64, 4), np.int64)
    assert out[: periodic_spans(np.array(ids, np.uint32), low, low + more, at_least, out)].tolist() == expected


def test_places_that_do_not_fit_are_counted():
    assert periodic_spans(np.array([1, 1, 2, 3, 3], np.uint32), 1, 1, 2, np.empty((1, 4), np.int64)) == 2
