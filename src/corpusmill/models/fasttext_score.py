"""Kernels of `fasttext`: from the UTF-8 bytes of a text to the scores of labels.

A text is a bag of features, each a row of float32 numbers: its words, their character n-grams, and word n-grams. The
mean of the rows is multiplied by the output matrix. The computation is exactly fastText's (dictionary.cc, loss.cc)
except for the order of additions, so scores agree to about 1e-6. Four things make it fast:

- the rows of a known word and of its character n-grams are added up when the model is loaded, and are one row here;
- a bit map with running counts gives the rows of the buckets that a pruned model kept;
- n-grams of ASCII words are hashed for many words at once, with vector instructions, and filtered without a branch,
  which could not be predicted;
- hierarchical softmax descends into the more likely branch first and prunes those that cannot be among the k best.
"""

from typing import NamedTuple

import numpy as np

from corpusmill.models.fasttext_file import FastTextLoss
from corpusmill.text.array_types import Bytes, Float32s, Int32s, Int64s, UInt32s, UInt64s
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.hashing import quick_hash
from corpusmill.text.lowlevel import NO_BITS, Bits, U, copy_bytes, count_bits, high_product, load8, lowest_bit
from corpusmill.text.sets import find as find_key
from corpusmill.text.sets import never_zero
from corpusmill.text.simd import between, either, equal, masks, not_ascii
from corpusmill.text.spans import below

BASIS = np.uint32(2166136261)
PRIME = np.uint32(16777619)
WORD_PRIME = np.uint64(116049371)  # of word n-grams
FLOOR = 1e-5  # fastText's std_log(x) is log(x + 1e-5)
NO_LABEL = -1

HIERARCHICAL, SOFTMAX = int(FastTextLoss.HIERARCHICAL), int(FastTextLoss.SOFTMAX)

# The bytes at which fastText cuts words: NUL, tab, line feed, vertical tab, form feed, carriage return, space.
_gaps = masks(either(equal("\0"), between(9, 13), equal(" ")), not_ascii)
BEFORE, AFTER = ord("<"), ord(">")  # enclose a word for its character n-grams
LABEL_BYTES = np.frombuffer(b"__label__", np.uint8)
END, END_SIZE = np.frombuffer(b"</s>".ljust(16, b"\0"), np.uint8), 4

BUFFER = 1024  # buckets that are collected before their rows are added up: 8 KiB, which fits the L1 cache
MAX_FAST_WORD = 256  # bytes of the longest word that takes the fast path, with BEFORE and AFTER
MAX_JOINED = 1024  # bytes of words whose n-grams are hashed at a time, at most
MAX_LOOKUPS = 256  # words that are looked up at a time, at most
NO_PLACE, WIDE = -1, -2


class ScorerModel(NamedTuple):
    """A model as the kernels take it, read-only.

    keys        (slots,) uint64: a hash table of spellings (see `sets`), by `quick_hash`. A word of a text is taken for
                the one with its hash: of 10^12 that are not in lid.176's dictionary, 0.0004 wrongly
    entries     (slots,) int32: the entry in each slot
    content     uint8; start, end (entries,) int64: entry i is spelled content[start[i]:end[i]]; words, then labels
    words       (words, dim) float32: the row of a word, with the rows of its character n-grams added where `whole`
    features    (words,) int64: the number of rows added up in it
    ngrams      (buckets, dim) float32: by bucket, or of a pruned model those that were kept, by rank
    kept        (buckets / 64 + 1,) uint64 of a pruned model: one bit per bucket, set if it has a row; else empty
    before      (buckets / 64 + 1,) int64 of a pruned model: the number of set bits before
    output      (dim, labels) float32, transposed; for hierarchical softmax (inner nodes, dim)
    children    (inner nodes, 2) int32: the tree, where node i < labels is a label and labels + i is an inner node
    gain        how much the logarithm of a score may rise on the way down the tree: log(1 + 1e-5) per branch
    sigmoid     (513,) float32: fastText's table of the logistic function on [-8, 8]
    """

    keys: UInt64s
    entries: Int32s
    content: Bytes
    start: Int64s
    end: Int64s
    words: Float32s
    features: Int64s
    ngrams: Float32s
    kept: UInt64s
    before: Int64s
    output: Float32s
    children: Int32s
    sigmoid: Float32s
    labels: int
    loss: int
    bucket: int
    inverse: np.uint64  # 2**64 // bucket + 1, modulo 2**64
    share: np.uint64  # 2**32 // bucket
    minn: int
    maxn: int
    word_ngrams: int
    whole: bool
    gain: np.float32


