"""Marks in a text: where they are said to be is where the things are, and no part of the text is lost."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.inspect.document import compared
from corpusmill.inspect.marks import MarkedSpan, marks, parts
from corpusmill.report.visible import visible
from corpusmill.steps import C4
from corpusmill.steps.redact.pii import RedactPii
from made_run import HOSTILE

texts = st.text(alphabet="ab \n", max_size=40)
spans = st.dictionaries(st.sampled_from("xyz"), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=4))
words = st.lists(st.sampled_from("a b c d".split()), max_size=25).map(" ".join)


@given(texts, spans)
def test_the_parts_are_the_text_and_each_has_the_marks_of_its_characters(text, where):
    """A slow obvious twin marks character by character."""
    own = {
        name: [MarkedSpan(*sorted((min(a, len(text)), min(b, len(text))))) for a, b in pairs]
        for name, pairs in where.items()
    }
    found = parts(text, own)
    assert "".join(part for part, _ in found) == text
    at = 0
    for part, names in found:
        for character in range(at, at + len(part)):
            expected = [name for name, pairs in own.items() if any(a <= character < b for a, b in pairs)]
            assert names == expected
        at += len(part)


def test_hostile_text_is_shown_and_does_nothing():
    shown = "".join(part for part, _ in parts(HOSTILE, {"x": [MarkedSpan(0, 8)]}))
    assert shown == visible(HOSTILE) and "\x1b" not in shown


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["one line", "another line", "", "  "]), max_size=12).map("\n".join))
def test_a_repeated_line_is_one_that_was_there_before(text):
    found = marks(text, {"url": None}, [], []).get("repeated line", [])
    expected, seen, at = [], set(), 0
    for line in text.split("\n"):
        if line.strip():
            if line in seen:
                expected.append(MarkedSpan(at, at + len(line)))
            seen.add(line)
        at += len(line) + 1
    assert found == expected


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from("a b c".split()), max_size=25).map(" ".join))
def test_repeated_words_are_in_an_n_gram_that_was_there_before(text):
    found = marks(text, {"url": None}, [], []).get("repeated words", [])
    own = list(re.finditer(r"\S+", text))
    grams = [tuple(match[0] for match in own[i : i + 5]) for i in range(len(own) - 4)]
    repeated = {i + j for i, gram in enumerate(grams) if gram in grams[:i] for j in range(5)}
    marked = {i for i, match in enumerate(own) if any(a <= match.start() < b for a, b in found)}
    assert marked == repeated


@pytest.mark.parametrize(
    "line, name",
    [
        ("• a bullet that is long enough not to be short", "bullet line"),
        ("- another bullet that is long enough not to be short", "bullet line"),
        ("a line that ends with an ellipsis, long enough …", "ellipsis line"),
        ("a line that ends with three dots, long enough ...", "ellipsis line"),
        ("short", "short line"),
    ],
)
def test_kinds_of_lines(line, name):
    text = f"a first line that is long enough for every rule.\n{line}"
    found = marks(text, {"url": None}, [], [])
    assert [text[a:b] for a, b in found[name]] == [line]
    other = {"bullet line", "ellipsis line", "short line"} - {name}
    assert not other & found.keys()


def test_the_most_frequent_words_occur_more_than_twice():
    text = "red car and red car or red car"
    found = marks(text, {"url": None}, [], [])["most frequent 2 to 4 words"]
    assert {text[a:b] for a, b in found} == {"red car"} and len(found) == 3
    assert "most frequent 2 to 4 words" not in marks("red car and red car", {"url": None}, [], [])


def test_personal_data_is_found_as_the_recipe_looks_for_it():
    text = "größe: write to a.b@example.org or call +1 212 555 0100"
    found = marks(text, {"url": None}, [], [])
    assert [text[a:b] for a, b in found["personal data: email"]] == ["a.b@example.org"]
    only_phones = marks(text, {"url": None}, [RedactPii(kinds=("phone",))], [])
    assert "personal data: email" not in only_phones


def test_what_c4_would_remove_is_shown_only_before_it_has():
    text = "A line without an end\nThis line has enough words and an end."
    removed = {name for name in marks(text, {"url": None}, [C4()], [C4()]) if name.startswith("C4 removes")}
    assert removed
    assert not {name for name in marks(text, {"url": None}, [C4()], []) if name.startswith("C4 removes")}


def test_an_empty_text_has_no_marks():
    assert marks("", {"url": None}, [], []) == {} and parts("", {}) == []


@settings(max_examples=60)
@given(words, words)
def test_both_texts_are_there_in_full_and_their_common_parts_are_the_same(first, second):
    left, right = compared(first, second)
    assert "".join(part for part, _ in left) == first and "".join(part for part, _ in right) == second
    common = [" ".join(part for part, same in side if same).split() for side in (left, right)]
    assert common[0] == common[1]


def test_long_texts_are_compared_by_lines():
    lines = [f"line {i} " + "word " * 20 for i in range(400)]
    left, right = compared("\n".join(lines), "\n".join([*lines[:200], "new", *lines[200:]]))
    assert [part.strip() for part, same in right if not same] == ["new"]
    assert all(same for _, same in left)


def test_white_space_around_a_word_is_no_difference():
    left, right = compared("a  b\nc", "a b c")
    assert all(same for _, same in (*left, *right))
