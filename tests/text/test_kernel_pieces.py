"""Lines and paragraphs are found, hashed and taken out as a few lines of Python would."""

import re

import numpy as np
import pytest
import xxhash
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill.text.fold import fold
from corpusmill.text.hashing import SECOND_SEED
from corpusmill.text.pieces import occurrences, piece_hashes, pieces, spans_without
from corpusmill.text.replace import replace_spans
from slow_pieces import slow_pieces, slow_without
from text_strategies import batches, strings

kinds = pytest.mark.parametrize("of", ["lines", "paragraphs"])


def xxh64(text, seed=0):
    return xxhash.xxh64_intdigest(text.encode(), seed)


def characters(text, start, end):
    """Byte positions as positions of characters."""
    raw = text.encode()
    return len(raw[:start].decode()), len(raw[:end].decode())


EDGES = [
    "\n \n\n\u3000\n",
    " a \n\n \n b\n\n\n c",
    "\n\na",
    "a\n\n",
    "a\r\n\r\nb\r\n",
    "x" * 70 + "\n" * 70 + "y",
    "\n" * 64,
]


@kinds
@settings(max_examples=100)
@given(batches)
@example(EDGES)
def test_pieces_are_separated_by_line_feeds_or_blank_lines(of, batch):
    split = pieces(strings(*batch), of)
    for d, text in enumerate(batch):
        mine = slice(split.offsets[d], split.offsets[d + 1])
        spans = zip(split.start[mine].tolist(), split.end[mine].tolist(), strict=True)
        assert [characters(text, *span) for span in spans] == slow_pieces(text, of)
    assert split.offsets[-1] == len(split.start) == len(split.end)


@kinds
@pytest.mark.parametrize("folded", [False, True])
@settings(max_examples=60)
@given(batches, st.integers(0, 12))
@example(EDGES, 1)
def test_pieces_hash_as_the_stripped_or_folded_text(of, folded, batch, shortest):
    texts = strings(*batch)
    made = piece_hashes(texts, pieces(texts, of), folded, shortest)
    stripped = [text[slice(*span)].strip() for text in batch for span in slow_pieces(text, of)]
    compared = fold(strings(*stripped)).to_pylist() if folded else stripped
    assert made.long.tolist() == [len(piece) >= shortest for piece in compared]
    assert made.hashes.tolist() == [
        [xxh64(piece), xxh64(piece, SECOND_SEED)] if len(piece) >= shortest else [0, 0] for piece in compared
    ]


@kinds
@settings(max_examples=100)
@given(st.data(), batches)
@example(None, EDGES)
def test_kept_pieces_are_joined_by_the_best_gaps(of, data, batch):
    texts = strings(*batch)
    split = pieces(texts, of)
    rows = len(split.start)
    gone = np.array(
        [i % 3 > 0 for i in range(rows)] if data is None else data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows)),
        bool,
    )  # fmt: skip
    spans = spans_without(texts, split, gone)
    left = replace_spans(texts, spans, strings(*[""] * len(spans)))
    ends = split.offsets.tolist()
    wanted = [
        slow_without(text, slow_pieces(text, of), gone[a:b]) for text, a, b in zip(batch, ends, ends[1:], strict=False)
    ]
    assert left.to_pylist() == wanted
    assert (spans[:, 1] < spans[:, 2]).all()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\nX\nb", "a\nb"),
        ("a\n\nX\n\nb", "a\n\nb"),
        ("a\nX\n\nb", "a\n\nb"),
        ("a\n\nX\nb", "a\n\nb"),
        ("a\nX\n\nX\nb", "a\n\nb"),  # they were two paragraphs
        ("a\n \nX\n\nb", "a\n \nb"),  # of equals the first
        ("X\n  a\n    b\n", "  a\n    b\n"),
        ("a\n  X\nX", "a"),
        ("a\nX\n", "a\n"),
        ("\n\nX\na", "\n\na"),
        ("a\r\nX\r\nb\r\n", "a\r\nb\r\n"),
        ("\n X \nX\n\n", ""),
    ],
)
def test_dropped_lines_leave_no_gap(text, left):
    lines = pieces(strings(text), "lines")
    gone = np.array([text[s:e].strip() == "X" for s, e in zip(lines.start, lines.end, strict=True)])
    spans = spans_without(strings(text), lines, gone)
    assert replace_spans(strings(text), spans, strings(*[""] * len(spans))).to_pylist() == [left]
    assert not re.search(r"\n{3}", left)


def test_a_null_has_no_pieces():
    assert pieces(strings(None, "a", None), "lines").offsets.tolist() == [0, 0, 1, 1]
    assert pieces(strings(), "paragraphs").offsets.tolist() == [0]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 9)), max_size=30))
def test_occurrences_are_counted_by_bucket(rows):
    rows.sort(key=lambda row: row[1])  # documents rise
    bucket, documents, sizes = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    before, records, different, total = occurrences(bucket.astype(np.int32), 4, documents, sizes)
    assert before.tolist() == [sum(other[0] == row[0] for other in rows[:i]) for i, row in enumerate(rows)]
    for b in range(4):
        mine = [row for row in rows if row[0] == b]
        wanted = len(mine), len({row[1] for row in mine}), sum(row[2] for row in mine)
        assert (records[b], different[b], total[b]) == wanted
