"""An n-gram model packed to be shipped: words as text, n-grams as a trie of word numbers, probabilities in 8 bits.

A word has a number: 0 is the unknown word, 1 <s>, 2 </s>, the others follow in the order of `words`. The n-grams of an
order are sorted by their numbers; `next` has their last words, `children` how many n-grams of the next order begin with
each. `log` and `back`, in steps of 1 / STEPS: a value is off by at most 1 / 48 in log10, 5 % of a probability, which
evens out over the words of a text. Each array is compressed with zstandard.

Unpacked, the model is the same as one from a file of `ngram`, and takes about 16 bytes of memory for each slot of its
tables in every process.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from corpusmill.models.ngram_keys import END, START, UNKNOWN, extend
from corpusmill.text.array_types import Bytes, Float32s, Int64s, UInt64s
from corpusmill.text.compile import kernel
from corpusmill.text.hashing import xxh64
from corpusmill.text.lowlevel import NO_BITS

STEPS = 24  # to a factor of ten
PACKING_ERROR = zstandard.ZstdError
MAX_UNPACKED = 4 << 20  # bytes of an array; the largest of the model that ships has half a million
SPECIAL_WORDS = (UNKNOWN, START, END)
U = np.uint64
Arrays = dict[str, NDArray[Any]]


def pack(words: Sequence[str], grams: Sequence[Int64s], logs: Any, backs: Any) -> Arrays:
    """The arrays of a packed model.

    words   sorted
    grams   for each order n, (n-grams, n) numbers of words, rows sorted; the first n - 1 of each are a row of the order
            before
    logs    for each order, (n-grams,) log10 of the probability; backs, of the back-off weight
    """
    arrays = {"words": _compressed(np.frombuffer("\n".join(words).encode(), np.uint8))}
    for n, (rows, log, back) in enumerate(zip(grams, logs, backs), 1):
        arrays[f"next_{n}"] = _compressed(rows[:, -1].astype(np.uint16 if len(words) + 3 <= 1 << 16 else np.uint32))
        arrays[f"log_{n}"], arrays[f"back_{n}"] = _compressed(quantised(log)), _compressed(quantised(back))
        if n < len(grams):
            children = _rows_among(grams[n][:, :-1], rows)
            arrays[f"children_{n}"] = _compressed(np.bincount(children, minlength=len(rows)).astype(np.uint16))
    return arrays


def unpack(arrays: Mapping[str, NDArray[Any]], order: int, wide: bool) -> tuple[list[Any], list[Any], list[Any]]:
    """Keys, log probabilities and back-off weights by order, as `ngram.built` takes them.

    wide   whether there are more than 65,536 words

    Raises ValueError, LookupError, TypeError or PACKING_ERROR if the arrays do not fit together.
    """
    names = bytes(_plain(arrays["words"], np.uint8)).split(b"\n")
    ends = np.cumsum([len(name) for name in names])
    hashes = np.concatenate([np.array(SPECIAL_WORDS, U), _hashes(np.frombuffer(b"".join(names), np.uint8), ends)])
    columns: list[Int64s] = []
    keys, logs, backs = [], [], []
    for n in range(1, order + 1):
        if n > 1:
            children = _plain(arrays[f"children_{n - 1}"], np.uint16)
        following = _plain(arrays[f"next_{n}"], np.uint32 if wide else np.uint16).astype(np.int64)
        if n > 1:
            if len(children) != len(columns[-1]) or children.sum(dtype=np.int64) != len(following):
                counts = f"{len(columns[-1])} begin {children.sum(dtype=np.int64)}, and there are {len(following)}"
                raise ValueError(f"of {n}-grams, {counts}")
            columns = [np.repeat(column, children) for column in columns]
        columns.append(following)
        key = np.zeros(len(columns[-1]), U)
        for column in reversed(columns):
            extend_all(key, hashes[column])
        keys.append(key)
        logs.append(_plain(arrays[f"log_{n}"], np.uint8).astype(np.float32) / np.float32(-STEPS))
        backs.append(_plain(arrays[f"back_{n}"], np.uint8).astype(np.float32) / np.float32(-STEPS))
        if not len(logs[-1]) == len(backs[-1]) == len(key):
            raise ValueError(f"{len(key)} {n}-grams have {len(logs[-1])} probabilities and {len(backs[-1])} weights")
    return keys, logs, backs


def quantised(log: Float32s) -> Bytes:
    """log10 of numbers of at most 1 in steps; those below 10 ** -10.6 become that."""
    return np.clip(np.rint(-log.astype(np.float64) * STEPS), 0, 255).astype(np.uint8)


def _rows_among(rows: Int64s, sorted_rows: Int64s) -> Int64s:
    """The positions of rows in others that are sorted."""
    width = 1 << 20
    weights = np.array([width**power for power in reversed(range(rows.shape[1]))], np.int64)
    return np.searchsorted(sorted_rows @ weights, rows @ weights)


def _compressed(array: NDArray[Any]) -> Bytes:
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return np.frombuffer(zstandard.ZstdCompressor(level=19).compress(data), np.uint8)


def _plain(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    content = array.tobytes()
    size = zstandard.frame_content_size(content)
    if not 0 <= size <= MAX_UNPACKED:
        raise ValueError(f"an array says that it has {size} bytes; it has {MAX_UNPACKED} at most")
    data = zstandard.ZstdDecompressor().decompress(content)
    return np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(dtype)


@kernel
def extend_all(keys: UInt64s, words: UInt64s) -> None:
    """Put a word before each n-gram."""
    for i in range(len(keys)):
        keys[i] = extend(keys[i], words[i])


@kernel
def _hashes(data: Bytes, ends: Int64s) -> UInt64s:
    out = np.empty(len(ends), U)
    start = 0
    for i in range(len(ends)):
        out[i] = xxh64(data, start, ends[i], NO_BITS)
        start = ends[i]
    return out


def warm_up() -> None:
    """Compile the kernels."""
    extend_all(np.zeros(1, U), np.ones(1, U))
    _hashes(np.frombuffer(b"ab", np.uint8), np.array([1, 2], np.int64))
