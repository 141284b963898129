"""Every statistic equals the Python expression that defines it, whatever the text and however documents are batched."""

import re
import unicodedata
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill.text import unicode
from corpusmill.text.stats import STATS, STOP_WORDS, document_stats
from text_strategies import ATOMS, WHITE, batches, strings, texts


def duplicates(pieces):
    """(how many occurred before, their characters)"""
    seen, again = set(), []
    for piece in pieces:
        if piece in seen:
            again.append(piece)
        seen.add(piece)
    return len(again), sum(map(len, again))


def grams(words, n):
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def top_gram_chars(words, n):
    all_grams = grams(words, n)
    if not all_grams:
        return 0
    top, times = Counter(all_grams).most_common(1)[0]  # the first of a tie
    return len(" ".join(top)) * times


def contained_chars(words, n, *, top):
    """Characters within the most frequent n-gram, or all that occur twice: words and the gaps between, each once."""
    all_grams = grams(words, n)
    counted = Counter(all_grams)
    wanted = {gram for gram, times in counted.items() if times > 1}
    if top and wanted:
        wanted = {counted.most_common(1)[0][0]}
    at = [i for i, gram in enumerate(all_grams) if gram in wanted]
    inside = {j for i in at for j in range(i, i + n)}
    gaps = {j for i in at for j in range(i, i + n - 1)}
    return sum(len(words[j]) for j in inside) + len(gaps)


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


gram_texts = st.one_of(texts, st.lists(st.sampled_from(["a", "bb", "é"]), max_size=40).map(" ".join))


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
        "word_chars": sum(map(len, words)),
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
        "top_gram_counts": [max(Counter(grams(words, n)).values(), default=0) for n in (2, 3, 4)],
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


@settings(max_examples=150)
@given(st.lists(gram_texts, min_size=1, max_size=3))
@example(["a a a a a a a a a a a a", "a b c d e f a b c d e f", "a b c d e a b c d e a b c d e"])
@example(["one two three four five six seven eight nine ten " * 2])
def test_characters_contained_in_n_grams_equal_their_definition(batch):
    usual = document_stats(strings(*batch))
    for record, plain, text in zip(document_stats(strings(*batch), contained=True), usual, batch, strict=True):
        words = text.split()
        assert record["top_gram_chars"].tolist() == [contained_chars(words, n, top=True) for n in (2, 3, 4)]
        assert record["duplicate_gram_chars"].tolist() == [contained_chars(words, n, top=False) for n in range(5, 11)]
        rest = [name for name in STATS.names if not name.endswith("gram_chars")]
        assert record[rest] == plain[rest]


@pytest.mark.parametrize("white", WHITE, ids=lambda c: f"U+{ord(c):04X}")
def test_every_white_space_separates_words_and_is_none(white):
    alone = [
        white,
        white * 70,
        f"a{white}b",
        f"{white}a{white}",
        f"{'x' * 63}{white}{'y' * 63}",
        f"a.{white}\n{white}b.",
    ]
    for record, text in zip(document_stats(strings(*alone)), alone, strict=True):
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


def test_a_document_of_10_mb_equals_its_definition():
    """Long lines, short ones, lines and passages that come again, words that never do, and all scripts."""
    random = Random(10)
    lines = [" ".join(random.choice(ATOMS) for _ in range(random.randrange(1, 60))) for _ in range(500)]
    lines += [" ".join("é" * random.randrange(200) + str(i) for i in range(50)) for _ in range(500)]
    text = "\n".join(random.choice(lines) for _ in range(1900))
    text += "\n\n" + "long" * 100_000 + "\n" * 1000 + " " * 1000
    assert 9.5e6 < len(text.encode()) < 12e6
    record = document_stats(strings("before", text, "after"))[1]
    assert as_dict(record) == slow_stats(text)
    words = text.split()
    contained = document_stats(strings(text), contained=True)[0]
    assert contained["top_gram_chars"][0] == contained_chars(words, 2, top=True)
    assert contained["duplicate_gram_chars"][-1] == contained_chars(words, 10, top=False)


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
