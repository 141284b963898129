"""Rows by their number, for trainers with a loader of their own: they need `len(source)` and `source[n]`, no more.

>>> grain.MapDataset.source(RowSource("shards", 2048)).shuffle(seed=1).batch(8)      # doctest: +SKIP
"""

import hashlib
import operator
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import ShardError
from corpusmill.loader.arguments import whole_number
from corpusmill.loader.columns import FIELDS
from corpusmill.loader.rows import check_fields
from corpusmill.loader.tokens import MAX_SAMPLES, Path_, TokenLoader
from corpusmill.shards.layout import TRAIN

ROW_FIELDS = tuple(name for name in FIELDS if name != "cu_seqlens")  # the others have one value a token


class RowSource:
    """Rows of training shards, each a dictionary of arrays of `seq_len` values, by number.

    path      as for TokenLoader: a folder of shards, a run, or {folder: weight}
    seq_len   tokens in a row, by default that of the shards
    seed      None: the rows in the order of the shards, for the trainer to shuffle. Otherwise row n is the n-th sample
              of the TokenLoader with this seed, and the trainer must not shuffle
    samples   length; by default all rows once. More than that goes on with the next epoch. A mixture needs it
    fields    some of ROW_FIELDS, as `rows.Rows.read` explains them
    split, tokenizer, verify   as for TokenLoader

    It can be read by threads, and sent to other processes: these map the files themselves. Raises ShardError as
    TokenLoader does; reading raises IndexError for a number out of range.
    """

    def __init__(
        self,
        path: Path_ | Mapping[Path_, float] | Sequence[Path_],
        seq_len: int | None = None,
        *,
        seed: int | None = None,
        samples: int | None = None,
        fields: Collection[str] = ROW_FIELDS,
        split: str = TRAIN,
        tokenizer: Any = None,
        verify: bool = False,
    ) -> None:
        self.loader = TokenLoader(
            path,
            seq_len,
            batch_size=1,
            seed=0 if seed is None else seed,
            shuffle=seed is not None,
            fields=check_fields(fields, ROW_FIELDS),
            split=split,
            tokenizer=tokenizer,
            verify=verify,
        )
        if samples is None and len(self.loader.rows) > 1:
            raise ShardError("a mixture has no common epoch: say how many samples, RowSource(…, samples=1_000_000).")
        self._samples = (
            len(self.loader.rows[0]) if samples is None else whole_number("samples", samples, 1, MAX_SAMPLES)
        )

    def __len__(self) -> int:
        return self._samples

    def __getitem__(self, number: int) -> dict[str, NDArray[Any]]:
        at = operator.index(number)
        at += self._samples if at < 0 else 0
        if not 0 <= at < self._samples:
            raise IndexError(f"row {number} of {self._samples}")
        # Not `loader.batch_after`, which keeps the samples around this one: numbers come in any order.
        drawn = self.loader.order.compute(np.array([at]))
        batch = self.loader.rows[int(drawn.source[0])].read(drawn.row, self.loader.fields)
        return {name: column[0] for name, column in batch.items()}

    def __repr__(self) -> str:
        return f"<RowSource of {', '.join(self.loader.names)}: {self._samples:,} rows of {self.loader.length:,} tokens>"

    def fingerprint(self) -> str:
        """SHA-256 of all that decides what row n is, wherever the folder is."""
        facts = [self._samples, self.loader.state_dict()]
        for opened in self.loader.shards:
            facts += [entry.tokens_xxh3_128 for entry in opened.index.shards] + opened.forgotten.tolist()
        return hashlib.sha256(repr(facts).encode()).hexdigest()
