"""Texts that stay where they are.

If no step of the last pass changes texts, it does not write them again: its `docs` say in which row of the file of the
pass before each document has its text, and the metadata of their schema which pass that is. What it must know of texts
that it does not read, the pass before has left beside them: the columns IN_PLACE.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.engine.pass_documents import ROW
from corpusmill.schema import COUNTED
from corpusmill.text.hashing import hash64
from corpusmill.text.integrity import FLAGS, MEASURED

HASH = "text_hash"  # XXH64 of the text
BYTES = "text_bytes"
IN_PLACE = pa.schema(
    [
        (HASH, pa.uint64()),
        (BYTES, pa.int64()),
        ("text_chars", pa.int64()),
        ("text_words", pa.int64()),
        ("text_flags", pa.uint8()),  # bit i: FLAGS[i] of text.integrity
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
    for bit, flag in enumerate(FLAGS):
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
    for name in ("chars", "words"):
        measured[name] = docs[f"text_{name}"].to_numpy()
    flags = docs["text_flags"].to_numpy()
    for bit, flag in enumerate(FLAGS):
        measured[flag] = flags >> bit & 1
    return measured
