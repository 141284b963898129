"""Text in which passages are found however they are written, beside a slow twin; and where each word was."""

import re
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.fold import fold
from corpusmill.text.folded_words import folded_words
from corpusmill.text.loosened import ALPHABETIC, IDEOGRAPHIC, UNSEEN, loosened
from corpusmill.text.scripts import RANGES
from growth import assert_linear


def of(*texts):
    return pa.array(texts, pa.large_string())


def is_apart(char):
    ranges = " ".join(RANGES[script] for script in IDEOGRAPHIC + ALPHABETIC).split()
    edges = [(part.partition("-")[0], part.rpartition("-")[2]) for part in ranges]
    return any(int(first, 16) <= ord(char) <= int(last, 16) for first, last in edges)


DIVIDED = re.compile("(?<=[A-Za-z\x80-\U0010ffff])[-\u00ad\u2010]\r?\n[ \t]*(?=[a-z\x80-\U0010ffff])")


def slow(text):
    made = ""
    for part in DIVIDED.split(text):
        for char in part:
            if is_apart(char):
                made += ("" if not made or made.endswith(" ") else " ") + char + " "
            elif "\uff01" <= char <= "\uff5e":
                made += unicodedata.normalize("NFKC", char)
            elif char not in UNSEEN:
                made += char
    return made


CHARS = st.sampled_from("aZé7 .-\u00ad\u2010\n\r\t水のカกิ\u200bＡ！\U00020000\u1234ㅎ")


@given(st.lists(st.text(CHARS, max_size=30), max_size=4))
@settings(max_examples=200)
def test_it_is_what_the_slow_twin_makes(texts):
    assert loosened(of(*texts)).texts.to_pylist() == [slow(text) for text in texts]


@given(st.lists(st.text(CHARS, max_size=30), max_size=4))
def test_every_word_is_where_it_was(texts):
    array = of(*texts)
    loose = loosened(array)
    spans, offsets = folded_words(loose.texts)
    words = [word for text in fold(loose.texts).to_pylist() for word in text.split()]
    assert len(spans) == len(words)
    for number, text in enumerate(texts):
        own = slice(offsets[number], offsets[number + 1])
        start, stop = loose.was(np.full(len(spans[own]), number), spans[own, 0], spans[own, 1])
        for first, last, word in zip(start.tolist(), stop.tolist(), words[own]):
            found = text.encode()[first:last].decode()  # whole characters
            assert "".join(fold(of(slow(found)))[0].as_py().split()).casefold() == word.casefold()


@given(st.text(CHARS, max_size=30), st.text(CHARS, max_size=30))
def test_texts_with_letters_apart_are_known(first, second):
    divided = loosened(of(first, second)).divided()
    for text, known in zip((first, second), divided):
        assert known or sum(map(is_apart, text)) < 2


def test_bytes_that_are_no_text_do_no_harm():
    damaged = pa.LargeStringArray.from_buffers(
        1, pa.py_buffer(np.array([0, 8])), pa.py_buffer(b"\xf7\xbf\xbf\xbf\xe6\xb0\xb4\xff")
    )
    assert len(loosened(damaged).texts) == 1


@pytest.mark.parametrize(
    ("text", "loose"),
    [
        ("港口仓库 10吨", "港 口 仓 库  10 吨 "),
        ("The ware\u00adhouse holds\u200b barrels", "The warehouse holds barrels"),
        ("The ware-\n   house, wellknown", "The warehouse, wellknown"),
        ("Ｈｏｗ ｍａｎｙ？", "How many?"),
        ("pages 3-\n4 and A-\nB", "pages 3-\n4 and A-\nB"),
        ("한국어는 띄어", "한국어는 띄어"),
    ],
)
def test_what_it_makes(text, loose):
    assert loosened(of(text)).texts.to_pylist() == [loose]


def test_nothing_to_change_is_not_copied():
    array = of("plain text", "", None)
    assert loosened(array).texts is array and not loosened(array).divided().any()
    sliced = of("x", "水 a", "b水").slice(1)
    assert loosened(sliced).texts.to_pylist() == ["水  a", "b 水 "]


@pytest.mark.parametrize("part", ["水", "a-\n", "\u00ad\n", "Ａ"])
def test_the_time_is_linear(part):
    assert_linear(lambda text: loosened(of(text)), lambda size: (part * size)[:size], 1 << 18)
