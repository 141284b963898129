import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import docs
from corpusmill.errors import RecipeError
from corpusmill.steps.clean.normalize import Normalize
from slow_normalize import slow_normalize

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


every_step = st.builds(
    Normalize,
    entities=st.booleans(),
    controls=st.booleans(),
    form=st.sampled_from([None, "NFC", "NFKC"]),
    ascii=st.booleans(),
    spaces=st.booleans(),
    indentation=st.booleans(),
    max_blank_lines=st.none() | st.integers(0, 70),
)
PIECES = """a b . ; # & x &amp; &lt; &nbsp; &NewLine; &Tab; &shy; &nGt; &nLt; &bne; &NotEqualTilde; &#10; &#32; &#x301; &#xD800;
&#1114112; &#12345678; &#x1234567; &nothing; &CounterClockwiseContourIntegral; é ﬁ ｆ 日本 한 가 ᄒ ᅡ ᆫ 😀 ½""".split()
BLANK = ["\n", " ", "\t", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", *"\xa0\u1680\u2003\u202f\u3000"]
HIDDEN = [
    *"\x00\x1b\x7f\x9f\xad\u200b\u200c\u200d\u200e\u2060\ufeff\ufffe\ufdd0\u0301\u0323\u212b\u2126\u0958\U0001d15e"
]
LONG = ["x" * 61, "é" * 33, " " * 64, "\n" * 65, "\t" * 130, "\xa0" * 70, "\n " * 40, "\xad" * 50, "\r\n" * 40]
hostile = st.one_of(
    st.lists(st.sampled_from([*BLANK, *BLANK, "a"]), max_size=24).map("".join),
    st.lists(st.sampled_from([" ", "\t", "\n", "a"]), max_size=90).map("".join),
    st.lists(st.sampled_from([*PIECES, *BLANK, *HIDDEN, *LONG]), max_size=30).map("".join),
    st.lists(st.text("&#xX;aAgGtLn0189", max_size=12), max_size=6).map("&".join),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.none(),
)


def agrees(step, texts):
    batch = docs(*texts)
    new, slow = step.transform(batch)["text"], slow_normalize(batch["text"], step)
    assert new.to_pylist() == slow.to_pylist()
    if slow.equals(batch["text"]):
        assert [b and b.address for b in new.buffers()] == [b and b.address for b in batch["text"].buffers()]


@given(every_step, st.lists(hostile, max_size=6), st.data())
@settings(max_examples=600)
def test_any_text_agrees_with_the_definition_whatever_the_parameters(step, texts, data):
    agrees(step, texts)
    # A slice of a batch is not at the beginning of its buffer, and its documents have neighbours.
    batch = docs(*texts)
    first = data.draw(st.integers(0, len(texts)))
    assert step.transform(batch[first:])["text"].to_pylist() == slow_normalize(batch[first:]["text"], step).to_pylist()


@pytest.mark.parametrize(
    "step",
    [
        Normalize(),
        Normalize(spaces=False, max_blank_lines=1),
        Normalize(spaces=False, max_blank_lines=5),
        Normalize(spaces=False, indentation=False, max_blank_lines=None),
    ],
)
def test_places_across_the_ends_of_blocks_are_seen(step):
    runs = [
        " ",
        "  ",
        "\t\t",
        " \n",
        "\n ",
        *("\n" * times for times in range(1, 8)),
        "\r\n",
        "&gt;",
        "\xad",
        "e\u0301",
    ]
    for before in range(56, 66):
        for run in runs:
            agrees(step, [f"{'.' * before}{run}."])  # alone, so that nothing else in the batch must be changed
            agrees(step, [f"{'.' * before}{run}"])


def test_each_character_agrees_with_the_definition():
    every = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    texts = ["".join(f"a{c}b" for c in every[i : i + 64]) for i in range(0, len(every), 64)]
    for step in (Normalize(), Normalize(form="NFKC"), Normalize(ascii=True), Normalize(form=None, spaces=False)):
        agrees(step, texts)


def test_text_that_needs_nothing_keeps_its_buffer():
    batch = docs("one\n\n\n  two\tthree", None, "", "é & &c; नमस्ते 日本")
    assert Normalize().transform(batch) is batch


def test_a_document_among_others_is_changed_alone_wherever_it_is():
    same = ["plain", "lines\nof\n  text", "", None, "é" * 100]
    for changed in ("a  b", " \n", "&amp;", "e\u0301", "\u00ad"):
        for at in range(len(same) + 1):
            agrees(Normalize(), [*same[:at], changed, *same[at:]])
    agrees(Normalize(spaces=False), ["a\r", "\nb\xad", "c\n\n", "\n\nd"])


def test_very_long_runs_agree_with_the_definition():
    for run in ("\n", " ", "\t", " \n", "&", "&amp;", "\u00a0", "\r", "e\u0301"):
        for step in (Normalize(), Normalize(spaces=False, max_blank_lines=150_000), Normalize(indentation=False)):
            agrees(step, [run * 100_000, f"a{run * 100_000}b"])


@pytest.mark.parametrize(
    ("wrong", "words"), [({"form": "NFD"}, "form must be NFC, NFKC or null"), ({"max_blank_lines": -1}, "at least 0")]
)
def test_a_setting_that_makes_no_sense_fails_when_the_step_is_made(wrong, words):
    with pytest.raises(RecipeError, match=words):
        Normalize(**wrong)
