"""One object, open for reading."""

import io
import os
from collections.abc import Callable
from typing import Any

from corpusmill.storage.places import BLOCK

FIRST_WINDOW, MAX_WINDOW = 256 << 10, 2 * BLOCK  # bytes that are asked for, first and at most: they double


class ObjectFile(io.RawIOBase):
    """An object, read through a window of bytes that grows as long as reading goes on from where it was.

    size     bytes
    ranges   gives its bytes [start, stop), all of which are there
    """

    def __init__(self, size: int, ranges: Callable[[int, int], bytes]) -> None:
        self._size = size
        self._ranges = ranges
        self._at = 0
        self._start, self._held, self._next = 0, b"", FIRST_WINDOW

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        if not self._start <= self._at < self._start + len(self._held):
            self._fill(len(view))
        at = self._at - self._start
        data = memoryview(self._held)[at : at + len(view)]
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _fill(self, minimum: int) -> None:
        goes_on = self._at == self._start + len(self._held)
        self._next = min(2 * self._next, MAX_WINDOW) if goes_on and self._held else FIRST_WINDOW
        self._start, stop = self._at, min(self._at + max(self._next, minimum), self._size)
        self._held = b""
        self._held = self._ranges(self._start, stop) if stop > self._start else b""
