"""Packing documents into rows of equal length: concatenated, whole where they fit, or one to a row.

    concat        the documents are concatenated, and the stream is cut into rows. Nothing is lost and nothing is
                  padded, but documents are cut where rows end, and rows begin in the middle of documents.
    best_fit      every document that fits a row is kept whole; the free room in a row is padding (Ding et al. 2024,
                  arXiv:2404.10830, section 3). Only documents longer than a row are cut.
    one_per_row   every document begins a row of its own, and the rest of its last row is padding.
    buckets       dataset decomposition (Pouransari et al. 2024, arXiv:2405.13226, section 3): documents are cut into
                  sequences of powers of two, and a row holds sequences of one length. No two documents share a
                  sequence.

The length of a document includes EOS, so no document is empty.

A document that must be cut can be cut at the end of a paragraph or a sentence (`breaks`, from `tokens.breaks`): the
last that still fits, at the cost of padding. If there is none within a row, the cut is where the row ends.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from corpusmill.text.array_types import Bools, Int64s
from corpusmill.text.compile import kernel

Method = Literal["concat", "best_fit", "one_per_row", "buckets"]
Remainder = Literal["keep", "pad", "drop"]


@dataclass(frozen=True)
class Report:
    """Statistics of packing. Reports of parts add up to the report of the whole."""

    rows: int = 0
    tokens: int = 0  # of documents, in rows
    padding: int = 0  # tokens that belong to no document
    cut_documents: int = 0  # documents in more than one row, or without their end
    discarded_tokens: int = 0  # tokens of documents, in no row
    context: int = 0  # summed over all tokens: the tokens of the same document before it in its row

    @property
    def utilisation(self) -> float:
        """The share of row capacity used by tokens of documents; 1 without rows."""
        return self.tokens / (self.tokens + self.padding) if self.rows else 1.0

    @property
    def mean_context(self) -> float:
        """Mean in-document context: the tokens of its own document that a token has before it in its row; 0 without
        tokens.

        That is what a model can condition on if attention does not cross documents: the average context length of
        Pouransari et al. 2024, arXiv:2405.13226.
        """
        return self.context / self.tokens if self.tokens else 0.0

    def __add__(self, other: "Report") -> "Report":
        return Report(
            self.rows + other.rows,
            self.tokens + other.tokens,
            self.padding + other.padding,
            self.cut_documents + other.cut_documents,
            self.discarded_tokens + other.discarded_tokens,
            self.context + other.context,
        )


@dataclass(frozen=True)
class RowLayout:
    """The positions of the pieces of documents, sorted by start. The gaps between them are padding.

    start      (pieces,) the first token of the piece, counted from the start of the first row
    document   (pieces,) index of the document
    offset     (pieces,) where in the document the piece begins
    length     (pieces,) tokens
    size       tokens of all rows, padding included; a multiple of the row unless a short last row is kept
    report     statistics
    """

    start: Int64s
    document: Int64s
    offset: Int64s
    length: Int64s
    size: int
    report: Report


def concat(lengths: Int64s, row: int, remainder: Remainder = "keep") -> RowLayout:
    """Documents concatenated without gaps: a piece is a document, whichever rows it crosses.

    lengths     (documents,) tokens per document, each >= 1
    row         tokens in a row
    remainder   a last row that is not full is kept short ("keep"), filled with padding ("pad"), or dropped ("drop")
    """
    _check(lengths, row)
    total = int(lengths.sum())
    ends = np.cumsum(lengths)
    start = ends - lengths
    used = total // row * row if remainder == "drop" else total
    size = -(-total // row) * row if remainder == "pad" else used
    pieces = int(np.searchsorted(start, used))
    length = np.minimum(ends[:pieces], used) - start[:pieces]
    report = Report(
        rows=-(-size // row),
        tokens=used,
        padding=size - used,
        cut_documents=int(crossing(start[:pieces], lengths[:pieces], row).sum()),
        discarded_tokens=total - used,
        context=context(start[:pieces], length, row),
    )
    return RowLayout(start[:pieces], np.arange(pieces), np.zeros(pieces, np.int64), length, size, report)


def concat_at(lengths: Int64s, row: int, breaks: Int64s) -> RowLayout:
    """Documents concatenated, but each row ends with a document or at a break: the last that fits.

    lengths   (documents,) tokens per document, each >= 1
    row       tokens in a row
    breaks    (breaks,) tokens before each, in the concatenation of all documents; rising

    The rest of a row is padding. If there is neither the end of a document nor a break within `row` tokens, the row is
    filled and the document is cut there.
    """
    _check(lengths, row)
    ends = np.cumsum(lengths)
    total = int(lengths.sum())
    cuts = _cuts(np.array([0]), np.array([total]), row, _merged(breaks, ends))
    begins = _merged(ends - lengths, cuts)  # of pieces
    document = np.searchsorted(ends, begins, "right")
    number = np.searchsorted(cuts, begins, "right")
    length: Int64s = np.append(begins[1:], total)[: len(begins)] - begins
    start = number * row + begins - np.append(0, cuts)[number]
    rows = len(cuts) + 1 if total else 0
    cut = int((np.bincount(document, minlength=len(lengths)) > 1).sum())
    report = Report(rows, total, rows * row - total, cut, context=context(start, length, row))
    return RowLayout(start, document, begins - (ends - lengths)[document], length, rows * row, report)


def context(start: Int64s, length: Int64s, row: int) -> int:
    """For pieces that may cross rows: summed over all tokens, how many tokens of the piece are before it in the same
    row."""
    first = np.minimum(length, row - start % row)
    rows, last = np.divmod(length - first, row)
    return int((first * (first - 1) // 2 + rows * (row * (row - 1) // 2) + last * (last - 1) // 2).sum())


def crossing(start: Int64s, lengths: Int64s, row: int) -> Bools:
    """(documents,) which documents cross a row boundary, in a stream cut every `row` tokens."""
    return np.asarray(start // row != (start + lengths - 1) // row)


def best_fit_rows(lengths: Int64s, row: int, breaks: Int64s | None = None) -> RowLayout:
    """Documents that fit a row are kept whole; longer ones are split, and their pieces placed like documents.

    lengths   (documents,) tokens per document, each >= 1
    row       tokens in a row
    breaks    (breaks,) where longer ones are split: tokens before each, in the concatenation of all documents, rising.
              Without them they are split into full rows and a rest

    Pieces are in the order of their documents within a row, followed by padding; rows are in the order of their first
    pieces, so that the order of rows follows the order of documents and not their lengths.
    """
    document, offset, length = split(lengths, row) if breaks is None else split_at(lengths, row, breaks)
    placed = best_fit(length, row)
    order = np.argsort(placed, kind="stable")
    document, offset, length, placed = document[order], offset[order], length[order], placed[order]
    before = np.cumsum(length) - length
    first = np.searchsorted(placed, placed)  # the first piece in the same row
    start = placed * row + before - before[first]
    rows = int(placed[-1]) + 1 if len(placed) else 0
    tokens = int(length.sum())
    cut = int((lengths > row).sum())
    report = Report(rows, tokens, rows * row - tokens, cut, context=context(start, length, row))
    return RowLayout(start, document, offset, length, rows * row, report)


def one_per_row(lengths: Int64s, row: int, breaks: Int64s | None = None) -> RowLayout:
    """Every row holds one document, or a piece of one that is longer than a row; parameters as of `best_fit_rows`.

    >>> one_per_row(np.array([3, 8]), 4).start.tolist()
    [0, 4, 8]
    """
    document, offset, length = split(lengths, row) if breaks is None else split_at(lengths, row, breaks)
    start = np.arange(len(length)) * row
    tokens, size = int(length.sum()), len(length) * row
    report = Report(len(length), tokens, size - tokens, int((lengths > row).sum()), context=context(start, length, row))
    return RowLayout(start, document, offset, length, size, report)


def buckets(lengths: Int64s, row: int, shortest: int = 1) -> RowLayout:
    """Documents as sequences of powers of two; a row holds as many sequences of one length as it has room for.

    lengths    (documents,) tokens per document, each >= 1
    row        tokens in a row, a power of two: that of the longest sequences
    shortest   a power of two up to `row`: the sequence in which what is left of a document is padded

    A document is cut from its beginning into sequences of `row` tokens, then into one for each bit of the rest, the
    longest first. Sequences of one length are in the order of their documents. Rows are in the order of their first
    documents; the last of each length may have room for more sequences, which is padding.

    >>> buckets(np.array([11, 2]), 8, 2).start.tolist()
    [0, 8, 10, 12]
    """
    _check(lengths, row)
    if row & (row - 1) or shortest & (shortest - 1) or not 1 <= shortest <= row:
        raise ValueError(f"rows and sequences are powers of two, 1 <= shortest <= row; got {shortest} and {row}")
    full, remainder = np.divmod(lengths, row)
    sizes = [1 << bit for bit in range(row.bit_length() - 2, shortest.bit_length() - 2, -1)]
    counts = [
        full,
        *((remainder & size) // size for size in sizes),
        ((remainder & (shortest - 1)) > 0).astype(np.int64),
    ]
    slots = [row, *sizes, shortest]  # of the sequences, and the tokens of them
    numbers, offsets, tokens, rooms = [], [], [], []
    before = np.zeros_like(lengths)
    for count, slot in zip(counts, slots):
        number = np.repeat(np.arange(len(lengths)), count)
        index = np.arange(len(number)) - np.repeat(np.cumsum(count) - count, count)
        offset = before[number] + index * slot
        numbers.append(number)
        offsets.append(offset)
        tokens.append(np.minimum(slot, lengths[number] - offset))
        rooms.append(np.full(len(number), slot))
        before = np.minimum(before + count * slot, lengths)
    document, offset, length, slot_size = (np.concatenate(parts) for parts in (numbers, offsets, tokens, rooms))
    order = np.lexsort((offset, document, -slot_size))
    document, offset, length, slot_size = document[order], offset[order], length[order], slot_size[order]
    index = np.arange(len(slot_size)) - np.searchsorted(-slot_size, -slot_size)  # among sequences of the same length
    per_row = row // slot_size
    key = (row.bit_length() - _bits(slot_size)) * (len(slot_size) + 1) + index // per_row
    _, first, row_of = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.lexsort((first, offset[first], document[first]))] = np.arange(len(first))
    start = rank[row_of] * row + index % per_row * slot_size
    by_start = np.argsort(start)
    document, offset, length, start = document[by_start], offset[by_start], length[by_start], start[by_start]
    rows, total = len(first), int(length.sum())
    cut = int((np.bincount(document, minlength=len(lengths)) > 1).sum())
    report = Report(rows, total, rows * row - total, cut, context=context(start, length, row))
    return RowLayout(start, document, offset, length, rows * row, report)


def _bits(sizes: Int64s) -> Int64s:
    """The exponents of powers of two, and one."""
    bits: Int64s = np.log2(sizes).astype(np.int64) + 1
    return bits


def split(lengths: Int64s, limit: int) -> tuple[Int64s, Int64s, Int64s]:
    """Cut documents into pieces of at most `limit` tokens: (pieces,) document, offset in it, length.

    >>> [column.tolist() for column in split(np.array([3, 8]), 4)]
    [[0, 1, 1], [0, 0, 4], [3, 4, 4]]
    """
    _check(lengths, limit)
    pieces = -(-lengths // limit)
    document = np.repeat(np.arange(len(lengths)), pieces)
    index = np.arange(len(document)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    offset = index * limit
    return document, offset, np.minimum(lengths[document] - offset, limit)


def split_at(lengths: Int64s, limit: int, breaks: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Cut documents longer than `limit` at breaks: (pieces,) document, offset in it, length.

    breaks   (breaks,) tokens before each, in the concatenation of all documents; rising

    A piece ends at the last break within `limit` tokens; without one, it has `limit` tokens.

    >>> [column.tolist() for column in split_at(np.array([3, 9]), 4, np.array([6, 11]))]
    [[0, 1, 1, 1], [0, 0, 3, 7], [3, 3, 4, 2]]
    """
    _check(lengths, limit)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    long = lengths > limit
    begins = _merged(starts, _cuts(starts[long], ends[long], limit, breaks))
    document = np.searchsorted(ends, begins, "right")
    offset: Int64s = begins - starts[document]
    stops: Int64s = np.append(begins[1:], ends[-1:])
    return document, offset, stops - begins


