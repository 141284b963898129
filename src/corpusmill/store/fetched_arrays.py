"""Files of arrays in an object store, of which only the rows are fetched that are read."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.store.arrays import Arrays, arrays_in, described, size_of_head
from corpusmill.store.node_cache import FetchedBlocks

FIRST = 1 << 16  # bytes of a file, its first, that are fetched at once: they say where its arrays and partitions are


class FetchedArrays(Arrays):
    """As those of `map_arrays`. What is asked for as a whole is fetched as a whole."""

    def __init__(self, blocks: FetchedBlocks) -> None:
        self.blocks = blocks
        size = size_of_head(self._first(min(FIRST, blocks.size)), blocks.name, blocks.size)
        head = self._first(size)
        super().__init__(arrays_in(blocks.mapped, head))
        self.described = described(head)

    def _first(self, size: int) -> bytes:
        """The first bytes of the file."""
        self.blocks.fetch(np.zeros(1, np.int64), np.array([size]))
        return self.blocks.mapped[:size]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.with_rows(name, np.zeros(1, np.int64), np.array([self.rows(name)]))

    def part(self, name: str, start: int, stop: int) -> NDArray[Any]:
        return self.with_rows(name, np.array([start]), np.array([stop]))[start:stop]

    def take(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        return self.with_rows(name, rows, rows + 1)[rows]

    def with_rows(self, name: str, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[Any]:
        array = self.arrays[name]
        if len(array):
            *_, begin, row = self.described[name]
            self.blocks.fetch(begin + starts * row, begin + stops * row)
        return array

    def will_read(self, name: str, start: int, stop: int) -> None:
        self.part(name, start, stop)

    def will_need(self, name: str, rows: NDArray[np.int64]) -> None:
        self.with_rows(name, rows, rows + 1)
