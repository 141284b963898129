"""Windows of tokens, to find repeated passages, and super-k-mers, which bundle windows so that few keys suffice.

A window is `window` consecutive tokens (see `plain_tokens`). Two windows are equal if their tokens are, byte for byte;
the white space between them does not matter. A passage of at least `window` tokens is repeated if it is covered by
windows that occur elsewhere, so equality of windows finds what a suffix array finds by sorting.

A window at every token would mean a key for every token. So windows are bundled: the seed of a window is the smallest
hash of its n-grams of `gram` tokens (its minimizer; the last one on a tie), and consecutive windows with the same seed
are a super-k-mer. The seed of a window depends on nothing outside it. So equal windows have equal seeds, and are in
super-k-mers with the same key; and no two windows of one super-k-mer are equal, because the seed is at another place in
each. Super-k-mers that are equal as a whole have all windows in common; single windows must be compared only for a key
whose super-k-mers differ. (Minimizers and super-k-mers: Roberts et al. 2004, doi:10.1093/bioinformatics/bth408; Li et
al. 2013, doi:10.14778/2535569.2448951.)

Tokens t[0], …, t[n - 1] in a row hash to the sum of hash(t[i]) * base**(n - 1 - i) modulo 2**61 - 1, for two bases.
Keys are kept for later runs: a change of `quick_hash`, which hashes tokens, needs another `steps.keys.FORMAT`.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.text.array_types import Bytes, Int64s, UInt16s, UInt32s, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.hashing import K0, mix, quick_hash
from corpusmill.text.lowlevel import NO_BITS, Bits, U, high_product, load8
from corpusmill.text.plain_tokens import next_token
from corpusmill.text.unicode import Classes, classes

MERSENNE_61 = (1 << 61) - 1
BASES = (0x9E3779B97F4A7C15 % MERSENNE_61, 0xC2B2AE3D27D4EB4F % MERSENNE_61)
MAX_TIMES_REPEATED = 65535
LONGEST_WINDOW = 10_000  # tokens; counts of windows in a super-k-mer are 16 bits wide
LF = 10

_PRIME, _BASE_0, _BASE_1 = U(MERSENNE_61), U(BASES[0]), U(BASES[1])


class SuperKmers(NamedTuple):
    """Super-k-mers, in order of documents and positions.

    document   (super-k-mers,) int64: row of the document
    key        uint64: hash of the seed
    whole      uint64: hash of all tokens that the windows cover, windows + window - 1 of them
    start      uint32: the first window, by its first token
    windows    uint16
    times      uint16: how often it is repeated back to back, as in "- - - - -": it has windows * times windows
    """

    document: Int64s
    key: UInt64s
    whole: UInt64s
    start: UInt32s
    windows: UInt16s
    times: UInt16s


def super_kmers(texts: pa.LargeStringArray, window: int, gram: int) -> SuperKmers:
    """Every window of every document, in super-k-mers; a document of fewer than `window` tokens has none."""
    if not 1 <= gram <= window <= LONGEST_WINDOW:
        raise ValueError(f"need 1 <= gram <= window <= {LONGEST_WINDOW}, got gram={gram}, window={window}")
    text = view(texts)
    # About 2 / (window - gram + 2) super-k-mers per token; where tokens are shorter than 2 bytes, a second try has
    # room.
    capacity = int(text.offsets[-1] - text.offsets[0]) // (window - gram + 2) + 64
    while True:
        out = _make_super_kmers(capacity)
        count = int(_super_kmers(text, window, gram, _powers(2 * window), classes(), out))
        if count <= capacity:
            return _make_super_kmers(count, out)
        capacity = count


def _make_super_kmers(size: int, filled: SuperKmers | None = None) -> SuperKmers:
    """Arrays for `size` super-k-mers, or a copy of the first `size`: a view would keep all memory alive."""
    arrays = SuperKmers(
        document=np.empty(size, np.int64),
        key=np.empty(size, np.uint64),
        whole=np.empty(size, np.uint64),
        start=np.empty(size, np.uint32),
        windows=np.empty(size, np.uint16),
        times=np.empty(size, np.uint16),
    )
    for name, old in filled._asdict().items() if filled else ():
        getattr(arrays, name)[:] = old[:size]
    return arrays


def window_hashes(
    texts: pa.LargeStringArray, document: Int64s, start: Int64s, count: Int64s, window: int
) -> tuple[UInt64s, UInt64s]:
    """Two hashes of each window of some super-k-mers, one after the other: (sum of counts,) each.

    document, start, count   (super-k-mers,) document, first window and windows, in order of documents

    Raises ValueError if documents are out of order, or a window is not within its document.
    """
    text = view(texts)
    _check_order(document, len(text.offsets) - 1)
    key, full_hash = np.empty(int(count.sum()), np.uint64), np.empty(int(count.sum()), np.uint64)
    if not _window_hashes(text, document, start, count, window, _powers(window), classes(), key, full_hash):
        raise ValueError("a window must be within its document")
    return key, full_hash


class Cut(NamedTuple):
    """What to remove from documents.

    spans    (spans, 3) int64: row, first byte, end; in order, without overlap
    tokens   (documents,) int64: all tokens
    cut      (documents,) int64: tokens in the spans
    """

    spans: Int64s
    tokens: Int64s
    cut: Int64s


def cut_tokens(texts: pa.LargeStringArray, document: Int64s, start: Int64s, stop: Int64s) -> Cut:
    """The bytes to cut so that ranges of tokens are removed.

    document, start, stop   (ranges,) tokens [start, stop) of documents, in order of document and start; they may
                            overlap, and adjacent ones are joined

    Of the white space before and after a span, the one with more line feeds is kept; on a tie the one before, unless it
    is empty and the other is not. At the beginning and the end of a document none is kept.

    Raises ValueError for ranges that are out of order, empty, or begin after the end of their document.
    """
    text = view(texts)
    documents = len(text.offsets) - 1
    _check_order(document, documents)
    if ((np.diff(document) == 0) & (np.diff(start) < 0)).any() or (stop <= start).any() or (start < 0).any():
        raise ValueError("ranges must be in order and not empty")
    document, start, stop = document.astype(np.int64), start.astype(np.int64), stop.astype(np.int64)
    ranges = int(_merge(document, start, stop))
    spans = np.empty((ranges, 3), np.int64)
    tokens, cut = np.zeros(documents, np.int64), np.zeros(documents, np.int64)
    count = int(_cut(text, document[:ranges], start[:ranges], stop[:ranges], classes(), spans, tokens, cut))
    if count < ranges:
        raise ValueError("a range must be within its document")
    return Cut(spans, tokens, cut)


def _check_order(document: Int64s, documents: int) -> None:
    if len(document) and (document[0] < 0 or document[-1] >= documents or (np.diff(document) < 0).any()):
        raise ValueError(f"documents must be in order within 0..{documents - 1}")


def _powers(highest: int) -> UInt64s:
    """(2, highest + 1): the powers of both bases."""
    rows = []
    for base in BASES:
        row = [1]
        for _ in range(highest):
            row.append(row[-1] * base % MERSENNE_61)
        rows.append(row)
    return np.array(rows, np.uint64)


@kernel
def _super_kmers(text: TextBuffer, window: int, gram: int, powers: UInt64s, classes: Classes, out: SuperKmers) -> int:
    """Write as many as `out` has room for; returns how many there are."""
    first, second = np.empty(1 << 12, np.uint64), np.empty(1 << 12, np.uint64)
    seeds = np.empty(1 << 12, np.uint64)
    wide = window - gram + 1  # n-grams of a window
    count = 0
    for d in range(len(text.offsets) - 1):
        tokens, first, second = _prefixes(text.data, text.offsets[d], text.offsets[d + 1], classes, first, second)
        if tokens < window:
            continue
        if len(seeds) < len(first):
            seeds = np.empty(len(first), np.uint64)
        for i in range(tokens - gram + 1):
            seeds[i] = _between(first, i, i + gram, powers[0])
        begin = 0
        lowest = _lowest(seeds, 0, wide)
        for w in range(1, tokens - window + 2):
            entering = w + wide - 1
            last = w == tokens - window + 1
            following = lowest
            if not last:
                if lowest < w:
                    following = _lowest(seeds, w, entering + 1)
                elif seeds[entering] <= seeds[lowest]:
                    following = entering
                if following == lowest:
                    continue
            key = mix(seeds[lowest] ^ K0, U(gram))
            full_hash = _between(second, begin, w - 1 + window, powers[1])
            if not _repeats(out, count - 1, key, full_hash, begin, w - begin):
                if count < len(out.key):
                    out.document[count] = d
                    out.key[count], out.whole[count] = key, full_hash
                    out.start[count], out.windows[count], out.times[count] = begin, w - begin, 1
                count += 1
            begin, lowest = w, following
    return count


@inlined
def _repeats(out: SuperKmers, at: int, key: Bits, full_hash: Bits, start: int, windows: int) -> bool:
    """Whether a super-k-mer repeats the one at `at` back to back; if so, that one's `times` is increased."""
    if at < 0 or at >= len(out.key) or out.key[at] != key or out.whole[at] != full_hash or out.windows[at] != windows:
        return False
    times = np.int64(out.times[at])
    # One of the previous document cannot match: the first of a document starts at 0, which none of them ends at.
    if times == MAX_TIMES_REPEATED or np.int64(out.start[at]) + times * windows != start:
        return False
    out.times[at] = times + 1
    return True


