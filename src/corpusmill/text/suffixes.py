"""A sparse suffix array of texts, to find every occurrence of any passage.

The suffixes that are sorted begin at entries: the beginning of a text, a letter or digit behind anything that is none,
and every character of three or four bytes, as in scripts without spaces. That is one entry in six bytes of English. The
bytes from one entry to the next are a run, which mostly is a word and what follows it. Every occurrence of a passage
that has an entry within it holds that entry at the same place, so the suffixes that begin with the rest of the passage
are all its candidates. A passage without one lies within a single run; distinct runs are kept beside the array, and are
few.

Texts are bytes of UTF-8, each followed by END, which UTF-8 never has. Suffixes are sorted by their first DEPTH bytes,
up to their text's end; equal ones by position. (Sparse suffix arrays at word boundaries: Ferragina and Fischer 2007,
doi:10.1007/978-3-540-73437-6_33; sorting by strings of eight bytes: multikey quicksort, Bentley and Sedgewick 1997.)
"""

from typing import NamedTuple

import numpy as np

from corpusmill.text.array_types import Bytes, Int64s, UInt32s, UInt64s
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import Bits, U, load8, load64

END = 0xFF
PADDING = 16  # bytes of END behind the last text, so that eight bytes can be read anywhere
DEPTH = 1024  # bytes by which suffixes are sorted; a longer passage is compared at its candidates
SMALL = 24  # suffixes that are sorted by insertion
CHUNK = 64  # bytes that are looked at together
FRAGMENT_CAPACITY = 1 << 16  # places of a fragment that are written down at the first look
DIGIT, DIGITS = 11, 6  # bits of a pass of the radix sort, and passes

NEITHER, LETTER, LEAD = 0, 1, 2  # kinds of bytes: LEAD begins a character of three or four bytes
ENTRY_KINDS = np.zeros(256, np.uint8)
ENTRY_KINDS[[*range(ord("0"), ord("9") + 1), *range(ord("A"), ord("Z") + 1), *range(ord("a"), ord("z") + 1)]] = LETTER
ENTRY_KINDS[0x80:0xE0] = LETTER
ENTRY_KINDS[0xE0:0xF5] = LEAD


class Suffixes(NamedTuple):
    """The index of a block of texts.

    text       (bytes,) END, the texts, each with END behind it, and PADDING times END
    sorted     (entries,) uint32: entries in the order of their suffixes
    runs       (bytes,) distinct neighbouring runs in that order, each with END behind it, and PADDING times END
    run_start  (runs + 1,) uint32: where each begins in `runs`
    run_first  (runs + 1,) uint32: the first entry of each in `sorted`
    """

    text: Bytes
    sorted: UInt32s
    runs: Bytes
    run_start: UInt32s
    run_first: UInt32s


def joined(texts: list[bytes]) -> tuple[Bytes, Int64s]:
    """Texts as `Suffixes.text`, and (texts + 1,) where each begins; behind the last one's END the next would."""
    sizes = np.array([0, *(len(text) + 1 for text in texts)], np.int64)
    data = bytes([END]).join([b"", *texts, b""]) + bytes([END]) * PADDING
    return np.frombuffer(data, np.uint8), 1 + np.cumsum(sizes)


def index(text: Bytes) -> Suffixes:
    """The index of texts as `joined` gives them, less than 4 GiB. Memory: 13 bytes for each byte of an entry's eight,
    some 5 bytes for each byte of English."""
    entries = _entries(text, ENTRY_KINDS)
    _sort(text, entries)
    count, size = _count_runs(text, ENTRY_KINDS, entries)
    runs = np.full(size + PADDING, END, np.uint8)
    start, first = np.empty(count + 1, np.uint32), np.empty(count + 1, np.uint32)
    _fill_runs(text, ENTRY_KINDS, entries, runs, start, first)
    return Suffixes(text, entries, runs, start, first)


def entries_within(passage: bytes) -> list[int]:
    """Offsets in a passage at which every text that holds it has an entry.

    >>> entries_within(b"the mill"), entries_within(b"ill"), entries_within("a 水车".encode())
    ([4], [], [2, 5])
    """
    kinds = ENTRY_KINDS[np.frombuffer(passage, np.uint8)]
    inner = (kinds[1:] != NEITHER) & (kinds[:-1] == NEITHER) | (kinds[1:] == LEAD)
    return [0] * int(len(kinds) > 0 and kinds[0] == LEAD) + (np.flatnonzero(inner) + 1).tolist()


