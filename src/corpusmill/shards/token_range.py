"""A range of tokens of finished shards, as writers of rows take it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.shards.layout import DocumentSpans
from corpusmill.shards.reader import Shards


@dataclass(frozen=True)
class TokenRange:
    """The tokens [start, stop) of shards; `start` is the beginning of a row."""

    shards: Shards
    start: int
    stop: int

    @property
    def row(self) -> int:
        return self.shards.row_length

    @property
    def size(self) -> int:
        return self.stop - self.start

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.shards.dtype

    @cached_property
    def spans(self) -> DocumentSpans:
        return self.shards.spans(self.start, self.stop)

    def chunks(self, rows: int) -> Iterator[NDArray[Any]]:
        """The tokens, `rows` rows at a time; only the last row may be short."""
        step = self.row * rows
        for low in range(self.start, self.stop, step):
            yield self.shards.tokens(low, min(low + step, self.stop))