class ScorerScratch(NamedTuple):
    """Working memory, made once for many texts.

    buckets   of n-grams whose rows are to be added up
    history   (word n-grams,) uint64, see `collect_words`
    words     (MAX_LOOKUPS, 5) int64, of up to MAX_LOOKUPS words of a text: the entry, -1 if there is none; first byte
              and end; where in `joined` it is, NO_PLACE if its n-grams are not wanted, WIDE if it is not there; and
              fastText's hash, if there are word n-grams
    joined    uint8: words with BEFORE and AFTER, one after the other
    hashes    (MAX_JOINED,) uint32
    found     (lengths of n-grams, MAX_JOINED) uint32: the bucket of the n-gram that begins at each byte of `joined`
    """

    buckets: Int64s
    history: UInt64s
    words: Int64s
    joined: Bytes
    hashes: UInt32s
    found: UInt32s


@inlined
def make_scratch(model: ScorerModel) -> ScorerScratch:
    lengths = max(model.maxn - model.minn + 1, 1)
    return ScorerScratch(
        np.empty(BUFFER + MAX_FAST_WORD * lengths, np.int64),  # BUFFER, and all those of one word on the fast path
        np.empty(model.word_ngrams, np.uint64),
        np.empty((MAX_LOOKUPS, 5), np.int64),
        np.zeros(MAX_JOINED + max(model.maxn, 0) + 64, np.uint8),
        np.empty(MAX_JOINED, np.uint32),
        np.empty((lengths, MAX_JOINED), np.uint32),
    )


@kernel
def embed(data: Bytes, first: int, last: int, model: ScorerModel, hidden: Float32s, s: ScorerScratch) -> int:
    """Add up the rows of all features of data[first:last] in `hidden`; returns how many there are."""
    hidden[:] = 0
    features = filled = tokens = 0
    at = first
    while at < last:
        at, words, joined = look_up(data, at, last, model, s)
        hash_joined(s.joined, joined, model.minn, model.maxn, model.bucket, model.share, s.hashes, s.found)
        for w in range(words):
            entry, begin, end, joined_at = s.words[w, 0], s.words[w, 1], s.words[w, 2], s.words[w, 3]
            tokens += 1
            if entry >= 0:
                add(model.words, entry, hidden)
                features += int(model.features[entry])
            if joined_at >= 0:
                added = collect_joined(joined_at, end - begin + 2, model, s, filled)
                filled += added
                features += added
                if filled > BUFFER:
                    filled = spill(model.ngrams, model.kept, model.before, s.buckets, filled, hidden)
            elif joined_at == WIDE:
                filled, added = collect_characters(data, begin, end, model, hidden, s.buckets, filled)
                features += added
            if model.word_ngrams > 1:
                h = np.uint32(s.words[w, 4])
                filled, added = collect_words(h, tokens, model, hidden, s.buckets, filled, s.history)
                features += added
    if tokens == 0:
        return 0
    entry = find(END, 0, END_SIZE, model)
    if entry >= 0:
        add(model.words, entry, hidden)
        features += int(model.features[entry])
    if model.word_ngrams > 1:
        h = fnv(END, 0, END_SIZE)
        filled, added = collect_words(h, tokens + 1, model, hidden, s.buckets, filled, s.history)
        features += added
    add_buckets(model.ngrams, model.kept, model.before, s.buckets, filled, hidden)
    return features


