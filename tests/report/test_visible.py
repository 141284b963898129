"""Text of unknown origin is shown, never obeyed: by a terminal, a browser or a table."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.report.html.paths import without_folders
from corpusmill.report.visible import excerpt, not_stored, one_line, visible

ACTS = "\x1b\x07\x08\r\x9b\u202e\u2066\u200b\ufeff\u2028\U000e0041"


@given(st.text())
def test_no_control_and_no_direction_mark_is_left(text):
    shown = visible(text)
    for character in shown:
        assert character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
        assert character not in ACTS
    assert visible(shown) == shown


@pytest.mark.parametrize("character", list(ACTS))
def test_what_acts_is_shown_by_its_name(character):
    shown = visible(f"a{character}b")
    assert shown.startswith("a") and shown.endswith("b") and len(shown) >= 3 and character not in shown


def test_what_scripts_and_emoji_need_is_unchanged():
    for text in ("a\tb\nc", "👩\u200d👩\u200d👧", "नि\u200dमेष", "می\u200cخواهم", "é", "e\u0301"):
        assert visible(text) == text


@given(st.text())
def test_one_line_is_one_line_with_the_same_words(text):
    line = one_line(text)
    assert "\n" not in line and "\t" not in line and "\r" not in line and "  " not in line
    assert line == visible(" ".join(text.split()))


@given(st.text(), st.integers(1, 20))
def test_an_excerpt_is_whole_or_says_that_it_is_not(text, chars):
    shown = excerpt(text, chars)
    assert shown == text if len(text) <= chars else shown == text[:chars] + "…"


def test_a_text_that_is_not_stored_is_named_by_its_place():
    words = not_stored({"file": "web\x1b.jsonl", "position": 7})
    assert "web␛.jsonl at 7" in words and "run.dropped_text: all" in words


@pytest.mark.parametrize(
    "text, expected",
    [
        ("/home/me/web.jsonl", "…/web.jsonl"),
        ("a /home/me/web.jsonl b", "a …/web.jsonl b"),
        ("~/data/x.gz", "…/x.gz"),
        ("data/web.jsonl", "data/web.jsonl"),
        ("../web.jsonl", "../web.jsonl"),
        ("s3://bucket/a/b.gz", "s3://bucket/a/b.gz"),
        ("https://made.org/a/b", "https://made.org/a/b"),
        ("[/a/b.gz, /c/d.gz]", "[…/b.gz, …/d.gz]"),
        ("--folder=/a/b/c", "--folder=…/c"),
        ("1/2", "1/2"),
        ("", ""),
    ],
)
def test_paths_of_this_machine_are_cut_to_their_ends(text, expected):
    assert without_folders(text) == expected
