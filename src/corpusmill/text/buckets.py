"""Documents that share a key: keys are sorted by partition when they are computed, and grouped partition by
partition."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corpusmill.text.array_types import Bools, Float64s, Int32s, Int64s, UInt16s, UInt32s, UInt64s
from corpusmill.text.compile import kernel
from corpusmill.text.sketch import unequal_lanes

WAYS = 2  # of cutting a document into n-grams, at most, and bits of a member that say in which it occurs
LEADERS = 16  # documents of a bucket that later ones are compared with at most, which bounds the cost of large buckets


def scatter(keys: UInt64s, slices: int) -> tuple[Int64s, UInt64s, UInt32s]:
    """Sort the keys of a unit's documents by partition, keeping the order of documents within each.

    keys      (documents, bands)
    slices    partitions per band, by the top bits of the key: a power of two
    returns   offsets (bands * slices + 1,); the keys in partition order; the row of each key's document

    A partition is (band, top bits of the key), numbered band * slices + top bits. A counting sort, linear.
    """
    if slices < 1 or slices & (slices - 1):
        raise ValueError(f"slices must be a power of two, got {slices}")
    bands = keys.shape[1]
    offsets = np.zeros(bands * slices + 1, np.int64)
    sorted_keys = np.empty(keys.size, np.uint64)
    rows = np.empty(keys.size, np.uint32)
    _scatter(np.ascontiguousarray(keys), slices.bit_length() - 1, offsets, sorted_keys, rows)
    return offsets, sorted_keys, rows


@kernel
def _scatter(keys: UInt64s, bits: int, offsets: Int64s, sorted_keys: UInt64s, rows: UInt32s) -> None:
    documents, bands = keys.shape
    for d in range(documents):
        for b in range(bands):
            offsets[(b << bits) + _top(keys[d, b], bits) + 1] += 1
    for p in range(len(offsets) - 1):
        offsets[p + 1] += offsets[p]
    at = offsets[:-1].copy()
    for d in range(documents):
        for b in range(bands):
            to = (b << bits) + _top(keys[d, b], bits)
            sorted_keys[at[to]] = keys[d, b]
            rows[at[to]] = d
            at[to] += 1


@kernel
def _top(key: np.uint64, bits: int) -> np.int64:
    return np.int64(key >> np.uint64(64 - bits)) if bits > 0 else np.int64(0)


def shared(keys: UInt64s) -> tuple[Int32s, int]:
    """Number the buckets of two records or more with the same key.

    keys      (records,)
    returns   (records,) the bucket of each record, -1 for a unique key; and the number of buckets. Buckets are numbered
              in the order of their first record.
    """
    bucket = np.full(len(keys), -1, np.int32)
    return bucket, int(_shared(keys, bucket))


@kernel
def _shared(keys: UInt64s, bucket: Int32s) -> int:
    size = 16
    while size < 2 * len(keys):
        size *= 2
    mask = np.uint64(size - 1)
    first = np.full(size, -1, np.int32)  # slot -> the first record with its key
    buckets = 0
    for i in range(len(keys)):
        slot = (keys[i] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(24) & mask
        while first[slot] >= 0 and keys[first[slot]] != keys[i]:
            slot = (slot + np.uint64(1)) & mask
        head = first[slot]
        if head < 0:
            first[slot] = i
        else:
            if bucket[head] < 0:
                bucket[head] = buckets
                buckets += 1
            bucket[i] = bucket[head]
    # Numbered by their second records so far; renumber by the first, so that buckets are in the order of documents.
    renamed = np.full(buckets, -1, np.int32)
    n = 0
    for i in range(len(keys)):
        b = bucket[i]
        if b >= 0:
            if renamed[b] < 0:
                renamed[b] = n
                n += 1
            bucket[i] = renamed[b]
    return buckets


class Leaders(NamedTuple):
    """The bucket whose records are being compared, and counts over all buckets. See `no_leaders`.

    documents   (LEADERS,) the documents that later ones are compared with
    sketches    (LEADERS, words) their sketches
    bucket      (4,) its number, -1 before the first; records of it so far; how many of them are leaders; how many did
                not reach `high` with a leader
    counts      (2,) pairs whose sketches were compared; pairs that were not, though neither of the two reached `high`
    """

    documents: Int64s
    sketches: UInt64s
    bucket: Int64s
    counts: Int64s


def no_leaders(words: int) -> Leaders:
    """Before the first bucket."""
    bucket = np.array([-1, 0, 0, 0])
    return Leaders(np.zeros(LEADERS, np.int64), np.zeros((LEADERS, words), np.uint64), bucket, np.zeros(2, np.int64))


class BucketMatches(NamedTuple):
    """What became of each record of some buckets, (records,) each.

    leads   whether it is a leader
    mask    bits: the leaders of its bucket with which it is a candidate pair; bit k is the k-th leader
    rank    how many records of its bucket were before it
    """

    leads: Bools
    mask: UInt16s
    rank: Int32s


def candidate_pairs(
    bucket: Int32s,
    documents: Int64s,
    rows: Int64s,
    sketches: UInt64s,
    lanes: int,
    low: float,
    high: float,
    state: Leaders,
) -> BucketMatches:
    """Candidate pairs of near-duplicates within buckets, without comparing all with all.

    bucket     (records,) the bucket of each record, from `shared`, rising, without the records with unique keys
    documents  (records,) the document of each; those of a bucket are in order of preference
    rows       (records,) the row of each in `sketches`
    sketches   (…, words) as `sketch.packed` makes them, of so many lanes
    low        a pair with at least this share of equal lanes is a candidate pair
    high       a record that reaches this with an earlier one is not compared further
    state      of the records before these: a bucket may be given in parts. It is changed

    A record is compared with the leaders of its bucket: the earlier records that did not reach `high` with a leader
    themselves, at most LEADERS of them. So a bucket of n records costs at most n * LEADERS comparisons.
    """
    matches = BucketMatches(
        np.zeros(len(bucket), bool), np.zeros(len(bucket), np.uint16), np.zeros(len(bucket), np.int32)
    )
    unequal_low, unequal_high = lanes - int(np.ceil(low * lanes - 1e-9)), lanes - int(np.ceil(high * lanes - 1e-9))
    _candidate_pairs(bucket, documents, rows, sketches, unequal_low, unequal_high, state, matches)
    return matches


@kernel
def _candidate_pairs(
    bucket: Int32s,
    documents: Int64s,
    rows: Int64s,
    sketches: UInt64s,
    unequal_low: int,
    unequal_high: int,
    state: Leaders,
    matches: BucketMatches,
) -> None:
    """At most `unequal_low` lanes of a candidate pair differ, and `unequal_high` of one that ends the comparisons."""
    now, counts = state.bucket, state.counts
    for i in range(len(bucket)):
        if bucket[i] != now[0]:
            now[0], now[1], now[2], now[3] = bucket[i], 0, 0, 0
        certain = False
        mask = 0
        for k in range(now[2]):
            if state.documents[k] == documents[i]:
                certain = True
                break
            unequal = np.int64(0)
            for word in range(sketches.shape[1]):
                unequal += np.int64(unequal_lanes(sketches[rows[i], word], state.sketches[k, word]))
            counts[0] += 1
            if unequal <= unequal_low:
                mask |= 1 << k
            if unequal <= unequal_high:
                certain = True
                break
        matches.mask[i], matches.rank[i] = mask, now[1]
        if not certain:
            counts[1] += now[3] - now[2]
            now[3] += 1
            if now[2] < LEADERS:
                state.documents[now[2]] = documents[i]
                for word in range(sketches.shape[1]):
                    state.sketches[now[2], word] = sketches[rows[i], word]
                matches.leads[i] = True
                now[2] += 1
        now[1] += 1


def pairs_of(mask: UInt16s) -> tuple[Int64s, Int64s]:
    """(pairs,) the rows of masks, and which of the leaders, of each bit that is set."""
    rows = [np.flatnonzero(mask >> k & 1) for k in range(LEADERS)]
    return np.concatenate(rows), np.repeat(np.arange(LEADERS), [len(leader_rows) for leader_rows in rows])


def jaccard(a: Int64s, b: Int64s, hashes: UInt64s, offsets: Int64s, sizes: Int32s) -> tuple[Float64s, Float64s]:
    """The exact Jaccard similarity of pairs of sets, and what the second of them has alone; of sets that are cut in
    several ways the lower similarity, and the larger share.

    a, b      (pairs,) numbers of sets
    hashes    the members of the sets, sorted within each, as of `in_ways`
    offsets   (sets + 1,) the first member of each set
    sizes     (sets, ways) the members of each in each way
    returns   (pairs,) |A and B| / |A or B|; 0.0 if one is empty; (pairs,) 1 - |A and B| / |B|; 0.0 for an empty B
    """
    similarity, alone = np.empty(len(a), np.float64), np.empty(len(a), np.float64)
    _jaccard(a, b, hashes, offsets, sizes, similarity, alone)
    return similarity, alone


@kernel
def _jaccard(
    a: Int64s, b: Int64s, hashes: UInt64s, offsets: Int64s, sizes: Int32s, similarity: Float64s, alone: Float64s
) -> None:
    bit = np.uint64(1)
    for p in range(len(a)):
        i, i_end = offsets[a[p]], offsets[a[p] + 1]
        j, j_end = offsets[b[p]], offsets[b[p] + 1]
        first = second = np.uint64(0)  # members that both have, in each way
        while i < i_end and j < j_end:
            x, y = hashes[i], hashes[j]
            if x >> np.uint64(WAYS) == y >> np.uint64(WAYS):
                both = x & y
                first += both & bit
                second += both >> bit & bit
                i += 1
                j += 1
            elif x < y:
                i += 1
            else:
                j += 1
        similarity[p], alone[p] = 1.0, 0.0
        for kind in range(sizes.shape[1]):
            common = np.int64(first if kind == 0 else second)
            size_a, size_b = np.int64(sizes[a[p], kind]), np.int64(sizes[b[p], kind])
            union = size_a + size_b - common
            similarity[p] = min(similarity[p], common / union if size_a and size_b else 0.0)
            alone[p] = max(alone[p], (size_b - common) / size_b if size_b else 0.0)


def in_ways(ways: Sequence[tuple[UInt64s, Int64s]]) -> tuple[UInt64s, Int64s, Int32s]:
    """Sets whose members say in which ways of cutting a document they occur: one that is the same in two is held once.

    ways      for each, WAYS at most: hashes, with repetitions, and (sets + 1,) the first of each set
    returns   hashes, sorted and distinct within each set, whose last WAYS bits say in which ways each occurs; the other
              62 are of the hash. (sets + 1,) the first of each set. (sets, ways) how many each has in each way
    """
    marked = [
        distinct(hashes & np.uint64(2**64 - (1 << WAYS)) | np.uint64(1 << kind), offsets)
        for kind, (hashes, offsets) in enumerate(ways)
    ]
    sizes = np.stack([np.diff(ends) for _, ends in marked], axis=1).astype(np.int32)
    hashes, ends = marked[0]
    for added, added_ends in marked[1:]:
        out, joined = np.empty(len(hashes) + len(added), np.uint64), np.zeros(len(ends), np.int64)
        size = int(_joined(hashes, ends, added, added_ends, out, joined))
        hashes, ends = out[:size], joined
    return hashes, ends, sizes


@kernel
def _joined(a: UInt64s, a_ends: Int64s, b: UInt64s, b_ends: Int64s, out: UInt64s, ends: Int64s) -> int:
    size = 0
    for d in range(len(ends) - 1):
        i, i_end = a_ends[d], a_ends[d + 1]
        j, j_end = b_ends[d], b_ends[d + 1]
        while i < i_end or j < j_end:
            if j == j_end:
                out[size] = a[i]
                i += 1
            elif i == i_end:
                out[size] = b[j]
                j += 1
            else:
                x, y = a[i], b[j]
                same = x >> np.uint64(WAYS) == y >> np.uint64(WAYS)
                before = same or x < y
                out[size] = x | y if same else (x if before else y)
                i += before
                j += same or not before
            size += 1
        ends[d + 1] = size
    return size


def distinct(hashes: UInt64s, offsets: Int64s) -> tuple[UInt64s, Int64s]:
    """Each set sorted and distinct."""
    out = np.empty(len(hashes), np.uint64)
    ends = np.zeros(len(offsets), np.int64)
    size = int(_distinct(hashes, offsets, out, ends))
    return out[:size], ends


@kernel
def _distinct(hashes: UInt64s, offsets: Int64s, out: UInt64s, ends: Int64s) -> int:
    """Bucket sort: there are half as many to as many buckets as members, and hashes are evenly distributed."""
    begin = np.empty(0, np.int64)  # where each bucket begins in `spare`
    counts = np.empty(0, np.int64)  # distinct members of each bucket so far
    spare = np.empty(0, np.uint64)
    size = 0
    for d in range(len(offsets) - 1):
        first, last = offsets[d], offsets[d + 1]
        bits = 1
        while 1 << (bits + 1) <= last - first:
            bits += 1
        buckets, shift = 1 << bits, np.uint64(64 - bits)
        if len(counts) < buckets:
            begin, counts = np.empty(buckets + 1, np.int64), np.empty(buckets, np.int64)
        if len(spare) < last - first:
            spare = np.empty(last - first, np.uint64)
        begin[: buckets + 1] = 0
        counts[:buckets] = 0
        for i in range(first, last):
            begin[np.int64(hashes[i] >> shift) + 1] += 1
        for b in range(buckets):
            begin[b + 1] += begin[b]
        for i in range(first, last):
            x = hashes[i]
            bucket = np.int64(x >> shift)
            lo = begin[bucket]
            at = lo + counts[bucket]
            while at > lo and spare[at - 1] > x:
                at -= 1
            if at > lo and spare[at - 1] == x:
                continue
            for k in range(lo + counts[bucket], at, -1):
                spare[k] = spare[k - 1]
            spare[at] = x
            counts[bucket] += 1
        for b in range(buckets):
            for k in range(begin[b], begin[b] + counts[b]):
                out[size] = spare[k]
                size += 1
        ends[d + 1] = size
    return size


@kernel
def take_sets(hashes: UInt64s, offsets: Int64s, sets: Int64s, places: Int64s, out: UInt64s) -> None:
    """Copy some sets, each hashes[offsets[s]:offsets[s + 1]], to out[places[i]:places[i + 1]]."""
    for i in range(len(sets)):
        first = offsets[sets[i]]
        for j in range(places[i + 1] - places[i]):
            out[places[i] + j] = hashes[first + j]


@kernel
def settle(
    later: Int32s, earlier: Int32s, similarity: Float64s, threshold: float, duplicate_of: Int32s, score: Float64s
) -> None:
    """Decide on documents in order of preference: each is dropped for the most similar one that is kept, the preferred
    of equals, if it is at least as similar as the threshold.

    later, earlier  (pairs,) documents by number, `earlier` < `later`: a smaller number is preferred. Sorted by `later`,
                    then `earlier`
    similarity      (pairs,) of those that are kept so far, and among `later`; NaN elsewhere
    duplicate_of    (documents,) the one that each is dropped for, -1: kept so far. Written
    score           (documents,) how similar the two are. Written

    Documents are decided in order, so no document is dropped for one that is dropped itself: there are no chains.
    """
    for p in range(len(later)):
        d, e = later[p], earlier[p]
        if duplicate_of[e] < 0 and similarity[p] >= threshold and (duplicate_of[d] < 0 or similarity[p] > score[d]):
            duplicate_of[d], score[d] = e, similarity[p]


def warm_up() -> None:
    """Compile the kernels."""
    keys = np.array([[1, 2], [1, 3]], np.uint64)
    scatter(keys, 2)
    bucket, _ = shared(keys[:, 0].copy())
    bucket.sort()
    candidate_pairs(bucket, np.arange(2), np.arange(2), np.zeros((2, 1), np.uint64), 4, 0.5, 0.9, no_leaders(1))
    sets = distinct(np.array([2, 1, 1], np.uint64), np.array([0, 1, 3]))
    similarity, _ = jaccard(np.array([0]), np.array([1]), *in_ways([sets, sets]))
    take_sets(*sets, np.array([0]), np.array([0, 2]), np.empty(2, np.uint64))
    earlier, later = np.array([0], np.int32), np.array([1], np.int32)
    settle(later, earlier, similarity, 0.5, np.full(2, -1, np.int32), np.zeros(2))
