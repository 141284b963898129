"""Boilerplate of many words in a row, and the item that it counts for."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.overlap import build, find_items
from corpusmill.text.templates import in_a_row
from text_strategies import strings

places = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 8)), unique=True, max_size=20)


@given(places, st.integers(1, 5))
@settings(max_examples=100)
def test_runs_are_those_of_neighbouring_words(pairs, least):
    item, at = (np.array(column, np.int32) for column in (zip(*pairs) if pairs else ((), ())))
    here = set(pairs)

    def run(i, word):
        first, last = word, word
        while (i, first - 1) in here:
            first -= 1
        while (i, last + 1) in here:
            last += 1
        return last - first + 1

    assert in_a_row(item, at, least).tolist() == [run(*pair) >= least for pair in pairs]


N = 3
SHARED = "which of these statements about the mill is true of all"


def passages(text, *items, template=6, common=1):
    index = build(strings(*items), N, N, common, template)
    return find_items(strings(text), index)


def items_found(text, *items, **settings_):
    return passages(text, *items, **settings_)["item"].tolist()


def test_a_template_counts_for_the_item_with_more_of_its_grams():
    items = [f"{SHARED} red green blue", f"{SHARED} one two three", f"{SHARED} salt pepper oil"]
    assert items_found(f"{SHARED} one two three", *items) == [1]
    row = passages(f"{SHARED} one two three", *items)[0]
    assert row["covered"] > 0 and row["template"] > 0 and row["covered"] + row["template"] == 14


def test_of_equal_items_the_first_has_it():
    items = [f"{SHARED} red green blue", f"{SHARED} one two three"]
    assert items_found(SHARED, *items) == [0]


def test_of_two_items_the_shorter_has_the_larger_share():
    items = [f"{SHARED} red green blue white black brown", f"{SHARED} one"]
    assert items_found(SHARED, *items) == [1]


def test_less_than_a_template_in_a_row_counts_for_none():
    items = [f"{SHARED} red green blue", f"{SHARED} one two three"]
    assert items_found("which of these statements", *items) == []
    assert items_found("which of these statements about the", *items) == [0]
    assert items_found("of these statements about x the mill is true", *items) == []


def test_templates_of_several_documents_are_kept_apart():
    items = [f"{SHARED} red green blue", f"{SHARED} one two three"]
    index = build(strings(*items), N, N, 1, 6)
    found = find_items(strings(f"{SHARED} red green blue", "no", f"{SHARED} one two three"), index)
    assert list(zip(found["document"].tolist(), found["item"].tolist())) == [(0, 0), (2, 1)]
