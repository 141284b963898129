"""Packing: concat loses nothing, best-fit keeps documents whole, and the kernel does what its definition says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.tokens.packing import Layout, Report, best_fit, best_fit_rows, concat, split


def lengths_up_to(most):
    return st.lists(st.integers(1, most), max_size=60)


def slow_best_fit(lengths, capacity):
    """The definition, read aloud."""
    rows = []  # each: documents, room, when it was last added to
    for moment, i in enumerate(sorted(range(len(lengths)), key=lambda i: -lengths[i])):
        fitting = [row for row in rows if row["room"] >= lengths[i]]
        if fitting:
            row = min(fitting, key=lambda row: (row["room"], -row["changed"]))
        else:
            row = {"documents": [], "room": capacity}
            rows.append(row)
        row["documents"].append(i)
        row["room"] -= lengths[i]
        row["changed"] = moment
    rows.sort(key=lambda row: min(row["documents"]))
    return [next(r for r, row in enumerate(rows) if i in row["documents"]) for i in range(len(lengths))]


@settings(max_examples=150, deadline=None)
@given(lengths_up_to(16), st.integers(16, 40))
def test_best_fit_agrees_with_its_definition(lengths, capacity):
    assert best_fit(np.array(lengths, np.int64), capacity).tolist() == slow_best_fit(lengths, capacity)


def test_best_fit_agrees_with_its_definition_at_size():
    lengths = np.minimum(np.random.default_rng(1).lognormal(4, 1, 600).astype(np.int64) + 1, 512)
    assert best_fit(lengths, 512).tolist() == slow_best_fit(lengths.tolist(), 512)


def test_best_fit_takes_no_document_longer_than_a_row():
    with pytest.raises(ValueError, match=r"lengths must be in 1\.\.4, got 5"):
        best_fit(np.array([1, 5]), 4)
    with pytest.raises(ValueError, match="every document has 1 token or more"):
        best_fit(np.array([1, 0]), 4)


def written(layout: Layout) -> list:
    """Every token's place as (document, position in it), None for padding."""
    out = [None] * layout.size
    for start, document, offset, length in zip(layout.start, layout.document, layout.offset, layout.length):
        for i in range(length):
            assert out[start + i] is None, "two tokens in one place"
            out[start + i] = (int(document), int(offset + i))
    return out


def stream(lengths):
    return [(d, i) for d, length in enumerate(lengths) for i in range(length)]


@settings(max_examples=100, deadline=None)
@given(lengths_up_to(30), st.integers(1, 16))
def test_concat_writes_every_token_once_and_in_order(lengths, row):
    layout = concat(np.array(lengths, np.int64), row)
    assert written(layout) == stream(lengths)
    assert layout.report.tokens == sum(lengths)
    cut = sum(len({(start + i) // row for i in range(n)}) > 1 for start, n in zip(np.cumsum([0, *lengths]), lengths))
    assert layout.report.cut_documents == cut


@pytest.mark.parametrize(
    ("remainder", "tokens", "report"),
    [
        ("keep", 10, Report(rows=3, tokens=10, padding=0, cut_documents=1)),
        ("pad", 12, Report(rows=3, tokens=10, padding=2, cut_documents=1)),
        ("drop", 8, Report(rows=2, tokens=8, padding=0, cut_documents=1, discarded_tokens=2)),
    ],
)
def test_the_last_row_is_kept_padded_or_dropped_as_asked(remainder, tokens, report):
    layout = concat(np.array([2, 2, 2, 4]), 4, remainder)
    assert layout.size == tokens
    assert layout.report == report
    assert [place for place in written(layout) if place] == stream([2, 2, 2, 4])[:tokens]


@settings(max_examples=100, deadline=None)
@given(lengths_up_to(40), st.integers(1, 16))
def test_best_fit_rows_hold_every_token_once_and_short_documents_whole(lengths, row):
    layout = best_fit_rows(np.array(lengths, np.int64), row)
    places = written(layout)
    assert sorted(place for place in places if place) == stream(lengths)
    for document, length in enumerate(lengths):
        at = [i for i, place in enumerate(places) if place and place[0] == document]
        if length <= row:
            assert at == list(range(at[0], at[0] + length))
            assert at[0] // row == at[-1] // row
    assert layout.report.padding == places.count(None)
    assert layout.report.cut_documents == sum(n > row for n in lengths)


def test_rows_follow_the_order_of_documents_not_of_lengths():
    layout = best_fit_rows(np.array([1, 2, 8, 8, 7]), 8)
    assert layout.document.tolist() == [0, 4, 1, 2, 3]


def test_long_documents_are_split_at_rows():
    document, offset, length = split(np.array([9, 4, 1]), 4)
    assert (document.tolist(), offset.tolist(), length.tolist()) == ([0, 0, 0, 1, 2], [0, 4, 8, 0, 0], [4, 4, 1, 4, 1])


def test_reports_of_parts_add_up():
    a, b = concat(np.array([3, 5]), 4).report, concat(np.array([2, 2, 4]), 4).report
    assert a + b == concat(np.array([3, 5, 2, 2, 4]), 4).report
    assert Report().utilisation == 1.0
    assert Report(rows=2, tokens=6, padding=2).utilisation == 0.75
