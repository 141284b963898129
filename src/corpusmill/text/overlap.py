"""An index of items, and where they occur in documents: n-grams of words are looked up and joined to passages.

An item is a folded text. One of at least n words is indexed by all of its n-grams. A shorter one, a "phrase", is
indexed as a whole, and by its first `shortest` words, its "seed": the whole is looked up only where the seed occurs.
Runs of few distinct words, such as tables of numbers (folded, "0 0 0 0"), carry no information and are not indexed.
An n-gram of many items is indexed only as a part of a template, see `templates`.

A run of words is identified by a 64-bit hash, a polynomial in the hashes of the words, so that the hash of any run
follows from two prefixes of the document. Different runs with the same hash are taken for equal: with a million n-grams
in an index, that is expected once in 2e13 words of text.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text.array_types import Bools, Bytes, Float64s, Int32s, Int64s, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.hashing import P1, quick_hash
from corpusmill.text.lowlevel import NO_BITS, ONE, Bits, U, borrowed
from corpusmill.text.near import NO_ITEMS, SEED, DocumentWords, Near, align_item, is_close, wrong_words
from corpusmill.text.near import build as build_near
from corpusmill.text.sets import filter_of, find, may_have, never_zero, table_of
from corpusmill.text.shingles import count_words, word_places
from corpusmill.text.spans import longest
from corpusmill.text.templates import in_a_row, of_nearest

WIDEST = 63  # words of an n-gram: the lengths of phrases are the bits of a number
MATCH = np.dtype([("document", "i4"), ("item", "i4"), ("word", "i4"), ("at", "i4"), ("template", "i4")])
PASSAGE = np.dtype(
    [
        ("document", "i4"),
        ("item", "i4"),
        ("first", "i4"),  # word of the document where the first n-gram begins
        ("end", "i4"),  # word after the last one
        ("at", "i4"),  # word of the item where that first n-gram begins
        ("left", "i4"),  # words of the item after that last one
        ("covered", "i4"),  # distinct words of the item within the matched n-grams that are not boilerplate
        ("template", "i4"),  # its other words, that are in those of a template
        (
            "grams",
            "i4",
        ),  # distinct n-grams of the item that matched; 1 for a phrase, 0 for words held beside each other
    ]
)


class OverlapIndex(NamedTuple):
    """The indexed items; read-only, and shared by all processes if the arrays are mapped from files.

    n            words of an n-gram
    phrase       words of the shortest phrase, n if there is none
    template     words of the shortest template
    shift        of the filter
    filter       most runs that are not in the index are not in it either, see `sets.filter_of`
    keys         hash table of the indexed runs, see `sets`
    entry        (slots,) number of the run in each slot of `keys`
    lengths      (runs,) of a seed, the lengths of the phrases that begin with it, as bits
    shared       (runs,) whether a run is boilerplate, and indexed as a part of templates
    first        (runs + 1,) the first place of each run in `item` and `at`
    item, at     (places,) an item with the run, and the first word of the run in it
    words        (items,) of each item
    telling      (items,) of these, words that are in indexed n-grams that are not boilerplate
    """

    n: int
    phrase: int
    template: int
    shift: int
    filter: UInt64s
    keys: UInt64s
    entry: Int32s
    lengths: UInt64s
    shared: Bools
    first: Int64s
    item: Int32s
    at: Int32s
    words: Int32s
    telling: Int32s


INDEX_ARRAYS = OverlapIndex._fields[4:]


def build(
    items: pa.LargeStringArray, n: int, shortest: int, common: int, template: int, longest_phrase: int = WIDEST
) -> OverlapIndex:
    """The index of folded items.

    n                words of an n-gram, at most WIDEST
    shortest         words of the shortest item that is indexed, at most n
    common           an n-gram or phrase that occurs in more items is boilerplate
    template         words of boilerplate in a row from which on it is indexed
    longest_phrase   words of the longest phrase that is indexed: longer ones are left to `near`
    """
    if not 1 <= shortest <= n <= WIDEST:
        raise ValueError(f"need 1 <= shortest <= n <= {WIDEST}, got shortest={shortest}, n={n}")
    text = view(items)
    words = np.zeros(len(items), np.int32)
    count_words(text, words)
    counts = np.where(words >= n, words - n + 1, (words >= shortest) & (words <= longest_phrase))
    item = np.repeat(np.arange(len(items), dtype=np.int32), counts)
    at = (np.arange(len(item)) - np.repeat(np.cumsum(counts) - counts, counts)).astype(np.int32)
    runs, seeds = np.empty(len(item), np.uint64), np.zeros(len(items), np.uint64)
    telling = np.empty(len(item), np.bool_)
    _hash_items(text, n, shortest, longest_phrase, runs, telling, seeds)
    order = np.lexsort((at, item, runs))
    order = order[telling[order]]
    runs, item, at = runs[order], item[order], at[order]
    common_run = _boilerplate(runs, item, common)
    in_template = common_run & (words[item] >= n)
    in_template[in_template] = in_a_row(item[in_template], at[in_template], template - n + 1)
    keep = in_template | ~common_run
    runs, item, at, in_template = runs[keep], item[keep], at[keep], in_template[keep]

    phrases = item[words[item] < n]
    unique_runs = np.unique(np.concatenate([runs, seeds[phrases]]))
    lengths = np.zeros(len(unique_runs), np.uint64)
    np.bitwise_or.at(lengths, np.searchsorted(unique_runs, seeds[phrases]), ONE << words[phrases].astype(np.uint64))
    shared = np.zeros(len(unique_runs), np.bool_)
    shared[np.searchsorted(unique_runs, runs[in_template])] = True
    first = np.append(np.searchsorted(runs, unique_runs), len(runs))

    shift, filter_ = filter_of(unique_runs)
    keys, entry = table_of(unique_runs, np.arange(len(unique_runs), dtype=np.int32))
    telling_words = _telling(item[~in_template], at[~in_template], words, n)
    arrays = (filter_, keys, entry, lengths, shared, first, item, at, words, telling_words)
    return OverlapIndex(n, shortest if len(phrases) else n, template, shift, *arrays)


def _boilerplate(runs: UInt64s, item: Int32s, common: int) -> Bools:
    """Which of the runs occur in more than `common` items; runs and items are sorted."""
    begins = np.append(True, runs[1:] != runs[:-1])[: len(runs)]
    run = np.cumsum(begins) - 1
    another = begins | np.append(True, item[1:] != item[:-1])[: len(runs)]
    boilerplate: Bools = np.bincount(run, another)[run] > common
    return boilerplate


def _telling(item: Int32s, at: Int32s, words: Int32s, n: int) -> Int32s:
    """How many words of each item are in the runs that begin at these places of it."""
    order = np.lexsort((at, item))
    item, at = item[order], at[order]
    end = at + np.minimum(n, words[item])
    same = np.append(False, item[1:] == item[:-1])[: len(item)]
    new = end - np.maximum(at, np.where(same, np.append(0, end[:-1])[: len(item)], 0))
    telling: Int32s = np.bincount(item, new, len(words)).astype(np.int32)
    return telling


def find_items(folded: pa.LargeStringArray, index: OverlapIndex, near_index: Near | None = None) -> NDArray[Any]:
    """The passages of folded documents with items: PASSAGE, by document, item and position.

    N-grams of one item at most the length of the item apart are one passage. Those of a template count for one item.

    near_index   adds the places where a short item stands as a whole, with wrong words. One that is found by its
                 n-grams is added only if some are wrong
    """
    text = view(folded)
    matches, aligned = np.empty(1 << 12, MATCH), np.empty(1 << 10, PASSAGE)
    parts: list[NDArray[Any]] = []
    passages: list[NDArray[Any]] = []
    document = 0
    while document < len(folded):
        before = document
        document, count, close = _find(text, index, near_index or NO_ITEMS, document, matches, aligned)
        parts.append(matches[:count].copy())
        passages.append(aligned[:close].copy())
        if document == before:  # too small for the matches of one document
            matches, aligned = np.empty(4 * len(matches), MATCH), np.empty(4 * len(aligned), PASSAGE)
    rows = np.concatenate([*parts, matches[:0]])
    shared = rows["item"] < 0
    if shared.any():
        rows, shared = _sorted(rows[~shared]), rows[shared]
        rows = np.concatenate([rows, of_nearest(shared, rows, index)])
    if len(rows):
        rows = _sorted(rows)
        joined = np.empty(len(rows), PASSAGE)
        passages.insert(0, joined[: _join(rows, index.words, index.n, joined)])
    all_passages = np.concatenate([*passages, aligned[:0]])
    if any(map(len, passages[len(rows) > 0 :])):  # what is held beside an item is found by several seeds, and unsorted
        all_passages = all_passages[np.lexsort([all_passages[field] for field in reversed(PASSAGE.names or ())])]
        all_passages = all_passages[np.append(True, all_passages[1:] != all_passages[:-1])]
    return all_passages


def _sorted(rows: NDArray[Any]) -> NDArray[Any]:
    return rows[np.lexsort((rows["at"], rows["word"], rows["item"], rows["document"]))]


def best_passages(passages: NDArray[Any], overlap: Float64s) -> tuple[Int64s, Int64s]:
    """Numbers of passages: the best of each item in each document, and of these the best of each document.

    passages   as `find_items` returns them; overlap: (passages,)

    Better is the passage with more overlap, more words covered, the smaller number of the item, more n-grams, and the
    earlier one, in this order.
    """
    of_items, of_documents = np.empty(len(passages), np.int64), np.empty(len(passages), np.int64)
    items, documents = _best(passages, overlap, of_items, of_documents)
    return of_items[:items].copy(), of_documents[:documents].copy()


@kernel
def _best(passages: Any, overlap: Float64s, of_items: Int64s, of_documents: Int64s) -> Any:
    items = documents = 0
    for i in range(len(passages)):
        passage = passages[i]
        if i > 0 and passages[i - 1]["document"] == passage["document"]:
            if passages[i - 1]["item"] == passage["item"]:
                best = passages[of_items[items - 1]]
                lead = overlap[i] - overlap[of_items[items - 1]]
                if lead == 0:
                    lead = float(passage["covered"] - best["covered"])
                    if lead == 0:
                        lead = float(passage["grams"] - best["grams"])
                if lead > 0:
                    of_items[items - 1] = i
            else:
                of_items[items] = i
                items += 1
            best = passages[of_documents[documents - 1]]
            lead = overlap[i] - overlap[of_documents[documents - 1]]
            if lead == 0:
                lead = float(passage["covered"] - best["covered"])
                if lead == 0 and passage["item"] == best["item"]:
                    lead = float(passage["grams"] - best["grams"])
            if lead > 0:
                of_documents[documents - 1] = i
        else:
            of_items[items], of_documents[documents] = i, i
            items, documents = items + 1, documents + 1
    return items, documents


@inlined
def _hash_words(data: Bytes, words: int, start: Int64s, end: Int64s, prefix: UInt64s) -> None:
    """Write the hash of the first i words to prefix[i], for each i up to `words`."""
    prefix[0] = NO_BITS
    for i in range(words):
        prefix[i + 1] = prefix[i] * P1 + quick_hash(data, start[i], end[i] - start[i])


@inlined
def _hash_run(prefix: UInt64s, powers: UInt64s, i: int, length: int) -> Bits:
    """The hash of the words [i, i + length); never 0."""
    return never_zero(prefix[i + length] - prefix[i] * powers[length])


@inlined
def _powers() -> UInt64s:
    powers = np.empty(WIDEST + 1, np.uint64)
    powers[0] = ONE
    for i in range(WIDEST):
        powers[i + 1] = powers[i] * P1
    return powers


@inlined
def _is_telling(prefix: UInt64s, i: int, length: int) -> Any:
    """Whether the number of distinct words among [i, i + length) is at least half of all."""
    different = 0
    for a in range(i, i + length):
        word = prefix[a + 1] - prefix[a] * P1
        repeated = False
        for b in range(i, a):
            repeated |= prefix[b + 1] - prefix[b] * P1 == word
        different += not repeated
    return 2 * different >= length


@kernel
def _hash_items(
    text: TextBuffer, n: int, shortest: int, longest_phrase: int, runs: UInt64s, telling: Bools, seeds: UInt64s
) -> None:
    """Fill in the n-grams of each item, or the whole phrase and its seed; shorter items are skipped."""
    size = longest(text.offsets)
    start, end = np.empty(size // 2 + 2, np.int64), np.empty(size // 2 + 2, np.int64)
    prefix, powers = np.empty(size // 2 + 3, np.uint64), _powers()
    out = 0
    for d in range(len(seeds)):
        words = word_places(text.data, text.offsets[d], text.offsets[d + 1], start, end)
        _hash_words(text.data, words, start, end, prefix)
        if words >= n:
            for i in range(words - n + 1):
                runs[out], telling[out] = _hash_run(prefix, powers, i, n), _is_telling(prefix, i, n)
                out += 1
        elif shortest <= words <= longest_phrase:
            runs[out], telling[out] = _hash_run(prefix, powers, 0, words), _is_telling(prefix, 0, words)
            seeds[d] = _hash_run(prefix, powers, 0, shortest)
            out += 1


@inlined
def _entry(index: OverlapIndex, key: Bits) -> Any:
    """The number of a run, -1 if it is not in the index."""
    if not may_have(index.filter, index.shift, key):
        return -1
    at = find(index.keys, len(index.keys) - 1, key)
    return np.intp(index.entry[at]) if index.keys[at] == key else -1


@inlined
def _add(index: OverlapIndex, entry: Any, document: int, word: int, matches: Any, count: Any) -> Any:
    """Write a match for every place of a run; returns how many there are with unlimited room.

    One of an n-gram of templates has no item, -1, and the number of the run as its `at`.
    """
    if index.shared[entry]:
        if count < len(matches):
            row = matches[count]
            row["document"], row["item"], row["word"], row["at"], row["template"] = document, -1, word, entry, 1
        return count + 1
    for position in range(index.first[entry], index.first[entry + 1]):
        if count < len(matches):
            row = matches[count]
            row["document"], row["item"] = document, index.item[position]
            row["word"], row["at"], row["template"] = word, index.at[position], 0
        count += 1
    return count


@inlined
def _add_phrases(
    index: OverlapIndex,
    key: Bits,
    prefix: UInt64s,
    powers: UInt64s,
    words: int,
    i: int,
    document: int,
    matches: Any,
    count: Any,
) -> Any:
    """Write a match for every place of the phrases at word i, whose seed has this key."""
    seed = _entry(index, key)
    if seed >= 0 and index.lengths[seed] != NO_BITS:
        for length in range(index.phrase, min(index.n, words - i + 1)):
            if (index.lengths[seed] >> U(length)) & ONE:
                entry = _entry(index, _hash_run(prefix, powers, i, length))
                if entry >= 0:
                    count = _add(index, entry, document, i, matches, count)
    return count


@kernel
def _find(text: TextBuffer, index: OverlapIndex, near_index: Near, document: int, matches: Any, aligned: Any) -> Any:
    """Write the matches of documents from `document` on; returns the first document without room, the matches, and the
    passages that are held beside items, written."""
    size = longest(text.offsets)
    start, end = np.empty(size // 2 + 2, np.int64), np.empty(size // 2 + 2, np.int64)
    prefix = np.empty(size // 2 + 3, np.uint64)
    return _find_with(text, index, near_index, document, start, end, prefix, _powers(), matches, aligned)


@kernel
def _find_with(
    text: TextBuffer,
    index: OverlapIndex,
    near_index: Near,
    document: int,
    start: Int64s,
    end: Int64s,
    prefix: UInt64s,
    powers: UInt64s,
    matches: Any,
    aligned: Any,
) -> Any:
    """`_find`, with room for the words of the longest document."""
    document_words = DocumentWords(text.data, prefix, start, end)
    # Taken out of the tuples once, and borrowed: there, each look at an array counts a reference.
    data, start, end = borrowed(text.data), borrowed(start), borrowed(end)
    prefix, powers = borrowed(prefix), borrowed(powers)
    n, phrase, shift, runs = index.n, index.phrase, index.shift, borrowed(index.filter)
    near_shift, seeds = near_index.shift, borrowed(near_index.filter)
    seed_keys, seed_entry, seed_first = (
        borrowed(near_index.keys),
        borrowed(near_index.entry),
        borrowed(near_index.first),
    )
    near_item, near_at = borrowed(near_index.item), borrowed(near_index.at)
    item_begin, item_word = borrowed(near_index.begin), borrowed(near_index.word)
    has_seeds = len(near_item) > 0
    count = close = 0
    for d in range(document, len(text.offsets) - 1):
        before, close_before = count, close
        words = word_places(data, text.offsets[d], text.offsets[d + 1], start, end)
        _hash_words(data, words, start, end, prefix)
        for i in range(words - n + 1):
            key = _hash_run(prefix, powers, i, n)
            if may_have(runs, shift, key):
                entry = _entry(index, key)
                if entry >= 0:
                    count = _add(index, entry, d, i, matches, count)
        for i in range(words - phrase + 1 if phrase < n else 0):
            key = _hash_run(prefix, powers, i, phrase)
            if may_have(runs, shift, key):
                count = _add_phrases(index, key, prefix, powers, words, i, d, matches, count)
        for i in range(words - SEED + 1 if has_seeds else 0):
            key = _hash_run(prefix, powers, i, SEED)
            if not may_have(seeds, near_shift, key):
                continue
            slot = find(seed_keys, len(seed_keys) - 1, key)
            if seed_keys[slot] != key:
                continue
            for position in range(seed_first[seed_entry[slot]], seed_first[seed_entry[slot] + 1]):
                item, at = near_item[position], near_at[position]
                begin, size = item_begin[item], item_begin[item + 1] - item_begin[item]
                if is_close(item_word, begin, size, at, prefix, words, i):
                    close = _add_near(near_index, item, at, document_words, words, i, n, d, aligned, close)
        if count > len(matches) or close > len(aligned):
            return d, before, close_before
    return len(text.offsets) - 1, count, close


@inlined
def _add_near(
    near_index: Near,
    item: int,
    at: int,
    document_words: DocumentWords,
    words: int,
    i: int,
    n: int,
    d: int,
    aligned: Any,
    close: Any,
) -> Any:
    """Write a passage if an item is there; returns how many there are with unlimited room."""
    size = near_index.begin[item + 1] - near_index.begin[item]
    first, end, wrong, absent = align_item(near_index, item, at, document_words, words, i)
    if wrong > wrong_words(size) or (wrong == 0 and size >= n):
        return close
    if close < len(aligned):
        row = aligned[close]
        row["document"], row["item"] = d, item
        row["first"], row["end"], row["at"], row["left"] = first, end, 0, 0
        row["covered"], row["template"], row["grams"] = size - absent, 0, 0
    return close + 1


@kernel
def _join(rows: Any, words: Int32s, n: int, passages: Any) -> int:
    """Join sorted matches to passages; returns how many there are."""
    widest = 0
    for r in range(len(rows)):
        widest = max(widest, words[rows[r]["item"]])
    covered_by, begun_by = np.full(widest, -1, np.int64), np.full(widest, -1, np.int64)  # the last passage that does
    matched_by = np.full(widest, -1, np.int64)  # by n-grams of either kind
    count = 0
    r = 0
    while r < len(rows):
        document, item = rows[r]["document"], rows[r]["item"]
        size = min(n, words[item])
        passage = passages[count]
        passage["document"], passage["item"] = document, item
        passage["first"], passage["at"] = rows[r]["word"], rows[r]["at"]
        covered = matched = grams = 0
        word: Any = rows[r]["word"]
        while r < len(rows) and rows[r]["document"] == document and rows[r]["item"] == item:
            if rows[r]["word"] - word > words[item]:
                break
            word, at = rows[r]["word"], rows[r]["at"]
            grams += begun_by[at] != count
            begun_by[at] = count
            for k in range(at, at + size):
                matched += matched_by[k] != count
                matched_by[k] = count
                if rows[r]["template"] == 0:
                    covered += covered_by[k] != count
                    covered_by[k] = count
            passage["end"], passage["left"] = word + size, words[item] - at - size
            r += 1
        passage["covered"], passage["template"], passage["grams"] = covered, matched - covered, grams
        count += 1
    return count


def warm_up() -> None:
    folded = pa.array(["a b c d", "a b c e", "a b"], pa.large_string())
    passages = find_items(folded, build(folded, 3, 2, 1, 3), build_near(folded, 1, 1))
    best_passages(passages, np.ones(len(passages)))
