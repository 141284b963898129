"""Chance that is no chance: a number for each document, from its id and a seed alone."""

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

GOLDEN = 0x9E3779B97F4A7C15


def luck(ids: pa.Array, seed: int, purpose: str = "") -> NDArray[np.uint64]:
    """(documents,) evenly distributed numbers, the same in every run.

    ids       of documents: 32 hexadecimal digits, see `corpusmill.schema.document_id`
    purpose   names what is decided. Steps with one seed must not share their luck: what one of them let through because
              it was lucky would be lucky again in the next
    """
    bits = np.array([int(name[:16], 16) for name in ids.to_pylist()], np.uint64)
    salt = xxhash.xxh3_64_intdigest(purpose.encode()) if purpose else 0
    x = bits ^ np.uint64(seed % 2**64 * GOLDEN % 2**64 ^ salt)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the finaliser of SplitMix64
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    x ^= x >> np.uint64(31)
    return x
