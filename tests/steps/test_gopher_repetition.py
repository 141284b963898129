from typing import Any

import pyarrow as pa
import pytest

from conftest import docs
from corpusmill.engine.work.batch import Batch
from corpusmill.errors import RecipeError
from corpusmill.steps.filter.gopher_repetition import GopherRepetition

TABLE_A1 = {  # Rae et al. 2021
    "duplicate_line_ratio": ("max_duplicate_lines", 0.30),
    "duplicate_paragraph_ratio": ("max_duplicate_paragraphs", 0.30),
    "duplicate_line_char_ratio": ("max_duplicate_line_chars", 0.20),
    "duplicate_paragraph_char_ratio": ("max_duplicate_paragraph_chars", 0.20),
    "top_2_gram_char_ratio": ("max_top_2_gram_chars", 0.20),
    "top_3_gram_char_ratio": ("max_top_3_gram_chars", 0.18),
    "top_4_gram_char_ratio": ("max_top_4_gram_chars", 0.16),
    "duplicate_5_gram_char_ratio": ("max_duplicate_5_gram_chars", 0.15),
    "duplicate_6_gram_char_ratio": ("max_duplicate_6_gram_chars", 0.14),
    "duplicate_7_gram_char_ratio": ("max_duplicate_7_gram_chars", 0.13),
    "duplicate_8_gram_char_ratio": ("max_duplicate_8_gram_chars", 0.12),
    "duplicate_9_gram_char_ratio": ("max_duplicate_9_gram_chars", 0.11),
    "duplicate_10_gram_char_ratio": ("max_duplicate_10_gram_chars", 0.10),
}


def judge(step: GopherRepetition, **measured: float | None) -> str | None:
    signals = {name: pa.array([measured.get(name, 0.0)], pa.float64()) for name in TABLE_A1}
    return step.reasons(docs("the text is not looked at"), signals).to_pylist()[0]


@pytest.mark.parametrize("signal", TABLE_A1)
def test_the_share_of_table_a1_passes_and_more_does_not(signal):
    reason, bound = TABLE_A1[signal]
    assert judge(GopherRepetition(), **{signal: bound}) is None
    assert judge(GopherRepetition(), **{signal: bound + 1e-6}) == reason
    assert judge(GopherRepetition(**{reason: None}), **{signal: 1.0}) is None


def test_with_every_rule_off_everything_is_kept():
    off = GopherRepetition(**{parameter: None for parameter, _ in TABLE_A1.values()})
    assert judge(off, **dict.fromkeys(TABLE_A1, 1.0)) is None


def test_every_failing_rule_is_named_paragraphs_first():
    listed = judge(
        GopherRepetition(), duplicate_line_ratio=0.9, duplicate_paragraph_ratio=0.9, top_2_gram_char_ratio=0.9
    )
    assert listed == "max_duplicate_paragraphs,max_duplicate_lines,max_top_2_gram_chars"


def reasons(text: str, **parameters: Any) -> list[str]:
    through = Batch(docs(text))
    through.apply(0, "step", GopherRepetition(**parameters))
    joined = through.all_reasons().to_pylist()[0]
    return [reason.removeprefix("step.") for reason in joined.split(",")] if joined else []


def measured(text: str, signal: str, **parameters: Any) -> float:
    """A signal, times the characters of the text: how many it counts."""
    through = Batch(docs(text))
    through.apply(0, "step", GopherRepetition(**parameters))
    return round(through.signals[f"step.{signal}_char_ratio"].to_pylist()[0] * len(text), 6)


def words(low: int, high: int) -> str:
    return " ".join(f"word{i}" for i in range(low, high))


@pytest.mark.parametrize(
    ("text", "among"),
    [
        (words(0, 60), None),
        ("\n".join(["again", *words(0, 5).split(), *["again"] * 3]), "max_duplicate_lines"),
        ("\n\n".join(["again", *words(0, 5).split(), *["again"] * 3]), "max_duplicate_paragraphs"),
        (f"{words(0, 9)}\n{words(20, 40)}\n{words(0, 9)}", "max_duplicate_line_chars"),
        (f"{words(0, 9)}\n\n{words(20, 40)}\n\n{words(0, 9)}", "max_duplicate_paragraph_chars"),
        (" ".join(f"over there {i}" for i in range(30)), "max_top_2_gram_chars"),
        (f"{words(0, 5)} {words(20, 35)} {words(0, 5)}", "max_duplicate_5_gram_chars"),
        (f"{words(0, 10)} {words(20, 60)} {words(0, 10)}", "max_duplicate_10_gram_chars"),
    ],
)
def test_texts_are_judged_as_the_paper_says(text, among):
    assert among in reasons(text) if among else not reasons(text)


SEVEN = "aa bb cc dd ee ff gg"
ONCE = " h i j k l m n "


@pytest.mark.parametrize(
    ("text", "signal", "datatrove", "paper"),
    [
        # "the fraction of characters contained within the most frequently-occurring n-gram"
        ("x y x y z", "top_2_gram", 2 * 3, 2 * 3),
        ("a a a a b", "top_2_gram", 3 * 3, len("a a a a")),  # three occurrences that overlap
        ("a a a a a b", "top_3_gram", 3 * 5, len("a a a a a")),
        ("one two three", "top_2_gram", len("one two"), 0),  # the first of those that occur once; none is repeated
        ("one", "top_2_gram", 0, 0),
        # "contained within all duplicate n-grams, taking care not to count characters that occur in overlapping
        # n-grams more than once"
        (f"{SEVEN}{ONCE}{SEVEN}", "duplicate_5_gram", len("aabbccddee"), 2 * len(SEVEN)),
        (f"{SEVEN}{ONCE}{SEVEN}", "duplicate_7_gram", len("aabbccddeeffgg"), 2 * len(SEVEN)),
        (f"{SEVEN}{ONCE}{SEVEN}", "duplicate_8_gram", 0, 0),
        ("a " * 10, "duplicate_5_gram", 5, len("a a a a a a a a a a")),
        (f"{SEVEN} {SEVEN}", "duplicate_6_gram", len("aabbccddeeff"), 2 * len(SEVEN)),  # not the space between the two
        (ONCE, "duplicate_5_gram", 0, 0),
        ("", "duplicate_5_gram", 0, 0),
    ],
)
def test_characters_of_n_grams_are_counted_as_datatrove_does_or_as_the_paper_says(text, signal, datatrove, paper):
    assert measured(text, signal) == measured(text, signal, ngrams="datatrove") == datatrove
    assert measured(text, signal, ngrams="paper") == paper


def test_a_repeated_passage_weighs_more_by_the_count_of_the_paper():
    text = f"{words(0, 9)} {words(20, 70)} {words(0, 9)}"
    assert reasons(text) == []
    assert "max_duplicate_9_gram_chars" in reasons(text, ngrams="paper")


def test_the_count_is_one_of_two():
    with pytest.raises(RecipeError, match='ngrams is "datatrove" or "paper", got "gopher"'):
        GopherRepetition(ngrams="gopher")  # type: ignore[arg-type]
