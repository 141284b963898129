"""Where readers put records: documents into batches, dead letters and skipped records into `ReadCounts`."""

from collections.abc import Iterator
from typing import Any

import orjson
import pyarrow as pa

from corpusmill.errors import RecordError
from corpusmill.read import BATCH_BYTES, BATCH_ROWS, Piece, ReadCounts
from corpusmill.schema import DOCUMENT, document_id
from corpusmill.storage import printable

MAX_METADATA = 1 << 29  # bytes: a batch of two, and what a record's address takes, are below what a column can hold
COLUMNS = tuple(field.name for field in DOCUMENT)


class Unfit(RecordError):
    """A record that cannot be stored as a document; `kind` is that of its dead letter."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class DocumentBatches:
    """Collects the documents of one piece into batches: `add` each, then yield from `full`; at the end, from `rest`."""

    def __init__(self, piece: Piece, source: str, step: str, counts: ReadCounts) -> None:
        self.piece = piece
        self.file = printable(piece.file.path)
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
            file=self.file,
            position=position,
            url=url,
            step=self.step,
            kind=kind,
            reason=printable(reason),  # it may have a path in it
            expected=expected,
        )

    def id(self, position: int, given: str | None = None) -> str:
        """The document's id: a hash of its id in the input, else of its address."""
        return document_id(self.source, given if given is not None else f"{self.piece.file.name}:{position}")

    def full(self) -> Iterator[pa.RecordBatch]:
        """The batch, if it is full; as it is, even an empty one, if there are many dead letters, which are taken away
        with batches."""
        many = self.counts.dead_letters - self.told >= BATCH_ROWS
        if self.rows >= self.counts.batch_rows or self.bytes >= BATCH_BYTES or many:
            yield self._take()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """The batch, if there is anything in it."""
        if self.rows:
            yield self._take()

    def _take(self) -> pa.RecordBatch:
        columns, rows = self.columns, self.rows
        columns["source"] = [self.source] * rows
        columns["file"] = [self.file] * rows
        batch = pa.record_batch([pa.array(columns[field.name], field.type) for field in DOCUMENT], schema=DOCUMENT)
        self.counts.records += rows
        self.counts.documents += rows
        self.told = self.counts.dead_letters
        self._start()
        return batch


def as_json(values: dict[str, Any]) -> bytes | None:
    """Metadata as it is stored: JSON with sorted keys; None if empty. Raises Unfit if it cannot be stored.

    Numbers that JSON does not have (NaN, infinity) are null; what it has no type for is text.
    """
    if not values:
        return None
    try:
        # In a list, because a writer puts it in an object, and so deep orjson must be able to write it.
        data = orjson.dumps([values], _str, orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)[1:-1]
    except TypeError as error:
        kind = "too_deep" if "ecursion" in str(error) else "bad_metadata"
        raise Unfit(kind, f"the other columns cannot be kept as metadata: {_said(error)}") from error
    if len(data) > MAX_METADATA:
        reason = f"the other columns have {len(data)} bytes as JSON, and at most {MAX_METADATA} are kept as metadata"
        raise Unfit("too_large", reason)
    return data


def _said(error: TypeError) -> str:
    return "they are nested too deep" if "ecursion" in str(error) else str(error)


def _str(value: object) -> object:
    """A value that JSON has no type for: bytes as text, anything else as str()."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
