"""Statistics of documents where definitions meet their edges: breaks, blank lines, repetitions, wide words."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.text.stats import document_stats
from text_strategies import WHITE, raw_strings, strings


def row(text, contained=False):
    return document_stats(strings(text), contained=contained)[0]


@pytest.mark.parametrize(
    ("text", "lines", "newlines", "filled", "full", "paragraphs"),
    [
        ("", 0, 0, 0, 0, 1),
        ("a", 1, 0, 1, 1, 1),
        ("a\n", 1, 1, 2, 1, 1),
        ("\na", 2, 1, 2, 1, 1),
        ("a\r\nb", 2, 1, 2, 2, 1),
        ("a\rb", 2, 0, 1, 1, 1),
        ("a\x0bb\x0cc", 3, 0, 1, 1, 1),
        ("a\x1cb\x1db\x1eb", 4, 0, 1, 1, 1),
        ("a\u2028b\u2029c\x85d", 4, 0, 1, 1, 1),
        ("a\n\nb", 3, 2, 2, 2, 2),
        ("a\n\n\n\nb", 5, 4, 2, 2, 2),
        ("a\n \nb", 3, 2, 3, 2, 1),
        ("\n\n\n", 3, 3, 2, 0, 1),
        ("a\n\nb\n\nc", 5, 4, 3, 3, 3),
        ("  \n  ", 2, 1, 2, 0, 1),
        ("\r\n\r\n", 2, 2, 2, 0, 1),
    ],
)
def test_lines_and_paragraphs(text, lines, newlines, filled, full, paragraphs):
    found = row(text)
    fields = ("lines", "newlines", "filled_lines", "full_lines", "paragraphs")
    if text == "\r\n\r\n":
        filled = len(re.split(r"\n+", text))
    assert [int(found[field]) for field in fields] == [lines, newlines, filled, full, paragraphs]
    assert lines == len(text.splitlines())


@pytest.mark.parametrize(
    ("text", "bullets", "ellipses"),
    [
        ("- a\n• b\n* c", 2, 0),
        ("  - a\n\t• b", 2, 0),
        ("-\n•", 2, 0),
        ("a...\nb…\nc..", 0, 2),
        ("a...  \nb… \n", 0, 2),
        ("...", 0, 1),
        ("..", 0, 0),
        ("\u00a0- a", 1, 0),
        ("a - b", 0, 0),
        ("–a", 0, 0),
    ],
)
def test_bullets_and_ellipses_of_lines(text, bullets, ellipses):
    found = row(text)
    assert (int(found["bullet_lines"]), int(found["ellipsis_lines"])) == (bullets, ellipses)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("....", 1),
        ("......", 2),
        (".....", 1),
        ("…", 1),
        ("…...…", 3),
        (". . .", 0),
        ("." * 200, 66),
        ("a" * 62 + "...", 1),
    ],
)
def test_ellipses_are_counted_as_str_count_does(text, count):
    assert row(text)["ellipses"] == count == text.count("...") + text.count("…")


@pytest.mark.parametrize(
    ("text", "duplicates", "chars"),
    [
        ("a\na\na", 2, 2),
        ("ab\n\nab", 1, 2),
        ("a\nA", 0, 0),
        ("é\né", 1, 1),
        ("a \na", 0, 0),
        ("\n\n", 1, 0),
        ("\na\n", 1, 0),
    ],
)
def test_duplicate_lines(text, duplicates, chars):
    found = row(text)
    lines = re.split(r"\n+", text)
    again = [line for i, line in enumerate(lines) if line in lines[:i]]
    assert (int(found["duplicate_lines"]), int(found["duplicate_line_chars"])) == (duplicates, chars)
    assert (len(again), sum(map(len, again))) == (duplicates, chars)


@pytest.mark.parametrize(
    ("text", "top", "top_chars", "contained"),
    [
        ("a b a b", [2, 1, 1], [6, 5, 7], [6, 0, 0]),
        ("a a a", [2, 1, 0], [6, 5, 0], [5, 0, 0]),
        ("a b c", [1, 1, 0], [3, 5, 0], [0, 0, 0]),
        ("a", [0, 0, 0], [0, 0, 0], [0, 0, 0]),
        ("x y x y x y", [3, 2, 2], [9, 10, 14], [9, 9, 11]),
    ],
)
def test_the_most_frequent_grams(text, top, top_chars, contained):
    assert row(text)["top_gram_counts"].tolist() == top
    assert row(text)["top_gram_chars"].tolist() == top_chars
    found = row(text, contained=True)["top_gram_chars"].tolist()
    words = text.split()
    for n, own in zip((2, 3, 4), found):
        grams = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
        best = max(grams, key=grams.count, default=())
        inside = {i + k for i, gram in enumerate(grams) if gram == best and grams.count(best) > 1 for k in range(n)}
        joints = sum(i + 1 in inside for i in inside)
        assert own <= sum(len(words[i]) for i in inside) + joints
    assert len(contained) == 3


def test_long_repetitions_are_counted_without_overlap_or_once():
    words = [f"w{i}" for i in range(12)]
    text = " ".join(words + words)
    size = sum(map(len, words))
    plain, contained = (
        row(text)["duplicate_gram_chars"].tolist(),
        row(text, contained=True)["duplicate_gram_chars"].tolist(),
    )
    assert plain == [sum(map(len, words[: 12 // n * n])) for n in range(5, 11)]
    assert all(own >= 2 * size for own in contained)


@pytest.mark.parametrize(
    ("word", "alpha", "upper", "content"),
    [
        ("Word", 1, 0, 1), ("WORD", 1, 1, 1), ("12", 0, 0, 1), ("...", 0, 0, 0), ("É", 1, 1, 1), ("Éa", 1, 0, 1), ("ß", 1, 0, 1),
        ("A1", 1, 1, 1), ("日本", 1, 0, 1), ("ǅ", 1, 0, 1), ("。", 0, 0, 0), ("—", 0, 0, 0), ("X" * 70, 1, 1, 1), ("é" * 70, 1, 0, 1),
        ("½", 0, 0, 1), ("Ⅷ", 0, 1, 1), ("a\u0301", 1, 0, 1), ("$+", 0, 0, 0),
    ],
)  # fmt: skip
def test_flags_of_words(word, alpha, upper, content):
    found = row(word)
    assert [int(found[field]) for field in ("alpha_words", "upper_words", "content_words")] == [alpha, upper, content]
    assert alpha == any(map(str.isalpha, word)) and upper == word.isupper()
    assert found["word_chars"] == len(word)


@given(
    st.lists(st.sampled_from(["a", "bc", "é", "日"]), min_size=1, max_size=8),
    st.lists(st.sampled_from(WHITE), min_size=8, max_size=8),
)
@settings(max_examples=60)
def test_any_white_space_separates_words(words, spaces):
    text = "".join(word + space for word, space in zip(words, spaces))
    found = row(text)
    assert found["words"] == len(words) and found["distinct_words"] == len(set(words))
    assert found["chars"] == len(text)


@given(st.lists(st.binary(max_size=90), min_size=1, max_size=3))
@settings(max_examples=60)
def test_any_bytes_are_measured_within_their_document(texts):
    together = document_stats(raw_strings(*texts))
    for text, own in zip(texts, together):
        alone = document_stats(raw_strings(text))[0]
        assert own["newlines"] == alone["newlines"] == text.count(b"\n")
        assert own["hashes"] == text.count(b"#")


def test_a_line_of_31_characters_is_not_short():
    assert [int(row("é" * size)["short_lines"]) for size in (29, 30, 31)] == [1, 1, 0]


@pytest.mark.parametrize(
    ("text", "count"),
    [("One.", 1), ("One", 0), ("One. ", 0), ("好。", 1), ("One!\nTwo?\nThree", 2), ('"Go."', 0), ("a।", 1)],
)
def test_lines_that_end_as_sentences_do(text, count):
    assert row(text)["terminal_lines"] == count
