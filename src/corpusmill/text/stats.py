"""All statistics of a document in one pass over its bytes; one record per document.

`spans` finds words and line breaks in the bytes; `lines` derives lines and paragraphs from the breaks; `words` measures
the words; `grams` finds repeated n-grams.
"""

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text.array_types import UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import kernel
from corpusmill.text.grams import REPEATED, TOP, gram_statistics
from corpusmill.text.hashing import quick_hashes
from corpusmill.text.lines import line_statistics, paragraph_statistics
from corpusmill.text.spans import find_spans, longest, make_scratch, most_words
from corpusmill.text.unicode import Classes, classes
from corpusmill.text.words import measure_words

# Gopher's eight (Rae et al. 2021, appendix A1.1).
STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")

# The definition of each field as a Python expression; `words` = text.split(), characters are code points.
_FIELDS = {
    "chars": "len(text)",
    "newlines": 'text.count("\\n")',
    "hashes": 'text.count("#")',
    "ellipses": 'text.count("...") + text.count("…")',
    "upper_chars": "sum(map(str.isupper, text))",
    "digits": "sum(map(str.isdecimal, text))",
    "marks": "characters of category P*, and the ASCII symbols",
    "special_chars": "characters other than letters, numbers, combining marks and white space",
    "words": "len(words)",
    "word_chars": "sum(map(len, words))",
    "distinct_words": "len(set(words))",
    "alpha_words": "words with a character that isalpha()",
    "upper_words": "sum(map(str.isupper, words))",
    "content_words": "words with a character outside `unicode.punctuation` and `unicode.terminal`",
    "content_word_chars": "characters of those",
    "stop_words": "len(set(words) & set(STOP_WORDS))",
    "lines": "len(text.splitlines())",
    "bullet_lines": 'those whose first character after white space is "•" or "-"',
    "ellipsis_lines": 'those that end, before white space, in "..." or "…"',
    "filled_lines": 'len(re.split(r"\\n+", text)), 0 for an empty text',
    "duplicate_lines": "those that occurred before",
    "duplicate_line_chars": "characters of those",
    "full_lines": 'lines of text.split("\\n") that are not blank',
    "terminal_lines": "those whose last character is in `unicode.terminal`",
    "short_lines": "those of at most 30 characters",
    "repeated_line_chars": "characters of those that occurred before",
    "paragraphs": 'len(re.split(r"\\n{2,}", text.strip()))',
    "duplicate_paragraphs": "those that occurred before",
    "duplicate_paragraph_chars": "characters of those",
    "repeats": "3-grams of words that occurred before",
}
STATS = np.dtype(
    [(name, np.int64) for name in _FIELDS]
    + [
        # how often the most frequent 2-, 3-, 4-gram occurs; 0 if there is none
        ("top_gram_counts", np.int64, (len(TOP),)),
        # len(" ".join(gram)) * count of the most frequent 2-, 3-, 4-gram, the first seen on a tie
        # if contained: characters in all its occurrences, overlaps counted once; 0 if it occurs once
        ("top_gram_chars", np.int64, (len(TOP),)),
        # characters in 5- to 10-grams that occurred before, counted without overlap from left to right
        # if contained: characters in all occurrences of those that occur more than once, overlaps counted once
        ("duplicate_gram_chars", np.int64, (len(REPEATED),)),
    ],
    align=True,
)


def document_stats(texts: pa.LargeStringArray, *, contained: bool = False) -> NDArray[Any]:
    """The statistics of each document, (documents,) STATS. A null counts as "".

    contained   count the characters contained in n-grams, as in Gopher's paper; False: those of their repetitions, as
                in datatrove

    n-grams are equal if their words are, one by one, as in the paper; datatrove compares them joined without spaces,
    where "can not" repeats "cannot" (which differs in 0.2 % of documents at n = 5).
    """
    text = view(texts)
    out = np.zeros(len(text.offsets) - 1, STATS)
    if len(out):
        _measure(text, classes(), stop_hashes(), contained, out)
    return out


@kernel
def _measure(text: TextBuffer, classes: Classes, stop_words: UInt64s, contained: bool, out: NDArray[Any]) -> None:
    data = text.data
    size = longest(text.offsets)
    s = make_scratch(size, most_words(size))
    for d in range(len(out)):
        lo, hi = text.offsets[d], text.offsets[d + 1]
        row = out[d]
        counts = find_spans(data, lo, hi, classes, s)
        upper, digits, marks, special = measure_words(data, lo, counts.words, classes, s)
        row.chars, row.hashes, row.ellipses = counts.chars, counts.hashes, counts.ellipses
        row.upper_chars, row.digits = counts.upper + upper, counts.digits + digits
        row.marks, row.special_chars = counts.marks + marks, counts.special + special
        line_statistics(data, lo, hi, counts.breaks, classes, s, row)
        paragraph_statistics(data, lo, counts.words, counts.breaks, s, row)
        gram_statistics(counts.words, stop_words, contained, s, row)


@cache
def stop_hashes() -> UInt64s:
    return np.maximum(quick_hashes(pa.array(STOP_WORDS, pa.large_string())), np.uint64(1))


def warm_up() -> None:
    document_stats(pa.array(["a text", ""], pa.large_string()))
