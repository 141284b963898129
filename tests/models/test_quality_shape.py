"""What a text looks like, counted slowly."""

import math
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.models.quality_score import measure_shapes, room_for
from corpusmill.models.quality_shape import RECENT, SHAPE_FEATURES, SHAPE_NAMES
from corpusmill.text.buffers import view
from corpusmill.text.plain_tokens import token_spans
from corpusmill.text.unicode import classes
from text_strategies import strings

SHIFT = np.uint64(54)


def shapes(*texts):
    buffer = view(strings(*texts))
    rows = np.empty(room_for(int(np.diff(buffer.offsets).max(initial=0))), np.int32)
    out = np.empty((len(texts), SHAPE_FEATURES), np.float32)
    measure_shapes(buffer, SHIFT, classes(), rows, out)
    return [dict(zip(SHAPE_NAMES, row.tolist())) for row in out]


def lines_of(text):
    """The tokens of each line that has any."""
    data = text.encode()
    lines: list[list[bytes]] = [[]]
    before = 0
    for start, end in token_spans(text):
        if b"\n" in data[before:start] and lines[-1]:
            lines.append([])
        lines[-1].append(data[start:end])
        before = end
    return [line for line in lines if line]


def is_word(token):
    return token[0] >= 0x80 or token[:1].isalpha()


def slow(text):
    lines = lines_of(text)
    tokens = [token for line in lines for token in line]
    if not tokens:
        return dict.fromkeys(SHAPE_NAMES, 0)
    words = [token for token in tokens if is_word(token)]
    folded = [bytes(byte | 0x20 for byte in word) for word in words]
    marks = set(string.punctuation.encode()) - set(b".?!,\"'")
    n, w = len(tokens), max(len(words), 1)

    def capital(token, at):
        return len(token) > at and 65 <= token[at] <= 90

    repeated = sum(word in folded[max(0, i - RECENT) : i] for i, word in enumerate(folded))
    counts = {
        "capitalised": sum(capital(word, 0) for word in words) / w,
        "upper_case": sum(capital(word, 0) and capital(word, 1) for word in words) / w,
        "mixed_case": sum(not capital(word, 0) and capital(word, 1) for word in words) / w,
        "digits": sum(token[:1].isdigit() for token in tokens) / n,
        "sentence_ends": sum(token in (b".", b"?", b"!") for token in tokens) / n,
        "commas": tokens.count(b",") / n,
        "symbols": sum(token[0] in marks or (token[0] < 32 or token[0] == 127) for token in tokens) / n,
        "mean_word_bytes": sum(map(len, words)) / w,
        "single_letters": sum(len(word) == 1 and word not in (b"a", b"A", b"i", b"I") for word in words) / w,
        "long_words": sum(len(word) >= 8 for word in words) / w,
        "short_words": sum(len(word) <= 3 for word in words) / w,
        "repeated": repeated / w,
        "short_lines": sum(len(line) <= 5 for line in lines) / len(lines),
        "ended_lines": sum(line[-1][:1] in (b".", b"?", b"!", b'"', b"'") for line in lines) / len(lines),
        "in_long_lines": sum(len(line) for line in lines if len(line) > 12) / n,
    }
    logs = {"log_tokens": n, "log_lines": len(lines), "log_tokens_per_line": n / len(lines)}
    return {**{name: math.log2(value) for name, value in logs.items()}, **counts}


ATOMS = [
    "a",
    "I",
    "b",
    "Word",
    "WORD",
    "iPod",
    "sentence",
    "longestword",
    "é",
    "日",
    "12",
    "3rd",
    " ",
    "  ",
    "\n",
    "\n\n",
    ". ",
    "? ",
    ",",
    '"',
    "'",
    "-",
    "$",
    "…",
    " a",
]
texts = st.lists(st.sampled_from(ATOMS), max_size=40).map("".join)


@given(st.lists(texts, min_size=1, max_size=3))
@settings(max_examples=150)
def test_shapes_are_those_of_slow_counting(batch):
    for found, text in zip(shapes(*batch), batch):
        assert found == pytest.approx(slow(text), rel=1e-5, abs=1e-6)


def test_no_tokens_no_shape():
    assert shapes("", None, " \n") == [dict.fromkeys(SHAPE_NAMES, 0)] * 3


def test_a_word_is_repeated_only_among_the_last():
    others = " ".join(f"w{number}" for number in range(RECENT - 1))
    near, far = shapes(f"mill {others} mill", f"mill {others} w100 w101 mill")
    assert near["repeated"] > 0 == far["repeated"]


def test_long_lines_share_the_tokens():
    (shape,) = shapes("one two three\n" + "word " * 13)
    assert shape["in_long_lines"] == pytest.approx(13 / 16) and shape["short_lines"] == 0.5