@kernel
def look_up(data: Bytes, at: int, last: int, model: ScorerModel, s: ScorerScratch) -> tuple[int, int, int]:
    """Look up the words of data[at:last] until there is no room for more.

    Returns where to go on, which is `last` after the end of the line; how many words were found, written to s.words;
    and the bytes in s.joined. Labels are no words.
    """
    words = joined = 0
    while at < last and words < MAX_LOOKUPS and joined <= MAX_JOINED - MAX_FAST_WORD:
        gap, wide = _gaps(data, at)
        gap |= ~below(min(last - at, 64))
        skipped = lowest_bit(~gap)
        at += skipped
        if skipped == 64:
            continue
        size = lowest_bit(gap >> U(skipped))
        if skipped + size >= 64:  # it may go on
            skipped = size = 0
            gap, wide = _gaps(data, at)
            gap |= ~below(min(last - at, 64))
            size = lowest_bit(gap)
            while gap == NO_BITS and at + size < last:
                gap, next_wide = _gaps(data, at + size)
                gap |= ~below(min(last - at - size, 64))
                wide |= next_wide & below(lowest_bit(gap))
                size += lowest_bit(gap)
        begin, end = at, at + size
        at = end
        if size == END_SIZE and same(data, begin, end, END[:END_SIZE]):  # "</s>" is the end of the line to fastText
            return last, words, joined
        entry = find(data, begin, end, model)
        if entry >= len(model.words) or (entry < 0 and is_label(data, begin, end)):
            continue
        joined_at = NO_PLACE
        if entry < 0 or not model.whole:
            joined_at = WIDE
            ascii = (wide >> U(skipped)) & below(min(size, 64)) == NO_BITS
            if ascii and size + 2 <= MAX_FAST_WORD:
                joined_at = joined
                s.joined[joined_at] = BEFORE
                copy_bytes(data, begin, size, s.joined, joined_at + 1)
                s.joined[joined_at + size + 1] = AFTER
                joined += size + 2
        s.words[words, 0], s.words[words, 1], s.words[words, 2], s.words[words, 3] = entry, begin, end, joined_at
        if model.word_ngrams > 1:
            s.words[words, 4] = fnv(data, begin, end)
        words += 1
    return at, words, joined


@kernel
def hash_joined(
    joined: Bytes, size: int, minn: int, maxn: int, bucket: int, share: Bits, hashes: UInt32s, buckets: UInt32s
) -> None:
    """Write the buckets of the n-grams of minn to maxn bytes that begin at each of joined[:size] to `buckets`.

    `joined` is readable for maxn bytes more.
    """
    hashes[:size] = BASIS
    modulus = np.uint32(bucket)
    for n in range(1, maxn + 1):
        for at in range(size):
            hashes[at] = (hashes[at] ^ np.uint32(load8(joined, at + n - 1))) * PRIME
        if n >= minn:
            row = buckets[n - minn]
            for at in range(size):
                # hashes[at] % bucket: the quotient is exact or one too small, and a negative number is a large one.
                quotient = np.uint32((U(hashes[at]) * share) >> U(32))
                residue = np.uint32(hashes[at] - quotient * modulus)
                row[at] = min(residue, np.uint32(residue - modulus))


@inlined
def collect_joined(joined_at: int, size: int, model: ScorerModel, s: ScorerScratch, filled: int) -> Bits:
    """As `collect_characters`, for the word that is s.joined[joined_at:joined_at + size]; returns how many have a row.

    `s.buckets` has room for all of them: nothing is added up.
    """
    features = 0
    for start in range(size - 1):
        for n in range(max(model.minn, 2 - min(start, 1)), min(model.maxn, size - start) + 1):
            # Stored in any case, and counted if it has a row: a branch here would be mispredicted too often.
            bucket = s.found[U(n - model.minn), U(joined_at + start)]
            s.buckets[U(filled + features)] = bucket
            features += has_row(bucket, model.kept)
    return features


@kernel
def collect_characters(
    data: Bytes, begin: int, end: int, model: ScorerModel, hidden: Float32s, buckets: Int64s, filled: int
) -> tuple[int, int]:
    """Put the buckets of the character n-grams of the word data[begin:end] that have a row into `buckets`.

    They are the substrings of minn to maxn characters of "<word>", except "<" and ">" alone.
    Returns how many buckets are pending now, and how many were added; the rows of a full buffer are added up.
    """
    features = 0
    start = begin - 1  # stands for "<"
    while start < end:
        if start < begin:
            h, at, characters = step(BASIS, BEFORE), begin, 1
        else:
            h, at, characters = BASIS, start, 0
        while characters < model.maxn and at <= end:
            if at == end:
                h = step(h, AFTER)
                at += 1
            else:
                h = step(h, load8(data, at))
                at += 1
                while at < end and is_continuation(load8(data, at)):
                    h = step(h, load8(data, at))
                    at += 1
            characters += 1
            if characters >= model.minn:
                bucket = remainder(h, model)
                buckets[filled] = bucket
                stored = has_row(bucket, model.kept)
                filled += stored
                features += stored
        if filled > BUFFER:
            filled = spill(model.ngrams, model.kept, model.before, buckets, filled, hidden)
        start += 1
        while start < end and is_continuation(load8(data, start)):
            start += 1
    return filled, features


