"""Runs of letters, digits and given characters, against an expression."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.buffers import view
from corpusmill.text.compile import kernel
from corpusmill.text.runs import run_finder
from corpusmill.text.unicode import class_of, classes, decode
from text_strategies import STABLE, batches, raw_strings, strings

OTHERS = {"none": "", "marks": "@$!*"}
next_word, next_marked = (run_finder(others) for others in OTHERS.values())


@kernel
def collect_words(data, lo, hi, classes, out):
    at = lo
    count = 0
    while True:
        start, end = next_word(data, at, hi, classes)
        if start == end:
            return count
        out[count, 0], out[count, 1] = start - lo, end - lo
        count += 1
        at = end


@kernel
def collect_marked(data, lo, hi, classes, out):
    at = lo
    count = 0
    while True:
        start, end = next_marked(data, at, hi, classes)
        if start == end:
            return count
        out[count, 0], out[count, 1] = start - lo, end - lo
        count += 1
        at = end


COLLECT = {"none": collect_words, "marks": collect_marked}


def runs_of(name, texts):
    found = []
    for d in range(len(texts.offsets) - 1):
        lo, hi = int(texts.offsets[d]), int(texts.offsets[d + 1])
        out = np.empty((hi - lo + 1, 2), np.int64)
        found.append(out[: COLLECT[name](texts.data, lo, hi, classes(), out)].tolist())
    return found


def slow_runs(name, text):
    spans, at, begin = [], 0, None
    for character in text:
        inside = character.isalnum() or character in OTHERS[name]
        if inside and begin is None:
            begin = at
        if not inside and begin is not None:
            spans.append([begin, at])
            begin = None
        at += len(character.encode())
    return spans + ([[begin, at]] if begin is not None else [])


@pytest.mark.parametrize("name", OTHERS)
@given(batches)
@settings(max_examples=40)
def test_runs_are_those_of_python(name, texts):
    assert runs_of(name, view(strings(*texts))) == [slow_runs(name, text) for text in texts]


@pytest.mark.parametrize("name", OTHERS)
@given(st.lists(st.binary(max_size=80), min_size=1, max_size=3))
@settings(max_examples=40)
def test_no_run_of_any_bytes_leads_out_of_its_text(name, texts):
    for found, text in zip(runs_of(name, view(raw_strings(*texts))), texts):
        assert all(0 <= a < b <= len(text) for a, b in found)
        assert all(b <= c for (_, b), (c, _) in pairwise(found))


@kernel
def properties(data, offsets, classes, out):
    for i in range(len(out)):
        code_point, size = decode(data, offsets[i])
        out[i, 0], out[i, 1], out[i, 2] = code_point, size, class_of(classes, code_point)


def test_characters_are_decoded():
    text = view(strings(*STABLE))
    out = np.empty((len(STABLE), 3), np.int64)
    properties(text.data, text.offsets, classes(), out)
    assert out[:, 0].tolist() == list(map(ord, STABLE))
    assert out[:, 1].tolist() == [len(character.encode()) for character in STABLE]
