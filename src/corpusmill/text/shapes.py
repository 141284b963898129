"""Each line of a document: where it is, its words, letters, capitals, digits."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text.array_types import Bytes, Int64s
from corpusmill.text.buffers import PAD, TextBuffer, to_arrow, view
from corpusmill.text.compile import kernel
from corpusmill.text.lowlevel import copy_bytes, load8
from corpusmill.text.unicode import ALPHA, DIGIT, SPACE, UPPER, Classes, class_of, classes, decode

LF = 10

# A line of text.split("\n"); positions are bytes from the beginning of the document.
LINE = np.dtype(
    [
        ("document", np.int32),
        ("begin", np.int32),
        ("end", np.int32),  # its line feed, or the end of the document
        ("start", np.int32),  # its first character that is not white space; `begin` of a blank line
        ("stop", np.int32),  # after its last; `begin` of a blank line
        ("words", np.int32),  # len(line.split())
        ("chars", np.int32),  # characters that are not white space
        ("letters", np.int32),  # str.isalpha()
        ("capitals", np.int32),  # str.isupper()
        ("digits", np.int32),  # str.isdecimal()
    ]
)


def line_shapes(texts: pa.LargeStringArray) -> NDArray[Any]:
    """Every line of every document, (lines,) LINE, in order. A null is one empty line, like ""."""
    text = view(texts)
    documents = len(text.offsets) - 1
    feeds = np.count_nonzero(text.data[text.offsets[0] : text.offsets[-1]] == LF)
    out = np.zeros(feeds + documents, LINE)
    _measure(text, classes(), out)
    return out


def line_texts(texts: pa.LargeStringArray, lines: NDArray[Any]) -> pa.LargeStringArray:
    """The text of lines, from `start` to `stop`.

    lines   any of the records of `line_shapes`, in any order
    """
    return span_texts(texts, *(lines[name] for name in ("document", "start", "stop")))


def span_texts(
    texts: pa.LargeStringArray, document: NDArray[Any], start: NDArray[Any], stop: NDArray[Any]
) -> pa.LargeStringArray:
    """The text of spans of documents, in any order.

    document, start, stop   (spans,) integers: the document, and bytes from its beginning
    """
    text = view(texts)
    offsets = np.zeros(len(document) + 1, np.int64)
    np.cumsum(stop - start, out=offsets[1:])
    out = np.empty(offsets[-1] + PAD, np.uint8)
    _copy(text, np.ascontiguousarray(document, np.int64), np.ascontiguousarray(start, np.int64), offsets, out)
    return to_arrow(out, offsets)


@kernel
def _measure(text: TextBuffer, classes: Classes, out: NDArray[Any]) -> None:
    n = 0
    for d in range(len(text.offsets) - 1):
        lo, hi = text.offsets[d], text.offsets[d + 1]
        at = lo
        while True:
            at = _measure_line(text.data, lo, at, hi, classes, out[n])
            out[n].document = d
            n += 1
            if at >= hi:
                break
            at += 1


@kernel
def _measure_line(data: Bytes, lo: int, begin: int, hi: int, classes: Classes, out: Any) -> Any:
    """Fill the record of the line that begins at `begin`; returns where it ends."""
    words = chars = letters = capitals = digits = 0
    at: Any = np.int64(begin)
    start = stop = at
    inside = False
    while at < hi:
        byte = load8(data, at)
        size: Any = np.int64(1)
        if byte == LF:
            break
        if byte < 0x80:
            kind = classes.blocks[np.intp(byte)]
        else:
            code_point, size = decode(data, at)
            kind = class_of(classes, code_point)
        if kind & SPACE:
            inside = False
        else:
            if not inside:
                if words == 0:
                    start = at
                words += 1
                inside = True
            chars += 1
            letters += (kind & ALPHA) != 0
            capitals += (kind & UPPER) != 0
            digits += (kind & DIGIT) != 0
            stop = min(at + size, hi)
        at = min(at + size, hi)
    out.begin, out.end, out.start, out.stop = begin - lo, at - lo, start - lo, stop - lo
    out.words, out.chars, out.letters, out.capitals, out.digits = words, chars, letters, capitals, digits
    return at


@kernel
def _copy(text: TextBuffer, document: Int64s, start: Int64s, offsets: Int64s, out: Bytes) -> None:
    for i in range(len(document)):
        at = text.offsets[document[i]] + start[i]
        copy_bytes(text.data, at, offsets[i + 1] - offsets[i], out, offsets[i])


def warm_up() -> None:
    texts = pa.array(["a line\n\nanother"], pa.large_string())
    line_texts(texts, line_shapes(texts))
