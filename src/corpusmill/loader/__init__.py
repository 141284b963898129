"""From training shards to batches. Needs NumPy only, so a training loop can use it alone.

>>> from corpusmill.loader import TokenLoader
>>> loader = TokenLoader("shards", seq_len=1024, batch_size=8, seed=1)    # doctest: +SKIP
>>> for batch in loader: ...                                         # doctest: +SKIP

    tokens    TokenLoader: shuffled, mixed, resumable batches
    order     the n-th sample as a function, without state
    source    rows by their number, for trainers with loaders of their own: Grain, torchtitan, MaxText
    olmo      the same for OLMo-core
    rows      the rows of a folder of shards
    columns   the columns of a batch: targets, document numbers, positions
    exposure  the steps in which training sees a document
    arguments  what a training loop passes, checked
    stages    StageLoader: pre-training, annealing, long context, one after the other
    loss      which tokens have no loss, by the index of the shards
    masks     which token may attend to which
    torch     a TokenLoader under PyTorch's DataLoader
"""

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.display import table
from corpusmill.errors import ShardError
from corpusmill.loader.arguments import flag, whole_number
from corpusmill.loader.exposure import Served
from corpusmill.loader.rows import FIELDS, IGNORE, ShardRows
from corpusmill.loader.source import RowSource
from corpusmill.loader.tokens import Piece, TokenLoader
from corpusmill.shards import Shards, open_shards
from corpusmill.shards.layout import TRAIN

__all__ = ["FIELDS", "IGNORE", "Loader", "Piece", "RowSource", "Served", "TokenLoader", "open"]


def open(
    path: str | PathLike[str], seq_len: int | None = None, *, split: str = TRAIN, verify: bool = False
) -> "Loader":
    """Open training shards for inspection: their folder, or the run that wrote them.

    Raises ShardError if there are none, or they are damaged.

    seq_len  tokens in a row, by default that of the shards; those that were written without packing need one
    split    "validation": those that the recipe's `split` keeps back
    verify   read every file now and compare it with its checksum, as in `TokenLoader`
    """
    return Loader(open_shards(path, split=split, verify=flag("verify", verify)), seq_len)


class Loader:
    """Batches of rows in the order of the shards, for inspection. For training use TokenLoader."""

    def __init__(self, shards: Shards, seq_len: int | None = None) -> None:
        self.shards = shards
        self.seq_len = seq_len

    def __repr__(self) -> str:
        length = self.seq_len or self.shards.index.sequence_length
        if not len(self.shards):
            rows = "no rows"
        else:
            rows = f"{len(ShardRows(self.shards, length)):,} rows of {length:,}" if length else "no rows: give seq_len"
        return f"<Loader of {self.shards.folder}: {len(self.shards):,} tokens of {self.shards.index.tokenizer}, {rows}>"

    def _repr_html_(self) -> str:
        index = self.shards.index
        rows: list[list[object]] = [
            ["tokens", f"{index.tokens:,}, {index.padding:,} of them padding"],
            ["tokenizer", index.tokenizer],
            ["packing", index.packing],
            ["tokens in a row", self.seq_len or index.sequence_length],
            ["documents", index.documents],
            ["files", len(index.shards)],
        ]
        return table(f"Shards {self.shards.folder}", ["", ""], rows)

    def steps(self, batch_size: int, seq_len: int | None = None) -> int:
        """Batches in one pass over the data; the last may have fewer rows."""
        return -(-len(ShardRows(self.shards, self._length(seq_len))) // whole_number("batch_size", batch_size, 1))

    def batch(self, step: int, batch_size: int, seq_len: int | None = None) -> dict[str, NDArray[Any]]:
        """The rows [step × batch_size, (step + 1) × batch_size), as `rows.Rows.read` returns them.

        seq_len   by default the loader's, or that of the shards; packing `concat` allows any other
        Raises ShardError for a step past the last, and for another length if packing keeps documents within rows.
        """
        rows = ShardRows(self.shards, self._length(seq_len))
        step, batch_size = whole_number("step", step), whole_number("batch_size", batch_size, 1)
        if not 0 <= step * batch_size < len(rows):
            raise ShardError(
                f"{self.shards.folder}: no step {step}; with {batch_size} rows of {rows.length} tokens per step, one "
                f"epoch has {self.steps(batch_size, seq_len)} steps, from 0."
            )
        return rows.read(np.arange(step * batch_size, min((step + 1) * batch_size, len(rows))))

    def _length(self, seq_len: int | None) -> int | None:
        return self.seq_len if seq_len is None else seq_len
