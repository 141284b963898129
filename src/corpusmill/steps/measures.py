"""Measures: the numbers of a document that filters judge by, by family.

    MEASURES["stats"](docs) -> columns      see the tables below
    MEASURES["basic"](docs) -> columns
    MEASURES["text"](docs) -> columns

A family is computed from the statistics that one pass over the text gives. "stats", "basic" and "text" use the same
ones, so whoever needs several (a `Batch`) makes the pass once.

Counts are int64, ratios float64. A null text counts as "". A ratio whose denominator is 0 is 0.0.
"Words" are `text.split()`, characters are code points. `stats.STATS` has the exact definition of every count.

Family "stats" (Gopher: arXiv:2112.11446, A1.1 and table A1; FineWeb: arXiv:2406.17557)

    chars                           characters
    words                           words
    content_words                   words that are more than punctuation: Gopher's word count in datatrove
    mean_word_length                characters of content words / content words
    hash_ratio                      "#" / words
    ellipsis_ratio                  ("..." + "…") / words
    symbol_ratio                    both added up
    bullet_line_ratio               lines beginning with "•" or "-" / lines; lines of str.splitlines()
    ellipsis_line_ratio             lines ending in "..." or "…" / lines
    alpha_word_ratio                words with a letter / words
    stop_words                      how many of the, be, to, of, and, that, have, with occur (case as written)
    duplicate_line_ratio            lines that occurred before / lines; lines of re.split(r"\\n+", text)
    duplicate_paragraph_ratio       paragraphs that occurred before / paragraphs; of re.split(r"\\n{2,}", text.strip())
    duplicate_line_char_ratio       characters of those lines / chars
    duplicate_paragraph_char_ratio  characters of those paragraphs / chars
    top_N_gram_char_ratio           len(most frequent N-gram, joined by spaces) * its count / chars; N = 2, 3, 4
    duplicate_N_gram_char_ratio     characters in N-grams that occurred before, without overlap / chars; N = 5..10
    line_punctuation_ratio          lines ending in terminal punctuation / lines; non-blank lines of text.split("\\n")
    short_line_ratio                lines of at most 30 characters / lines; the same lines
    repeated_line_char_ratio        characters of those lines that occurred before / characters but line feeds
    newline_ratio                   line feeds / words

Given the same words, thresholds on these decide as datatrove 0.10 does, except
    - without content words the mean word length is 0.0 here and NaN, which no threshold drops, there (such a document
      fails Gopher's least number of words in both);
    - without words or without filled lines the other ratios are 0.0 here, where datatrove calls the document empty or
      divides by zero;
    - duplicate N-grams are compared word by word here, and joined without spaces there ("can not" repeats "cannot").

Family "contained": the same columns, but the characters of n-grams are counted as in the paper

    top_N_gram_char_ratio           characters within occurrences of the most frequent N-gram / chars
    duplicate_N_gram_char_ratio     characters within N-grams that occur more than once, the first one included / chars

    Both count a character once where occurrences overlap, and one character between two words of an N-gram.

Families "stats_spacy" and "contained_spacy": the same columns, with the words of spaCy's English tokenizer

Families "stats_by_script" and "contained_by_script": the same, with those of `text.script_words`

Family "basic"

    uppercase_word_ratio     words for which str.isupper() / words
    uppercase_char_ratio     characters for which str.isupper() / chars
    special_char_ratio       characters that are not a letter, number, combining mark or white space / chars
    digit_ratio              decimal digits / chars
    punctuation_ratio        characters of Unicode category P* and ASCII symbols / chars
    distinct_word_ratio      distinct words / words
    repeat_ratio             1 - distinct words / words
    repeated_3_gram_ratio    3-grams of words that occurred before / 3-grams
    top_N_gram_ratio         count of the most frequent N-gram / N-grams; N = 2, 3

Family "text": the size of a document

    characters               the same as chars
    words                    words
    lines                    lines of str.splitlines()
    paragraphs               pieces of re.split(r"\\n{2,}", text.strip()); 0 without words
    mean_word_length         characters of words / words
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text.grams import REPEAT, REPEATED, TOP
from corpusmill.text.stats import STATS, document_stats


@dataclass(frozen=True)
class Measure:
    """A family of measures.

    statistics   texts -> (documents,) STATS; families that share this function share its result
    columns      statistics -> the columns of the family
    """

    statistics: Callable[[pa.LargeStringArray], NDArray[Any]]
    columns: Callable[[NDArray[Any]], dict[str, pa.Array]]

    def __call__(self, docs: pa.RecordBatch) -> dict[str, pa.Array]:
        return self.columns(self.statistics(docs["text"]))


def stats(s: NDArray[Any]) -> dict[str, pa.Array]:
    """Gopher's and FineWeb's numbers of each document; see the module."""
    chars, words = s["chars"], s["words"]
    columns = {
        "chars": chars,
        "words": words,
        "content_words": s["content_words"],
        "mean_word_length": ratio(s["content_word_chars"], s["content_words"]),
        "hash_ratio": ratio(s["hashes"], words),
        "ellipsis_ratio": ratio(s["ellipses"], words),
        "symbol_ratio": ratio(s["hashes"] + s["ellipses"], words),
        "bullet_line_ratio": ratio(s["bullet_lines"], s["lines"]),
        "ellipsis_line_ratio": ratio(s["ellipsis_lines"], s["lines"]),
        "alpha_word_ratio": ratio(s["alpha_words"], words),
        "stop_words": s["stop_words"],
        "duplicate_line_ratio": ratio(s["duplicate_lines"], s["filled_lines"]),
        "duplicate_paragraph_ratio": ratio(s["duplicate_paragraphs"], s["paragraphs"]),
        "duplicate_line_char_ratio": ratio(s["duplicate_line_chars"], chars),
        "duplicate_paragraph_char_ratio": ratio(s["duplicate_paragraph_chars"], chars),
    }
    for i, n in enumerate(TOP):
        columns[f"top_{n}_gram_char_ratio"] = ratio(s["top_gram_chars"][:, i], chars)
    for i, n in enumerate(REPEATED):
        columns[f"duplicate_{n}_gram_char_ratio"] = ratio(s["duplicate_gram_chars"][:, i], chars)
    columns |= {
        "line_punctuation_ratio": ratio(s["terminal_lines"], s["full_lines"]),
        "short_line_ratio": ratio(s["short_lines"], s["full_lines"]),
        "repeated_line_char_ratio": ratio(s["repeated_line_chars"], chars - s["newlines"]),
        "newline_ratio": ratio(s["newlines"], words),
    }
    return {name: pa.array(values) for name, values in columns.items()}


def basic(s: NDArray[Any]) -> dict[str, pa.Array]:
    """Shares of certain characters and words; see the module."""
    chars, words = s["chars"], s["words"]
    columns = {
        "uppercase_word_ratio": ratio(s["upper_words"], words),
        "uppercase_char_ratio": ratio(s["upper_chars"], chars),
        "special_char_ratio": ratio(s["special_chars"], chars),
        "digit_ratio": ratio(s["digits"], chars),
        "punctuation_ratio": ratio(s["marks"], chars),
        "distinct_word_ratio": ratio(s["distinct_words"], words),
        "repeat_ratio": np.where(words > 0, 1 - ratio(s["distinct_words"], words), 0.0),
        f"repeated_{REPEAT}_gram_ratio": ratio(s["repeats"], np.maximum(words - REPEAT + 1, 0)),
    }
    for i, n in enumerate(TOP[:2]):
        columns[f"top_{n}_gram_ratio"] = ratio(s["top_gram_counts"][:, i], np.maximum(words - n + 1, 0))
    return {name: pa.array(values) for name, values in columns.items()}


def text(s: NDArray[Any]) -> dict[str, pa.Array]:
    """The size of each document; see the module."""
    columns = {
        "characters": s["chars"],
        "words": s["words"],
        "lines": s["lines"],
        "paragraphs": np.where(s["words"] > 0, s["paragraphs"], 0),
        "mean_word_length": ratio(s["word_chars"], s["words"]),
    }
    return {name: pa.array(values) for name, values in columns.items()}


def word_stats(
    texts: pa.LargeStringArray, words: Literal["spacy", "script"], *, contained: bool = False
) -> NDArray[Any]:
    """The statistics over spaCy's English words, or those of `text.script_words`. Imported here: to compile it takes
    15 s, and few runs need it."""
    from corpusmill.text.script_stats import stats_over

    if not len(texts):  # needs no table of spaCy's rules
        return np.zeros(0, STATS)
    return stats_over(texts, words, contained=contained)


MEASURES = {
    "stats": Measure(document_stats, stats),
    "contained": Measure(partial(document_stats, contained=True), stats),
    "stats_spacy": Measure(partial(word_stats, words="spacy"), stats),
    "contained_spacy": Measure(partial(word_stats, words="spacy", contained=True), stats),
    "stats_by_script": Measure(partial(word_stats, words="script"), stats),
    "contained_by_script": Measure(partial(word_stats, words="script", contained=True), stats),
    "basic": Measure(document_stats, basic),
    "text": Measure(document_stats, text),
}


def ratio(part: NDArray[np.int64], total: NDArray[np.int64]) -> NDArray[np.float64]:
    """part / total, and 0.0 where total is 0."""
    return np.divide(part, total, out=np.zeros(len(part)), where=total != 0)
