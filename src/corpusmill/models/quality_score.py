"""The features of a linear text classifier, and its scores, computed from Arrow's buffers.

The features of a document are its tokens (those of `text.plain_tokens`, and one for the end of each line) and the pairs
of neighbours. Each is hashed to a row of a table of weights. With T the sum of these weights and n tokens, the log odds
of "good" are

    bias + T / sqrt(n) + length(n) + shape

With a mean, a word and a book of the same word would be equally certain; with a sum, length alone would decide; the
root is between. `length` interpolates linearly between a weight for each power of two, so that a model can learn that
pages of ten words are rarely good. `shape` is a weighted sum of what the text looks like, see `quality_shape`.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.models.quality_shape import (
    ALONE,
    AT_END,
    BYTES,
    CAPITAL,
    CAPITALISED,
    CLOSES,
    COMMA,
    COMMAS,
    DIGIT,
    DIGITS,
    END,
    ENDS,
    IN_LINE,
    LINES,
    LONG,
    MIXED,
    RECENT_SLOTS,
    REPEATED,
    SHAPE_FEATURES,
    SHORT,
    SINGLE,
    SYMBOL,
    SYMBOLS,
    TALLY_COUNTS,
    TOKEN_KINDS,
    TOKENS,
    UPPER,
    WORD,
    WORDS,
    Tally,
    begin,
    count_line,
    features_of,
    recurs,
    weigh,
)  # fmt: skip
from corpusmill.text.array_types import Bools, Bytes, Float32s, Int32s, Int64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.folded_hash import word_hash
from corpusmill.text.hashing import K2, K3, mix
from corpusmill.text.lowlevel import NO_BITS, Bits, U, borrowed, load8
from corpusmill.text.plain_tokens import next_of_block
from corpusmill.text.unicode import Classes, borrowed_classes, classes

LINE_END_HASH = U(0x0A0D0A0D0A0D0A0D)  # in place of the hash of a line break
NO_WORD = U(0)  # before the first token
LINE_FEED = ord("\n")
FEATURE_BLOCK = 4096  # features that are collected before their weights are added up: 16 KiB, which fits the L1 cache
LENGTHS = 32  # powers of two with a weight: documents are smaller than 2 GiB


class Linear(NamedTuple):
    """A model as the kernels take it, read-only.

    weights   (2**bits,) float32, by the highest bits of a feature's hash
    lengths   (LENGTHS,) float32: for documents of 2**i tokens
    shift     64 - bits
    shape     (FEATURES, 3) float32: weight, low, high of each
    """

    weights: Float32s
    lengths: Float32s
    bias: np.float32
    shift: np.uint64
    shape: Float32s


@kernel
def score_texts(text: TextBuffer, model: Linear, classes: Classes, scores: Float32s) -> None:
    """Write the probability of "good" of each document, (documents,); NaN for one without tokens."""
    rows = np.empty(FEATURE_BLOCK, np.int32)
    looks = np.empty(SHAPE_FEATURES, np.float32)
    tally = new_tally()
    for d in range(len(scores)):
        at: Any = text.offsets[d]
        before = NO_WORD
        tokens = 0
        total = 0.0
        begin(tally)
        while True:
            at, before, features = find_features(
                text.data, at, text.offsets[d + 1], before, model.shift, classes, rows, tally
            )
            if features == 0:
                break
            for f in range(features):
                total += model.weights[rows[f]]
            tokens += features >> 1
        scores[d] = np.nan
        if tokens > 0:
            count_line(tally)
            features_of(tally, looks)
            odds = model.bias + total / np.sqrt(tokens) + length_weight(model.lengths, tokens)
            scores[d] = probability(odds + weigh(model.shape, looks))


@kernel
def new_tally() -> Tally:
    return Tally(np.zeros(TALLY_COUNTS, np.int64), np.zeros(RECENT_SLOTS, np.uint64))


@kernel
def measure_shapes(text: TextBuffer, shift: Bits, classes: Classes, rows: Int32s, shapes: Float32s) -> None:
    """Write what each document looks like, (documents, FEATURES); zeros for one without tokens.

    rows   scratch, room for the features of the longest document
    """
    tally = new_tally()
    for d in range(len(shapes)):
        begin(tally)
        find_features(text.data, text.offsets[d], text.offsets[d + 1], NO_WORD, shift, classes, rows, tally)
        shapes[d] = 0
        if tally.counts[0] > 0:
            count_line(tally)
            features_of(tally, shapes[d])


@kernel
def find_features(
    data: Bytes, at: int, hi: int, before: Bits, shift: Bits, classes: Classes, rows: Int32s, tally: Tally
) -> Any:
    """Write the rows of the next features of data[at:hi], two per token; returns (at, before, features) for the next
    call.

    before   the hash of the token that ends at `at`; NO_WORD at the beginning of a document
    rows     filled as far as there is room, which is at least 4, and tokens are left
    tally    counts the tokens, and the lines that have ended
    """
    # References to what is handed on for every token would be counted, which took three times as long as the tokens.
    data, rows, classes = borrowed(data), borrowed(rows), borrowed_classes(classes)
    tally = Tally(borrowed(tally.counts), borrowed(tally.recent))
    counts, recent = tally.counts, tally.recent
    features = 0
    words, size_of_words, capitals, upper, mixed = counts[WORDS], 0, 0, 0, 0
    digits, ends, commas, symbols, single, long, short, repeated = 0, 0, 0, 0, 0, 0, 0, 0
    counted = 0  # of the features, that are of tokens which are in counts[IN_LINE]
    lines = counts[LINES]
    kind = CLOSES * counts[AT_END]
    block, space, in_word = at - 64, NO_BITS, NO_BITS
    while features + 4 <= len(rows):
        start, end, block, space, in_word = next_of_block(data, at, hi, classes, block, space, in_word)
        if start == end:
            break
        if before != NO_WORD and ends_line(data, at, start):
            rows[features] = LINE_END_HASH >> shift
            rows[features + 1] = pair(before, LINE_END_HASH) >> shift
            counts[IN_LINE] += (features - counted) >> 1
            counts[AT_END] = kind & CLOSES != 0
            count_line(tally)
            features += 2
            counted = features
            before = LINE_END_HASH
        h = word_hash(data, start, end)
        rows[features] = h >> shift
        rows[features + 1] = pair(before, h) >> shift
        features += 2
        before = h
        at = end
        size = end - start
        kind = TOKEN_KINDS[load8(data, start)]
        word, capital = kind & WORD, (kind & CAPITAL) // CAPITAL
        second = (TOKEN_KINDS[load8(data, start + 1)] & CAPITAL) // CAPITAL & (size > 1)
        words += word
        size_of_words += size * word
        capitals += capital
        upper += capital & second
        mixed += word & ~capital & second
        digits += (kind & DIGIT) // DIGIT
        ends += (kind & END) // END
        commas += (kind & COMMA) // COMMA
        symbols += (kind & SYMBOL) // SYMBOL
        single += word & (size == 1) & ~((kind & ALONE) // ALONE)
        long += word & (size >= 8)
        short += word & (size <= 3)
        if word:
            repeated += recurs(h, words, recent)
    counts[IN_LINE] += (features - counted) >> 1
    counts[AT_END] = kind & CLOSES != 0
    counts[WORDS] = words
    counts[BYTES] += size_of_words
    counts[CAPITALISED] += capitals
    counts[UPPER] += upper
    counts[MIXED] += mixed
    counts[DIGITS] += digits
    counts[ENDS] += ends
    counts[COMMAS] += commas
    counts[SYMBOLS] += symbols
    counts[SINGLE] += single
    counts[LONG] += long
    counts[SHORT] += short
    counts[REPEATED] += repeated
    counts[TOKENS] += (features >> 1) - (counts[LINES] - lines)
    return at, before, features


def room_for(size: int) -> int:
    """The maximum number of features of a document of `size` bytes: every byte is a token or the end of a line."""
    return 2 * size + 4


@inlined
def pair(before: Bits, h: Bits) -> Bits:
    """The hash of two neighbours."""
    return mix(before ^ K2, h ^ K3)


@inlined
def ends_line(data: Bytes, at: int, start: int) -> bool:
    """Whether the white space data[at:start] contains a line feed."""
    ends = False
    while at < start:
        ends |= load8(data, at) == LINE_FEED
        at += 1
    return ends


@inlined
def length_weight(lengths: Float32s, tokens: int) -> Any:
    """The weight of a length, interpolated between those of the powers of two on both sides."""
    power, share = length_place(tokens)
    return (1.0 - share) * lengths[power] + share * lengths[power + 1]


@inlined
def length_place(tokens: int) -> Any:
    """(i, f): tokens = 2**i * (1 + f), 0 <= f < 1."""
    power = 0
    while tokens >> (power + 1) > 0:
        power += 1
    return power, tokens / (1 << power) - 1.0


@inlined
def probability(odds: Any) -> Any:
    """The logistic function."""
    return 1.0 / (1.0 + np.exp(-odds))


@kernel
def train_epoch(
    text: TextBuffer,
    order: Int64s,
    good: Bools,
    importance: Float32s,
    offset: Float32s,
    shift: Bits,
    rate: float,
    decay: float,
    use_length: bool,
    classes: Classes,
    weights: Float32s,
    lengths: Float32s,
    bias: Float32s,
    squares: Float32s,
    rows: Int32s,
) -> float:
    """One epoch over documents in `order`, updating the model after each; returns the mean loss.

    order        numbers of documents
    good         (documents,); importance (documents,) the weight of each; offset (documents,) log odds by its shape
    rate         AdaGrad's step (Duchi et al. 2011); `decay` pulls a weight towards 0 whenever it is used
    weights …    the model, `lengths` (LENGTHS,), `bias` (1,); changed
    squares      (weights + LENGTHS + 1,) sums of squared gradients of these three in turn; changed
    rows         scratch, room for the features of the longest document
    """
    loss = 0.0
    counted = 0.0
    tally = new_tally()
    of_lengths = len(weights)
    of_bias = len(weights) + len(lengths)
    for d in order:
        _, _, features = find_features(
            text.data, text.offsets[d], text.offsets[d + 1], NO_WORD, shift, classes, rows, tally
        )
        tokens = features >> 1
        if tokens == 0:
            continue
        scale = 1.0 / np.sqrt(tokens)
        total = 0.0
        for f in range(features):
            total += weights[rows[f]]
        power, share = length_place(tokens)
        odds = offset[d] + bias[0] + total * scale + (1.0 - share) * lengths[power] + share * lengths[power + 1]
        p = probability(odds)
        loss -= importance[d] * np.log(max(p if good[d] else 1.0 - p, 1e-12))
        counted += importance[d]
        slope = (p - (1.0 if good[d] else 0.0)) * importance[d]
        for f in range(features):
            row = rows[f]
            gradient = slope * scale + decay * weights[row]
            squares[row] += gradient * gradient
            weights[row] -= rate * gradient / np.sqrt(squares[row])
        if use_length:
            for side in range(2):
                gradient = slope * (share if side else 1.0 - share) + decay * lengths[power + side]
                squares[of_lengths + power + side] += gradient * gradient
                lengths[power + side] -= rate * gradient / np.sqrt(squares[of_lengths + power + side])
        squares[of_bias] += slope * slope
        bias[0] -= rate * slope / np.sqrt(squares[of_bias])
    return loss / max(counted, 1e-12)


def warm_up() -> None:
    """Compile all of this file."""
    text = view(pa.array(["a b"], pa.large_string()))
    weights, lengths, bias = np.zeros(1 << 10, np.float32), np.zeros(LENGTHS, np.float32), np.zeros(1, np.float32)
    squares, rows = np.ones(len(weights) + LENGTHS + 1, np.float32), np.empty(room_for(3), np.int32)
    order, good, importance = np.zeros(1, np.int64), np.ones(1, np.bool_), np.ones(1, np.float32)
    shift, offset = U(54), np.zeros(1, np.float32)
    train_epoch(
        text, order, good, importance, offset, shift,
        0.1, 0.0, True, classes(), weights, lengths, bias, squares, rows,
    )  # fmt: skip
    measure_shapes(text, shift, classes(), rows, np.empty((1, SHAPE_FEATURES), np.float32))
    shape = np.zeros((SHAPE_FEATURES, 3), np.float32)
    score_texts(text, Linear(weights, lengths, bias[0], shift, shape), classes(), np.empty(1, np.float32))
