"""Every statistic equals the Python expression that defines it, whatever the text and however documents are batched."""

import re
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given, settings
from text_strategies import batches, strings, texts

from corpusmill.text import unicode
from corpusmill.text.stats import STATS, STOP_WORDS, document_stats


def duplicates(pieces):
    """(how many occurred before, their characters)"""
    again = [piece for i, piece in enumerate(pieces) if piece in pieces[:i]]
    return len(again), sum(map(len, again))


def grams(words, n):
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def top_gram_chars(words, n):
    found = grams(words, n)
    if not found:
        return 0
    top = max(dict.fromkeys(found), key=found.count)
    return len(" ".join(top)) * found.count(top)


def duplicate_gram_chars(words, n):
    seen, chars, i = set(), 0, 0
    while i + n <= len(words):
        gram = tuple(words[i : i + n])
        if gram in seen:
            chars += sum(map(len, gram))
            i += n
        else:
            seen.add(gram)
            i += 1
    return chars


def slow_stats(text):
    words, lines = text.split(), text.splitlines()
    full = [line for line in text.split("\n") if line.strip()]
    filled = re.split(r"\n+", text) if text else []
    paragraphs = re.split(r"\n{2,}", text.strip())
    symbols = unicode.punctuation() | unicode.terminal()
    content = [word for word in words if set(word) - symbols]
    category = unicodedata.category
    return {
        "chars": len(text),
        "newlines": text.count("\n"),
        "hashes": text.count("#"),
        "ellipses": text.count("...") + text.count("…"),
        "upper_chars": sum(map(str.isupper, text)),
        "digits": sum(map(str.isdecimal, text)),
        "marks": sum(category(c)[0] == "P" or c in "$+<=>^`|~" for c in text),
        "special_chars": sum(category(c)[0] not in "LMN" and not c.isspace() for c in text),
        "words": len(words),
        "distinct_words": len(set(words)),
        "alpha_words": sum(any(map(str.isalpha, word)) for word in words),
        "upper_words": sum(map(str.isupper, words)),
        "content_words": len(content),
        "content_word_chars": sum(map(len, content)),
        "stop_words": len(set(words) & set(STOP_WORDS)),
        "lines": len(lines),
        "bullet_lines": sum(line.lstrip().startswith(("•", "-")) for line in lines),
        "ellipsis_lines": sum(line.rstrip().endswith(("...", "…")) for line in lines),
        "filled_lines": len(filled),
        "duplicate_lines": duplicates(filled)[0],
        "duplicate_line_chars": duplicates(filled)[1],
        "full_lines": len(full),
        "terminal_lines": sum(line[-1] in unicode.terminal() for line in full),
        "short_lines": sum(len(line) <= 30 for line in full),
        "repeated_line_chars": duplicates(full)[1],
        "paragraphs": len(paragraphs),
        "duplicate_paragraphs": duplicates(paragraphs)[0],
        "duplicate_paragraph_chars": duplicates(paragraphs)[1],
        "repeats": duplicates(grams(words, 3))[0],
        "top_gram_chars": [top_gram_chars(words, n) for n in (2, 3, 4)],
        "duplicate_gram_chars": [duplicate_gram_chars(words, n) for n in range(5, 11)],
    }


def as_dict(record):
    return {name: record[name].tolist() for name in STATS.names}


@settings(max_examples=250)
@given(batches)
@example(["\n", "a\n\n\n", "\r\n\r\n", "a" * 64 + "\u3000" + "b" * 64, " " * 63 + "\u2028" + "...", "." * 130])
@example(["a b c d e f " * 3, "to be to be to be"])
def test_each_statistic_equals_its_definition(batch):
    for record, text in zip(document_stats(strings(*batch)), batch, strict=True):
        assert as_dict(record) == slow_stats(text), text


@settings(max_examples=30)
@given(batches, batches)
def test_a_document_counts_the_same_in_any_batch(a, b):
    together = document_stats(strings(*a, None, *b))
    apart = [document_stats(strings(*a)), document_stats(strings(None)), document_stats(strings(*b))]
    assert np.array_equal(together, np.concatenate(apart))
    assert np.array_equal(document_stats(strings(*a, *b)[len(a) :]), apart[2])


def test_no_documents_give_no_records():
    assert document_stats(strings()).shape == (0,)


def test_a_long_document_equals_its_definition():
    text = " ".join(f"w{i * i % 97}" + ("\n" if i % 13 == 0 else "") for i in range(3000))
    assert as_dict(document_stats(strings(text))[0]) == slow_stats(text)


@pytest.mark.parametrize("cut", [0, 1, 5, 64])
def test_threads_do_not_disturb_each_other(cut):
    parts = [strings(*["some words to count\n" * (i + cut), "- é…"]) for i in range(8)]
    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(document_stats, parts))
    assert all(np.array_equal(t, document_stats(p)) for t, p in zip(threaded, parts, strict=True))


@given(texts)
@settings(max_examples=20)
def test_counts_of_a_part_never_exceed_the_whole(text):
    record = document_stats(strings(text))[0]
    assert record["duplicate_line_chars"] <= record["chars"]
    assert (record["duplicate_gram_chars"] <= record["chars"]).all()