def _merged(a: Int64s, b: Int64s) -> Int64s:
    """Two rising arrays as one, each number once."""
    both = np.concatenate([a, b])
    both.sort(kind="stable")  # finds the two runs, and merges them
    once: Int64s = both[np.append(True, both[1:] != both[:-1])[: len(both)]]
    return once


def _cuts(starts: Int64s, stops: Int64s, limit: int, breaks: Int64s) -> Int64s:
    """Where consecutive ranges [start, stop) are cut into pieces of at most `limit` tokens."""
    # Two consecutive pieces have more than `limit` tokens together, or they would be one.
    capacity = int((2 * (stops - starts) // limit + 2).sum())
    out = np.empty(capacity, np.int64)
    return out[: _cut(starts, stops, limit, np.ascontiguousarray(breaks, np.int64), out)]


def best_fit(lengths: Int64s, capacity: int) -> Int64s:
    """Give every document a row, so that no row holds more than `capacity` tokens: best-fit decreasing.

    lengths   (documents,) tokens per document, each in 1..capacity
    returns   (documents,) row per document; rows are numbered 0, 1, … by the first document in them

    Documents are placed by decreasing length (of equals, the first), each in the fullest row that still has room for it
    (of equals, the one that was added to last), or else in a new row. O(documents + rows log capacity).
    Raises ValueError if a length is outside 1..capacity.
    """
    _check(lengths, capacity)
    if len(lengths) and lengths.max() > capacity:
        raise ValueError(f"lengths must be in 1..{capacity}, got {lengths.max()}")
    row = np.empty(len(lengths), np.int64)
    _fill_rows(np.ascontiguousarray(lengths, np.int64), capacity, row)
    _, first, inverse = np.unique(row, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _check(lengths: Int64s, row: int) -> None:
    if row < 1:
        raise ValueError(f"a row must have room for 1 token or more, got {row}")
    if len(lengths) and lengths.min() < 1:
        raise ValueError(f"every document has 1 token or more (EOS), got {lengths.min()}")


@kernel
def _cut(starts: Int64s, stops: Int64s, limit: int, breaks: Int64s, out: Int64s) -> int:
    n = 0
    b = 0  # the first break behind where the next piece begins
    for i in range(len(starts)):
        at, stop = starts[i], stops[i]
        while stop - at > limit:
            while b < len(breaks) and breaks[b] <= at:
                b += 1
            end = at + limit
            while b < len(breaks) and breaks[b] <= at + limit:
                end = breaks[b]
                b += 1
            out[n] = end
            n += 1
            at = end
    return n


@kernel
def _fill_rows(lengths: Int64s, capacity: int, row: Int64s) -> int:
    """Fill `row` and return the number of rows, which are numbered in the order in which they are opened.

    Rows with room left are kept in one stack per size of the room: head[room] is the top, under[row] the row below it.
    `any_room` is a binary tree over the sizes: leaf size + room is true if that stack is not empty, an inner node if
    any of its leaves is, so the smallest sufficient room is found in log2(capacity) steps.
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
        space = _smallest_room(any_room, size, need)
        if space:
            chosen = head[space]
            head[space] = under[chosen]
            if head[space] < 0:
                node = size + space
                any_room[node] = False
                node >>= 1
                while node and not any_room[2 * node] and not any_room[2 * node + 1]:
                    any_room[node] = False
                    node >>= 1
        else:
            chosen = rows
            space = capacity
            rows += 1
        row[i] = chosen
        space -= need
        if space:
            under[chosen] = head[space]
            head[space] = chosen
            node = size + space
            while node and not any_room[node]:
                any_room[node] = True
                node >>= 1
    return rows


@kernel
def _longest_first(lengths: Int64s, capacity: int) -> Int64s:
    """(documents,) a stable counting sort by decreasing length."""
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
def _smallest_room(any_room: Bools, size: int, need: int) -> int:
    """The smallest room >= need of any row; 0 if there is none."""
    node = size + need
    if any_room[node]:
        return need
    # Up until there is a true right neighbour, then down to its leftmost true leaf.
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
    split_at(np.array([9]), 4, np.array([3]))
