"""What is measured of a whole page: beside slow Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.blocks.columns import COLUMNS, columns
from corpusmill.text.blocks.names import ELEMENT_NAMES
from corpusmill.text.blocks.page import NAME, WORDS
from corpusmill.text.blocks.scan import scan
from corpusmill.text.blocks.summary import MARKS, PAGE_COLUMNS, _count_marks, page_columns

PARTS = st.sampled_from(
    ["<p>", "</p>", "<div class=post>", "</div>", "<LI>", "a mill ", "stone, ", "<Code>", "Viewport", "<time>", "日本 "]
)


@settings(max_examples=60)
@given(st.lists(PARTS, max_size=30))
def test_measures_of_a_page_are_those_of_slow_python(parts):
    raw = "".join(["x ", *parts]).encode()
    page = scan(raw)
    features, _ = columns(page)
    measured = page_columns(raw, page, features)
    assert measured.shape == (1, PAGE_COLUMNS) and measured.dtype == np.float32
    words = [max(int(block[WORDS]), 1) for block in page.blocks]
    for column in range(COLUMNS):
        mean = sum(w * float(row[column]) for w, row in zip(words, features, strict=True)) / sum(words)
        assert measured[0, column] == pytest.approx(mean, rel=1e-5, abs=1e-6)
    names = [int(element[NAME]) for element in page.elements]
    counts = [*(raw.lower().count(mark) for mark in MARKS), len(raw)]
    counts += [names.count(name) for name in range(len(ELEMENT_NAMES))]
    assert measured[0, COLUMNS:] == pytest.approx(np.log1p(counts), rel=1e-5)


MARK_PARTS = st.sampled_from(
    [
        *MARKS,
        b'"article"article"',
        b"Viewport",
        b"QUOTE",
        b"<CODE>",
        b"q",
        b"<",
        b'"',
        b"car",
        b"cartcart",
        b"\xff",
        b" ",
    ]
)


@settings(max_examples=200)
@given(st.lists(MARK_PARTS, max_size=20))
def test_marks_are_counted_in_any_case_and_without_overlaps(parts):
    raw = b"".join(parts)
    counts = np.zeros(len(MARKS) + 1, np.int64)
    _count_marks(np.frombuffer(raw or b" ", np.uint8), counts)
    assert counts.tolist() == [*(raw.lower().count(mark) for mark in MARKS), len(raw or b" ")]
