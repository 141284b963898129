"""Replace spans of documents with other text."""

import numpy as np
import pyarrow as pa

from corpusmill.text.array_types import Bytes, Int64s
from corpusmill.text.buffers import PAD, TextBuffer, keep_nulls, to_arrow, view
from corpusmill.text.compile import kernel
from corpusmill.text.lowlevel import copy_bytes


def replace_spans(texts: pa.LargeStringArray, spans: Int64s, replacements: pa.LargeStringArray) -> pa.LargeStringArray:
    """Each document with every span replaced.

    spans          (spans, 3 or more) int64: document, …, first byte, end (the last two columns, as in `pii.pii_spans`),
                   in bytes from the beginning of the document; in order, without overlap
    replacements   (spans,) large_string, one for each
    returns        (documents,) large_string; nulls stay null

    Raises ValueError for spans out of order or outside their document, and for another number of replacements. A span
    that begins or ends inside a character results in text that is not UTF-8; `pii_spans` returns none.
    """
    text, new = view(texts), view(replacements)
    document, start, end = (np.ascontiguousarray(spans[:, column]) for column in (0, -2, -1))
    if len(replacements) != len(spans):
        raise ValueError(f"{len(spans)} spans need as many replacements, got {len(replacements)}")
    if not len(spans):
        return texts
    sizes = np.diff(text.offsets)
    if document.min() < 0 or document.max() >= len(sizes):
        raise ValueError(f"document numbers must be in 0..{len(sizes) - 1}")
    if (start < 0).any() or (start > end).any() or (end > sizes[document]).any():
        raise ValueError("a span must be within its document")
    same = np.diff(document) == 0
    if (np.diff(document) < 0).any() or (same & (start[1:] < end[:-1])).any():
        raise ValueError("spans must be in order and not overlap")
    changes = np.zeros(len(sizes), np.int64)
    np.add.at(changes, document, np.diff(new.offsets) - (end - start))
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes + changes, out=offsets[1:])
    out = np.empty(offsets[-1] + PAD, np.uint8)
    _replace(text, document, start, end, new, out)
    return keep_nulls(to_arrow(out, offsets), texts)


@kernel
def _replace(text: TextBuffer, document: Int64s, start: Int64s, end: Int64s, new: TextBuffer, out: Bytes) -> None:
    p = 0
    at = text.offsets[0]
    for i in range(len(document)):
        base = text.offsets[document[i]]
        gap = base + start[i] - at
        copy_bytes(text.data, at, gap, out, p)
        p += gap
        size = new.offsets[i + 1] - new.offsets[i]
        copy_bytes(new.data, new.offsets[i], size, out, p)
        p += size
        at = base + end[i]
    copy_bytes(text.data, at, text.offsets[-1] - at, out, p)


def warm_up() -> None:
    replace_spans(pa.array(["abc"], pa.large_string()), np.array([[0, 1, 2]]), pa.array(["x"], pa.large_string()))
