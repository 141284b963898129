"""Kinds of characters in documents, what replaces them, and entities, one character at a time."""

import html
import re
import unicodedata
from html.entities import html5

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.characters import (
    BEYOND_ASCII,
    ENTITY,
    INVISIBLE,
    INVISIBLES,
    LINE_END,
    LINE_ENDS,
    SPACE,
    SPACES,
    UNSURE,
    characters,
    kinds_in,
    replace_kinds,
)
from corpusmill.text.entities import decode_entities
from text_strategies import STABLE, raw_strings, strings

ALL = LINE_END | INVISIBLE | SPACE | UNSURE | BEYOND_ASCII | ENTITY
HIDDEN = {chr(point) for first, last in INVISIBLES for point in range(first, last + 1)}
ATOMS = [
    *LINE_ENDS,
    *SPACES[:4],
    "\x00",
    "\u200b",
    "\u00ad",
    "\ufeff",
    "\r\n",
    "\n",
    "\t",
    "a",
    "é",
    "e\u0301",
    "日",
    "😀",
    "&amp;",
    "&",
    "x" * 62,
]
texts = st.lists(st.sampled_from(ATOMS), max_size=12).map("".join)
hostile = st.one_of(texts, st.lists(st.sampled_from(STABLE), max_size=20).map("".join))


def slow_replaced(text, kinds):
    out = re.sub("\r\n", "\n", text) if kinds & LINE_END else text
    replaced: dict[str, str] = {}
    if kinds & LINE_END:
        replaced |= dict.fromkeys(LINE_ENDS, "\n")
    if kinds & SPACE:
        replaced |= dict.fromkeys(SPACES, " ")
    if kinds & INVISIBLE:
        replaced |= dict.fromkeys(HIDDEN, "")
    return "".join(replaced.get(character, character) for character in out)


@given(
    st.lists(hostile, min_size=1, max_size=3),
    st.sampled_from([0, LINE_END, SPACE, INVISIBLE, LINE_END | SPACE | INVISIBLE]),
)
@settings(max_examples=150)
def test_kinds_are_replaced_one_character_at_a_time(batch, kinds):
    expected = [slow_replaced(text, kinds) for text in batch]
    assert replace_kinds(strings(*batch), kinds).to_pylist() == expected
    assert replace_kinds(strings("\x00", *batch, None)[1:], kinds).to_pylist() == [*expected, None]


@given(hostile)
@settings(max_examples=150)
def test_kinds_of_a_document(text):
    (kinds,) = kinds_in(strings(text), ALL).tolist()
    assert bool(kinds & LINE_END) == any(c in LINE_ENDS for c in text)
    assert bool(kinds & SPACE) == any(c in SPACES for c in text)
    assert bool(kinds & INVISIBLE) == any(c in HIDDEN for c in text)
    assert bool(kinds & BEYOND_ASCII) == (not text.isascii())
    assert bool(kinds & ENTITY) == bool(
        re.search(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});", text)
    )
    if not kinds & UNSURE:
        assert unicodedata.is_normalized("NFC", text)


@given(hostile, st.sampled_from([LINE_END, SPACE, INVISIBLE, ENTITY, BEYOND_ASCII, UNSURE]))
@settings(max_examples=60)
def test_what_is_asked_for_does_not_depend_on_the_rest(text, kind):
    assert kinds_in(strings(text), kind).tolist() == [kinds_in(strings(text), ALL).tolist()[0] & kind]


def test_ascii_and_composed_letters_are_sure():
    assert not (kinds_in(strings("plain", "é ü ß", "日本", None), UNSURE)).any()
    assert kinds_in(strings("e\u0301", "\u1100\u1161", "\u212b", "a\u0323\u0307", "a\u0307\u0323"), UNSURE).astype(bool).tolist() == [
        True, True, True, True, True,
    ]  # fmt: skip


def test_marks_without_something_to_compose_with_are_sure():
    assert kinds_in(strings("\u0bbe", "க\u0bbe", "x\u0301"), UNSURE).astype(bool).tolist()[:2] == [False, False]


@given(st.lists(st.binary(max_size=70), min_size=1, max_size=3))
@settings(max_examples=60)
def test_any_bytes_stay_within_their_document(batch):
    alone = [bytes(replace_kinds(raw_strings(text), SPACE | INVISIBLE).buffers()[2] or b"") for text in batch]
    together = replace_kinds(raw_strings(*batch), SPACE | INVISIBLE)
    sizes = np.diff(np.frombuffer(together.buffers()[1], np.int64)[: len(batch) + 1])
    assert all(size <= len(text) for size, text in zip(sizes, batch)) and len(alone) == len(batch)


def test_tables_are_those_of_python():
    tables = characters()
    for point in (*range(0x250), 0x3B1, 0x4E2D, 0xAC00, 0x1F600):
        character = chr(point)
        assert bool(tables.kinds[point] & INVISIBLE) == (character in HIDDEN), hex(point)
        assert bool(tables.kinds[point] & BEYOND_ASCII) == (point > 127)
        changes = unicodedata.normalize("NFC", character) != character
        assert not changes or tables.kinds[point] & UNSURE


def slow_decoded(text):
    def decoded(match):
        name = match[0]
        if name[1] != "#":
            return html5.get(name[1:], name)
        return html.unescape(name)

    return re.sub(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});", decoded, text)


ENTITIES = [
    "&amp;",
    "&lt;",
    "&eacute;",
    "&nGt;",
    "&#233;",
    "&#xE9;",
    "&#XE9;",
    "&#0;",
    "&#128;",
    "&#xD800;",
    "&#1114112;",
    "&#xFFFE;",
    "&#11;",
    "&foo;",
    "&amp",
    "&",
    "&#",
    "&#;",
    "&#x;",
    "&#12345678;",
    "&CounterClockwiseContourIntegral;",
    "a",
    "é",
    ";",
    "x" * 60,
]


@given(st.lists(st.sampled_from(ENTITIES), max_size=15).map("".join))
@settings(max_examples=150)
def test_entities_are_decoded_as_the_library_does(text):
    assert decode_entities(strings(text)).to_pylist() == [slow_decoded(text)]


@pytest.mark.parametrize("name", [name for name in html5 if name.endswith(";")][::37])
def test_names_of_entities(name):
    assert decode_entities(strings(f"a&{name}b", None)).to_pylist() == [f"a{html5[name]}b", None]


def test_every_number_below_160():
    texts = [f"&#{number};" for number in range(160)]
    assert decode_entities(strings(*texts)).to_pylist() == [html.unescape(text) for text in texts]


def test_a_decoded_entity_is_not_decoded_again():
    assert decode_entities(strings("&amp;lt;", "&amp;amp;amp;")).to_pylist() == ["&lt;", "&amp;amp;"]