def matches(suffixes: Suffixes, passage: bytes) -> tuple[int, int]:
    """The range of `sorted` whose suffixes begin with the first DEPTH bytes of a passage, which has one at least."""
    first, stop = _bounds(suffixes.text, suffixes.sorted, np.frombuffer(passage[:DEPTH], np.uint8))
    return int(first), int(stop)


def shared(suffixes: Suffixes, passage: bytes) -> int:
    """How many of the first DEPTH bytes of a passage at most begin a suffix."""
    return int(_shared(suffixes.text, suffixes.sorted, np.frombuffer(passage[:DEPTH], np.uint8)))


def confirmed(suffixes: Suffixes, first: int, stop: int, passage: bytes, at: int) -> UInt32s:
    """Where in the text a passage begins that has an entry at its byte `at`, of the candidates sorted[first:stop]; in
    order of their suffixes."""
    return _confirmed(suffixes.text, suffixes.sorted[first:stop], np.frombuffer(passage, np.uint8), at)


def within_runs(suffixes: Suffixes, fragment: bytes) -> tuple[Int64s, Int64s]:
    """(n,) the runs that hold a passage without entries, and where in them; a run may hold it several times."""
    needle = np.frombuffer(fragment, np.uint8)
    places = _places(suffixes.runs, needle)
    run = np.searchsorted(suffixes.run_start, places, "right") - 1
    return run, places - suffixes.run_start[run]


@inlined
def _key(text: Bytes, at: int) -> Bits:
    """Eight bytes as a number that sorts as they do."""
    x = load64(text, at)
    x = ((x >> U(8)) & U(0x00FF00FF00FF00FF)) | ((x & U(0x00FF00FF00FF00FF)) << U(8))
    x = ((x >> U(16)) & U(0x0000FFFF0000FFFF)) | ((x & U(0x0000FFFF0000FFFF)) << U(16))
    return (x >> U(32)) | (x << U(32))


@inlined
def _has_end(key: Bits) -> bool:
    """Whether one of the eight bytes is END: a zero byte of the complement."""
    x = ~key
    return bool(((x - U(0x0101010101010101)) & ~x & U(0x8080808080808080)) != U(0))


@inlined
def _is_entry(before: int, kind: int) -> bool:
    return kind == LEAD or (kind == LETTER and before == NEITHER)


@kernel
def _count_entries(text: Bytes, kinds: Bytes) -> int:
    count, before, ended = 0, NEITHER, True
    for at in range(1, len(text)):
        byte = load8(text, at)
        kind = kinds[byte]
        if byte != END and (ended or _is_entry(before, kind)):
            count += 1
        before, ended = kind, byte == END
    return count


@kernel
def _fill_entries(text: Bytes, kinds: Bytes, entries: UInt32s) -> None:
    count, before, ended = 0, NEITHER, True
    for at in range(1, len(text)):
        byte = load8(text, at)
        kind = kinds[byte]
        if byte != END and (ended or _is_entry(before, kind)):
            entries[count] = at
            count += 1
        before, ended = kind, byte == END


def _entries(text: Bytes, kinds: Bytes) -> UInt32s:
    entries = np.empty(_count_entries(text, kinds), np.uint32)
    _fill_entries(text, kinds, entries)
    return entries


def _sort(text: Bytes, entries: UInt32s) -> None:
    """Sort suffixes in place; entries come in order of position."""
    keys = np.empty(len(entries), np.uint64)
    _radix_sort(text, entries, keys, np.empty_like(entries), np.empty_like(keys))
    _refine(text, entries, keys)


@kernel
def _radix_sort(text: Bytes, entries: UInt32s, keys: UInt64s, spare: UInt32s,
                spare_keys: UInt64s) -> None:  # fmt: skip
    """By the first eight bytes; equal ones stay in order."""
    n = len(entries)
    size = 1 << DIGIT
    counts = np.zeros((DIGITS, size), np.int64)
    for i in range(n):
        key = _key(text, entries[i])
        keys[i] = key
        for digit in range(DIGITS):
            counts[digit, (key >> U(DIGIT * digit)) & U(size - 1)] += 1
    for digit in range(DIGITS):
        total = 0
        for value in range(size):
            total, counts[digit, value] = total + counts[digit, value], total
    for digit in range(DIGITS):  # an even number of passes: the last one ends in `entries`
        shift = U(DIGIT * digit)
        source, source_keys = (entries, keys) if digit % 2 == 0 else (spare, spare_keys)
        target, target_keys = (spare, spare_keys) if digit % 2 == 0 else (entries, keys)
        next_slot = counts[digit]
        for i in range(n):
            key = source_keys[i]
            value = int((key >> shift) & U(size - 1))
            at = next_slot[value]
            next_slot[value] = at + 1
            target[at] = source[i]
            target_keys[at] = key


