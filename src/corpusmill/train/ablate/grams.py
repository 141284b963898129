"""Small language models that share their counts: n-grams of bytes.

A model gives each byte, and the end of each document, a probability given the bytes before it:

    p_k = (n(context, byte) + STRENGTH p_(k-1)) / (n(context) + STRENGTH)

for contexts of k - 1 bytes, from p_0 = 1 / 257 on (MacKay and Peto 1995, "A hierarchical Dirichlet language model"). It
has nothing but counts, and those of a union are the sum of its parts' counts. So each part is counted once, and a model
of any mix of parts is a weighted sum. Only the n-grams of the text that models are judged by are counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.execute import cpus
from corpusmill.models.ngram_keys import extend
from corpusmill.text.array_types import Float32s, Float64s, Int32s, Int64s, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import kernel
from corpusmill.text.lowlevel import NO_BITS, load8
from corpusmill.text.sets import find, slots_for
from corpusmill.train.ablate.experiment import Costs

ORDER = 8  # bytes of the longest n-gram
SYMBOLS = 257  # bytes, and the end of a document
END, START = np.uint64(256), np.uint64(257)  # in place of a byte
TOTAL, START_ID, FIRST_ID = 0, 1, 2  # of all symbols, and of the start, in place of an n-gram; of the first n-gram
# On the demo's documents, with 51 kB to 1.5 MB to learn from, one for each length gains .1 to .5 % of the bits.
STRENGTH = 30.0
MODELS = 256  # of a design: what sources do together is large where there are few, and noise to all effects


@dataclass(frozen=True)
class NgramModels:
    """N-grams as a kind of models: see `experiment.ModelKind`."""

    budget: int = 2_000_000

    @property
    def about(self) -> str:
        return f"n-grams of up to {ORDER} bytes"

    @property
    def groups_at_once(self) -> int:
        return cpus.usable()

    def models(self, factors: int) -> int:
        return max(MODELS, 4 << factors.bit_length())

    def held_out(self, budget: int) -> int:
        return 256 << 10

    def costs(
        self,
        judged: Sequence[pa.LargeStringArray],
        parts: Sequence[pa.LargeStringArray],
        budget: int,
        random: np.random.Generator,
    ) -> Costs:
        text = judged_text(pa.chunked_array(judged, pa.large_string()).combine_chunks())
        counted = counts(text, parts)
        symbols = [int(pc.sum(pc.binary_length(texts)).as_py() or 0) + len(texts) for texts in judged]
        edges = np.cumsum([0, *symbols])
        text = text.without_table()
        return lambda times: np.array([bits(text, counted, each, edges) for each in times])


class JudgedText(NamedTuple):
    """Text by which models are judged, and the ids of its n-grams.

    keys, ids   the n-grams, as a table of `sets.find`; their ids, from FIRST_ID on without gaps
    grams       the ids that there are
    gram        (symbols, ORDER) the id of the n-gram of each length that ends at a symbol; -1 if it would begin before
                the document
    context     (symbols, ORDER) that of its context
    """

    keys: UInt64s
    ids: Int32s
    grams: int
    gram: Int32s
    context: Int32s

    def without_table(self) -> "JudgedText":
        """For who has the counts of all parts: the table is the larger half."""
        return self._replace(keys=np.zeros(0, np.uint64), ids=np.zeros(0, np.int32))


def judged_text(texts: pa.LargeStringArray) -> JudgedText:
    """The n-grams of documents, in order. Memory: about 200 bytes a byte."""
    text = view(texts)
    symbols = int(text.offsets[-1] - text.offsets[0]) + len(texts)
    keys = np.zeros(slots_for(symbols * ORDER), np.uint64)
    ids = np.zeros(len(keys), np.int32)
    gram, context = (np.full((symbols, ORDER), -1, np.int32) for _ in range(2))
    grams = int(_number(text, keys, ids, gram, context))
    return JudgedText(keys, ids, grams, gram, context)


class Counts(NamedTuple):
    """How often parts of a corpus have the n-grams of some text.

    first   (parts + 1,) where each part begins in the others
    ids     the n-grams that it has
    times   how often
    """

    first: Int64s
    ids: Int32s
    times: Int32s


def counts(judged: JudgedText, parts: Sequence[pa.LargeStringArray]) -> Counts:
    """The counts of some parts."""
    all_counts, touched = np.zeros(judged.grams, np.int32), np.empty(judged.grams, np.int32)
    ids, numbers = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for texts in parts:
        used = touched[: int(_count(view(texts), judged.keys, judged.ids, all_counts, touched))]
        ids.append(used.copy())
        numbers.append(all_counts[used])
        all_counts[used] = 0
    first = np.cumsum([0, *map(len, ids[1:])]).astype(np.int64)
    return Counts(first, np.concatenate(ids), np.concatenate(numbers))


def bits(judged: JudgedText, parts: Counts, weights: Float64s, edges: Int64s) -> Float64s:
    """What text costs a model.

    weights   (parts,) how often the model has read each part; parts of a time count in part
    edges     (sets + 1,) the first symbol of each set of the text
    returns   (sets,) bits
    """
    mixed = np.zeros(judged.grams, np.float32)
    _mix(parts.first, parts.ids, parts.times, weights, mixed)
    out = np.zeros(len(edges) - 1)
    _bits(judged.gram, judged.context, mixed, edges, out)
    return out


@kernel
def _number(text: TextBuffer, keys: UInt64s, ids: Int32s, gram: Int32s, context: Int32s) -> int:
    grams, mask, at = FIRST_ID, len(keys) - 1, 0
    for d in range(len(text.offsets) - 1):
        start, end = text.offsets[d], text.offsets[d + 1]
        for place in range(start, end + 1):
            key = NO_BITS
            for k in range(min(ORDER, place - start + 2)):
                back = place - k
                symbol = START if back < start else END if back == end else np.uint64(load8(text.data, back))
                key = extend(key, symbol)
                slot = find(keys, mask, key)
                if keys[slot] == NO_BITS:
                    keys[slot], ids[slot] = key, grams
                    grams += 1
                gram[at, k] = ids[slot]
                if k == 0:
                    context[at, k] = TOTAL
                elif place == start:
                    context[at, k] = START_ID
                else:
                    context[at, k] = gram[at - 1, k - 1]
            at += 1
    return grams


@kernel
def _count(text: TextBuffer, keys: UInt64s, ids: Int32s, counts: Int32s, touched: Int32s) -> int:
    used, mask = 0, len(keys) - 1
    documents = len(text.offsets) - 1
    for which, amount in (
        (TOTAL, text.offsets[documents] - text.offsets[0] + documents),
        (START_ID, documents),
    ):
        if amount > 0:
            counts[which] = amount
            touched[used] = which
            used += 1
    for d in range(documents):
        start, end = text.offsets[d], text.offsets[d + 1]
        for place in range(start, end + 1):
            key = NO_BITS
            for k in range(min(ORDER, place - start + 2)):
                back = place - k
                symbol = START if back < start else END if back == end else np.uint64(load8(text.data, back))
                key = extend(key, symbol)
                slot = find(keys, mask, key)
                if keys[slot] == NO_BITS:  # nor are there longer ones
                    break
                which = ids[slot]
                if counts[which] == 0:
                    touched[used] = which
                    used += 1
                counts[which] += 1
    return used


@kernel
def _mix(first: Int64s, ids: Int32s, counts: Int32s, weights: Float64s, mixed: Float32s) -> None:
    for part in range(len(weights)):
        weight = np.float32(weights[part])
        if weight > 0:
            for i in range(first[part], first[part + 1]):
                mixed[ids[i]] += weight * np.float32(counts[i])


@kernel
def _bits(gram: Int32s, context: Int32s, mixed: Float32s, edges: Int64s, out: Float64s) -> None:
    for s in range(len(out)):
        total = 0.0
        for at in range(edges[s], edges[s + 1]):
            p = 1.0 / SYMBOLS
            for k in range(ORDER):
                if gram[at, k] < 0:
                    break
                before = mixed[context[at, k]]
                if before == 0:
                    break
                p = (mixed[gram[at, k]] + STRENGTH * p) / (before + STRENGTH)
            total -= np.log2(p)
        out[s] = total


def warm_up() -> None:
    """Compile the kernels."""
    texts = pa.array(["ab"], pa.large_string())
    judged = judged_text(texts)
    bits(judged, counts(judged, [texts]), np.ones(1), np.array([0, 3]))
