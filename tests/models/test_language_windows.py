"""Windows of a text, and the labels of all of them, against slow twins."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.errors import RecipeError
from corpusmill.models.language import (
    Identifier,
    average,
    characters_back,
    characters_on,
    count_characters,
    cut_windows,
    spread_windows,
)
from corpusmill.text.buffers import view
from text_strategies import strings

texts = st.lists(st.sampled_from(["a", "bc", "é", "日", "😀", " ", "x" * 40, "é" * 40]), max_size=12).map("".join)
sizes = st.tuples(st.integers(1, 4), st.sampled_from([1, 2, 5, 20]), st.sampled_from([0.0, 0.3, 1.0]))


def windows_of(text, first, last, windows):
    raw = text.encode()
    return [raw[a:b].decode() for a, b in zip(first[:windows].tolist(), last[:windows].tolist())]


@given(texts, sizes)
@settings(max_examples=200)
def test_windows_are_characters_at_equal_distances(text, size):
    windows, chars, offset = size
    buffer = view(strings("é", text))
    first, last = np.empty((2, 2 * windows), np.int64)
    cut_windows(buffer.data, buffer.offsets, windows, chars, offset, first, last)
    base = buffer.offsets[1]
    found = windows_of(text, first[windows:] - base, last[windows:] - base, windows)
    if len(text) <= windows * chars:
        assert found == [text, *[""] * (windows - 1)]
        return
    raw = text.encode()
    final = len(raw) - len(text[-chars:].encode())
    start = min(int(offset * len(raw)), final)
    expected = []
    for w in range(windows):
        at = start + (final - start) * w // max(windows - 1, 1)
        while raw[at] & 0xC0 == 0x80:
            at -= 1
        expected.append(raw[at:].decode()[:chars])
    assert found == expected


@given(texts, sizes)
@settings(max_examples=200)
def test_spread_windows_count_in_characters(text, size):
    windows, chars, offset = size
    buffer = view(strings("zz", text))
    first, last = np.empty((2, windows), np.int64)
    spread_windows(buffer.data, buffer.offsets, np.array([1]), windows, chars, offset, first, last)
    base = buffer.offsets[1]
    found = windows_of(text, first - base, last - base, windows)
    if len(text) <= windows * chars:
        assert found == [text, *[""] * (windows - 1)]
        return
    final = len(text) - chars
    start = min(int(offset * len(text)), final)
    steps = [start + (final - start) * w // max(windows - 1, 1) for w in range(windows)]
    assert found == [text[at : at + chars] for at in steps]


@given(texts, st.integers(0, 50))
@settings(max_examples=100)
def test_characters_are_counted_from_both_ends(text, count):
    buffer = view(strings(text))
    size = int(buffer.offsets[1])
    assert count_characters(buffer.data, 0, size) == len(text)
    assert characters_on(buffer.data, 0, size, count) == len(text[:count].encode())
    assert characters_back(buffer.data, 0, size, count) == size - len(text[-count:].encode() if count else b"")


label_rows = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 8)), max_size=3, unique_by=lambda p: p[0]),
    min_size=1,
    max_size=4,
)


@given(label_rows)
@settings(max_examples=150)
def test_the_best_labels_have_the_highest_mean_and_of_equals_the_lower_number(rows):
    labels, scores = np.full((len(rows), 3), -1, np.int32), np.zeros((len(rows), 3), np.float32)
    for w, row in enumerate(rows):
        for j, (label, score) in enumerate(row):
            labels[w, j], scores[w, j] = label, score / 8
    best, mean = np.empty((1, 2), np.int32), np.empty((1, 2), np.float32)
    average(labels, scores, len(rows), best, mean)
    totals: dict[int, float] = {}
    for row in rows:
        for label, score in row:
            totals[label] = totals.get(label, 0) + score / 8
    ranked = sorted(totals, key=lambda label: (-totals[label], label))[:2]
    scored = sum(bool(row) for row in rows)
    assert best[0].tolist() == [*ranked, -1, -1][:2]
    assert mean[0].tolist() == pytest.approx([*(totals[label] / scored for label in ranked), 0, 0][:2])


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"windows": 0}, "need windows >= 1"),
        ({"window_chars": 0}, "window_chars=0"),
        ({"offset": 1.5}, "offset is a share of the document, from 0 to 1, got 1.5"),
        ({"offset": -0.1}, "offset is a share"),
    ],
)
def test_settings_that_cannot_be(settings_, message):
    with pytest.raises(RecipeError, match=message):
        Identifier(**settings_)


def test_no_texts_and_texts_without_words():
    identifier = Identifier(model="lid.176.ftz")
    empty = identifier.columns(pa.array([], pa.large_string()))
    assert {name: len(column) for name, column in empty.items()} == dict.fromkeys(empty, 0)
    columns = identifier.columns(strings("", None, " \n"))
    assert columns["label"].to_pylist() == [None] * 3 and columns["score"].to_pylist() == [0] * 3
    assert columns["runner_up"].to_pylist() == [None] * 3


def test_the_label_of_plain_texts():
    columns = Identifier(model="lid.176.ftz").columns(
        strings("The mill grinds the corn of the whole village.", "Die Mühle mahlt das Korn des ganzen Dorfes.")
    )
    assert columns["label"].to_pylist() == ["en", "de"]
    assert all(0.5 < score <= 1.001 for score in columns["score"].to_pylist())


def test_assets_and_labels_of_a_model():
    assert Identifier(model="lid.176.ftz").assets() == ("lid.176.ftz",)
    assert {"en", "de"} <= set(Identifier(model="lid.176.ftz").labels())
    assert Identifier().assets() == ("lid.wide", "lid.176.ftz") and "unknown" in Identifier().labels()
