"""The finaliser of SplitMix64 (Steele et al. 2014), which spreads each bit of a number over all 64.

`loader.order` has the same, because a training loop reads shards without the rest of the package.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from corpusmill.text.array_types import UInt64s

Bits = TypeVar("Bits", UInt64s, np.uint64)
U = np.uint64

GOLDEN = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio: what SplitMix64 adds at each step


def mix64(x: Bits) -> Bits:
    """A bijection of 64 bits. Kernels take it through `inlined`."""
    x = (x ^ (x >> U(30))) * U(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> U(27))) * U(0x94D049BB133111EB)
    return x ^ (x >> U(31))


def chance(numbers: UInt64s) -> NDArray[np.float64]:
    """(numbers,) evenly distributed in [0, 1), the same for the same number."""
    mixed: UInt64s = mix64(numbers + U(GOLDEN)) >> U(11)
    return mixed.astype(np.float64) / 2**53