@kernel
def _refine(text: Bytes, entries: UInt32s, keys: UInt64s) -> None:
    """Sort suffixes with the same eight bytes by the next eight, and so on. `keys` hold the first eight.

    A level of the stack is a range whose keys at `8 * level` bytes are sorted, and how far it has been looked through.
    """
    levels = DEPTH // 8
    at, stop = np.empty(levels, np.int64), np.empty(levels, np.int64)
    level = 0
    at[0], stop[0] = 0, len(entries)
    while level >= 0:
        first, last = at[level], stop[level]
        if first >= last:
            level -= 1
            continue
        key = keys[first]
        end = first + 1
        while end < last and keys[end] == key:
            end += 1
        at[level] = end
        if end - first == 1:
            continue
        if level + 1 == levels or _has_end(key):
            _by_position(entries, first, end)
            continue
        level += 1
        at[level], stop[level] = first, end
        for i in range(first, end):
            keys[i] = _key(text, entries[i] + 8 * level)
        _sort_pairs(keys, entries, first, end)


@inlined
def _by_position(entries: UInt32s, first: int, stop: int) -> None:
    ordered = np.sort(entries[first:stop])
    for i in range(len(ordered)):  # an assignment of a slice compiles three dozen functions for its error message
        entries[first + i] = ordered[i]


