"""C4's line rules: documents in, cleaned documents out, written straight into a new Arrow array."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bytes, Int64s
from corpusmill.text.buffers import PAD, TextBuffer, keep_nulls, to_arrow, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.hashing import strip
from corpusmill.text.lowlevel import NO_BITS, ONE, copy_bytes, load8, lowest_bit
from corpusmill.text.sentences import sentence_counts
from corpusmill.text.spans import (
    SpanScratch,
    below,
    chars_between,
    find_spans,
    longest,
    make_scratch,
    most_words,
    words_before,
)
from corpusmill.text.unicode import DIGIT, Classes, class_of, classes, decode

# Outcomes of a line: the columns of C4Result.lines.
LINE_REASONS = ("kept", "long_word", "no_terminal_punctuation", "few_words", "javascript", "policy")
KEPT, LONG_WORD, NO_TERMINAL, FEW_WORDS, JAVASCRIPT, POLICY = range(len(LINE_REASONS))

# Outcomes of a document: the values of C4Result.verdict.
VERDICTS = ("ok", "lorem_ipsum", "curly_bracket")
OK, LOREM_IPSUM, CURLY_BRACKET = range(len(VERDICTS))

POLICY_PHRASES = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")

LF, CR, DOT, OPEN, CLOSE, CURLY, APOSTROPHE = b"\n\r.[]{'"
ENDINGS = np.frombuffer(b'.?!"', np.uint8)

# Phrases are searched by a rare letter in them: RARE[byte] has bit k set if it is that of phrase k, in either case, and
# phrase k begins BEFORE[k] bytes before it. One character of English in 18 is such a letter.
PHRASES = ("lorem ipsum", "javascript", *POLICY_PHRASES)
LOREM_BIT, JAVASCRIPT_BIT = 1, 2
_RARE_LETTERS = "jvkfp"  # the rarest first
_LETTERS = np.frombuffer("".join(PHRASES).encode(), np.uint8)
_AT = np.cumsum([0] + [len(phrase) for phrase in PHRASES])
_RARE = np.zeros(256, np.uint64)
_BEFORE = np.zeros(len(PHRASES), np.int64)
for _k, _phrase in enumerate(PHRASES):
    _letter = next(letter for letter in _RARE_LETTERS if letter in _phrase)
    _RARE[[ord(_letter), ord(_letter.upper())]] |= np.uint64(1 << _k)
    _BEFORE[_k] = _phrase.index(_letter)
_rare_masks = simd.masks(simd.either(*map(simd.equal, _RARE_LETTERS + _RARE_LETTERS.upper())))
_bracket_masks = simd.masks(simd.equal("["))
_NOTES = np.frombuffer(b"[edit][citation needed]", np.uint8)


@dataclass(frozen=True)
class C4Result:
    """Cleaned documents.

    text        (documents,) large_string: the kept lines joined by line feeds; "" if the verdict is not "ok", null for
                a null
    verdict     (documents,) uint8: an index of VERDICTS
    lines       (documents, 6) int64: the number of lines by outcome, in the order of LINE_REASONS; lines after the one
                for which a document is dropped are not counted
    sentences   (documents,) int64: `sentences.sentence_counts` of text
    """

    text: pa.LargeStringArray
    verdict: Bytes
    lines: Int64s
    sentences: Int64s


class LineRules(NamedTuple):
    terminal_punctuation: bool
    apostrophe: bool
    min_words: int
    max_word_chars: int
    citations: bool
    javascript: bool
    policy: bool
    lorem_ipsum: bool
    curly_bracket: bool


def clean_lines(
    texts: pa.LargeStringArray,
    *,
    terminal_punctuation: bool = True,
    apostrophe: bool = True,
    min_words: int | None = 3,
    max_word_chars: int | None = 1000,
    citations: bool = True,
    javascript: bool = True,
    policy: bool = True,
    lorem_ipsum: bool = True,
    curly_bracket: bool = True,
) -> C4Result:
    """Apply C4's line rules (Raffel et al. 2020, arXiv:1910.10683, section 2.2, and its published code).

    Lines are those of str.splitlines(), stripped. Each rule is switched off by False or None. In this order:

    max_word_chars         drop lines with a longer word
    citations              remove "[3]", "[]", "[edit]" and "[citation needed]" from lines
    terminal_punctuation   drop lines that do not end in . ? ! " or, if `apostrophe`, ' and lines that end in ...
    min_words              drop lines with fewer words (counted before citations are removed)
    lorem_ipsum            drop the document if a line that passed the rules above contains the words
    javascript             drop lines with the word
    curly_bracket          drop the document if a line that passed the rules above contains a {
    policy                 drop lines with one of POLICY_PHRASES

    Phrases match in either case of ASCII. The text equals that of datatrove's C4QualityFilter (0.10) with the same
    rules, except that U+212A KELVIN SIGN is not a "k" here. The minimum number of sentences is left to the caller.
    """
    rules = LineRules(
        terminal_punctuation,
        apostrophe,
        0 if min_words is None else min_words,
        np.iinfo(np.int64).max if max_word_chars is None else max_word_chars,
        citations,
        javascript,
        policy,
        lorem_ipsum,
        curly_bracket,
    )
    text = view(texts)
    documents = len(text.offsets) - 1
    verdict, lines = np.zeros(documents, np.uint8), np.zeros((documents, len(LINE_REASONS)), np.int64)
    # Only line feeds are added, each in place of a break of at least one byte.
    out = np.empty(text.offsets[-1] - text.offsets[0] + PAD, np.uint8)
    offsets = np.zeros(documents + 1, np.int64)
    _clean_all(text, classes(), rules, out, offsets, verdict, lines)
    cleaned = to_arrow(out[: offsets[-1] + PAD], offsets)
    return C4Result(keep_nulls(cleaned, texts), verdict, lines, sentence_counts(cleaned))


@kernel
def _clean_all(
    text: TextBuffer, classes: Classes, rules: LineRules, out: Bytes, offsets: Int64s, verdict: Bytes, lines: Int64s
) -> None:
    size = longest(text.offsets)
    s = make_scratch(size, most_words(size))
    for d in range(len(verdict)):
        lo, hi = text.offsets[d], text.offsets[d + 1]
        breaks = find_spans(text.data, lo, hi, classes, s).breaks
        begin = offsets[d]
        end, verdict[d] = _clean(text.data, lo, hi, breaks, classes, rules, s, out, begin, lines[d])
        offsets[d + 1] = begin + _strip_in_place(out, begin, end, classes)


@kernel
def _clean(
    data: Bytes,
    lo: int,
    hi: int,
    breaks: int,
    classes: Classes,
    rules: LineRules,
    s: SpanScratch,
    out: Bytes,
    begin: int,
    lines: Int64s,
) -> Any:
    """Write the kept lines of data[lo:hi] to out[begin:]; returns (end, verdict)."""
    p = begin
    size = hi - lo
    zero: Any = np.int64(0)  # a literal 0 is another type, for which every callee would be compiled again
    start = first_word = zero
    for b in range(breaks + 1):
        at = s.line_break[b] if b < breaks else size
        if b < breaks and load8(data, lo + at) == CR and at + 1 < size and load8(data, lo + at + 1) == LF:
            continue
        if b == breaks and at == start:
            break  # no line follows the last break
        word = first_word
        end_word = words_before(s, at)
        first_word = end_word
        start = at + (decode(data, lo + at)[1] if b < breaks else 0)
        if end_word > word:
            from_byte, to_byte = lo + s.start[word], lo + s.end[end_word - 1]
            if to_byte - from_byte > rules.max_word_chars and _has_long_word(s, word, end_word, rules.max_word_chars):
                lines[LONG_WORD] += 1
                continue
            # Most lines are decided here. Only the removal of a citation, which ends in "]", can change the end.
            last = load8(data, to_byte - 1)
            if rules.terminal_punctuation and last != CLOSE and not _is_ending(last, rules.apostrophe):
                lines[NO_TERMINAL] += 1
                continue
        q = p
        if lines[KEPT] > 0:
            out[q] = LF
            q += 1
        line = q
        if end_word > word:
            q = _copy(data, from_byte, to_byte, rules.citations, classes, out, q)
        if rules.terminal_punctuation and not _ends_well(out, line, q, rules.apostrophe):
            lines[NO_TERMINAL] += 1
            continue
        if end_word - word < rules.min_words:
            lines[FEW_WORDS] += 1
            continue
        phrases = _phrases_in(out, line, q)
        if rules.lorem_ipsum and phrases & LOREM_BIT:
            return begin, LOREM_IPSUM
        if rules.javascript and phrases & JAVASCRIPT_BIT:
            lines[JAVASCRIPT] += 1
            continue
        if rules.curly_bracket and _has(out, line, q, CURLY):
            return begin, CURLY_BRACKET
        if rules.policy and phrases & ~(LOREM_BIT | JAVASCRIPT_BIT):
            lines[POLICY] += 1
            continue
        lines[KEPT] += 1
        p = q
    return p, OK


@kernel
def _has_long_word(s: SpanScratch, word: int, end_word: int, limit: int) -> bool:
    for w in range(word, end_word):
        if s.end[w] - s.start[w] > limit and chars_between(s, s.start[w], s.end[w]) > limit:
            return True
    return False


@kernel
def _copy(data: Bytes, at: int, end: int, citations: bool, classes: Classes, out: Bytes, p: int) -> int:
    """Copy a line to out[p:], without its citations if `citations`; returns where it ends.

    Writes up to 64 bytes more, which the next line overwrites.
    """
    while at < end:
        size = min(end - at, 64)
        copy_bytes(data, at, np.intp(64), out, p)
        if citations:
            (brackets,) = _bracket_masks(data, at)
            brackets &= below(size)
            if brackets != NO_BITS:
                size = lowest_bit(brackets)
                behind = _citation_end(data, at + size, end, classes)
                p += size
                at += size
                if behind > at:
                    at = behind
                else:
                    p += 1
                    at += 1
                continue
        p += size
        at += size
    return p


@kernel
def _citation_end(data: Bytes, at: int, end: int, classes: Classes) -> int:
    r"""The end of `\\[\\d*]|\\[edit]|\\[citation needed]` at the bracket, or `at` if it does not match."""
    i = at + 1
    while i < end:
        code_point, size = decode(data, i)
        if class_of(classes, code_point) & DIGIT == 0:
            break
        i += size
    if i < end and load8(data, i) == CLOSE:
        return i + 1
    note = 0
    for k in range(1, len(_NOTES) + 1):  # each note ends where the next begins
        if k == len(_NOTES) or _NOTES[k] == OPEN:
            same = at + k - note <= end
            for j in range(note, k):
                same = same and load8(data, at + j - note) == _NOTES[j]
            if same:
                return at + k - note
            note = k
    return at


@kernel
def _ends_well(text: Bytes, start: int, end: int, apostrophe: bool) -> Any:
    if end == start:
        return False
    last = text[end - 1]
    if last == DOT and end - start >= 3 and text[end - 2] == DOT and text[end - 3] == DOT:
        return False
    return _is_ending(last, apostrophe)


@inlined
def _is_ending(byte: Any, apostrophe: bool) -> Any:
    ends = apostrophe and byte == APOSTROPHE
    for ending in ENDINGS:
        ends |= byte == ending
    return ends


@kernel
def _phrases_in(text: Bytes, start: int, end: int) -> int:
    """Which PHRASES occur in text[start:end], as bits."""
    phrases = 0
    for block in range(start, end, 64):
        (rare,) = _rare_masks(text, block)
        rare &= below(min(end - block, 64))
        while rare != NO_BITS:
            at = block + lowest_bit(rare)
            rare &= rare - ONE
            candidates = _RARE[text[at]]
            while candidates != NO_BITS:
                k = lowest_bit(candidates)
                candidates &= candidates - ONE
                phrases |= _is_phrase(text, start, at - _BEFORE[k], end, k) << k
    return phrases


@inlined
def _is_phrase(text: Bytes, start: int, at: int, end: int, k: int) -> int:
    """1 if phrase k is at `at` in text[start:end], else 0."""
    size = _AT[k + 1] - _AT[k]
    if at < start or at + size > end:
        return 0
    for j in range(size):
        byte = text[at + j]
        if 65 <= byte <= 90:
            byte += np.uint8(32)
        if byte != _LETTERS[_AT[k] + j]:
            return 0
    return 1


@kernel
def _has(text: Bytes, start: int, end: int, byte: int) -> bool:
    present = False
    for i in range(start, end):
        present |= text[i] == byte
    return present


@kernel
def _strip_in_place(text: Bytes, begin: int, end: int, classes: Classes) -> Any:
    """Move text[begin:end].strip() to the front; returns its size. Only removed citations leave space to strip."""
    first, last = strip(text, begin, end, classes)
    if first > begin:
        for i in range(last - first):
            text[begin + i] = text[first + i]
    return last - first


def warm_up() -> None:
    clean_lines(pa.array(["One line [1] has four words.\nNot this", None], pa.large_string()))
