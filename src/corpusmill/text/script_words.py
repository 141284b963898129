r"""Words in text of any script: those of `spacy_words`, cut further where the script puts no spaces between words.

    Han, Hiragana                each character is a word, as at the default word boundaries of Unicode (UAX 29); so is
                                 each mark of Chinese and Japanese punctuation
    Katakana                     each run is one
    Thai, Lao, Khmer, Burmese    each syllable, about; see below
    Tibetan                      each syllable, with the tsheg behind it; so is each mark of punctuation
    anything else                what stands between those

Syllables are found without a dictionary. A Thai or Lao one begins at a vowel that is written before its consonant, and
at a consonant that a vowel sign or tone mark follows, unless such a vowel stands before it; a Khmer one at a consonant
or independent vowel that a sign follows, unless it is a subscript; a Burmese one at a letter that is neither stacked
nor a final (with asat). So words of several syllables are several, and a Thai or Khmer syllable without signs goes with
the one before it. Where a text repeats itself it is cut in the same places, but for the first and the last syllable.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.text.array_types import Bytes, Int64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import load8
from corpusmill.text.spacy_rules import SpacyRules
from corpusmill.text.spacy_rules import rules as english
from corpusmill.text.spacy_words import WordScratch, WordSpans, find_spacy_words, make_word_scratch
from corpusmill.text.spans import longest
from corpusmill.text.unicode import decode

OTHER, SINGLE, KATAKANA, THAI, KHMER, BURMESE, TIBETAN = range(7)
LEAST_LEAD = 0xE0  # the first byte of every character from U+0800 on: all of these scripts are beyond it
STACKER, ASAT, DOT_BELOW, COENG = 0x1039, 0x103A, 0x1037, 0x17D2
TSHEG, TSHEG_NO_BREAK = 0x0F0B, 0x0F0C


def script_words(texts: pa.LargeStringArray) -> Int64s:
    """The words of each document, (words, 3) int64: document, first byte and end in it. A null has none."""
    text = view(texts)
    counts = np.empty(len(text.offsets) - 1, np.int64)
    out = np.empty((int(text.offsets[-1] - text.offsets[0]), 3), np.int64)
    return out[: _all_words(text, english(), counts, out)]


@kernel
def _all_words(text: TextBuffer, rules: SpacyRules, counts: Int64s, out: Int64s) -> int:
    size = longest(text.offsets) + 1
    scratch = make_word_scratch(np.empty(size, np.int32), np.empty(size, np.int32))
    spans = WordSpans(np.empty(size, np.int32), np.empty(size, np.int32))
    total = 0
    for d in range(len(counts)):
        words = find_script_words(text.data, text.offsets[d], text.offsets[d + 1], rules, scratch, spans)
        for w in range(words):
            out[total + w, 0], out[total + w, 1], out[total + w, 2] = d, spans.start[w], spans.end[w]
        total += words
    return total


@kernel
def find_script_words(buffer: Bytes, lo: int, hi: int, rules: SpacyRules, scratch: WordScratch, out: WordSpans) -> int:
    """Fill start and end of the words of buffer[lo:hi]; returns how many. `out` has room for one a byte, and is not
    where `scratch` has its own."""
    data = buffer[lo:]
    coarse = find_spacy_words(buffer, lo, hi, rules, scratch)
    words = 0
    for w in range(coarse):
        start, end = scratch.spans.start[w], scratch.spans.end[w]
        at = start
        while at < end and load8(data, at) < LEAST_LEAD:
            at += 1
        if at == end:
            out.start[words], out.end[words] = start, end
            words += 1
        else:
            words = _cut(data, start, end, words, out)
    return words


@kernel
def _cut(data: Bytes, start: int, end: int, words: int, out: WordSpans) -> int:
    """Write the pieces of data[start:end]; returns how many words there are then."""
    before: Any = np.int64(0)
    kind_before: Any = OTHER
    at: Any = start
    begin: Any = start
    while at < end:
        character, size = decode(data, at)
        point = np.int64(character)
        kind = kind_of(point)
        if at > start and (kind != kind_before or kind == SINGLE or begins(data, at + size, end, kind, before, point)):
            out.start[words], out.end[words] = begin, at
            words += 1
            begin = at
        before, kind_before = point, kind
        at += size
    out.start[words], out.end[words] = begin, end
    return words + 1


@inlined
def kind_of(point: Any) -> Any:
    """How a character is cut from its neighbours."""
    if point < 0x0E00:
        return OTHER
    if point < 0x0F00:  # two blocks laid out in the same way
        at = point & 0x7F
        is_letter = 0x01 <= at <= 0x3A or 0x40 <= at <= 0x4E or 0x5C <= at <= 0x5F
        return THAI if is_letter else OTHER
    if point < 0x1000:
        is_letter = point == 0x0F00 or 0x0F18 <= point <= 0x0F39 or 0x0F3E <= point <= 0x0FBC
        return TIBETAN if is_letter or TSHEG <= point <= TSHEG_NO_BREAK else SINGLE
    if 0x1000 <= point <= 0x103F or 0x1050 <= point <= 0x109F:
        return BURMESE
    if 0x1780 <= point <= 0x17D3 or point == 0x17DD:
        return KHMER
    if point < 0x2E80:
        return OTHER
    if 0x3041 <= point <= 0x309F:
        return SINGLE
    if 0x30A1 <= point <= 0x30FA or 0x30FC <= point <= 0x30FF or 0x31F0 <= point <= 0x31FF:
        return KATAKANA
    if 0xFF66 <= point <= 0xFF9F:
        return KATAKANA
    if 0x3400 <= point <= 0x4DBF or 0x4E00 <= point <= 0x9FFF or 0xF900 <= point <= 0xFAFF:
        return SINGLE
    if 0x20000 <= point <= 0x323AF or 0x3001 <= point <= 0x3007 or 0xFF01 <= point <= 0xFF0F:
        return SINGLE
    return SINGLE if 0x3008 <= point <= 0x301F or 0xFF1A <= point <= 0xFF1F or 0xFF61 <= point <= 0xFF64 else OTHER


@inlined
def begins(data: Bytes, after: Any, end: Any, kind: Any, before: Any, point: Any) -> bool:
    """Whether a syllable begins with the character `point`; `after` is the byte behind it, `before` the character
    before it, of the same script."""
    if kind == THAI:
        if is_lead(point):
            return True
        if not 0x01 <= (point & 0x7F) <= 0x2E or is_lead(before) or after >= end:
            return False
        mark = np.int64(decode(data, after)[0])
        at = mark & 0x7F
        return bool(0x0E00 <= mark < 0x0F00 and (0x30 <= at <= 0x3A or at == 0x45 or 0x47 <= at <= 0x4E))
    if kind == KHMER:
        if not 0x1780 <= point <= 0x17B3 or before == COENG or after >= end:
            return False
        mark = np.int64(decode(data, after)[0])
        return bool(0x17B6 <= mark <= 0x17D3 or mark == 0x17DD)
    if kind == BURMESE:
        if not (0x1000 <= point <= 0x102A or point == 0x103F) or before == STACKER:
            return False
        if after >= end:
            return True
        mark = np.int64(decode(data, after)[0])
        if mark == DOT_BELOW and after + 3 < end:  # each of these letters and marks takes three bytes
            mark = np.int64(decode(data, after + 3)[0])
        return bool(mark not in (ASAT, STACKER))
    if kind == TIBETAN:
        return bool(TSHEG <= before <= TSHEG_NO_BREAK) and not TSHEG <= point <= TSHEG_NO_BREAK
    return False


@inlined
def is_lead(point: Any) -> bool:
    """Whether it is a Thai or Lao vowel that is written before its consonant."""
    return bool(0x0E00 <= point < 0x0F00 and 0x40 <= (point & 0x7F) <= 0x44)


def warm_up() -> None:
    script_words(pa.array(["a text, 中", ""], pa.large_string()))
