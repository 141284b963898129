"""Folding equals its definition, step by step on strings."""

import re
import unicodedata
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill.text import unicode
from corpusmill.text.fold import fold
from text_strategies import STABLE, batches, strings

GAPS = {ord(c): " " for c in unicode.punctuation()}


def slow_fold(text, numbers=True, case=True, gaps="punctuation"):
    text = text.lower() if case else text
    text = re.sub(r"\d+([.,،٫⎖⎗⎘]\d+)?", "0", text) if numbers else text
    if gaps == "punctuation":  # U+FF11 is a digit, and for datatrove punctuation, too
        text = text.translate(GAPS if numbers else {c: " " for c in GAPS if not chr(c).isdecimal()})
    if gaps == "symbols":
        text = "".join(c if c == "_" or unicodedata.category(c)[0] in "LNM" else " " for c in text)
    text = re.sub(r"\s+", " ", text).strip()
    if not case:
        return text
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


KINDS = ("punctuation", "symbols", "space")
PARTS = [{"numbers": n, "case": c, "gaps": g} for n, c, g in product((False, True), (False, True), KINDS)]


@settings(max_examples=300)
@given(batches, st.sampled_from(PARTS))
@example(["1.5\tA, b. 1٫٥", "x" * 70 + "1" * 70, "a\x0bb\x1cc\x85d\u3000e", "Ａ１b"], PARTS[0])
@example(["[A] {b} @z_z `z´ É ΑΣ _"], PARTS[4])
@example(["[A] {b} @z_z `z´ É ΑΣ _"], PARTS[5])
def test_each_part_can_be_left_out(batch, parts):
    assert fold(strings(*batch), **parts).to_pylist() == [slow_fold(text, **parts) for text in batch]


@pytest.mark.parametrize("parts", [PARTS[1], PARTS[2], PARTS[4], PARTS[5], PARTS[10]], ids=str)
def test_every_character_stays_or_folds_as_defined(parts):
    words = [f"a{c}b" for c in STABLE]
    assert fold(strings(*words), **parts).to_pylist() == [slow_fold(word, **parts) for word in words]


def test_text_that_grows_gets_the_room_it_needs():
    texts = ["각" * 5000, "a" * 10, "각" * 70_000]
    assert fold(strings(*texts)).to_pylist() == [slow_fold(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "folded"), [("Héllo,  WORLD 3.14!", "hello world 0"), ("", ""), (None, ""), ("...", "")]
)
def test_examples(text, folded):
    assert fold(strings(text)).to_pylist() == [folded]
