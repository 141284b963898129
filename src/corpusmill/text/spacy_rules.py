"""The rules by which spaCy's English tokenizer finds words, as tables for kernels.

The asset "spacy-words-en" (made by scripts/make_spacy_words.py from an installed spaCy, by asking its own compiled
expressions about every code point) holds classes of code points, special cases such as "don't" and units such as "km".
What the rules do with them is code: `spacy_affixes` and `spacy_words`.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill import assets
from corpusmill.text.array_types import Bools, Bytes, Int32s, UInt16s, UInt64s
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.hashing import mix, quick_hash, quick_hashes
from corpusmill.text.lowlevel import NO_BITS, Bits, U
from corpusmill.text.sets import find, never_zero, table_of

# Classes of a character c, as bits; "before" and "after" are its neighbours in the text.
LETTER = 1 << 0  # an infix such as "," or "-" separates two of them
INFIX = 1 << 1  # separates wherever it stands
PREFIX = 1 << 2  # is cut off at the beginning
SUFFIX = 1 << 3  # is cut off at the end
BEFORE_DOT = 1 << 4  # a dot between it and one of AFTER_DOT separates
AFTER_DOT = 1 << 5
BEFORE_LAST_DOT = 1 << 6  # a dot at the end is cut off after it
CAPITAL = 1 << 7  # a dot at the end is cut off after two of them
TOP_LEVEL = 1 << 8  # may stand in the top-level domain of a URL
HOST = 1 << 9  # in the name of a host
SCHEME = 1 << 10  # in the scheme of a URL
NUMERAL = 1 << 11  # 0 to 9
WHITE = 1 << 12  # c.isspace()
DECIMAL = 1 << 13  # c.isdecimal()
ACTS = 1 << 14  # some rule looks at it: a chunk without one is a word

PAIRS = 1 << 16  # bits of a filter


class Cases(NamedTuple):
    """Special cases.

    longest            bytes of one
    maybe              bits: whether a text of this beginning, middle, end and length may be one
    table, row         hash table, and for each its row
    """

    longest: int
    maybe: Bytes
    table: UInt64s
    row: Int32s


class SpecialCasePieces(NamedTuple):
    """What special cases are cut into: begin (rows + 1,), where a row begins in sizes, the bytes of each piece."""

    begin: Int32s
    sizes: Int32s


class Sequences(NamedTuple):
    """Words that the other rules cut a special case into.

    longest, longest_word   words of a sequence, bytes of one of its words
    maybe                   bits: whether words with these two first bytes may begin one that is to be cut anew
    table, row              hash table, and for each the row of the special case, NO_ROW where it is cut in the same way
    beginning               set of the hashes of all beginnings of sequences
    """

    longest: int
    longest_word: int
    maybe: Bytes
    table: UInt64s
    row: Int32s
    beginning: UInt64s


class Units(NamedTuple):
    """What is cut off after a digit: bytes of the longest, and a set of their hashes."""

    longest: int
    table: UInt64s


class SpacyRules(NamedTuple):
    """All of them. Kernels hand on the part that a helper needs: numba counts the references of each array in a tuple,
    and does so at every call where there are many (eight times as slow).

    block_of (16384,) and blocks (n * 128,) are two stages of class bits, as in `unicode.Classes`
    """

    block_of: UInt16s
    blocks: UInt16s
    cases: Cases
    pieces: SpecialCasePieces
    sequences: Sequences
    units: Units


NO_ROW = -1


@cache
def rules() -> SpacyRules:
    loaded: SpacyRules = assets.load("spacy-words-en", _read)
    return loaded


def _read(path: Path) -> SpacyRules:
    with np.load(path) as file:
        tables = dict(file)
    cases = [case.split("\x1f") for case in tables["cases"].tolist()]
    pieces = [[len(piece.encode()) for piece in case] for case in cases]
    spelled = ["".join(case) for case in cases]
    keys = [int(key) for key in _hashes(spelled)]
    sequences = [sequence.split("\x1f") for sequence in tables["sequences"].tolist()]
    chained = [_chain([int(key) for key in _hashes(words)]) for words in sequences]
    rows = [row if words != cases[row] else NO_ROW for words, row in zip(sequences, tables["sequence_rows"].tolist())]
    units = tables["units"].tolist()
    case, case_row = _table(keys, range(len(keys)))
    sequence, sequence_row = _table([chain[-1] for chain in chained], rows)
    beginning, _ = _table(sorted({key for chain in chained for key in chain}))
    unit, _ = _table([int(key) for key in _hashes(units)])
    maybe_case, maybe_sequence = np.zeros(PAIRS, bool), np.zeros(PAIRS, bool)
    for text in spelled:
        data = text.encode()
        maybe_case[case_bit(data[0], data[len(data) // 2], data[-1], len(data))] = True
    for words, row in zip(sequences, rows):
        if row != NO_ROW:
            maybe_sequence[words[0].encode()[0] << 8 | words[1].encode()[0]] = True
    loaded = SpacyRules(
        np.pad(tables["block_of"], (0, (0x200000 >> 7) - len(tables["block_of"]))),
        tables["blocks"],
        Cases(max(len(text.encode()) for text in spelled), _packed(maybe_case), case, case_row),
        SpecialCasePieces(
            np.cumsum([0, *map(len, pieces)], dtype=np.int32),
            np.array([size for sizes in pieces for size in sizes], np.int32),
        ),
        Sequences(
            max(map(len, sequences)),
            max(len(word.encode()) for words in sequences for word in words),
            _packed(maybe_sequence),
            sequence,
            sequence_row,
            beginning,
        ),
        Units(max(len(text.encode()) for text in units), unit),
    )
    for array in (loaded.block_of, loaded.blocks, *loaded.cases, *loaded.pieces, *loaded.sequences, *loaded.units):
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return loaded


def _packed(bits: Bools) -> Bytes:
    return np.packbits(bits, bitorder="little")


def _table(keys: list[int], values: Iterable[int] = ()) -> tuple[UInt64s, Int32s]:
    return table_of(np.array(keys, np.uint64), np.array(list(values) or [0] * len(keys), np.int32))


def _hashes(texts: list[str]) -> UInt64s:
    return np.maximum(quick_hashes(pa.array(texts, pa.large_string())), np.uint64(1))


def _chain(keys: list[int]) -> list[int]:
    """The hash of each beginning of a sequence of words, by the hashes of the words."""
    out = np.empty(len(keys), np.uint64)
    _hash_chain(np.array(keys, np.uint64), out)
    return [int(key) for key in out]


@kernel
def _hash_chain(keys: UInt64s, out: UInt64s) -> None:
    h = NO_BITS
    for i in range(len(keys)):
        h = chained(h, keys[i])
        out[i] = h


@inlined
def hash_of(data: Bytes, start: int, end: int) -> Bits:
    """The key of data[start:end], never 0."""
    return never_zero(quick_hash(data, start, end - start))


@inlined
def chained(before: Bits, key: Bits) -> Bits:
    """The key of a sequence of words and one more."""
    return never_zero(mix(before ^ U(0x9E3779B97F4A7C15), key))


def case_bit(first: int, middle: int, last: int, size: int) -> int:
    """The bit of `maybe_case` of a text by three of its bytes and its length."""
    return (first * 31 + last * 977 + size * 7919 + middle * 60013) & (PAIRS - 1)


@inlined
def is_set(bits: Bytes, at: Any) -> Any:
    return (bits[at >> 3] >> (at & 7)) & 1


@inlined
def special_case(data: Bytes, start: int, end: int, cases: Cases) -> Any:
    """The row of the special case that data[start:end] is, or NO_ROW. Most texts end at one bit."""
    size = end - start
    row = np.int64(NO_ROW)
    if 0 < size <= cases.longest:
        first, last = np.int64(data[start]), np.int64(data[end - 1])
        middle = np.int64(data[start + (size >> 1)])
        bit = (first * 31 + last * 977 + size * 7919 + middle * 60013) & (PAIRS - 1)
        if is_set(cases.maybe, bit):
            row = _row_of(data, start, end, cases.table, cases.row)
    return row


@kernel
def _row_of(data: Bytes, start: int, end: int, table: UInt64s, rows: Int32s) -> np.int64:
    key = hash_of(data, start, end)
    at = find(table, len(table) - 1, key)
    return np.int64(rows[at]) if table[at] == key else np.int64(NO_ROW)


@inlined
def holds(table: UInt64s, key: Bits) -> Any:
    return table[find(table, len(table) - 1, key)] == key
