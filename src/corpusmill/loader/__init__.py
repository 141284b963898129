"""From training shards to batches. Needs NumPy only, so a training loop can use it alone.

>>> from corpusmill import loader
>>> data = loader.open("shards")                                     # doctest: +SKIP
>>> batch = data.batch(step=0, batch_size=8, sequence_length=1024)   # doctest: +SKIP
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import ShardError
from corpusmill.shards import Shards, open_shards
from corpusmill.shards.layout import PADDING

IGNORE = -100  # as a target: nothing to learn here. The number that PyTorch's cross entropy leaves out by itself


def open(path: str | Path) -> "Loader":
    """Open a folder of training shards. Raises ShardError if it is damaged or is none."""
    return Loader(open_shards(path))


class Loader:
    """Batches of rows, in the order of the shards: what a batch holds depends on its step alone."""

    def __init__(self, shards: Shards) -> None:
        self.shards = shards

    def steps(self, batch_size: int, sequence_length: int | None = None) -> int:
        """Batches in one pass over the data; the last may have fewer rows."""
        return -(-self._rows(self._length(sequence_length)) // batch_size)

    def batch(self, step: int, batch_size: int, sequence_length: int | None = None) -> dict[str, NDArray[Any]]:
        """The rows [step × batch_size, (step + 1) × batch_size), each (rows, sequence_length) int64:

        tokens         ids; a row that the data ends in is filled with padding
        targets        the next token of the same document; IGNORE at its end, in padding, and where the rest of a document
                       stands elsewhere (packing `best_fit` cuts documents longer than a row)
        document_ids   number of the document of each token; -1 in padding
        positions      of each token in its document; 0 in padding

        sequence_length   that of the shards if not given; for packing `concat` it may be another
        Raises ShardError for a step past the last, and for another length where packing keeps documents in rows.
        """
        length = self._length(sequence_length)
        rows = self._rows(length)
        if step < 0 or batch_size < 1 or step * batch_size >= rows:
            raise ShardError(
                f"{self.shards.folder}: there is no step {step}; with {batch_size} rows of {length} tokens a step, one "
                f"pass has {self.steps(max(batch_size, 1), length)} steps, from 0."
            )
        start = step * batch_size * length
        count = min(batch_size, rows - step * batch_size)
        # One token more than the rows hold, as the last one's target.
        tokens, document, position = self._read(start, count * length + 1)
        goes_on = (document[1:] == document[:-1]) & (position[1:] == position[:-1] + 1)
        targets = np.where(goes_on, tokens[1:], IGNORE)
        columns = {"tokens": tokens[:-1], "targets": targets, "document_ids": document[:-1], "positions": position[:-1]}
        return {name: column.reshape(count, length) for name, column in columns.items()}

    def _read(self, start: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """`count` tokens with document and position; beyond the data there is padding."""
        stop = min(start + count, len(self.shards))
        tokens = np.full(count, self.shards.index.pad_id, np.int64)
        tokens[: stop - start] = self.shards.tokens(start, stop)
        document = np.full(count, PADDING, np.int64)
        position = np.zeros(count, np.int64)
        spans = self.shards.spans(start, stop)
        lengths = np.diff(np.append(spans.start, stop - start))
        document[: stop - start] = np.repeat(spans.document, lengths)
        position[: stop - start] = np.arange(stop - start) - np.repeat(spans.start - spans.offset, lengths)
        position[document == PADDING] = 0
        return tokens, document, position

    def _rows(self, length: int) -> int:
        return -(-len(self.shards) // length)

    def _length(self, asked: int | None) -> int:
        packed = self.shards.index.sequence_length
        if asked is not None and asked < 1:
            raise ShardError(f"sequence_length must be 1 or more, got {asked}.")
        if asked is not None and asked != packed and self.shards.index.packing == "best_fit":
            raise ShardError(
                f"{self.shards.folder}: documents are packed into rows of {packed} tokens (best_fit), so rows of "
                f"{asked} would cut them. Use {packed}, or pack again."
            )
        return asked or packed
