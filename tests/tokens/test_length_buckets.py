"""Packing by dataset decomposition."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.errors import RecipeError
from corpusmill.steps.pack.buckets import PackBuckets
from corpusmill.tokens.packing import buckets


def sequences(lengths, row, shortest):
    """The obvious twin: (slot, document, offset, tokens) of every sequence, by its length and then by its document."""
    made = []
    for document, length in enumerate(lengths):
        offset = 0
        while offset < length:
            slot = row
            while slot > length - offset and slot > shortest:
                slot //= 2
            made.append((slot, document, offset, min(slot, length - offset)))
            offset += slot
    return sorted(made, key=lambda one: (-one[0], one[1], one[2]))


def obvious(lengths, row, shortest):
    rows: list[Any] = []
    for slot, document, offset, tokens in sequences(lengths, row, shortest):
        here = [r for r in rows if r[0] == slot]
        if not here or len(here[-1][1]) == row // slot:
            rows.append((slot, []))
            here = rows[-1:]
        here[-1][1].append((document, offset, tokens))
    rows.sort(key=lambda r: r[1][0][:2])
    return [
        (number * row + i * slot, *piece)
        for number, (slot, pieces) in enumerate(rows)
        for i, piece in enumerate(pieces)
    ]


@given(st.lists(st.integers(1, 70), max_size=20), st.integers(1, 5), st.integers(0, 5))
def test_documents_are_cut_into_powers_of_two_and_none_is_joined(lengths, bits, short):
    row, shortest = 1 << bits, 1 << min(short, bits)
    layout = buckets(np.array(lengths, np.int64), row, shortest)
    columns = zip(layout.start, layout.document, layout.offset, layout.length)
    assert [tuple(map(int, piece)) for piece in columns] == obvious(lengths, row, shortest)
    report = layout.report
    assert report.tokens == sum(lengths)
    assert report.tokens + report.padding == layout.size == report.rows * row


def test_a_length_that_is_no_power_of_two_is_refused_with_the_next_below():
    with pytest.raises(RecipeError, match="length is one; got 1000, take 512"):
        PackBuckets(length=1000)
    with pytest.raises(RecipeError, match="longer than a row"):
        PackBuckets(length=16, shortest=32)