@kernel
def collect_words(
    h: Bits, tokens: int, model: ScorerModel, hidden: Float32s, buckets: Int64s, filled: int, history: UInt64s
) -> tuple[int, int]:
    """As `collect_characters`, for the word n-grams that end in the `tokens`-th word, of hash `h`.

    history   (word n-grams,) uint64: the running hash of the n-grams that began with each of the last words, in a ring
    """
    features = 0
    signed = np.uint64(np.int64(np.int32(h)))  # fastText keeps word hashes as int32 and widens them with their sign
    for back in range(1, min(tokens, model.word_ngrams)):
        slot = (tokens - back) % model.word_ngrams
        history[slot] = history[slot] * WORD_PRIME + signed
        bucket = np.int64(history[slot] % np.uint64(model.bucket))
        buckets[filled] = bucket
        stored = has_row(bucket, model.kept)
        filled += stored
        features += stored
        if filled > BUFFER:
            filled = spill(model.ngrams, model.kept, model.before, buckets, filled, hidden)
    history[tokens % model.word_ngrams] = signed
    return filled, features


@inlined
def has_row(bucket: Bits, bitmap: UInt64s) -> Bits:
    """1 if the bucket was kept, 0 if it was pruned."""
    if len(bitmap) == 0:
        return np.int64(1)
    return np.int64(bitmap[U(bucket) >> U(6)] >> (U(bucket) & U(63)) & U(1))


@kernel
def spill(matrix: Float32s, bitmap: UInt64s, before: Int64s, buckets: Int64s, filled: int, hidden: Float32s) -> int:
    """Add up BUFFER buckets at a time while more are pending; returns how many are left."""
    while filled > BUFFER:
        add_buckets(matrix, bitmap, before, buckets, BUFFER, hidden)
        filled -= BUFFER
        for i in range(filled):
            buckets[i] = buckets[BUFFER + i]
    return filled


@inlined
def remainder(h: Bits, model: ScorerModel) -> Bits:
    """h % model.bucket without a division (Lemire et al. 2019, arXiv:1902.01961): exact for 32 bits."""
    return np.int64(high_product(np.uint64(h) * model.inverse, np.uint64(model.bucket)))


@inlined
def add(matrix: Float32s, row: int, hidden: Float32s) -> None:
    for d in range(len(hidden)):
        hidden[d] += matrix[row, d]


@kernel
def add_buckets(
    matrix: Float32s, bitmap: UInt64s, before: Int64s, buckets: Int64s, count: int, hidden: Float32s
) -> None:
    """Add the rows of buckets[:count] to `hidden`, four at a time. The buckets are overwritten."""
    rows = buckets
    for i in range(count if len(bitmap) else 0):
        block, bit = buckets[i] >> 6, np.uint64(1) << np.uint64(buckets[i] & 63)
        rows[i] = before[block] + count_bits(bitmap[block] & (bit - np.uint64(1)))
    four = count - count % 4
    for i in range(0, four, 4):
        a, b, c, e = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for d in range(len(hidden)):
            hidden[d] += (matrix[a, d] + matrix[b, d]) + (matrix[c, d] + matrix[e, d])
    for i in range(four, count):
        add(matrix, rows[i], hidden)


@inlined
def find(data: Bytes, begin: int, end: int, model: ScorerModel) -> Bits:
    """The entry spelled data[begin:end], or -1; reads up to 7 bytes past the end."""
    slot = find_key(model.keys, len(model.keys) - 1, never_zero(quick_hash(data, begin, end - begin)))
    return np.int64(model.entries[slot])


@kernel
def fill_slots(keys: UInt64s, entries: Int32s, content: Bytes, start: Int64s, end: Int64s) -> None:
    """Enter every spelling under its hash; of two alike the first."""
    for entry in range(len(start)):
        key = never_zero(quick_hash(content, start[entry], end[entry] - start[entry]))
        slot = find_key(keys, len(keys) - 1, key)
        if keys[slot] == NO_BITS:
            keys[slot], entries[slot] = key, entry


@kernel
def gather_words(model: ScorerModel, count: int, words: Float32s, features: Int64s) -> None:
    """Add the rows of each word's character n-grams to its own in `words`; `features` counts them, with its own."""
    buckets = make_scratch(model).buckets
    for entry in range(count):
        begin, end = model.start[entry], model.end[entry]
        features[entry] = 1
        if model.maxn > 0 and not same(model.content, begin, end, END[:END_SIZE]):
            filled, added = collect_characters(model.content, begin, end, model, words[entry], buckets, 0)
            add_buckets(model.ngrams, model.kept, model.before, buckets, filled, words[entry])
            features[entry] += added


