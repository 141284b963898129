"""What is said of length and damage is what regular expressions and counting characters say."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill.text.integrity import CODE, SYMBOLS, integrity
from corpusmill.text.tags import ELEMENTS, has_markup
from corpusmill.text.word_counts import word_counts
from text_strategies import STABLE, raw_strings, strings

TAG = re.compile(rf"</?(?:{'|'.join(ELEMENTS)})[>/ \t\n\v\f\r]|<!--|<!doctype", re.IGNORECASE | re.ASCII)
BROKEN = re.compile("\ufffd|[ÂÃ][\u0080-\u00bf]|â€")
WHITE = " \t\n\v\f\r\x1c\x1d\x1e\x1f"


def slow(text):
    visible = sum(c not in WHITE for c in text)
    symbols = sum(c in SYMBOLS for c in text)
    return {
        "chars": len(text),
        "visible": visible,
        "symbols": symbols,
        "markup": bool(TAG.search(text)),
        "code": visible > 0 and symbols * CODE >= visible,
        "space": " " * 3 in text or "\n" * 4 in text,
        "encoding": bool(BROKEN.search(text)),
    }


PIECES = [
    *(
        "<",
        "</",
        ">",
        "/",
        "<!--",
        "<!-",
        "<!doctype",
        "<!DocTyp",
        "p",
        "P",
        "div",
        "table ",
        "h1",
        "h7",
        "Blockquote>",
    ),
    *(
        "blockquotes>",
        "<a\n",
        "<b",
        "\x1c",
        " ",
        "  ",
        "   ",
        "\n",
        "\n\n",
        "\n\n\n",
        "\t",
        "Ã",
        "Â",
        "â",
        "€",
        "©",
        "\x80",
    ),
    *("\u00c0", "é", "\ufffd", "\uffff", "\uffe5", "日本", "😀", "x" * 13, "y" * 61, ";", "{}", "a_b", "(c)"),
]
documents = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    st.lists(st.sampled_from(PIECES[:22]), max_size=12).map("".join),
    st.lists(st.sampled_from(STABLE), max_size=30).map("".join),
    st.text(max_size=80),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(documents, st.none()), min_size=1, max_size=4))
@example(["x" * 62 + "<p>", "y" * 63 + "<", "p>"])  # a tag across blocks; none across documents
@example(["z" * 63 + "Ã", "©", "é" * 31 + "xÃ©"])
@example(["a" * 62 + "   b", "a" * 61 + "\n\n\n\nb", "a" * 62 + "  ", " b"])
def test_texts_are_measured_as_a_loop_measures_them(texts):
    array = strings(*texts)
    found = integrity(array)
    expected = [slow(text or "") for text in texts]
    assert [{name: found[name][i].item() for name in one} for i, one in enumerate(expected)] == expected
    assert found["words"].tolist() == word_counts(array).tolist()
    assert has_markup(array).tolist() == [one["markup"] for one in expected]


@pytest.mark.parametrize(
    "text", ["<p>", "</DIV>", 'see <a href="x">', "<br/>", "<!-- note -->", "<!DOCTYPE html>", "<td\n"]
)
def test_html_is_markup(text):
    assert has_markup(strings(f"before {text} after")).tolist() == [True]


@pytest.mark.parametrize(
    "text", ["i<n", "List<String>", "<foo>", "&lt;p&gt;", "a < b > c", "<p", "<3", "<>", "<!x", "Vec<u8>"]
)
def test_other_uses_of_angle_brackets_are_not(text):
    assert has_markup(strings(text)).tolist() == [False]


def test_names_at_the_end_of_a_buffer():
    assert has_markup(raw_strings(b"<p>", b"<p", b"", b"<blockquote ")).tolist() == [True, False, False, True]


def test_every_name_is_known_and_no_prefix_of_one():
    assert has_markup(strings(*(f"<{name}>" for name in ELEMENTS))).all()
    others = {name[:-1] for name in ELEMENTS} | {f"{name}x" for name in ELEMENTS}
    assert not has_markup(strings(*(f"<{name}>" for name in others - set(ELEMENTS)))).any()
