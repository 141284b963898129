"""The scores of a bag of words under several linear models, by sentence and by document, computed from Arrow's buffers.

The words of a text are its runs of letters, digits and "_", of two characters or more, in lower case. A text is the
vector of n * idf, with n the count of a word, normalised to Euclidean length 1; words that are not in the table are
left out. The probability under a model is the logistic function of its bias plus the product of its weights with that
vector; the score is the mean over the models. A text without a word of the table is the vector 0, with the score of the
biases alone.

That is scikit-learn's TfidfVectorizer with a CalibratedClassifierCV of linear SVMs. Case is ignored by a bit of the
bytes, not by Unicode's tables, which is right for "É" and the other few words of the table that are not ASCII.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text.buffers import Text, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.folded_hash import word_hash
from corpusmill.text.runs import run_finder
from corpusmill.text.unicode import Classes, classes

FREE = -1
next_word = run_finder("_")


class Bag(NamedTuple):
    """The models as the kernel takes them, read-only.

    keys      (slots,) uint64, a power of two: the hash of the word in each slot; open addressing by the low bits
    rows      (slots,) int32: the row of that word, FREE in a free slot
    squares   (words,) float32: idf squared
    weights   (words, models) float32, idf and the slope of the calibration multiplied in
    bias      (models,) float32
    longest   bytes of the longest word
    """

    keys: NDArray[np.uint64]
    rows: NDArray[np.int32]
    squares: NDArray[np.float32]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    longest: int


@kernel
def score_sentences(
    text: Text,
    spans: NDArray[np.int64],
    offsets: NDArray[np.int64],
    bag: Bag,
    classes: Classes,
    scores: NDArray[np.float32],
    words: NDArray[np.int64],
    documents: NDArray[np.float32],
    worst: NDArray[np.int64],
) -> None:
    """Score every sentence alone, and every document as the bag of all its words.

    spans, offsets   as `sentences.sentence_spans` returns them
    scores, words    (sentences,) written; words counts all words, known or not
    documents        (documents,) written; NaN without words
    worst            (documents,) written: the number of the sentence with the highest score (the first of equals) among
                     those with a word; -1 if there is none
    """
    known, models = bag.weights.shape
    count, count_all = np.zeros(known, np.int32), np.zeros(known, np.int32)
    used, used_all = np.empty(known, np.int32), np.empty(known, np.int32)
    odds, odds_all = np.zeros(models), np.zeros(models)
    for d in range(len(documents)):
        base = text.offsets[d]
        here = here_all = 0  # different words of the table
        norm_all = 0.0
        total = 0
        odds_all[:] = 0.0
        worst[d] = -1
        for s in range(offsets[d], offsets[d + 1]):
            at: Any = base + spans[s, 0]
            hi = base + spans[s, 1]
            norm = 0.0
            odds[:] = 0.0
            words[s] = 0
            while True:
                start, end = next_word(text.data, at, hi, classes)
                if start == end:
                    break
                at = end
                words[s] += 1
                row = find(text.data, start, end, bag)
                if row == FREE:
                    continue
                norm += bag.squares[row] * (2 * count[row] + 1)  # (n + 1)² - n²
                norm_all += bag.squares[row] * (2 * count_all[row] + 1)
                if count[row] == 0:
                    used[here] = row
                    here += 1
                if count_all[row] == 0:
                    used_all[here_all] = row
                    here_all += 1
                count[row] += 1
                count_all[row] += 1
                for m in range(models):
                    odds[m] += bag.weights[row, m]
            for m in range(models):
                odds_all[m] += odds[m]
            scores[s] = mean_probability(odds, norm, bag.bias)
            if words[s] > 0 and (worst[d] < 0 or scores[s] > scores[worst[d]]):
                worst[d] = s
            total += words[s]
            for i in range(here):
                count[used[i]] = 0
            here = 0
        documents[d] = mean_probability(odds_all, norm_all, bag.bias) if total > 0 else np.nan
        for i in range(here_all):
            count_all[used_all[i]] = 0


@inlined
def find(data: NDArray[np.uint8], start: Any, end: Any, bag: Bag) -> Any:
    """The row of a word, or FREE. Single characters are not in the table."""
    if not 2 <= end - start <= bag.longest:
        return np.int32(FREE)
    h = word_hash(data, start, end)
    mask = len(bag.keys) - 1
    slot = np.intp(h) & mask
    while bag.rows[slot] != FREE:
        if bag.keys[slot] == h:
            break
        slot = (slot + 1) & mask
    return bag.rows[slot]


@inlined
def mean_probability(odds: NDArray[np.float64], norm: float, bias: NDArray[np.float32]) -> Any:
    scale = 1.0 / np.sqrt(norm) if norm > 0 else 0.0
    total = 0.0
    for m in range(len(bias)):
        total += 1.0 / (1.0 + np.exp(-(bias[m] + odds[m] * scale)))
    return total / len(bias)


def make_slots(hashes: NDArray[np.uint64], least: int = 32) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """`keys` and `rows` for words with these hashes, at most half full."""
    slots = max(least, 1 << (2 * len(hashes)).bit_length())
    keys, rows = np.zeros(slots, np.uint64), np.full(slots, FREE, np.int32)
    for row, h in enumerate(hashes.tolist()):
        slot = h & (slots - 1)
        while rows[slot] != FREE:
            slot = (slot + 1) & (slots - 1)
        keys[slot], rows[slot] = h, row
    return keys, rows


def warm_up() -> None:
    """Compile all of this file."""
    keys, rows = make_slots(np.ones(1, np.uint64))
    parts = (keys, rows, np.ones(1, np.float32), np.ones((1, 5), np.float32), np.ones(5, np.float32))
    for array in parts:
        array.flags.writeable = False
    text = view(pa.array(["ab"], pa.large_string()))
    spans, offsets = np.array([[0, 2]]), np.array([0, 1])
    scores, documents = np.empty(1, np.float32), np.empty(1, np.float32)
    words, worst = np.empty(1, np.int64), np.empty(1, np.int64)
    score_sentences(text, spans, offsets, Bag(*parts, 2), classes(), scores, words, documents, worst)
