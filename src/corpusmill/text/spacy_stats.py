"""The statistics of `stats` over the words that spaCy's English tokenizer finds.

Lines and paragraphs, and what is counted in them, are those of `stats`: no definition of them asks for words, only for
what is blank.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import kernel
from corpusmill.text.grams import gram_statistics
from corpusmill.text.lines import line_statistics, paragraph_statistics
from corpusmill.text.spacy_rules import SpacyRules
from corpusmill.text.spacy_rules import rules as english
from corpusmill.text.spacy_words import find_spacy_words, make_found
from corpusmill.text.spans import find_spans, longest, make_scratch
from corpusmill.text.stats import STATS, stop_hashes
from corpusmill.text.unicode import Classes, classes
from corpusmill.text.words import measure_words


def spacy_document_stats(texts: pa.LargeStringArray, *, contained: bool = False) -> NDArray[Any]:
    """As `stats.document_stats`, with the words of `spacy_words`: (documents,) STATS. A null counts as ""."""
    text = view(texts)
    out = np.zeros(len(text.offsets) - 1, STATS)
    _measure(text, classes(), english(), stop_hashes(), contained, out)
    return out


@kernel
def _measure(
    text: TextBuffer,
    classes: Classes,
    rules: SpacyRules,
    stop_words: NDArray[np.uint64],
    contained: bool,
    out: NDArray[Any],
) -> None:
    data = text.data
    size = longest(text.offsets)
    s = make_scratch(size, size + 1)  # its words may touch
    found = make_found(s.start, s.end)
    for d in range(len(out)):
        lo, hi = text.offsets[d], text.offsets[d + 1]
        row = out[d]
        counts = find_spans(data, lo, hi, classes, s)
        line_statistics(data, lo, hi, counts.breaks, classes, s, row)
        paragraph_statistics(data, lo, counts.words, counts.breaks, s, row)
        words = find_spacy_words(data, lo, hi, rules, found)
        upper, digits, marks, special = measure_words(data, lo, words, classes, s)
        row.chars, row.hashes, row.ellipses = counts.chars, counts.hashes, counts.ellipses
        row.upper_chars, row.digits = counts.upper + upper, counts.digits + digits
        row.marks, row.special_chars = counts.marks + marks, counts.special + special
        gram_statistics(words, stop_words, contained, s, row)


def warm_up() -> None:
    spacy_document_stats(pa.array(["a text", ""], pa.large_string()))
