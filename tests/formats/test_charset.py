"""The characters of a page: what marks, bytes, headers and the page itself say, in that order."""

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.formats.charset import codec, decode

GERMAN = "<p>Größe, Straße, Übung, Äpfel, schön, für, über, Müller, größer, Mädchen</p>"
RUSSIAN = "<p>Съешь же ещё этих мягких французских булок, да выпей чаю. Широкая электрификация южных губерний</p>"
JAPANESE = "<p>いろはにほへとちりぬるをわかよたれそつねならむ。色は匂へど散りぬるを</p>"


@pytest.mark.parametrize(
    ("raw", "charset", "expected"),
    [
        (b"", None, ""),
        (b"plain", None, "plain"),
        ("é".encode(), None, "é"),
        ("é".encode(), "iso-8859-1", "é"),  # UTF-8 before what is declared
        (codecs.BOM_UTF8 + "é".encode(), "windows-1252", "é"),
        (codecs.BOM_UTF16_LE + "é𝔸".encode("utf-16-le"), "utf-8", "é𝔸"),
        (codecs.BOM_UTF16_BE + "é𝔸".encode("utf-16-be"), None, "é𝔸"),
        (GERMAN.encode("utf-16-le"), None, GERMAN),
        (GERMAN.encode("utf-16-be"), "latin-1", GERMAN),
        (GERMAN.encode("latin-1"), "iso-8859-1", GERMAN),
        (b"\x93a\x94", "iso-8859-1", "“a”"),  # as browsers read the label
        (RUSSIAN.encode("windows-1251"), "windows-1251", RUSSIAN),
        (RUSSIAN.encode("koi8-r"), "KOI8-R", RUSSIAN),
        (JAPANESE.encode("shift_jis"), "shift_jis", JAPANESE),
        (JAPANESE.encode("euc_jp"), "euc-jp", JAPANESE),
        (JAPANESE.encode("iso2022_jp"), "iso-2022-jp", JAPANESE),
    ],
)
def test_a_page_is_decoded_as_it_was_written(raw, charset, expected):
    assert decode(raw, charset) == expected


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="windows-1251">',
        "<meta charset=windows-1251 />",
        '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
        '<?xml version="1.0" encoding="windows-1251"?>',
    ],
)
def test_a_page_may_say_its_charset_itself(head):
    page = head + RUSSIAN
    assert decode(page.encode("windows-1251"), None) == page
    assert decode(page.encode("windows-1251"), "no-such-charset") == page


def test_a_header_that_cannot_be_right_gives_way_to_the_page():
    page = '<meta charset="shift_jis">' + JAPANESE
    assert decode(page.encode("shift_jis"), "utf-8") == page


def test_without_any_word_the_bytes_are_guessed():
    assert decode((RUSSIAN * 3).encode("windows-1251"), None) == RUSSIAN * 3
    assert decode((JAPANESE * 3).encode("iso2022_jp"), None) == JAPANESE * 3


def test_a_page_cut_within_a_character_keeps_the_rest():
    cut = ("é" * 60).encode()[:-1]
    assert decode(cut, "utf-8") == "é" * 59 + "\ufffd"


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("UTF-8", "utf-8"),
        (' "latin1" ', "cp1252"),
        ("ascii", "cp1252"),
        ("x-sjis", "shift_jis"),
        ("unicode_escape", None),  # a codec of Python, and no charset of pages
        ("rot13", None),
        ("", None),
        (None, None),
    ],
)
def test_labels_mean_what_they_mean_in_browsers(label, name):
    assert codec(label) == name


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200), st.sampled_from([None, "utf-8", "utf-16", "big5", "iso-2022-jp", "nonsense", "\x00"]))
def test_no_bytes_and_no_label_break_it(raw, charset):
    assert isinstance(decode(raw, charset), str)
    assert decode(raw, charset).encode("utf-8", "strict") is not None
