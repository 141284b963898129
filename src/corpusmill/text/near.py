"""Short items in spite of misspelt, replaced, missing and additional words: a few of three words in a row lead to them.

A misspelt word in the middle of a question of twelve words leaves no eight in a row. So an item of SHORTEST_ITEM to
LONGEST_ITEM words is also aligned with the text word by word, wherever one of its seeds occurs. Its seeds are
as many runs of three words without a word in common as fit, W // 3 of W words: wherever W // 3 - 1 words are wrong, a
seed is whole (Jokinen and Ukkonen 1991, doi:10.1007/3-540-54345-7_67, on q-grams). Those runs are taken that
are rarest by the frequency of their words among the items, so that few places of ordinary text are looked at. A run
that more than MAX_SEED_ITEMS items share is no seed; an item that loses one has all its other runs instead.

Words are weighted by log2(items / items with the word): a question is that question while its telling words are there.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text.array_types import Bools, Bytes, Int32s, Int64s, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.hashing import P1, quick_hash
from corpusmill.text.lowlevel import NO_BITS, Bits
from corpusmill.text.sets import filter_of, find, never_zero, slots_for, table_of
from corpusmill.text.shingles import count_words, word_places
from corpusmill.text.spans import longest

SHORTEST_ITEM, LONGEST_ITEM = 6, 24  # words of an item that is searched for in this way
MIN_DISTINCT = 5  # words of an item, at least: numbers are all 0, and formulae have few words
SEED = 3  # words
MAX_SEED_ITEMS = 64  # of a run among the items; one that is in more is no seed
WEIGHT_SCALE = 8  # of the weights, which are whole numbers
MAX_LOST_SHARE = 0.1  # share of an item's weight that words may have which are missing or another word
MAX_GARBLED_SHARE = 0.5  # and with those that are no word
MIN_KNOWN_ITEMS = 2  # items with a word, from which on it is a word
LONGEST_MISSPELT = 32  # bytes of the longest word that may be misspelt


class Near(NamedTuple):
    """The seeds of short items, and their words; read-only, and shared by all processes if mapped from files.

    shift, filter, keys, entry   the seeds, as the runs of `overlap.Index`
    first       (seeds + 1,) the first place of each seed in `item` and `at`
    item, at    (places,) an item with the seed, and the first word of the seed in it
    begin       (items + 1,) the first word of each item in `word`; items that are not searched for have none
    word        (words,) hash
    weight      (words,) WEIGHT_SCALE * log2(items / items with the word), and 1 at least
    place       (words + 1,) first byte of each word in `letters`
    letters     the bytes of the words
    known       hash table of the words of MIN_KNOWN_ITEMS items and more
    """

    shift: int
    filter: UInt64s
    keys: UInt64s
    entry: Int32s
    first: Int64s
    item: Int32s
    at: Int32s
    begin: Int64s
    word: UInt64s
    weight: Int32s
    place: Int64s
    letters: Bytes
    known: UInt64s


ITEM_ARRAYS = Near._fields[1:]


def _empty(kind: type[np.generic], size: int = 0) -> NDArray[Any]:
    array = np.zeros(size, kind)
    array.setflags(write=False)
    return array


# Leads to no item.
NO_ITEMS = Near(
    58,
    filter=_empty(np.uint64, 1),
    keys=_empty(np.uint64, 1),
    entry=_empty(np.int32, 1),
    first=_empty(np.int64, 1),
    item=_empty(np.int32),
    at=_empty(np.int32),
    begin=_empty(np.int64, 1),
    word=_empty(np.uint64),
    weight=_empty(np.int32),
    place=_empty(np.int64, 1),
    letters=_empty(np.uint8),
    known=_empty(np.uint64, 1),
)


@inlined
def wrong_words(words: int) -> int:
    """How many words of an item may be wrong: of 6 one, of 9 two, of 12 three."""
    return words // SEED - 1


def build(items: pa.LargeStringArray, shortest: int, common: int) -> Near:
    """The seeds of folded items.

    shortest   words of the shortest item that is searched for, and SHORTEST_ITEM at least
    common     an item whose words occur in a row in more items is boilerplate ("which of the following is true"), and
               not searched for
    """
    text = view(items)
    size = np.zeros(len(items), np.int32)
    count_words(text, size)
    hashes = np.empty(int(size.sum()), np.uint64)
    starts = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    ends = np.empty((len(hashes), 2), np.int64)
    _hash(text, hashes, ends)
    weight, words = _weights(hashes, np.repeat(np.arange(len(items)), size), len(items))
    known_words, _ = table_of(words, np.arange(len(words), dtype=np.int32))

    short = (size >= max(shortest, SHORTEST_ITEM)) & (size <= LONGEST_ITEM)
    holding = np.zeros(len(items), np.int32)
    short_items = np.flatnonzero(short)
    table = np.zeros(slots_for(max(len(short_items), 1)), np.uint64)
    _holding(hashes, starts, short_items, table, holding)
    short &= (holding <= common) & _telling_items(hashes, size)
    chosen = np.flatnonzero(short)
    begin = np.concatenate([[0], np.cumsum(np.where(short, size, 0))]).astype(np.int64)
    of_short = np.repeat(short, size)

    rooms = size[chosen] // SEED
    item = np.repeat(chosen, rooms).astype(np.int32)
    at = np.empty(len(item), np.int32)
    runs = np.empty(len(item), np.uint64)
    all_runs, shared = _shared(hashes)
    _seeds(hashes, weight, shared, starts, chosen, at, runs)
    item, at, runs = _with_others(item, at, runs, all_runs, shared, starts)
    order = np.lexsort((at, item, runs))
    order = order[runs[order] != NO_BITS]
    runs, item, at = runs[order], item[order], at[order]
    seeds = np.unique(runs)
    first = np.append(np.searchsorted(runs, seeds), len(runs)).astype(np.int64)
    shift, filter_ = filter_of(seeds)
    keys, entry = table_of(seeds, np.arange(len(seeds), dtype=np.int32))

    spans = ends[of_short]
    lengths = spans[:, 1] - spans[:, 0]
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    letters = np.zeros(int(bounds[-1]) + 8, np.uint8)
    _letters(text, spans, bounds, letters)
    arrays = (
        filter_,
        keys,
        entry,
        first,
        item,
        at,
        begin,
        hashes[of_short],
        weight[of_short],
        bounds,
        letters,
        known_words,
    )
    for array in arrays:
        array.setflags(write=False)
    return Near(shift, *arrays)


def _weights(words: UInt64s, item: Int64s, items: int) -> tuple[Int32s, UInt64s]:
    """The weight of each word of the items, and the distinct words of MIN_KNOWN_ITEMS items and more."""
    order = np.lexsort((item, words))
    ordered, ordered_item = words[order], item[order]
    begins = np.append(True, ordered[1:] != ordered[:-1])[: len(words)]
    another = begins | np.append(True, ordered_item[1:] != ordered_item[:-1])[: len(words)]
    number = np.cumsum(begins) - 1
    frequency = np.bincount(number, another)
    weight = np.empty(len(words), np.int32)
    weight[order] = np.maximum(np.rint(WEIGHT_SCALE * np.log2(items / frequency)), 1)[number]
    return weight, ordered[begins][frequency >= MIN_KNOWN_ITEMS]


def _telling_items(words: UInt64s, size: Int32s) -> Bools:
    """Which items have enough distinct words: MIN_DISTINCT, and at least half, as `overlap` asks of an n-gram."""
    item = np.repeat(np.arange(len(size)), size)
    order = np.lexsort((words, item))
    new = np.append(True, (words[order][1:] != words[order][:-1]) | (item[order][1:] != item[order][:-1]))[: len(words)]
    distinct = np.bincount(item[order], new, len(size))
    telling: Bools = (distinct >= MIN_DISTINCT) & (2 * distinct >= size)
    return telling


@kernel
def _hash(text: TextBuffer, hashes: UInt64s, ends: Int64s) -> None:
    size = longest(text.offsets)
    start, end = np.empty(size // 2 + 2, np.int64), np.empty(size // 2 + 2, np.int64)
    out = 0
    for d in range(len(text.offsets) - 1):
        for i in range(word_places(text.data, text.offsets[d], text.offsets[d + 1], start, end)):
            hashes[out] = quick_hash(text.data, start[i], end[i] - start[i])
            ends[out, 0], ends[out, 1] = start[i], end[i]
            out += 1


@kernel
def _letters(text: TextBuffer, spans: Int64s, bounds: Int64s, letters: Bytes) -> None:
    for i in range(len(spans)):
        for k in range(spans[i, 1] - spans[i, 0]):
            letters[bounds[i] + k] = text.data[spans[i, 0] + k]


@inlined
def _run(words: UInt64s, i: int, length: int) -> Bits:
    """The hash of a run of words, as `overlap` makes it from prefixes."""
    h = NO_BITS
    for k in range(i, i + length):
        h = h * P1 + words[k]
    return never_zero(h)


@kernel
def _holding(hashes: UInt64s, starts: Int64s, items: Int64s, table: UInt64s, holding: Int32s) -> None:
    """Write to holding[item] how many items have all words of that item in a row, for each of `items`."""
    mask = len(table) - 1
    count, last = np.zeros(len(table), np.int32), np.full(len(table), -1, np.int64)
    lengths = np.zeros(LONGEST_ITEM + 1, np.bool_)
    for item in items:
        size = starts[item + 1] - starts[item]
        key = _run(hashes, starts[item], size)
        table[find(table, mask, key)] = key
        lengths[size] = True
    for item in range(len(starts) - 1):
        for length in range(1, LONGEST_ITEM + 1):
            if not lengths[length]:
                continue
            top = NO_BITS + np.uint64(1)
            for _ in range(length):
                top *= P1
            h = NO_BITS
            for i in range(starts[item], starts[item + 1]):
                h = h * P1 + hashes[i]
                if i >= starts[item] + length:
                    h -= hashes[i - length] * top
                if i + 1 >= starts[item] + length:
                    slot = find(table, mask, never_zero(h))
                    if table[slot] != NO_BITS and last[slot] != item:
                        last[slot] = item
                        count[slot] += 1
    for item in items:
        key = _run(hashes, starts[item], starts[item + 1] - starts[item])
        holding[item] = count[find(table, mask, key)]


def _with_others(
    item: Int32s, at: Int32s, runs: UInt64s, all_runs: UInt64s, shared: Bools, starts: Int64s
) -> tuple[Int32s, Int32s, UInt64s]:
    """The seeds, and of each item that lost one because too many share it ("what is a") all other runs, which may stand
    across its seeds: else one wrong word would hide a question of six."""
    lost = np.unique(item[runs == NO_BITS])
    counts = (starts[lost + 1] - starts[lost] - SEED + 1).astype(np.int64)
    items = np.repeat(lost.astype(np.int64), counts)
    offset = np.arange(len(items)) - np.repeat(np.cumsum(counts) - counts, counts)
    own = ~shared[starts[items] + offset] & ~np.isin(
        items * (LONGEST_ITEM + 1) + offset, item.astype(np.int64) * (LONGEST_ITEM + 1) + at
    )
    items, offset = items[own], offset[own]
    return (
        np.concatenate([item, items.astype(np.int32)]),
        np.concatenate([at, offset.astype(np.int32)]),
        np.concatenate([runs, all_runs[starts[items] + offset]]),
    )


def _shared(hashes: UInt64s) -> tuple[UInt64s, Bools]:
    """(words,) the run that begins at each word, and whether it is in more than MAX_SEED_ITEMS places; runs cross
    items."""
    runs = np.zeros(len(hashes), np.uint64)
    if len(hashes) >= SEED:
        _runs(hashes, runs)
    _, number, count = np.unique(runs, return_inverse=True, return_counts=True)
    shared: Bools = (count > MAX_SEED_ITEMS)[number]
    return runs, shared


@kernel
def _runs(hashes: UInt64s, runs: UInt64s) -> None:
    for i in range(len(hashes) - SEED + 1):
        runs[i] = _run(hashes, i, SEED)


@kernel
def _seeds(
    hashes: UInt64s, weight: Int32s, shared: Bools, starts: Int64s, chosen: Int64s, at: Int32s, runs: UInt64s
) -> None:
    """The seeds of each item: W // SEED runs that share no word, with the least sum of costs. The run of one that too
    many items share is 0."""
    cost = np.empty((LONGEST_ITEM // SEED + 1, LONGEST_ITEM + 1), np.int64)
    out = 0
    for item in chosen:
        begin = starts[item]
        size = starts[item + 1] - begin
        rooms = size // SEED
        cost[:] = 1 << 62
        cost[0, :] = 0
        for n in range(1, rooms + 1):  # cost[n, w]: of n seeds among the first w words
            for w in range(n * SEED, size + 1):
                cost[n, w] = min(cost[n, w - 1], cost[n - 1, w - SEED] + _cost(weight, shared, begin + w - SEED))
        w = size
        for n in range(rooms, 0, -1):
            while cost[n, w] == cost[n, w - 1]:
                w -= 1
            w -= SEED
            at[out + n - 1] = w
            runs[out + n - 1] = NO_BITS if shared[begin + w] else _run(hashes, begin + w, SEED)
        out += rooms


@inlined
def _cost(weight: Int32s, shared: Bools, i: int) -> Any:
    """How frequent a seed is: 2**40 if each of its words is in every item, half of that per bit of weight; 2**50 if
    too many items share it."""
    bits = 0
    for k in range(i, i + SEED):
        bits += weight[k]
    return np.int64(1) << np.int64(50 if shared[i] else 40 - min(bits // WEIGHT_SCALE, 40))


# ------------------------------------------------------------------------------ in a document


class DocumentWords(NamedTuple):
    """The words of a document.

    prefix       (words + 1,) the hash of the first i words
    start, end   (words,) their bytes in `data`
    """

    data: Bytes
    prefix: UInt64s
    start: Int64s
    end: Int64s


@inlined
def _hash_at(words: DocumentWords, i: int) -> Bits:
    return words.prefix[i + 1] - words.prefix[i] * P1


@inlined
def is_close(hashes: UInt64s, begin: int, size: int, at: int, prefix: UInt64s, count: int, i: int) -> bool:
    """Whether at most the words that may be wrong are not within one word of where the seed at word i puts them.

    hashes   of the words of all items; this one has hashes[begin : begin + size]
    prefix   of the words of the document, `count` of them

    Nearly all places that seeds lead to end here, so it takes arrays alone: of a tuple, each array costs a reference.
    """
    allowed = wrong_words(size)
    for a in range(size):
        if at <= a < at + SEED:
            continue
        expected, d = hashes[begin + a], i + a - at
        if 0 <= d < count and prefix[d + 1] - prefix[d] * P1 == expected:
            continue
        if 0 < d <= count and prefix[d] - prefix[d - 1] * P1 == expected:
            continue
        if -1 <= d < count - 1 and prefix[d + 2] - prefix[d + 1] * P1 == expected:
            continue
        allowed -= 1
        if allowed < 0:
            return False
    return True


@kernel
def align_item(index: Near, item: int, at: int, words: DocumentWords, count: int, i: int) -> Any:
    """An item beside the words of a document, outwards from a seed: word `at` of the one, `i` of the other.

    returns   the words [first, end) of the document, the wrong words, and the words of the item that are not there; or
              more wrong words than may be. See `_outwards` for what counts as wrong
    """
    begin, size = index.begin[item], index.begin[item + 1] - index.begin[item]
    allowed = wrong_words(size)
    total = 0
    for k in range(begin, begin + size):
        total += index.weight[k]
    end, wrong, absent, lost, garbled = _outwards(index, begin, size, at + SEED, words, count, i + SEED, 1, allowed)
    if wrong > allowed:
        return i, end, wrong, absent
    first, more_wrong, more_absent, more_lost, bad = _outwards(
        index, begin, size, at - 1, words, count, i - 1, -1, allowed - wrong
    )
    lost += more_lost
    if lost > MAX_LOST_SHARE * total or lost + garbled + bad > MAX_GARBLED_SHARE * total:
        more_wrong = allowed + 1
    return first + 1, end, wrong + more_wrong, absent + more_absent


@inlined
def _outwards(
    index: Near, begin: int, size: int, a: int, words: DocumentWords, count: int, d: int, step: int, allowed: int
) -> Any:
    """Hold the words of an item from `a` on beside those of a document from `d` on, forwards (step 1) or backwards.

    Each pair of words is the first of these that it can be:
    - the same
    - misspelt: 1 wrong
    - one word of the item that is two of the document, 1 wrong; two that are one, 2 wrong
    - another word, behind which the two go on alike: 1 wrong, and not there
    - an additional word of the document, or a missing one of the item: 1 wrong, and the missing one is not there
    - another word: 1 wrong, and not there

    returns   where it ends in the document; wrong words, words that are not there, and the weight of these. It ends
              once there are more wrong words than `allowed`
    """
    wrong = absent = lost = garbled = 0
    while 0 <= a < size and wrong <= allowed:
        expected, weight = index.word[begin + a], index.weight[begin + a]
        if not 0 <= d < count:
            wrong, absent, lost, a = wrong + 1, absent + 1, lost + weight, a + step
            continue
        if _hash_at(words, d) == expected:
            a, d = a + step, d + step
            continue
        further, behind = 0 <= d + step < count, 0 <= a + step < size
        wrong += 1
        if _misspelt(index, begin + a, words, d):
            a, d = a + step, d + step
        elif further and _is_two(
            index.letters,
            index.place[begin + a],
            index.place[begin + a + 1],
            words.data,
            words.start[min(d, d + step)],
            words.end[min(d, d + step)],
            words.start[max(d, d + step)],
            words.end[max(d, d + step)],
        ):
            a, d = a + step, d + 2 * step
        elif behind and _is_two(
            words.data,
            words.start[d],
            words.end[d],
            index.letters,
            index.place[begin + min(a, a + step)],
            index.place[begin + min(a, a + step) + 1],
            index.place[begin + max(a, a + step)],
            index.place[begin + max(a, a + step) + 1],
        ):
            wrong, a, d = wrong + 1, a + 2 * step, d + step
        elif (
            further
            and not (behind and _hash_at(words, d + step) == index.word[begin + a + step])
            and (_hash_at(words, d + step) == expected)
        ):
            lost, d = lost + weight, d + step
        elif (
            behind
            and not (further and _hash_at(words, d + step) == index.word[begin + a + step])
            and (_hash_at(words, d) == index.word[begin + a + step])
        ):
            absent, lost, a = absent + 1, lost + weight, a + step
        else:
            absent += 1
            key = never_zero(_hash_at(words, d))
            if index.known[find(index.known, len(index.known) - 1, key)] == key:
                lost += weight
            else:
                garbled += weight
            a, d = a + step, d + step
    return d, wrong, absent, lost, garbled


@inlined
def _is_two(joined: Bytes, lo: int, hi: int, two: Bytes, start: int, end: int, start2: int, end2: int) -> bool:
    """Whether a word is two others, written together."""
    if hi - lo != end - start + end2 - start2:
        return False
    for k in range(end - start):
        if joined[lo + k] != two[start + k]:
            return False
    for k in range(end2 - start2):
        if joined[lo + end - start + k] != two[start2 + k]:
            return False
    return True


@inlined
def _misspelt(index: Near, k: int, words: DocumentWords, d: int) -> Any:
    """Whether a word of the document is word k of the items with a letter wrong, or two in one of 8 and more.

    Wrong is a letter that is missing, additional or another, or two that are exchanged (optimal string alignment,
    Damerau 1964, doi:10.1145/363958.363994), in bytes. A word of one letter has none.
    """
    lo, hi = index.place[k], index.place[k + 1]
    start, end = words.start[d], words.end[d]
    size = hi - lo
    width = end - start
    allowed = 1 if size < 8 else 2
    if abs(size - width) > allowed or size > LONGEST_MISSPELT or size < 2:
        return False
    return _edits(index.letters, lo, size, words.data, start, width) <= allowed


@kernel
def _edits(a: Bytes, lo: int, size: int, b: Bytes, start: int, width: int) -> Any:
    before, row, after = (
        np.zeros(LONGEST_MISSPELT + 4, np.int64),
        np.zeros(LONGEST_MISSPELT + 4, np.int64),
        np.zeros(LONGEST_MISSPELT + 4, np.int64),
    )
    for j in range(width + 1):
        row[j] = j
    for i in range(1, size + 1):
        after[0] = i
        for j in range(1, width + 1):
            same = a[lo + i - 1] == b[start + j - 1]
            fewest = min(row[j] + 1, after[j - 1] + 1, row[j - 1] + (0 if same else 1))
            if i > 1 and j > 1 and a[lo + i - 1] == b[start + j - 2] and a[lo + i - 2] == b[start + j - 1]:
                fewest = min(fewest, before[j - 2] + 1)
            after[j] = fewest
        before, row, after = row, after, before
    return row[width]
