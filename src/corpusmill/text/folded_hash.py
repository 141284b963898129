"""A hash of words that ignores case, and is the same in every process."""

from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.text.array_types import Bytes, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.hashing import K0, K1, K2, mix
from corpusmill.text.lowlevel import ALL_BITS, Bits, U, load64

# Set in every byte: ASCII capitals become lower case, as does É, and punctuation stays distinct.
FOLD = U(0x2020202020202020)


def word_hashes(words: pa.LargeStringArray) -> UInt64s:
    """`word_hash` of each, (words,); meaningless for an empty one."""
    text = view(words)
    out = np.empty(len(words), np.uint64)
    _hash_all(text, out)
    return out


@kernel
def _hash_all(text: TextBuffer, out: UInt64s) -> None:
    for i in range(len(out)):
        out[i] = word_hash(text.data, text.offsets[i], text.offsets[i + 1])


@inlined
def word_hash(data: Bytes, start: Any, end: Any) -> Bits:
    """A hash of the token data[start:end], ignoring case; reads up to 7 bytes past the end."""
    size = end - start
    if size <= 8:
        return mix(((load64(data, start) | FOLD) & (ALL_BITS >> U(64 - 8 * size))) ^ K1, U(size) ^ K0)
    h = U(size) ^ K0
    at = start
    while at + 8 < end:
        h = mix((load64(data, at) | FOLD) ^ K1, h)
        at += 8
    return mix((load64(data, end - 8) | FOLD) ^ K2, h)


def warm_up() -> None:
    word_hashes(pa.array(["a"], pa.large_string()))
