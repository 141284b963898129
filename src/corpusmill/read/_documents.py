"""Where readers put records: documents into batches, dead letters and skipped records into `ReadCounts`."""

from collections.abc import Iterator
from typing import Any

import orjson
import pyarrow as pa

from corpusmill.read import BATCH_BYTES, BATCH_ROWS, Piece, ReadCounts
from corpusmill.schema import DOCUMENT, document_id

COLUMNS = tuple(field.name for field in DOCUMENT)


class Documents:
    """Collects the documents of one piece into batches: `add` each, then yield from `full`; at the end, from `rest`."""

    def __init__(self, piece: Piece, source: str, step: str, counts: ReadCounts) -> None:
        self.piece = piece
        self.source = source
        self.step = step
        self.counts = counts
        self.told = 0  # dead letters of which whoever takes the batches has been given the chance to take them away
        self._start()

    def _start(self) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        self.rows = 0
        self.bytes = 0

    def add(
        self,
        position: int,
        *,
        text: str | bytes | None = None,
        raw: bytes | None = None,
        given: str | None = None,
        url: str | None = None,
        date: str | None = None,
        charset: str | None = None,
        metadata: str | bytes | None = None,
    ) -> None:
        """Add the document at `position`; `given` is its id in the input, if it has one."""
        columns = self.columns
        columns["id"].append(self.id(position, given))
        columns["position"].append(position)
        columns["url"].append(url)
        columns["date"].append(date)
        columns["text"].append(text)
        columns["raw"].append(raw)
        columns["charset"].append(charset)
        columns["metadata"].append(metadata)
        self.rows += 1
        self.bytes += len(text or b"") + len(raw or b"") + len(metadata or b"") + len(url or b"")

    def dead(self, position: int, kind: str, reason: str, *, url: str | None = None, expected: bool = False) -> None:
        """Record why the record at `position` is not a document."""
        self.counts.dead(
            id=self.id(position),
            source=self.source,
            file=self.piece.file.path,
            position=position,
            url=url,
            step=self.step,
            kind=kind,
            reason=reason,
            expected=expected,
        )

    def id(self, position: int, given: str | None = None) -> str:
        """The document's id: a hash of its id in the input, else of its address."""
        return document_id(self.source, given if given is not None else f"{self.piece.file.name}:{position}")

    def full(self) -> Iterator[pa.RecordBatch]:
        """The batch, if it is full; as it is, even an empty one, if there are many dead letters, which are taken away
        with batches."""
        if self.rows >= BATCH_ROWS or self.bytes >= BATCH_BYTES or self.counts.dead_letters - self.told >= BATCH_ROWS:
            yield self._take()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """The batch, if there is anything in it."""
        if self.rows:
            yield self._take()

    def _take(self) -> pa.RecordBatch:
        columns, rows = self.columns, self.rows
        columns["source"] = [self.source] * rows
        columns["file"] = [self.piece.file.path] * rows
        batch = pa.record_batch([pa.array(columns[field.name], field.type) for field in DOCUMENT], schema=DOCUMENT)
        self.counts.records += rows
        self.counts.documents += rows
        self.told = self.counts.dead_letters
        self._start()
        return batch


def as_json(values: dict[str, Any]) -> bytes | None:
    """Metadata as it is stored: JSON with sorted keys; None if empty."""
    return orjson.dumps(values, _str, orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS) if values else None


def _str(value: object) -> object:
    """A value that JSON has no type for: bytes as text, anything else as str()."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