@kernel
def descend(
    model: ScorerModel,
    hidden: Float32s,
    k: int,
    least: float,
    labels: Int32s,
    scores: Float32s,
    node: Int32s,
    score: Float32s,
) -> None:
    """The k likeliest labels of hierarchical softmax, with the logarithms of their scores.

    least         score of a label that is wanted; others may be left out
    node, score   scratch of labels + 1: the stack of branches to visit
    """
    # fastText prunes below the logarithm of its threshold 0; below another, what may still rise above it is followed.
    lowest = np.float32(np.log(max(least, FLOOR)))
    if least > FLOOR:
        lowest -= model.gain + np.float32(FLOOR)
    waiting = 1
    node[0] = 2 * model.labels - 2
    score[0] = 0
    while waiting > 0:
        waiting -= 1
        at, so_far = node[waiting], score[waiting]
        if so_far < lowest:
            continue
        if labels[k - 1] != NO_LABEL and so_far + model.gain < scores[k - 1]:
            continue
        if at < model.labels:
            keep(at, so_far, k, labels, scores)
            continue
        inner = at - model.labels
        x = np.float32(0)
        for d in range(len(hidden)):
            x += model.output[inner, d] * hidden[d]
        p = np.float32(1.0 / np.float64(np.float32(1) + np.exp(-x)))
        left = np.float32(so_far + log(np.float32(1.0 - np.float64(p))))
        right = np.float32(so_far + log(p))
        likelier = 1 if right > left else 0
        node[waiting] = model.children[inner, 1 - likelier]
        score[waiting] = min(left, right)
        node[waiting + 1] = model.children[inner, likelier]
        score[waiting + 1] = max(left, right)
        waiting += 2


@kernel
def outputs(model: ScorerModel, hidden: Float32s, score: Float32s) -> None:
    """The score of every label: softmax, or the logistic function of each."""
    score[: model.labels] = 0
    for d in range(len(hidden)):
        for label in range(model.labels):
            score[label] += model.output[d, label] * hidden[d]
    if model.loss != SOFTMAX:
        for label in range(model.labels):
            x = score[label]
            if not x >= -8:  # or it is no number, of a model that has some
                score[label] = 0
            elif x > 8:
                score[label] = 1
            else:
                score[label] = model.sigmoid[
                    np.int64((x + np.float32(8)) * np.float32(512) / np.float32(8) / np.float32(2))
                ]
        return
    largest = score[0]
    for label in range(model.labels):
        largest = max(largest, score[label])
    total = np.float32(0)
    for label in range(model.labels):
        score[label] = np.exp(score[label] - largest)
        total += score[label]
    for label in range(model.labels):
        score[label] /= total


@inlined
def keep(label: int, score: Bits, k: int, labels: Int32s, scores: Float32s) -> None:
    """Insert into the k best, after equal scores."""
    at = k
    while at > 0 and (labels[at - 1] == NO_LABEL or scores[at - 1] < score):
        at -= 1
    if at == k:
        return
    for j in range(k - 1, at, -1):
        labels[j] = labels[j - 1]
        scores[j] = scores[j - 1]
    labels[at] = label
    scores[at] = score


@inlined
def log(x: Bits) -> Bits:
    return np.float32(np.log(np.float64(x) + FLOOR))


@inlined
def step(h: Bits, byte: Bits) -> Bits:
    """One byte of FNV-1a as in fastText: the byte is sign-extended."""
    return np.uint32((h ^ np.uint32(np.int32(np.int8(byte)))) * PRIME)


@kernel
def fnv(data: Bytes, begin: int, end: int) -> Bits:
    """FNV-1a of data[begin:end]."""
    h = BASIS
    for at in range(begin, end):
        h = step(h, load8(data, at))
    return h


@inlined
def is_continuation(byte: Bits) -> Bits:
    return byte & 0xC0 == 0x80


@inlined
def same(data: Bytes, begin: int, end: int, spelling: Bytes) -> bool:
    i = 0
    while i < len(spelling) and begin + i < end and data[begin + i] == spelling[i]:
        i += 1
    return i == len(spelling) and begin + i == end


@inlined
def is_label(data: Bytes, begin: int, end: int) -> bool:
    return end - begin >= len(LABEL_BYTES) and same(data, begin, begin + len(LABEL_BYTES), LABEL_BYTES)
