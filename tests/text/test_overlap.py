"""Items are found by their n-grams and phrases, as one who reads word by word would find them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from text_strategies import strings

from corpusmill.text.overlap import PASSAGE, build, find_items

words = st.sampled_from(["a", "b", "c", "d", "e", "fg"])
folded = st.lists(words, max_size=24).map(" ".join)


def telling(run):
    return 2 * len(set(run)) >= len(run)


def runs_of(item, n, shortest):
    """(place, run) of what an item is known by."""
    if len(item) >= n:
        return [(at, item[at : at + n]) for at in range(len(item) - n + 1)]
    return [(0, item)] if len(item) >= shortest else []


def slow_passages(documents, items, n, shortest, common):
    """The definition: each run of each item held beside each place of each document."""
    items = [item.split() for item in items]
    known = {i: [run for run in runs_of(item, n, shortest) if telling(run[1])] for i, item in enumerate(items)}
    frequent = {
        tuple(run)
        for runs in known.values()
        for _, run in runs
        if sum(any(run == other for _, other in others) for others in known.values()) > common
    }
    records = []
    for d, document in enumerate(text.split() for text in documents):
        for i, item in enumerate(items):
            places = sorted(
                (word, at, len(run))
                for at, run in known[i]
                if tuple(run) not in frequent
                for word in range(len(document) - len(run) + 1)
                if document[word : word + len(run)] == run
            )
            passages: list[Any] = []
            for place in places:
                if passages and place[0] - passages[-1][-1][0] <= len(item):
                    passages[-1].append(place)
                else:
                    passages.append([place])
            for passage in passages:
                (first, at, _), (last, last_at, size) = passage[0], passage[-1]
                covered = {k for _, at, size in passage for k in range(at, at + size)}
                left = len(item) - last_at - size
                records.append((d, i, first, last + size, at, left, len(covered), len({at for _, at, _ in passage})))
    return records


@settings(max_examples=200)
@given(
    documents=st.lists(folded, max_size=4),
    items=st.lists(folded, min_size=1, max_size=5),
    n=st.integers(1, 6),
    shorter=st.integers(0, 4),
    common=st.integers(1, 3),
)
@example(["a b c d e x a b c"], ["a b c d e", "a b c"], 4, 1, 1)  # an n-gram and a phrase
@example(["a b c a b c a b c"], ["a b c a b c"], 3, 0, 1)  # n-grams that repeat
@example(["", "a a a a"], ["", "a a a a"], 2, 0, 1)  # nothing, and a run that says nothing
def test_finds_what_reading_finds(documents, items, n, shorter, common):
    shortest = max(n - shorter, 1)
    passages = find_items(strings(*documents), build(strings(*items), n, shortest, common))
    assert passages.tolist() == slow_passages(documents, items, n, shortest, common)


@given(st.lists(folded, max_size=5), st.lists(folded, max_size=5))
@settings(max_examples=40)
def test_a_document_is_searched_alone(first, second):
    index = build(strings("a b c d", "b c", "c d e fg a b", "d"), 3, 1, 1)
    parts = [find_items(strings(*first), index), find_items(strings(*second), index)]
    parts[1]["document"] += len(first)
    np.testing.assert_array_equal(find_items(strings(*first, *second), index), np.concatenate(parts))


def test_more_than_there_is_room_for_is_found_too():
    many = " ".join(f"w{i}" for i in range(20_000))
    passages = find_items(strings("x", many, many), build(strings(many), 8, 8, 1))
    assert passages[["document", "covered", "grams"]].tolist() == [(1, 20_000, 19_993), (2, 20_000, 19_993)]


def test_no_items_are_found_nowhere():
    assert len(find_items(strings("a b c"), build(strings(), 2, 1, 1))) == 0
    assert find_items(strings(), build(strings("a b"), 2, 1, 1)).dtype == PASSAGE


@pytest.mark.parametrize(("n", "shortest"), [(0, 0), (64, 1), (3, 4)])
def test_sizes_that_make_no_sense_are_refused(n, shortest):
    with pytest.raises(ValueError, match="need 1 <= shortest <= n <= 63"):
        build(strings("a"), n, shortest, 1)


@given(st.lists(folded, min_size=1, max_size=5), st.integers(1, 5), st.integers(1, 2))
@settings(max_examples=60)
def test_telling_words_are_those_in_indexed_ngrams(items, n, common):
    index = build(strings(*items), n, 1, common)
    for number, item in enumerate(items):
        places = [at for of, at in zip(index.item, index.at) if of == number]
        assert index.telling[number] == len({k for at in places for k in range(at, min(at + n, len(item.split())))})
