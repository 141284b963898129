"""n-gram language models of words, for perplexity.

A sentence is <s> w1 … wn </s>, its words those of `text.fold` (case, punctuation, accents and the values of numbers are
ignored). A model gives each word, and </s>, a probability given the words before it, and backs off to fewer of them if
the n-gram is unknown (Katz 1987; for the estimates Chen and Goodman 1999, see `train.lm`).

A file holds arrays (`arrays.write_arrays`): for each order n an open-addressing table of its n-grams, `keys_n` (slots,)
uint64, 0 in a free slot, `log_n` and `back_n` (slots,) float32: log10 of the probability and of the back-off weight.
They are mapped, so that processes share them. And `card`, JSON with the model's training data. A file whose card says
`packed` has the arrays of `ngram_packed`, a tenth of the size, and every process makes its own tables of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.errors import AssetError
from corpusmill.models import ngram_packed
from corpusmill.models.model_file import DAMAGE, read_model, write_model, wrong_value
from corpusmill.models.ngram_keys import END, START, UNKNOWN, extend
from corpusmill.text.array_types import Float32s, Float64s, Int64s, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import kernel
from corpusmill.text.hashing import xxh64
from corpusmill.text.lowlevel import NO_BITS, load8

FORMAT = 1
NGRAM_ADVICE = "`corpusmill train lm` makes them; KenLM's files end in .arpa, .klm or .binary."
MAX_ORDER = 6  # the highest order
TYPES = {"first": np.int64, "keys": np.uint64, "log": np.float32, "back": np.float32}
# Slots in a row that are taken. Of a table that is full to two thirds, as those of `built` are at most, and has a
# billion slots, some 300 are; a look-up goes to the end of them.
LONGEST_RUN = 1 << 14
SLOTS_AT_ONCE = 1 << 22
SPACE = 32
U = np.uint64
UNKNOWN_KEY = U(0x8B2FAAB3724AC25B)  # extend(NO_BITS, UNKNOWN), which takes a compiler


class NgramTable(NamedTuple):
    """The n-grams of all orders, in consecutive tables.

    first   (orders + 1,) the first slot of each order; each has a power of two of them
    """

    first: Int64s
    keys: UInt64s
    log: Float32s
    back: Float32s


class SentenceScores(NamedTuple):
    """Of each sentence: log10 of its probability, its end included; the same if its words, and its end, did not depend
    on those before them; and its number of words, without the end.
    """

    log: Float64s
    alone: Float64s
    words: Int64s


@dataclass(frozen=True)
class NgramModel:
    """A model in memory; `card` is the model card of the file."""

    order: int
    table: NgramTable
    card: Mapping[str, Any]

    @classmethod
    def load(cls, path: Path) -> "NgramModel":
        """Raises AssetError if the file is not a model, is damaged, or has a format that this version cannot read."""
        card, _ = read_model(path, "language", FORMAT, {}, NGRAM_ADVICE)
        order = card.get("order")
        if not isinstance(order, int) or not 1 <= order <= MAX_ORDER:
            raise wrong_value(path, "the order of the model", str(order)[:40], f"from 1 to {MAX_ORDER}")
        if card.get("packed"):
            table = cls._unpacked(path, order, bool(card.get("wide")))
        else:
            table = NgramTable(**read_model(path, "language", FORMAT, TYPES, NGRAM_ADVICE)[1])
        _check(path, order, table)
        return cls(order, table, card)

    @classmethod
    def _unpacked(cls, path: Path, order: int, wide: bool) -> NgramTable:
        names = [f"{part}_{n}" for n in range(1, order + 1) for part in ("next", "log", "back", "children")]
        packed = dict.fromkeys(("words", *names[:-1]), np.uint8)
        _, arrays = read_model(path, "language", FORMAT, packed, NGRAM_ADVICE)
        try:
            return built(*ngram_packed.unpack(arrays, order, wide))
        except (*DAMAGE, ngram_packed.PACKING_ERROR) as error:
            why = f"{type(error).__name__}: {error}"
            raise AssetError(f"{path}: the tables are not those that were written ({why}). Get it again.") from error

    def save(self, path: Path) -> None:
        """Write the model atomically."""
        write_model(path, FORMAT, {**self.card, "order": self.order}, self.table._asdict())

    def score(self, folded: pa.LargeStringArray) -> "SentenceScores":
        """folded: (sentences,) words separated by spaces, as `fold.fold` leaves them"""
        scores = SentenceScores(np.zeros(len(folded)), np.zeros(len(folded)), np.zeros(len(folded), np.int64))
        _score(view(folded), self.order, self.table, scores)
        return scores


def _check(path: Path, order: int, table: NgramTable) -> None:
    """Kernels do not look whether a slot exists, and a look-up ends at a free one."""
    first, slots = table.first, len(table.keys)
    sizes = np.diff(first)
    if first.shape != (order + 1,) or first[0] != 0 or first[-1] != slots or (sizes < 1).any():
        right = f"{order + 1} that rise from 0 to {slots}, the number of keys"
        raise wrong_value(path, "the list of the first slots of each order", first.tolist()[:8], right)
    if (sizes & (sizes - 1)).any():
        raise wrong_value(path, "the number of slots of each order", sizes.tolist(), "powers of two")
    for name, array in table._asdict().items():
        if name != "first" and array.shape != (slots,):
            raise wrong_value(path, f"the shape of the array {name}", list(array.shape), f"[{slots}]")
    for n, (begin, end) in enumerate(pairwise(first.tolist()), 1):
        if (run := _longest_run(table.keys[begin:end])) > min(LONGEST_RUN, end - begin - 1):
            right = f"at most {min(LONGEST_RUN, end - begin - 1)} of {end - begin}: some are free"
            raise wrong_value(path, f"the number of slots in a row that {n}-grams take", run, right)
    words = np.roll(table.keys[: first[1]], -int(UNKNOWN_KEY & U(first[1] - 1)))  # as `find` looks at them
    at = np.flatnonzero((words == UNKNOWN_KEY) | (words == NO_BITS))[0]  # some are free
    if words[at] != UNKNOWN_KEY:
        raise wrong_value(path, "the unknown word", "none of its words", "one: it stands for all that are not known")
    if not (np.isfinite(table.log).all() and np.isfinite(table.back).all()):
        raise wrong_value(path, "a probability or back-off weight", "infinite, or none", "a logarithm")


def _longest_run(keys: UInt64s) -> int:
    """The most slots in a row that are taken."""
    run = longest = 0
    for at in range(0, len(keys), SLOTS_AT_ONCE):
        free = np.flatnonzero(keys[at : at + SLOTS_AT_ONCE] == 0)
        size = min(SLOTS_AT_ONCE, len(keys) - at)
        if not len(free):
            run += size
            continue
        longest = max(longest, run + int(free[0]), int(np.diff(free).max(initial=1)) - 1)
        run = size - 1 - int(free[-1])
    return max(longest, run)


def built(keys: list[UInt64s], log: list[Float32s], back: list[Float32s]) -> NgramTable:
    """The tables of n-grams, from their keys, log probabilities and back-off weights by order."""
    sizes = [1 << max(1, (len(part) * 3 // 2).bit_length()) for part in keys]
    first = np.cumsum([0, *sizes]).astype(np.int64)
    table = NgramTable(first, np.zeros(first[-1], U), np.zeros(first[-1], np.float32), np.zeros(first[-1], np.float32))
    for n, (part, logs, backs) in enumerate(zip(keys, log, back)):
        _insert(table, n, part, logs, backs)
    return table


@kernel
def _insert(table: NgramTable, n: int, keys: UInt64s, log: Float32s, back: Float32s) -> None:
    first, mask = table.first[n], U(table.first[n + 1] - table.first[n] - 1)
    for i in range(len(keys)):
        slot = keys[i] & mask
        while table.keys[first + np.int64(slot)] not in (NO_BITS, keys[i]):
            slot = (slot + U(1)) & mask
        at = first + np.int64(slot)
        table.keys[at], table.log[at], table.back[at] = keys[i], log[i], back[i]


@kernel
def find(table: NgramTable, n: int, key: np.uint64) -> int:
    """The slot of an n-gram of order n + 1, -1 if it is unknown."""
    first, mask = table.first[n], U(table.first[n + 1] - table.first[n] - 1)
    slot = key & mask
    while True:
        at = first + np.int64(slot)
        if table.keys[at] == key:
            return int(at)
        if table.keys[at] == NO_BITS:
            return -1
        slot = (slot + U(1)) & mask


@kernel
def _score(text: TextBuffer, order: int, table: NgramTable, out: SentenceScores) -> None:
    history = np.empty(MAX_ORDER, U)  # the previous words, the nearest first
    backs = np.zeros(MAX_ORDER + 1, np.float32)  # back-off weights of the contexts of 1, 2, … previous words
    fresh = np.zeros(MAX_ORDER + 1, np.float32)
    for s in range(len(text.offsets) - 1):
        at, end = text.offsets[s], text.offsets[s + 1]
        history[0] = START
        known_context, context = 1, 1  # words of the longest context that is a known n-gram; words of the context
        start = find(table, 0, extend(NO_BITS, START))
        backs[1] = table.back[start] if start >= 0 else np.float32(0)
        ended = False
        while not ended:
            while at < end and load8(text.data, at) == SPACE:
                at += 1
            if at == end:
                word, ended = END, True
            else:
                begin = at
                while at < end and load8(text.data, at) != SPACE:
                    at += 1
                word = xxh64(text.data, begin, at, NO_BITS)
                out.words[s] += 1
            key = extend(NO_BITS, word)
            slot = find(table, 0, key)
            if slot < 0:
                word = UNKNOWN
                key = extend(NO_BITS, word)
                slot = find(table, 0, key)
            matched, log = 1, table.log[slot]
            out.alone[s] += log
            fresh[1] = table.back[slot]
            while matched <= known_context and matched < order:
                key = extend(key, history[matched - 1])
                slot = find(table, matched, key)
                if slot < 0:
                    break
                matched += 1
                log = table.log[slot]
                fresh[matched] = table.back[slot]
            out.log[s] += log
            for longer in range(matched, known_context + 1):
                out.log[s] += backs[longer]
            context = min(context + 1, order - 1)
            for i in range(min(context, MAX_ORDER - 1), 0, -1):
                history[i] = history[i - 1]
            history[0] = word
            known_context = min(matched, order - 1)
            for i in range(1, known_context + 1):
                backs[i] = fresh[i]


def warm_up() -> None:
    """Compile the kernels."""
    keys = [np.array([5], U), np.array([7], U)]
    zero = [np.zeros(1, np.float32)] * 2
    table = built(keys, zero, zero)
    unknown = np.array([extend(NO_BITS, UNKNOWN)], U)
    table = built([unknown, keys[1]], zero, zero)
    NgramModel(2, table, {}).score(pa.array(["a b"], pa.large_string()))
