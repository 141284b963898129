"""Random draws of documents that are the same in every run: a hash of the document's id and a seed."""

import numpy as np
import pyarrow as pa
import xxhash

from corpusmill.text.array_types import UInt64s
from corpusmill.text.splitmix64 import GOLDEN, mix64


def sampling_hash(ids: pa.Array, seed: int, purpose: str = "") -> UInt64s:
    """(documents,) uniformly distributed in 0 … 2**64 - 1, the same in every run.

    ids       of documents: 32 hexadecimal digits, see `corpusmill.schema.document_id`
    purpose   names the decision. Two steps with the same seed need different purposes: otherwise the documents that the
              first keeps for their low hashes would have low hashes in the second, too
    """
    bits = np.array([int(name[:16], 16) for name in ids.to_pylist()], np.uint64)
    salt = xxhash.xxh3_64_intdigest(purpose.encode()) if purpose else 0
    return mix64(bits ^ np.uint64(seed % 2**64 * GOLDEN % 2**64 ^ salt))