@inlined
def _lowest(seeds: UInt64s, begin: Any, end: Any) -> Any:
    """The position of the smallest; of equals, the last."""
    lowest = begin
    for i in range(begin + 1, end):
        if seeds[i] <= seeds[lowest]:
            lowest = i
    return lowest


@kernel
def _window_hashes(
    text: TextBuffer,
    document: Int64s,
    start: Int64s,
    count: Int64s,
    window: int,
    powers: UInt64s,
    classes: Classes,
    key: UInt64s,
    full_hash: UInt64s,
) -> bool:
    first, second = np.empty(1 << 12, np.uint64), np.empty(1 << 12, np.uint64)
    at, tokens, d = 0, 0, -1
    for i in range(len(document)):
        if document[i] != d:
            d = document[i]
            tokens, first, second = _prefixes(text.data, text.offsets[d], text.offsets[d + 1], classes, first, second)
        if start[i] < 0 or count[i] < 0 or start[i] + count[i] + window - 1 > tokens:
            return False
        for w in range(start[i], start[i] + count[i]):
            key[at] = mix(_between(first, w, w + window, powers[0]) ^ K0, U(window))
            full_hash[at] = _between(second, w, w + window, powers[1])
            at += 1
    return True


@kernel
def _prefixes(data: Bytes, lo: int, hi: int, classes: Classes, first: UInt64s, second: UInt64s) -> Any:
    """The number of tokens, and the hashes of the first 0, 1, … of them for both bases, in longer arrays if
    necessary."""
    first[0] = second[0] = NO_BITS
    tokens = 0
    at: Any = lo
    while True:
        start, at = next_token(data, at, hi, classes)
        if start == at:
            return tokens, first, second
        token = quick_hash(data, start, at - start)
        token = (token & _PRIME) + (token >> U(61))
        if tokens + 1 == len(first):
            first, second = _twice(first), _twice(second)
        first[tokens + 1] = _reduced(_product(first[tokens], _BASE_0) + token)
        second[tokens + 1] = _reduced(_product(second[tokens], _BASE_1) + token)
        tokens += 1


