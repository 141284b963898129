"""Where a document may be cut: after which of its tokens a paragraph or a sentence ends."""

from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.text.array_types import Bools, Int64s
from corpusmill.text.compile import kernel
from corpusmill.text.pieces import TextPieces, pieces
from corpusmill.text.sentences import sentence_spans

SplitAt = Literal["paragraph", "sentence"]
SPLIT_AT = get_args(SplitAt)
INSIDE = -1  # a token that ends within a character


def pieces_of(texts: pa.LargeStringArray, at: SplitAt) -> TextPieces:
    """The paragraphs (separated by blank lines) or sentences (a line feed ends one) of each document."""
    if at == "paragraph":
        return pieces(texts, "paragraphs")
    spans, offsets = sentence_spans(texts)
    return TextPieces(np.ascontiguousarray(spans[:, 0]), np.ascontiguousarray(spans[:, 1]), offsets)


def breaks(pieces: TextPieces, ends: Int64s, offsets: Int64s) -> tuple[Int64s, Int64s]:
    """The boundaries between tokens that are also boundaries between pieces.

    pieces     of each document
    ends       (tokens,) bytes of the document up to the end of each token; INSIDE if that is within a character
    offsets    (documents + 1,) the tokens of each document
    returns    (breaks,) the document of each, and how many of its tokens are before it: fewer than all of them

    There is at most one between two pieces: the last, so that white space comes before it. There is none if a token
    reaches from one piece into the next.
    """
    document, before = np.empty(len(pieces.start), np.int64), np.empty(len(pieces.start), np.int64)
    n = _breaks(pieces, ends, offsets, document, before)
    return document[:n], before[:n]


@kernel
def _breaks(pieces: TextPieces, ends: Int64s, offsets: Int64s, document: Int64s, before: Int64s) -> Any:
    n = 0
    for d in range(len(offsets) - 1):
        token, stop = offsets[d], offsets[d + 1] - 1  # nothing follows the last token
        for piece in range(pieces.offsets[d], pieces.offsets[d + 1] - 1):
            best = np.int64(-1)
            while token < stop and ends[token] <= pieces.start[piece + 1]:
                if ends[token] >= pieces.end[piece]:
                    best = token
                token += 1
            if best >= 0:
                document[n] = d
                before[n] = best + 1 - offsets[d]
                n += 1
    return n


def token_ends(ids: NDArray[Any], offsets: Int64s, sizes: Int64s) -> tuple[Int64s, Int64s]:
    """(tokens,) bytes of the document up to the end of each token, and (documents,) bytes of all tokens of each.

    ids       of all documents
    offsets   (documents, 2) first and end of the tokens of each document that stand for text
    sizes     (vocabulary,) bytes that each token stands for
    """
    ends = np.empty(int((offsets[:, 1] - offsets[:, 0]).sum()), np.int64)
    totals = np.empty(len(offsets), np.int64)
    _sum(ids, offsets, sizes, ends, totals)
    return ends, totals


@kernel
def _sum(ids: NDArray[Any], offsets: Int64s, sizes: Int64s, ends: Int64s, totals: Int64s) -> None:
    n = 0
    for d in range(len(offsets)):
        total = np.int64(0)
        for token in range(offsets[d, 0], offsets[d, 1]):
            total += sizes[ids[token]]
            ends[n] = total
            n += 1
        totals[d] = total


def of_documents(positions: Int64s, lengths: Int64s, chosen: Bools) -> Int64s:
    """The breaks of a stream of documents, in the stream of some of these documents.

    positions   (breaks,) tokens before each, rising
    lengths     (documents,) tokens of each
    chosen      (documents,)
    """
    ends = np.cumsum(lengths)
    document = np.searchsorted(ends, positions, "right")
    dropped = np.cumsum(np.where(chosen, 0, lengths))  # tokens that are left out up to the end of each document
    moved: Int64s = (positions - dropped[document])[chosen[document]]
    return moved


def warm_up() -> None:
    """Compile the kernels."""
    sentences = pieces_of(pa.array(["A b. C"], pa.large_string()), "sentence")
    for dtype in (np.uint16, np.uint32):
        ends, _ = token_ends(np.zeros(3, dtype), np.array([[0, 3]]), np.array([2]))
    breaks(sentences, ends, np.array([0, 3]))