@kernel
def _sort_pairs(keys: UInt64s, entries: UInt32s, first: int, stop: int) -> None:
    """Quicksort in three parts by key; the order of equal keys does not matter."""
    lows, highs = np.empty(64, np.int64), np.empty(64, np.int64)
    lows[0], highs[0], depth = first, stop, 1
    while depth:
        depth -= 1
        low, high = lows[depth], highs[depth]
        while high - low > SMALL:
            a, b, c = keys[low], keys[(low + high) // 2], keys[high - 1]
            pivot = max(min(a, b), min(max(a, b), c))
            less, i, greater = low, low, high
            while i < greater:
                key = keys[i]
                if key < pivot:
                    keys[i], keys[less] = keys[less], key
                    entries[i], entries[less] = entries[less], entries[i]
                    less += 1
                    i += 1
                elif key > pivot:
                    greater -= 1
                    keys[i], keys[greater] = keys[greater], key
                    entries[i], entries[greater] = entries[greater], entries[i]
                else:
                    i += 1
            # The larger part waits, so that at most 64 do.
            if less - low > high - greater:
                lows[depth], highs[depth] = low, less
                low = greater
            else:
                lows[depth], highs[depth] = greater, high
                high = less
            depth += 1
        for i in range(low + 1, high):
            key, entry, j = keys[i], entries[i], i
            while j > low and keys[j - 1] > key:
                keys[j], entries[j] = keys[j - 1], entries[j - 1]
                j -= 1
            keys[j], entries[j] = key, entry


@inlined
def _run_length(text: Bytes, kinds: Bytes, at: int) -> int:
    """Bytes from an entry to the next one, or to the end of the text."""
    i = at + 1
    before = kinds[load8(text, at)]
    while True:
        byte = load8(text, i)
        kind = kinds[byte]
        if byte == END or _is_entry(before, kind):
            return i - at
        before = kind
        i += 1


@inlined
def _is_same(text: Bytes, a: int, b: int, size: int) -> bool:
    i = 0
    while i + 8 <= size:
        if load64(text, a + i) != load64(text, b + i):
            return False
        i += 8
    while i < size:
        if load8(text, a + i) != load8(text, b + i):
            return False
        i += 1
    return True


@kernel
def _count_runs(text: Bytes, kinds: Bytes, entries: UInt32s) -> tuple[int, int]:
    """How many there are, and their bytes."""
    count = size = 0
    last = last_length = 0
    for i in range(len(entries)):
        at = int(entries[i])
        length = _run_length(text, kinds, at)
        if i == 0 or length != last_length or not _is_same(text, at, last, length):
            count += 1
            size += length + 1
        last, last_length = at, length
    return count, size


@kernel
def _fill_runs(text: Bytes, kinds: Bytes, entries: UInt32s, runs: Bytes, start: UInt32s, first: UInt32s) -> None:
    count = size = 0
    last = last_length = 0
    for i in range(len(entries)):
        at = int(entries[i])
        length = _run_length(text, kinds, at)
        if i == 0 or length != last_length or not _is_same(text, at, last, length):
            start[count], first[count] = size, i
            for j in range(length):
                runs[size + j] = load8(text, at + j)
            runs[size + length] = END
            count += 1
            size += length + 1
        last, last_length = at, length
    start[count], first[count] = size, len(entries)


@inlined
def _compared(text: Bytes, at: int, passage: Bytes) -> tuple[int, int]:
    """How many bytes of a passage a suffix begins with; and -1, 0 or 1: it is less than the passage, begins with all of
    it, or is greater."""
    for i in range(len(passage)):
        byte, expected = load8(text, at + i), load8(passage, i)
        if byte != expected:
            return i, -1 if byte < expected else 1
    return len(passage), 0


@inlined
def _lower(text: Bytes, entries: UInt32s, passage: Bytes) -> int:
    """The first suffix that is not less than a passage."""
    low, high = 0, len(entries)
    while low < high:
        middle = (low + high) // 2
        _, order = _compared(text, int(entries[middle]), passage)
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _bounds(text: Bytes, entries: UInt32s, passage: Bytes) -> tuple[int, int]:
    low = first = _lower(text, entries, passage)
    high = len(entries)
    while low < high:
        middle = (low + high) // 2
        _, order = _compared(text, int(entries[middle]), passage)
        if order <= 0:
            low = middle + 1
        else:
            high = middle
    return first, low


@kernel
def _shared(text: Bytes, entries: UInt32s, passage: Bytes) -> int:
    """The neighbours of where a passage would be share most with it."""
    position = _lower(text, entries, passage)
    longest = 0
    for i in range(max(position - 1, 0), min(position + 1, len(entries))):
        same, _ = _compared(text, int(entries[i]), passage)
        longest = max(longest, same)
    return longest


@kernel
def _confirmed(text: Bytes, candidates: UInt32s, passage: Bytes, at: int) -> UInt32s:
    positions = np.empty(len(candidates), np.uint32)
    count = 0
    size = len(passage)
    compared = min(size - at, DEPTH) + at  # bytes from `at` to here are those of the candidates
    for i in range(len(candidates)):
        begin = int(candidates[i]) - at
        if begin < 0:
            continue
        same = True
        for j in range(at):
            if load8(text, begin + j) != load8(passage, j):
                same = False
                break
        if same and compared < size:
            for j in range(compared, size):
                if load8(text, begin + j) != load8(passage, j):
                    same = False
                    break
        if same:
            positions[count] = begin
            count += 1
    return positions[:count].copy()


def _places(runs: Bytes, needle: Bytes) -> Int64s:
    """Where a fragment is in the runs, none of which it crosses: it has no END."""
    places = np.empty(FRAGMENT_CAPACITY, np.int64)
    count = _look(runs, needle, places)
    if count > len(places):
        places = np.empty(count, np.int64)
        _look(runs, needle, places)
    return places[:count]


@kernel
def _look(runs: Bytes, needle: Bytes, places: Int64s) -> int:
    """Count the places, and write down as many as there is room for. Chunks without the first and the last byte of the
    fragment at their distance are passed by, many bytes in one instruction."""
    size = len(needle)
    head, tail, apart = load8(needle, 0), load8(needle, size - 1), size - 1
    last = len(runs) - size  # a fragment may begin here at the latest
    count = 0
    for base in range(0, last + 1, CHUNK):
        stop = min(base + CHUNK, last + 1)
        firsts, lasts = runs[base:stop], runs[base + apart : stop + apart]
        hits = np.uint8(0)
        for i in range(len(firsts)):
            hits |= np.uint8(firsts[i] == head) & np.uint8(lasts[i] == tail)
        if not hits:
            continue
        for i in range(base, stop):
            if load8(runs, i) == head and load8(runs, i + apart) == tail:
                same = True
                for k in range(1, apart):
                    if load8(runs, i + k) != load8(needle, k):
                        same = False
                        break
                if same:
                    if count < len(places):
                        places[count] = i
                    count += 1
    return count


def warm_up() -> None:
    """Compile all kernels."""
    suffixes = index(joined([b"the mill", b"the wheel"])[0])
    first, stop = matches(suffixes, b"the ")
    confirmed(suffixes, first, stop, b"the mill", 4)
    within_runs(suffixes, b"ill")
    shared(suffixes, b"the wheels")
