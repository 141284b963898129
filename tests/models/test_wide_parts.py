"""The parts of a text that are in one script each, up to the ends of sentences and lines."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.models.wide_parts import LONG_PART, MIN_PART_LETTERS, ONE_SCRIPT, cut_parts
from corpusmill.text.buffers import view
from corpusmill.text.scripts import FIRST, SCRIPT, SCRIPTS, STOP
from corpusmill.text.unicode import terminal
from text_strategies import strings

LINE_BREAKS = "\n\x0b\x0c\r\x1c\x1d\x1e\x85\u2028\u2029"


def script_of(character):
    for first, stop, script in zip(FIRST.tolist(), STOP.tolist(), SCRIPT.tolist()):
        if first <= ord(character) < stop:
            return ONE_SCRIPT.get(SCRIPTS[script], SCRIPTS[script])
    return None


def slow_parts(text):
    parts, begin, letters, script = [], 0, 0, None
    for at, character in enumerate(text):
        own = script_of(character)
        if own and script and own != script:
            parts.append((begin, at, letters))
            begin, letters, script = at, 0, None
        if own:
            letters, script = letters + 1, own
        size = at + 1 - begin
        ends = at + 1 == len(text) or size >= LONG_PART + LONG_PART // 2 or (size >= LONG_PART and character.isspace())
        if letters >= MIN_PART_LETTERS and not ends:
            ends = character in LINE_BREAKS
            if character in terminal() and not ends:
                ends = not character.isascii() or text[at + 1].isspace()
        if ends:
            if letters:
                parts.append((begin, at + 1, letters))
            begin, letters, script = at + 1, 0, None
    return [(text[a:b], letters) for a, b, letters in parts]


def parts_of(*texts, windows=1):
    buffer = view(strings(*texts))
    raw = bytes(buffer.data)
    parts = cut_parts(buffer.data, buffer.offsets[:-1], buffer.offsets[1:], windows)
    found = [
        (raw[a:b].decode(), n) for a, b, n in zip(parts.first.tolist(), parts.last.tolist(), parts.letters.tolist())
    ]
    return [found[a:b] for a, b in zip(parts.bounds[:-1].tolist(), parts.bounds[1:].tolist())]


ATOMS = [
    "word ",
    "a",
    " ",
    "\n",
    ". ",
    ".",
    "。",
    "日本",
    "かな",
    "Ж",
    "слово ",
    "1",
    "!",
    "é",
    "\u00a0",
    "x" * 60,
    "\r\n",
]


@given(st.lists(st.lists(st.sampled_from(ATOMS), max_size=30).map("".join), min_size=1, max_size=3))
@settings(max_examples=150)
def test_parts_are_those_of_the_slow_twin(texts):
    assert parts_of(*texts) == [slow_parts(text) for text in texts]


@given(st.lists(st.lists(st.sampled_from(ATOMS), max_size=12).map("".join), min_size=4, max_size=4))
@settings(max_examples=50)
def test_no_part_crosses_a_window(texts):
    assert parts_of(*texts, windows=2) == [
        slow_parts(texts[0]) + slow_parts(texts[1]),
        slow_parts(texts[2]) + slow_parts(texts[3]),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("123 !?", []),
        ("abc где", [("abc ", 3), ("где", 3)]),
        ("かな漢字カナ", [("かな漢字カナ", 6)]),
        ("one.\ntwo.", [("one.\ntwo.", 6)]),
    ],
)
def test_examples(text, expected):
    assert parts_of(text) == [expected]


def test_a_long_run_is_cut_without_white_space():
    assert [len(part) for part, _ in parts_of("x" * 400)[0]] == [150, 150, 100]


def test_no_spans():
    parts = cut_parts(np.zeros(64, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64), 3)
    assert len(parts.first) == 0 and parts.bounds.tolist() == [0]
