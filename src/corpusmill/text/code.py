"""Evidence of source code in a document: keywords, symbols, and lines that end or begin like code."""

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text.array_types import Bytes, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.hashing import quick_hash, quick_hashes
from corpusmill.text.lowlevel import is_letter, load8
from corpusmill.text.sets import find, never_zero, table_of

# Reserved words of C, C++, C#, Go, Java, JavaScript, PHP, Python, Ruby, Rust, Swift and TypeScript, without those that
# are as frequent in prose ("in", "is", "as", "and", "not", "or", "to", "of").
_KEYWORDS = """
    abstract assert async await bool boolean break byte case catch char chan class const constexpr continue def default
    defer delete do double elif else elsif end endif enum except export extends extern false final finally float fn for
    foreach func function global goto if impl implements import include inline instanceof int interface isinstance
    lambda let long mod module mut namespace new nil none null nullptr override package pass private protected pub
    public raise range require return self short signed sizeof static string struct super switch template this throw
    throws trait true try type typedef typeof undefined union unless unsigned use using var virtual void volatile when
    where while with yield False None True
"""
KEYWORDS = tuple(_KEYWORDS.split())
LONGEST_KEYWORD = max(map(len, KEYWORDS))
SYMBOLS = "{}[]();=<>_&|"
CLOSERS = "})],;"

# The classes of each byte, as bits.
SPACE, WORD, SYMBOL, CLOSER, INSIDE = 1, 2, 4, 8, 16
CODE_BYTES = np.zeros(256, np.uint8)
CODE_BYTES[list(b" \t\n\r\x0b\x0c")] |= SPACE
CODE_BYTES[[byte for byte in range(256) if byte >= 0x80 or chr(byte).isalnum() or byte == ord("_")]] |= WORD
CODE_BYTES[list(SYMBOLS.encode())] |= SYMBOL
CODE_BYTES[list(CLOSERS.encode())] |= CLOSER
CODE_BYTES[0x80:0xC0] |= INSIDE
LF, SEMICOLON, COLON, OPEN, CLOSE, SLASH, STAR, AT, LESS = b"\n;:{)/*@<"
DIRECTIVES = np.frombuffer(b"#include#define", np.uint8)

CODE_COUNTS = np.dtype([(name, np.int64) for name in ("words", "keywords", "chars", "symbols", "lines", "code_lines")])


def code_counts(texts: pa.LargeStringArray) -> NDArray[Any]:
    r"""Evidence of code in each document, (documents,) CODE_COUNTS; a null counts as "".

    words        runs of ASCII letters, digits, "_" and characters beyond ASCII
    keywords     words that are in KEYWORDS, case-sensitive
    chars        characters other than ASCII white space
    symbols      characters that are in SYMBOLS
    lines        lines of text.split("\n") that are not blank
    code_lines   lines that, stripped, end in "{", ";" or "):", consist of CLOSERS and white space, or begin with "//",
                 "/*", "*/", "#include", "#define", or with "@", "<" or "</" and a letter
    """
    text = view(texts)
    out = np.zeros(len(text.offsets) - 1, CODE_COUNTS)
    _count_all(text, _keyword_table(), out)
    return out


@cache
def _keyword_table() -> UInt64s:
    keys = quick_hashes(pa.array(KEYWORDS, pa.large_string()))
    table, _ = table_of(keys, np.zeros(len(keys), np.int32))
    table.setflags(write=False)
    return table


@kernel
def _count_all(text: TextBuffer, keywords: UInt64s, out: NDArray[Any]) -> None:
    for d in range(len(out)):
        _count(text.data, text.offsets[d], text.offsets[d + 1], keywords, out[d])


@kernel
def _count(data: Bytes, lo: int, hi: int, keywords: UInt64s, out: Any) -> None:
    words = hits = chars = symbols = lines = code_lines = 0
    none: Any = np.int64(-1)
    first = last = word = none  # first and last byte of the line other than space; first byte of the word
    closers = True  # the line has only closers so far
    for at in range(lo, hi + 1):
        byte = load8(data, at) if at < hi else np.uint8(LF)
        kind = CODE_BYTES[byte]
        if kind & WORD:
            if word < 0:
                word = np.int64(at)
        elif word >= 0:
            words += 1
            hits += _is_keyword(data, word, at - word, keywords)
            word = none
        if not kind & SPACE:
            chars += (kind & INSIDE) == 0
            symbols += (kind & SYMBOL) != 0
            closers &= (kind & CLOSER) != 0
            if first < 0:
                first = np.int64(at)
            last = np.int64(at)
        elif byte == LF:
            if first >= 0:
                lines += 1
                code_lines += closers or _ends_as_code(data, first, last) or _begins_as_code(data, first, last)
            first = none
            closers = True
    out.words, out.keywords, out.chars, out.symbols = words, hits, chars, symbols
    out.lines, out.code_lines = lines, code_lines


@inlined
def _is_keyword(data: Bytes, start: int, size: int, keywords: UInt64s) -> bool:
    if size < 2 or size > LONGEST_KEYWORD:
        return False
    key = never_zero(quick_hash(data, start, size))
    return bool(keywords[find(keywords, len(keywords) - 1, key)] == key)


@inlined
def _ends_as_code(data: Bytes, first: int, last: int) -> bool:
    byte = load8(data, last)
    return bool(byte in (OPEN, SEMICOLON) or (byte == COLON and last > first and load8(data, last - 1) == CLOSE))


@inlined
def _begins_as_code(data: Bytes, first: int, last: int) -> bool:
    if last == first:
        return False
    byte, second = load8(data, first), load8(data, first + 1)
    if byte == SLASH:
        return bool(second in (SLASH, STAR))
    if byte == STAR:
        return bool(second == SLASH)
    if byte == LESS and second == SLASH and last > first + 1:
        return bool(is_letter(load8(data, first + 2)))
    if byte in (AT, LESS):
        return bool(is_letter(second))
    return _has_directive(data, first, last, 0, 8) or _has_directive(data, first, last, 8, 15)


@inlined
def _has_directive(data: Bytes, first: int, last: int, begin: int, end: int) -> bool:
    """Whether data[first:last + 1] begins with DIRECTIVES[begin:end]."""
    same = last - first >= end - begin - 1
    for i in range(begin, end):
        same = same and load8(data, first + i - begin) == DIRECTIVES[i]
    return same


def warm_up() -> None:
    code_counts(pa.array(["if (a) {\n  return b;\n}", ""], pa.large_string()))
