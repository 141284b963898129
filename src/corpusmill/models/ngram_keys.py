"""The keys of n-grams: computed from the last word to the first, so that they can be extended to the left."""

import numpy as np

from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS
from corpusmill.text.splitmix64 import GOLDEN, mix64

UNKNOWN, START, END = (np.uint64(n) for n in (1, 2, 3))  # in place of the hash of a word
U = np.uint64

_mix64 = inlined(mix64)


@kernel
def extend(key: np.uint64, word: np.uint64) -> np.uint64:
    """The key of an n-gram with one more word before it, or of a single word if `key` is 0. Never 0."""
    x = _mix64((key * U(GOLDEN)) ^ (word + U(0xD1B54A32D192ED03)))
    return x if x != NO_BITS else U(1)
