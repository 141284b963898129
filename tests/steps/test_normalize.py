import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import RecipeError
from corpusmill.steps.clean.normalize import NOT_SURELY_NFC, Normalize

OFF = {
    "entities": False,
    "controls": False,
    "form": None,
    "ascii": False,
    "spaces": False,
    "indentation": True,
    "max_blank_lines": None,
}


def normal(text: str, **parameters: Any) -> str:
    texts = Normalize(**parameters).transform(docs("left alone", text))["text"].to_pylist()
    assert texts[0] == "left alone"
    return texts[1]


@pytest.mark.parametrize(
    ("part", "before", "after"),
    [
        ({"entities": True}, "caf&eacute; &#233; &#xE9; &amp; &lt;p&gt;", "café é é & <p>"),
        ({"entities": True}, "&amp;lt;", "&lt;"),  # once
        ({"entities": True}, "AT&T; &copy 2020 &notathing; a&b", "AT&T; &copy 2020 &notathing; a&b"),
        ({"entities": True}, "&#128; &#0; &#x110000;", "€ \ufffd \ufffd"),  # as HTML5 says
        ({"controls": True}, "a\r\nb\rc\x0cd\u2028e", "a\nb\nc\nd\ne"),
        ({"controls": True}, "a\x00b\x1b[0m\x7f\tc\x9fd", "ab[0m\tcd"),
        ({"controls": True}, "co\u00adop\u200b\ufeff\u2060", "coop"),
        ({"controls": True}, "می\u200cخواهم 👩\u200d🚀", "می\u200cخواهم 👩\u200d🚀"),  # joiners spell words and emoji
        ({"form": "NFC"}, "e\u0301 \u212b ﬁ", "é Å ﬁ"),
        ({"form": "NFC"}, "\u1112\u1161\u11ab", "한"),
        ({"form": "NFKC"}, "ﬁ ｆｕｌｌ x²", "fi full x2"),
        ({"ascii": True}, "café “x” – ﬁ\u00a0½ Ⅳ", 'cafe "x" - fi 1/2 IV'),
        ({"ascii": True}, "Ελλάδα €5 日本\n\t~", " 5 \n\t~"),
        ({"spaces": True}, "a  b \t c\u00a0d\u3000e", "a b c d e"),
        ({"spaces": True}, "a\tb", "a\tb"),  # one tab is a column
        ({"spaces": True}, "line  \nnext\t\n", "line\nnext"),
        ({"spaces": True}, "\n \n    indented  x\n\tindented", "    indented x\n\tindented"),
        ({"spaces": True}, " \n\t ", ""),
        ({"spaces": True, "indentation": False}, "  a\n\tb  c\td\n  \n   e", "a\nb c d\n\ne"),
        ({"indentation": False}, "\ta\tb", "a b"),
        ({"max_blank_lines": 2}, "a\n\n\nb\n\n\n\n\nc", "a\n\n\nb\n\n\nc"),
        ({"max_blank_lines": 2}, "a\n\n\n\nb", "a\n\n\nb"),
        ({"max_blank_lines": 0}, "a\n\n\nb\nc", "a\nb\nc"),
    ],
)
def test_each_part_does_this_and_nothing_when_off(part, before, after):
    assert normal(before, **(OFF | part)) == after
    assert normal(before, **OFF) == before


def test_the_parts_work_in_order():
    # The entities are invisible and a space: only after they are read can the next parts see them.
    assert normal("a&shy;b&nbsp; c  \r\n\r\n\r\n\r\n&#x301;d") == "ab c\n\n\n\u0301d"


def test_a_document_without_text_is_not_changed():
    assert Normalize().transform(docs(None, "a  b"))["text"].to_pylist() == [None, "a b"]


def slow_ascii(text):
    """The definition, read aloud, a character at a time."""
    like = dict.fromkeys("‘’‚‛′", "'") | dict.fromkeys("“”„‟″«»", '"') | dict.fromkeys("‐‑‒–—―−", "-")
    like |= {"⁄": "/", "∕": "/"}
    parts = [part for char in text for part in unicodedata.normalize("NFKD", char)]
    return "".join(like.get(part, part) for part in parts if part in like or ord(part) < 128)


@given(st.text(max_size=40) | st.text("aé\u0301“”’–½ﬁ\u00a0日", max_size=24))
def test_ascii_agrees_with_its_definition(text):
    assert normal(text, **(OFF | {"ascii": True})) == slow_ascii(text)


def test_ascii_with_controls_leaves_printable_ascii_alone():
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x11000)]))
    assert set(normal(every, ascii=True)) <= {*map(chr, range(32, 127)), "\n", "\t"}


texts = st.text(st.sampled_from("aé\u0301\u00c5\u212b \t\n\r\x00\u00a0\u3000\u2028\ufeffﬁ가\u11a8.&;"), max_size=24)


@given(texts)
@settings(max_examples=300)
def test_normal_text_is_not_changed(text):
    once = normal(text, entities=False)
    assert normal(once, entities=False) == once


@given(texts, st.sampled_from(["NFC", "NFKC"]))
@settings(max_examples=300)
def test_the_form_is_the_one_that_python_makes(text, form):
    assert normal(text, **(OFF | {"form": form})) == unicodedata.normalize(form, text)


@given(texts)
@settings(max_examples=300)
def test_white_space_agrees_with_the_definition_line_by_line(text):
    text = text.replace("\r", "").replace("\u2028", "")
    lines = [re.sub("[\u00a0\u3000]", " ", line).rstrip(" \t") for line in text.split("\n")]
    lines = [re.sub(r"(?<=[^ \t])[ \t]{2,}", " ", line) for line in lines]
    assert normal(text, **(OFF | {"spaces": True})) == "\n".join(lines).strip("\n")


def test_no_text_that_needs_the_normalizer_is_taken_for_normal():
    """Every character outside the pattern is normal alone and cannot join the one before it."""
    scan = re.compile(re.sub(r"\\x\{(\w+)\}", lambda code: f"\\U{int(code[1], 16):08x}", NOT_SURELY_NFC))
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    pairs = [unicodedata.decomposition(c).split() for c in characters]
    second = {chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2 and not pair[0].startswith("<")}
    second |= {chr(code) for code in [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]}  # Hangul vowels and finals
    passed = [c for c in characters if not scan.match(c)]
    assert len(passed) > 40_000
    assert not [c for c in passed if unicodedata.combining(c) or unicodedata.normalize("NFC", c) != c or c in second]


@pytest.mark.parametrize(
    ("wrong", "words"), [({"form": "NFD"}, "form must be NFC, NFKC or null"), ({"max_blank_lines": -1}, "at least 0")]
)
def test_a_setting_that_makes_no_sense_fails_when_the_step_is_made(wrong, words):
    with pytest.raises(RecipeError, match=words):
        Normalize(**wrong)
