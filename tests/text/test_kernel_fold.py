"""Folding equals its definition, step by step on strings."""

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from text_strategies import STABLE, batches, strings

from corpusmill.text import unicode
from corpusmill.text.fold import fold

GAPS = {ord(c): " " for c in unicode.punctuation()}


def slow_fold(text):
    text = re.sub(r"\d+([.,،٫⎖⎗⎘]\d+)?", "0", text.lower())
    text = re.sub(r"\s+", " ", text.translate(GAPS).strip())
    decomposed = "".join(unicodedata.normalize("NFD", c) for c in text)
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn").strip()


@settings(max_examples=300)
@given(batches)
@example(["ΑΣ", "ΑΣΑ", "ΑΣ'Α", "Α.Σ", "1Σ", "ΑΣ\u0301", "ΣΣ Σ", "Α\u200bΣ\u200b.", "ΑΣ1"])
@example(["1.2.3", "1,", "1.a", "１２", "a１b", "٣٫٥", "1٫٥.2", "12 34"])
@example(["\u0301", "a \u0301", "\u0301 a", "a \u0301 b", "한글 각", "İstanbul ẞ"])
def test_equals_its_definition(batch):
    assert fold(strings(*batch)).to_pylist() == [slow_fold(text) for text in batch]


def test_every_character_folds_as_defined():
    words = [f"a{c}b" for c in STABLE]
    assert fold(strings(*words)).to_pylist() == [slow_fold(word) for word in words]


def test_text_that_grows_gets_the_room_it_needs():
    texts = ["각" * 5000, "a" * 10, "각" * 70_000]
    assert fold(strings(*texts)).to_pylist() == [slow_fold(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "folded"), [("Héllo,  WORLD 3.14!", "hello world 0"), ("", ""), (None, ""), ("...", "")]
)
def test_examples(text, folded):
    assert fold(strings(text)).to_pylist() == [folded]
