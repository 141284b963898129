"""Texts that stay where they are.

If no step of the last pass changes texts, it does not write them again: its `docs` say in which row of the file of the
pass before each document has its text, and the metadata of their schema which pass that is. What it must know of texts
that it does not read, the pass before has left beside them: the columns IN_PLACE.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.engine.work.pass_documents import BYTES, CHARS, FLAGGED, HASH, ROW, WORDS
from corpusmill.schema import COUNTED
from corpusmill.text.hashing import hash64
from corpusmill.text.integrity import INTEGRITY_FLAGS, MEASURED

IN_PLACE = pa.schema(
    [
        (HASH, pa.uint64()),
        (BYTES, pa.int64()),
        (CHARS, pa.int64()),
        (WORDS, pa.int64()),
        (FLAGGED, pa.uint8()),  # bit i: FLAGS[i] of text.integrity
    ]
)
# What `docs` have where texts stay where they are: no text, nor metadata, which can be as long.
REFERRING = pa.schema(
    [
        *(field for field in COUNTED if field.name not in ("text", "metadata")),
        *((HASH, pa.uint64()), (BYTES, pa.int64()), (ROW, pa.int64())),
    ]
)


def columns_beside(texts: pa.LargeStringArray, measured: NDArray[np.void]) -> list[pa.Array]:
    """IN_PLACE of texts of which `measured`, (documents,) of integrity.MEASURED, is known."""
    flags = np.zeros(len(texts), np.uint8)
    for bit, flag in enumerate(INTEGRITY_FLAGS):
        flags |= measured[flag].astype(np.uint8) << np.uint8(bit)
    return [
        pa.array(hash64(texts)),
        pc.fill_null(pc.binary_length(texts), 0).cast(pa.int64()),
        pa.array(np.ascontiguousarray(measured["chars"])),
        pa.array(np.ascontiguousarray(measured["words"])),
        pa.array(flags),
    ]


def measured_beside(docs: pa.RecordBatch) -> NDArray[np.void]:
    """(documents,) integrity.MEASURED of texts, from the columns IN_PLACE; symbols and visible are not known."""
    measured = np.zeros(len(docs), MEASURED)
    measured["chars"], measured["words"] = docs[CHARS].to_numpy(), docs[WORDS].to_numpy()
    flags = docs[FLAGGED].to_numpy()
    for bit, flag in enumerate(INTEGRITY_FLAGS):
        measured[flag] = flags >> bit & 1
    return measured