@kernel
def _twice(array: UInt64s) -> UInt64s:
    longer = np.empty(2 * len(array), np.uint64)
    for i in range(len(array)):
        longer[i] = array[i]
    return longer


@inlined
def _between(prefixes: UInt64s, start: Any, end: Any, powers: UInt64s) -> Bits:
    """The hash of tokens [start, end), below 2**61 - 1."""
    return _reduced(prefixes[end] + _PRIME - _product(prefixes[start], powers[end - start]))


@inlined
def _product(a: Bits, b: Bits) -> Bits:
    """a * b modulo 2**61 - 1, for factors of at most 61 bits."""
    low = a * b
    return _reduced((low & _PRIME) + ((low >> U(61)) | (high_product(a, b) << U(3))))


@inlined
def _reduced(x: Bits) -> Bits:
    x = (x & _PRIME) + (x >> U(61))
    return x - _PRIME if x >= _PRIME else x


@kernel
def _merge(document: Int64s, start: Int64s, stop: Int64s) -> int:
    """Join ranges that overlap or are adjacent, in place. Returns how many are left."""
    merged = 0
    for i in range(len(document)):
        if merged and document[merged - 1] == document[i] and start[i] <= stop[merged - 1]:
            stop[merged - 1] = max(stop[merged - 1], stop[i])
        else:
            document[merged], start[merged], stop[merged] = document[i], start[i], stop[i]
            merged += 1
    return merged


@kernel
def _cut(
    text: TextBuffer,
    document: Int64s,
    start: Int64s,
    stop: Int64s,
    classes: Classes,
    spans: Int64s,
    tokens: Int64s,
    cut: Int64s,
) -> int:
    """Ranges must not be adjacent. Returns how many of them are within their documents."""
    r = 0
    for d in range(len(tokens)):
        base, hi = text.offsets[d], text.offsets[d + 1]
        at: Any = base
        before: Any = base  # end of the previous token, or the beginning
        gap_start = gap_end = base  # the white space before the open range
        token = 0
        opened = False
        while True:
            begin, at = next_token(text.data, at, hi, classes)
            if opened and (begin == at or token == stop[r]):
                first, end = gap_end, begin
                if begin == at:
                    first, end = gap_start, hi
                elif start[r] == 0:
                    first = base
                elif _outweighs(text.data, before, begin, gap_start, gap_end):
                    first, end = gap_start, before
                spans[r, 0], spans[r, 1], spans[r, 2] = d, first - base, end - base
                cut[d] += token - start[r]
                opened = False
                r += 1
            if begin == at:
                break
            if r < len(document) and document[r] == d and start[r] == token:
                opened = True
                gap_start, gap_end = before, begin
            before = at
            token += 1
        tokens[d] = token
    return r


@inlined
def _outweighs(data: Bytes, start: Any, end: Any, other_start: Any, other_end: Any) -> bool:
    """Whether the white space [start, end) is kept rather than the other."""
    feeds = 0
    for at in range(start, end):
        feeds += load8(data, at) == LF
    for at in range(other_start, other_end):
        feeds -= load8(data, at) == LF
    return feeds > 0 or (feeds == 0 and other_start == other_end)


def warm_up() -> None:
    texts = pa.array(["a b a b."], pa.large_string())
    super_kmers(texts, 2, 1)
    start, two = np.array([0]), np.array([2])
    window_hashes(texts, start, start, two, 2)
    cut_tokens(texts, start, start, two)
