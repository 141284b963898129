"""Random draws of documents that are the same in every run: a hash of the document's id and a seed."""

import math

import numpy as np
import pyarrow as pa
import xxhash

from corpusmill.errors import RecipeError
from corpusmill.text.array_types import Bools, UInt64s
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


def in_sample(ids: pa.Array, share: float, seed: int, purpose: str = "") -> Bools:
    """(documents,) whether each is in a sample of a share of all, see `sampling_hash`."""
    if share >= 1:
        return np.ones(len(ids), np.bool_)
    drawn: Bools = sampling_hash(ids, seed, purpose) < np.uint64(int(share * 2**64))
    return drawn


def share_of(value: float | str, name: str) -> float:
    """A share as a recipe or the command line writes it. Raises RecipeError unless it is above 0 and up to 1.

    >>> share_of("1%", "sample"), share_of("0.5 %", "sample"), share_of(0.25, "sample")
    (0.01, 0.005, 0.25)
    """
    text = str(value).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise RecipeError(f"{name} is a share above 0 and up to 1, as in 1% or 0.01; got {text}")
    return share
