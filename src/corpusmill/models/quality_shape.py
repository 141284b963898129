"""What a text looks like, whatever its words are: shares of capitals, digits, punctuation, lengths of words and lines.

They are counted token by token, while `quality_score` hashes these, and become SHAPE_FEATURES numbers for each
document. Menus, tables, keywords and badly recognised print differ from sentences in them, in words that no training
text had.
"""

from typing import Any, NamedTuple

import numpy as np

from corpusmill.text.array_types import Float32s, Int64s, UInt64s
from corpusmill.text.compile import inlined
from corpusmill.text.lowlevel import NO_BITS, Bits, U

SHAPE_NAMES = (
    "log_tokens",  # base 2
    "log_lines",
    "log_tokens_per_line",
    "capitalised",  # of words
    "upper_case",  # their second letter, too
    "mixed_case",  # the second letter alone
    "digits",  # of tokens: numbers
    "sentence_ends",  # . ? !
    "commas",
    "symbols",  # all other punctuation but quotes
    "mean_word_bytes",
    "single_letters",  # of words; but for a and I
    "long_words",  # 8 bytes or more
    "short_words",  # 3 or less
    "repeated",  # of words: they occurred among the 100 before
    "short_lines",  # of lines: 5 tokens or less
    "ended_lines",  # of lines, by . ? ! or a quote
    "in_long_lines",  # of tokens: in lines of more than 12
)
SHAPE_FEATURES = len(SHAPE_NAMES)
OF_LENGTH = 3  # the first of them, which a model without length leaves out
(
    TOKENS, LINES, WORDS, BYTES, CAPITALISED, UPPER, MIXED, DIGITS, ENDS, COMMAS, SYMBOLS, SINGLE, LONG, SHORT,
    REPEATED, SHORT_LINES, ENDED, IN_LONG, IN_LINE, AT_END,
) = range(20)  # fmt: skip
TALLY_COUNTS = 20
RECENT_SLOTS = 1024  # of words that occurred lately; a later word takes the slot of an earlier one
RECENT = 100  # words
LOW = (1 << 24) - 1  # bits of a slot that say when; the others are of the word's hash

# What the first byte of a token says of it, bit by bit. Looked up: with branches on it, which no processor foresees, a
# score took more than twice as long.
WORD, CAPITAL, DIGIT, END, COMMA, SYMBOL, CLOSES, ALONE = (1 << bit for bit in range(8))


def _kind(byte: int) -> int:
    character = chr(byte)
    if byte >= 0x80:
        return WORD
    if character.isalpha():
        return WORD | CAPITAL * character.isupper() | ALONE * (character in "aAiI")
    if character.isdigit():
        return DIGIT
    if character in ".?!":
        return END | CLOSES
    if character in "\"'":
        return CLOSES
    return COMMA if character == "," else SYMBOL


TOKEN_KINDS = np.array([_kind(byte) for byte in range(256)], np.int64)


class Tally(NamedTuple):
    """Counts of the document at hand.

    counts   (TALLY_COUNTS,) int64
    recent   (RECENT_SLOTS,) uint64: by the low bits of their hashes, the words that occurred last, and when, see LOW
    """

    counts: Int64s
    recent: UInt64s


@inlined
def begin(tally: Tally) -> None:
    """Forget the document before."""
    tally.counts[:] = 0
    tally.recent[:] = 0


@inlined
def count_line(tally: Tally) -> None:
    """The line ends: there was a token in it."""
    counts = tally.counts
    counts[LINES] += 1
    counts[SHORT_LINES] += counts[IN_LINE] <= 5
    counts[ENDED] += counts[AT_END]
    if counts[IN_LINE] > 12:
        counts[IN_LONG] += counts[IN_LINE]
    counts[IN_LINE] = 0


@inlined
def recurs(h: Bits, now: Any, recent: UInt64s) -> Any:
    """Whether the word occurred among the last; it is noted. `now` counts the words from 1."""
    slot = np.int64(h & U(RECENT_SLOTS - 1))
    noted = recent[slot]
    mark = h & ~U(LOW)
    recent[slot] = mark | U(now & LOW)
    return (noted & ~U(LOW) == mark) & (noted & U(LOW) != NO_BITS) & (now - np.int64(noted & U(LOW)) <= RECENT)


@inlined
def features_of(tally: Tally, features: Float32s) -> None:
    """Write the features, (SHAPE_FEATURES,), of a document with at least one token, whose lines have all been
    counted."""
    counts = tally.counts
    tokens, lines, words = float(counts[TOKENS]), float(counts[LINES]), float(max(counts[WORDS], 1))
    features[0], features[1], features[2] = np.log2(tokens), np.log2(lines), np.log2(tokens / lines)
    features[3], features[4], features[5] = counts[CAPITALISED] / words, counts[UPPER] / words, counts[MIXED] / words
    features[6], features[7] = counts[DIGITS] / tokens, counts[ENDS] / tokens
    features[8], features[9] = counts[COMMAS] / tokens, counts[SYMBOLS] / tokens
    features[10], features[11] = counts[BYTES] / words, counts[SINGLE] / words
    features[12], features[13] = counts[LONG] / words, counts[SHORT] / words
    features[14], features[15] = counts[REPEATED] / words, counts[SHORT_LINES] / lines
    features[16], features[17] = counts[ENDED] / lines, counts[IN_LONG] / tokens


@inlined
def weigh(shape: Float32s, features: Float32s) -> Any:
    """The sum of the features, each within its bounds, by their weights: (SHAPE_FEATURES, 3) weight, low, high."""
    total = 0.0
    for i in range(SHAPE_FEATURES):
        total += shape[i, 0] * min(max(features[i], shape[i, 1]), shape[i, 2])
    return total
