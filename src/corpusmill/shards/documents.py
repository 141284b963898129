"""The documents of finished shards in order, however they were packed."""

from collections.abc import Iterator
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import ShardError
from corpusmill.shards.layout import PADDING
from corpusmill.shards.reader import Shards
from corpusmill.text.array_types import Int64s

TOKENS_PER_BLOCK = 1 << 22  # tokens; a block ends with the document that reaches this size


class DocumentRange(NamedTuple):
    """Neighbouring documents.

    first     number of the first
    ids       (tokens,) all their tokens, EOS at the end of each document
    lengths   (documents,) tokens of each
    """

    first: int
    ids: NDArray[Any]
    lengths: Int64s


def documents(shards: Shards, block: int = TOKENS_PER_BLOCK) -> Iterator[DocumentRange]:
    """Every document once, in order of their numbers, without padding and without those that are forgotten. Holds one
    block in memory, and the spans of one shard.

    A document that continues in the next shard is joined. Only the last one may lack its end: if the packer dropped the
    remainder of the stream.

    Raises ShardError if the spans do not hold the documents in order; `verify` reports details.
    """
    for part in _with_forgotten(shards, block):
        yield from _without_forgotten(part, shards.forgotten) if len(shards.forgotten) else (part,)


def _without_forgotten(part: DocumentRange, forgotten: Int64s) -> Iterator[DocumentRange]:
    """The runs of neighbouring documents that are not forgotten."""
    numbers = np.arange(part.first, part.first + len(part.lengths))
    edges = np.append(0, np.cumsum(part.lengths))
    cuts = np.flatnonzero(np.isin(numbers, forgotten))
    for low, high in zip([0, *(cuts + 1).tolist()], [*cuts.tolist(), len(numbers)]):
        if low < high:
            yield DocumentRange(part.first + low, part.ids[edges[low] : edges[high]], part.lengths[low:high])


def _with_forgotten(shards: Shards, block: int) -> Iterator[DocumentRange]:
    expected = 0
    carried: DocumentRange | None = None  # the beginning of a document that continues in the next shard
    for number in range(len(shards.index.shards)):
        tokens, runs = shards.mapped(number), shards.runs(number)
        length = np.append(runs.start[1:], len(tokens)) - runs.start
        pieces = np.flatnonzero(runs.document != PADDING)
        pieces = pieces[np.lexsort((runs.offset[pieces], runs.document[pieces]))]
        if not len(pieces):
            continue
        who, start, length = runs.document[pieces], runs.start[pieces], length[pieces]
        head = np.flatnonzero(np.append(True, who[1:] != who[:-1]))  # the first piece of each document
        first = int(who[0])
        if first != expected or not np.array_equal(who[head], np.arange(first, first + len(head))):
            raise ShardError(
                f"{shards.folder}: documents from {expected} on were expected in shard {number}; it holds {len(head)} "
                f"from {first} on. For details: corpusmill verify {quote(str(shards.folder))}"
            )
        if int(runs.offset[pieces[0]]) != (int(carried.lengths[0]) if carried else 0):
            raise ShardError(
                f"{shards.folder}: document {first} does not continue in shard {number} where it stopped. For details: "
                f"corpusmill verify {quote(str(shards.folder))}"
            )
        sizes = np.add.reduceat(length, head)
        ends = np.append(head[1:], len(pieces))
        total = np.cumsum(sizes)
        low = 0
        while low < len(head):
            target = int(total[low] - sizes[low]) + block
            high = min(len(head), 1 + int(np.searchsorted(total, target)))
            a, b = int(head[low]), int(ends[high - 1])
            part = DocumentRange(first + low, gathered(tokens, start[a:b], length[a:b]), sizes[low:high])
            if carried is not None:
                part = _joined(carried, part)
                carried = None
            low = high
            if low == len(head) and _goes_on(shards, number, part):
                part, carried = _without_last(part)
            if len(part.lengths):
                yield part
        expected = first + len(head) - (1 if carried is not None else 0)
        shards.release()
    if carried is not None:
        yield carried


def _goes_on(shards: Shards, number: int, part: DocumentRange) -> bool:
    """Whether the last of these documents, with which a shard ends, continues in the next one, or has lost its end."""
    last = part.first + len(part.lengths) - 1
    if last not in shards.erased:
        return bool(part.ids[-1] != shards.index.eos_id)
    is_last = number + 1 == len(shards.index.shards)
    return not is_last and bool((shards.runs(number + 1).document == last).any())


def gathered(tokens: NDArray[Any], start: Int64s, length: Int64s) -> NDArray[Any]:
    """Ranges of an array, concatenated; a view if they are already adjacent."""
    if (start[1:] == start[:-1] + length[:-1]).all():
        return tokens[int(start[0]) : int(start[-1] + length[-1])]
    return np.concatenate([tokens[a : a + n] for a, n in zip(start.tolist(), length.tolist())])


def _joined(head: DocumentRange, tail: DocumentRange) -> DocumentRange:
    lengths = tail.lengths.copy()
    lengths[0] += len(head.ids)
    return DocumentRange(tail.first, np.concatenate([head.ids, tail.ids]), lengths)


def _without_last(documents: DocumentRange) -> tuple[DocumentRange, DocumentRange]:
    cut = len(documents.ids) - int(documents.lengths[-1])
    last = DocumentRange(documents.first + len(documents.lengths) - 1, documents.ids[cut:], documents.lengths[-1:])
    return DocumentRange(documents.first, documents.ids[:cut], documents.lengths[:-1]), last
