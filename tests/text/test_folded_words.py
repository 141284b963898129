"""Every word of folded text has the span that it was folded from."""

from itertools import pairwise

from hypothesis import example, given, settings

from corpusmill.text.fold import fold
from corpusmill.text.folded_words import folded_words
from text_strategies import batches, strings


def sigmas_alike(text: str) -> str:
    return text.replace("ς", "σ")  # the form of the last one depends on what follows it, a space or a quotation mark


@settings(max_examples=150)
@given(batches)
@example(["", "\u0301 a", "1.5.2 x", "ΑΣ' Σ", "don’t\u00a0"])
def test_each_word_is_what_its_bytes_fold_to(texts):
    spans, offsets = folded_words(strings(*texts))
    words_of_texts = [
        [text.encode()[start:stop].decode() for start, stop in spans[a:b].tolist()]
        for text, (a, b) in zip(texts, pairwise(offsets))
    ]
    for words, whole in zip(words_of_texts, fold(strings(*texts)).to_pylist()):
        assert sigmas_alike(" ".join(fold(strings(*words)).to_pylist())).split() == sigmas_alike(whole).split()


def test_what_separates_words_belongs_to_none():
    spans, _ = folded_words(strings("  It's 3.5°, «Île»!", None))
    text = "  It's 3.5°, «Île»!".encode()
    assert [text[start:stop].decode() for start, stop in spans.tolist()] == ["It", "s", "3.5°", "Île"]
