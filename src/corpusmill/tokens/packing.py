"""How documents stand in rows of equal length: one after the other, or whole where they fit.

    concat     the documents make one stream, which is cut into rows. Nothing is lost and nothing is padded, but
               documents are cut where a row ends, and a row begins in the middle of one.
    best_fit   every document that fits a row stays whole; what stays free in a row is padding (Ding et al. 2024,
               arXiv:2404.10830, section 3). Only documents longer than a row are cut.

A document's length counts its end-of-document token, so no document is empty.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from corpusmill.text.compile import kernel

Method = Literal["concat", "best_fit"]
Remainder = Literal["keep", "pad", "drop"]
Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class Report:
    """What packing did to documents. Reports of parts add up to the report of the whole."""

    rows: int = 0
    tokens: int = 0  # of documents, in rows
    padding: int = 0  # tokens that belong to no document
    cut_documents: int = 0  # documents that stand in more than one row, or lost their end
    discarded_tokens: int = 0  # tokens of documents, in no row

    @property
    def utilisation(self) -> float:
        """The share of the room in rows that tokens of documents take; 1 where there are no rows."""
        return self.tokens / (self.tokens + self.padding) if self.rows else 1.0

    def __add__(self, other: "Report") -> "Report":
        return Report(
            self.rows + other.rows,
            self.tokens + other.tokens,
            self.padding + other.padding,
            self.cut_documents + other.cut_documents,
            self.discarded_tokens + other.discarded_tokens,
        )


@dataclass(frozen=True)
class Layout:
    """Where the pieces of documents stand, sorted by where they start. Room that no piece takes is padding.

    start      (pieces,) the first token of the piece, counted from the start of the first row
    document   (pieces,) index of the document
    offset     (pieces,) where in the document the piece begins
    length     (pieces,) tokens
    size       tokens of all rows with their padding; no multiple of the row only where a short last row was kept
    report     what that did to documents
    """

    start: Int64s
    document: Int64s
    offset: Int64s
    length: Int64s
    size: int
    report: Report


def concat(lengths: Int64s, row: int, remainder: Remainder = "keep") -> Layout:
    """One document after the other, without gaps: a piece is a document, whichever rows it crosses.

    lengths     (documents,) tokens per document, each >= 1
    row         tokens in a row
    remainder   what becomes of a last row that is not full: it is kept short, filled with padding, or dropped
    """
    _check(lengths, row)
    total = int(lengths.sum())
    ends = np.cumsum(lengths)
    start = ends - lengths
    held = total // row * row if remainder == "drop" else total
    size = -(-total // row) * row if remainder == "pad" else held
    kept = int(np.searchsorted(start, held))
    length = np.minimum(ends[:kept], held) - start[:kept]
    report = Report(
        rows=-(-size // row),
        tokens=held,
        padding=size - held,
        cut_documents=int(crossing(start[:kept], lengths[:kept], row).sum()),
        discarded_tokens=total - held,
    )
    return Layout(start[:kept], np.arange(kept), np.zeros(kept, np.int64), length, size, report)


def crossing(start: Int64s, lengths: Int64s, row: int) -> NDArray[np.bool_]:
    """(documents,) which documents end in another row than they start in, in a stream cut every `row` tokens."""
    return np.asarray(start // row != (start + lengths - 1) // row)


def best_fit_rows(lengths: Int64s, row: int) -> Layout:
    """Documents whole where they fit a row; a longer one is split into full rows and a rest, which is placed as others.

    lengths   (documents,) tokens per document, each >= 1
    row       tokens in a row

    Pieces stand in a row in the order of their documents, padding after them; rows in the order of the first piece
    that they hold, so that the order of rows follows the order of documents and not their lengths.
    """
    document, offset, length = split(lengths, row)
    placed = best_fit(length, row)
    order = np.argsort(placed, kind="stable")
    document, offset, length, placed = document[order], offset[order], length[order], placed[order]
    before = np.cumsum(length) - length
    first = np.searchsorted(placed, placed)  # the first piece in the same row
    start = placed * row + before - before[first]
    rows = int(placed[-1]) + 1 if len(placed) else 0
    tokens = int(length.sum())
    report = Report(rows, tokens, rows * row - tokens, cut_documents=int((lengths > row).sum()))
    return Layout(start, document, offset, length, rows * row, report)


def split(lengths: Int64s, most: int) -> tuple[Int64s, Int64s, Int64s]:
    """Cut documents into pieces of at most `most` tokens: (pieces,) document, offset in it, length.

    >>> [column.tolist() for column in split(np.array([3, 8]), 4)]
    [[0, 1, 1], [0, 0, 4], [3, 4, 4]]
    """
    _check(lengths, most)
    pieces = -(-lengths // most)
    document = np.repeat(np.arange(len(lengths)), pieces)
    place = np.arange(len(document)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    offset = place * most
    return document, offset, np.minimum(lengths[document] - offset, most)


def best_fit(lengths: Int64s, capacity: int) -> Int64s:
    """Give every document a row, so that no row holds more than `capacity` tokens: best-fit decreasing.

    lengths   (documents,) tokens per document, each in 1..capacity
    returns   (documents,) row per document; rows are numbered 0, 1, … by the first document in them

    The longest document is placed first (of equals, the first), in the fullest row that still has room for it (of
    equals, the one that was added to last), or else in a new row. O(documents + rows log capacity).
    Raises ValueError if a length is outside 1..capacity.
    """
    _check(lengths, capacity)
    if len(lengths) and lengths.max() > capacity:
        raise ValueError(f"lengths must be in 1..{capacity}, got {lengths.max()}")
    row = np.empty(len(lengths), np.int64)
    _place(np.ascontiguousarray(lengths, np.int64), capacity, row)
    _, first, inverse = np.unique(row, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _check(lengths: Int64s, row: int) -> None:
    if row < 1:
        raise ValueError(f"a row must have room for 1 token or more, got {row}")
    if len(lengths) and lengths.min() < 1:
        raise ValueError(f"every document has 1 token or more, its end; got {lengths.min()}")


@kernel
def _place(lengths: Int64s, capacity: int, row: Int64s) -> int:
    """Fill `row` and return the number of rows, which are numbered in the order in which they are opened.

    Rows that still have room wait in one stack for each size of the room: head[room] is the top, under[row] the row
    below it. `any_room` is a binary tree over the sizes: its leaf size + room says whether the stack is empty, and each
    node whether one of its leaves is not, so the smallest room that suffices is found in log2(capacity) steps.
    """
    order = _longest_first(lengths, capacity)
    head = np.full(capacity + 1, -1, np.int64)
    under = np.empty(len(lengths), np.int64)
    size = 1
    while size < capacity + 1:
        size *= 2
    any_room = np.zeros(2 * size, np.bool_)
    rows = 0
    for i in order:
        need = lengths[i]
        room = _smallest_room(any_room, size, need)
        if room:
            chosen = head[room]
            head[room] = under[chosen]
            if head[room] < 0:
                node = size + room
                any_room[node] = False
                node >>= 1
                while node and not any_room[2 * node] and not any_room[2 * node + 1]:
                    any_room[node] = False
                    node >>= 1
        else:
            chosen = rows
            room = capacity
            rows += 1
        row[i] = chosen
        room -= need
        if room:
            under[chosen] = head[room]
            head[room] = chosen
            node = size + room
            while node and not any_room[node]:
                any_room[node] = True
                node >>= 1
    return rows


@kernel
def _longest_first(lengths: Int64s, capacity: int) -> Int64s:
    """(documents,) a stable counting sort by falling length."""
    at = np.zeros(capacity + 2, np.int64)
    for length in lengths:
        at[capacity - length + 1] += 1
    for i in range(1, len(at)):
        at[i] += at[i - 1]
    order = np.empty(len(lengths), np.int64)
    for i in range(len(lengths)):
        order[at[capacity - lengths[i]]] = i
        at[capacity - lengths[i]] += 1
    return order


@kernel
def _smallest_room(any_room: NDArray[np.bool_], size: int, need: int) -> int:
    """The smallest room >= need in which a row waits; 0 if there is none."""
    node = size + need
    if any_room[node]:
        return need
    # Up until a right neighbour holds something, then down to its leftmost leaf.
    while node > 1 and (node & 1 or not any_room[node + 1]):
        node >>= 1
    if node <= 1:
        return 0
    node += 1
    while node < size:
        node *= 2
        if not any_room[node]:
            node += 1
    return node - size


def warm_up() -> None:
    """Compile the kernels."""
    best_fit(np.array([2, 1]), 4)
