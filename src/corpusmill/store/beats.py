"""Heartbeats: how far an attempt at a unit is, said while it is at work. Nothing that is written depends on them."""

import time
from collections.abc import Callable
from dataclasses import dataclass

EVERY = 0.5  # seconds between two beats, at least


@dataclass(frozen=True)
class Beat:
    """How far an attempt at a unit is.

    done, total   of what it reads, in the work's own measure (bytes of input, rows, partitions); total 0: not known
    documents     that it has seen
    kept          of these
    bytes_in      of these documents as they came: of pages, their HTML
    text          bytes of their text, as it is at the end of a pass
    """

    done: int = 0
    total: int = 0
    documents: int = 0
    kept: int = 0
    bytes_in: int = 0
    text: int = 0

    @property
    def share(self) -> float:
        """Of what the unit reads, 0 to 1."""
        return min(self.done / self.total, 1.0) if self.total else 0.0


class Heart:
    """Adds up what a unit does, and sends it at most every EVERY seconds. Without `send` it costs nothing.

    >>> beats = []
    >>> heart = Heart(beats.append, every=0)
    >>> heart.add(documents=10, kept=7)
    >>> heart.at(50, 200)
    >>> beats[0].share, beats[0].kept
    (0.25, 7)
    """

    def __init__(self, send: Callable[[Beat], None] | None = None, every: float = EVERY) -> None:
        self._send, self._every = send, every
        self._next = time.monotonic() + every
        self._done = self._total = 0
        self._documents = self._kept = self._bytes_in = self._text = 0

    def add(self, documents: int, kept: int = 0, bytes_in: int = 0, text: int = 0) -> None:
        """Count some documents more."""
        self._documents += documents
        self._kept += kept
        self._bytes_in += bytes_in
        self._text += text
        self._beat()

    def at(self, done: int, total: int) -> None:
        """Note how much of its input the unit has done."""
        self._done, self._total = done, total
        self._beat()

    def _beat(self) -> None:
        if self._send is None or time.monotonic() < self._next:
            return
        counts = (self._documents, self._kept, self._bytes_in, self._text)
        self._send(Beat(self._done, self._total, *counts))
        self._next = time.monotonic() + self._every
