"""Packing: concat loses nothing, best-fit keeps documents whole, and the kernel does what its definition says."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.tokens.packing import (
    Report,
    RowLayout,
    best_fit,
    best_fit_rows,
    concat,
    concat_at,
    one_per_row,
    split,
    split_at,
)


def lengths_up_to(most):
    return st.lists(st.integers(1, most), max_size=60)


def slow_best_fit(lengths, capacity):
    """The definition, read aloud."""
    rows: list[Any] = []  # each: documents, room, when it was last added to
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


def written(layout: RowLayout) -> list:
    """Every token's place as (document, position in it), None for padding."""
    out: list[Any] = [None] * layout.size
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
        ("keep", 10, Report(rows=3, tokens=10, padding=0, cut_documents=1, context=5)),
        ("pad", 12, Report(rows=3, tokens=10, padding=2, cut_documents=1, context=5)),
        ("drop", 8, Report(rows=2, tokens=8, padding=0, cut_documents=1, discarded_tokens=2, context=4)),
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


def slow_context(layout: RowLayout, row: int) -> int:
    """Of every token, those of its document before it in its row, counted one by one."""
    places = written(layout)
    return sum(
        sum(places[before] is not None and places[before][0] == place[0] for before in range(i // row * row, i))
        for i, place in enumerate(places)
        if place
    )


def breaks_in(lengths):
    """Places within documents: any but their ends."""
    ends = set(np.cumsum(lengths).tolist())
    inside = [place for place in range(1, sum(lengths)) if place not in ends]
    return st.sets(st.sampled_from(inside)).map(sorted) if inside else st.just([])


with_breaks = lengths_up_to(40).flatmap(lambda lengths: st.tuples(st.just(lengths), breaks_in(lengths)))


def slow_pieces(start, stop, row, ends):
    """The definition, read aloud: a piece extends to the last end within `row` tokens, or has `row` tokens."""
    pieces = []
    while stop - start > row:
        fitting = [end for end in ends if start < end <= start + row]
        pieces.append((start, max(fitting, default=start + row)))
        start = pieces[-1][1]
    return [*pieces, (start, stop)] if stop > start else pieces


@settings(max_examples=150, deadline=None)
@given(with_breaks, st.integers(1, 16))
def test_long_documents_are_split_at_breaks_as_defined(made, row):
    lengths, breaks = made
    document, offset, length = split_at(np.array(lengths, np.int64), row, np.array(breaks, np.int64))
    expected = []
    for d, (end, n) in enumerate(zip(np.cumsum(lengths).tolist(), lengths)):
        expected += [(d, a - (end - n), b - a) for a, b in slow_pieces(end - n, end, row, breaks)]
    assert list(zip(document.tolist(), offset.tolist(), length.tolist())) == expected


@settings(max_examples=150, deadline=None)
@given(with_breaks, st.integers(1, 16))
def test_rows_of_a_stream_end_at_breaks_as_defined(made, row):
    lengths, breaks = made
    layout = concat_at(np.array(lengths, np.int64), row, np.array(breaks, np.int64))
    tokens, expected = stream(lengths), []
    for a, b in slow_pieces(0, len(tokens), row, {*breaks, *np.cumsum(lengths).tolist()}):
        expected += tokens[a:b] + [None] * (row - (b - a))
    assert written(layout) == expected


@settings(max_examples=150, deadline=None)
@given(with_breaks, st.integers(1, 16), st.sampled_from([concat_at, best_fit_rows, one_per_row]))
def test_every_token_is_placed_once_and_documents_are_cut_at_breaks_if_these_are_within_a_row(made, row, pack):
    lengths, breaks = made
    layout = pack(np.array(lengths, np.int64), row, np.array(breaks, np.int64))
    places = written(layout)
    assert sorted(place for place in places if place) == stream(lengths)
    assert layout.report.padding == places.count(None)
    starts = np.cumsum([0, *lengths])
    allowed = sorted({*breaks, *starts.tolist()})
    pieces = zip(layout.start.tolist(), layout.document.tolist(), layout.offset.tolist(), layout.length.tolist())
    cut = set()
    for start, document, offset, length in pieces:
        assert start // row == (start + length - 1) // row, "no piece crosses a row"
        if offset:
            cut.add(document)
            place = int(starts[document]) + offset
            around = max(a for a in allowed if a < place), min(a for a in allowed if a >= place)
            assert place in allowed or around[1] - around[0] > row
    assert layout.report.cut_documents == len(cut)
    if pack is not concat_at:
        assert cut == {d for d, n in enumerate(lengths) if n > row}


@settings(max_examples=80, deadline=None)
@given(with_breaks, st.integers(1, 16), st.sampled_from(["keep", "pad", "drop"]))
def test_context_is_what_a_token_has_before_it_of_its_document(made, row, remainder):
    lengths, breaks = np.array(made[0], np.int64), np.array(made[1], np.int64)
    for layout in (concat(lengths, row, remainder), concat_at(lengths, row, breaks), best_fit_rows(lengths, row)):
        assert layout.report.context == slow_context(layout, row)


def test_mean_context_is_a_share_of_the_tokens():
    assert best_fit_rows(np.array([5, 3]), 8).report.mean_context == (10 + 3) / 8
    assert Report().mean_context == 0.0


@settings(max_examples=150, deadline=None)
@given(with_breaks, st.integers(1, 16), st.booleans())
def test_one_per_row_pads_every_piece_by_itself(made, row, at_breaks):
    lengths, breaks = made
    layout = one_per_row(np.array(lengths, np.int64), row, np.array(breaks, np.int64) if at_breaks else None)
    expected, begin = [], 0
    for document, length in enumerate(lengths):
        for a, b in slow_pieces(begin, begin + length, row, breaks if at_breaks else []):
            expected += [(document, i - begin) for i in range(a, b)] + [None] * (row - (b - a))
        begin += length
    assert written(layout) == expected
    assert layout.report == Report(
        len(expected) // row,
        sum(lengths),
        expected.count(None),
        sum(n > row for n in lengths),
        context=slow_context(layout, row),
    )
