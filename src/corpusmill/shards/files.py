"""The files of a folder of training shards, mapped into memory. Needs NumPy and the standard library only."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.shards.layout import Entry, Index, Spans, stored


class ShardFiles:
    """A folder of shards and its index; each file is mapped on first use, and stays mapped until `release`."""

    def __init__(self, folder: Path, index: Index) -> None:
        self.folder = folder
        self.index = index
        self._tokens: dict[int, NDArray[Any]] = {}
        self._spans: dict[int, Spans] = {}

    def tokens(self, entry: Entry) -> NDArray[Any]:
        """All tokens of a shard, padding included."""
        if entry.number not in self._tokens:
            path = self.folder / self.index.tokens_name(entry.number)
            mapped = np.memmap(path, stored(self.index.dtype), "r", 0, (entry.tokens,))
            self._tokens[entry.number] = np.asarray(mapped)
        return self._tokens[entry.number]

    def spans(self, entry: Entry) -> Spans:
        """Which document each token of a shard belongs to. Raises ShardError if the file is damaged."""
        if entry.number not in self._spans:
            self._spans[entry.number] = Spans.map(self.folder / self.index.spans_name(entry.number), entry.tokens)
        return self._spans[entry.number]

    def release(self) -> None:
        """Unmap all files: pages that were read count as memory of the process. They are mapped again on next use."""
        self._tokens.clear()
        self._spans.clear()
