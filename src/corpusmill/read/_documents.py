"""Where readers put records: documents into batches, dead letters and skipped records into `ReadCounts`."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import orjson
import pyarrow as pa

from corpusmill.errors import RecipeError, RecordError, did_you_mean
from corpusmill.read import BATCH_BYTES, BATCH_ROWS, FilePiece, ReadCounts, split_bytes, whole_file
from corpusmill.read._own_columns import OwnColumns
from corpusmill.schema import DOCUMENT, document_id
from corpusmill.storage import FileInfo, printable

MAX_METADATA = 1 << 29  # bytes: a batch of two, and what a record's address takes, are below what a column can hold
COLUMNS = tuple(field.name for field in DOCUMENT)


class Unfit(RecordError):
    """A record that cannot be stored as a document; `kind` is that of its dead letter."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class DocumentBatches:
    """Collects the documents of a piece into batches: `add` each, yield from `full`; at the end, from `remainder`."""

    def __init__(self, piece: FilePiece, source: str, step: str, counts: ReadCounts) -> None:
        self.piece = piece
        self.file = printable(piece.file.path)
        self.source = source
        self.step = step
        self.counts = counts
        self.own = None if counts.columns is None else OwnColumns(counts.columns)
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

    def unreadable(self, position: int, error: RecordError, kinds: Mapping[type[RecordError], str]) -> None:
        """Add the dead letter of what cannot be read. `too_large` is expected."""
        kind = kinds.get(type(error), "damaged")
        self.dead(position, kind, str(error), expected=kind == "too_large")

    def full(self) -> Iterator[pa.RecordBatch]:
        """The batch, if it is full; as it is, even an empty one, if there are many dead letters, which are taken away
        with batches."""
        many = self.counts.dead_letters - self.told >= BATCH_ROWS
        if self.rows >= self.counts.batch_rows or self.bytes >= BATCH_BYTES or many:
            yield self._take()

    def remainder(self) -> Iterator[pa.RecordBatch]:
        """The batch, if there is anything in it."""
        if self.rows:
            yield self._take()

    def _take(self) -> pa.RecordBatch:
        columns, rows = self.columns, self.rows
        columns["source"] = [self.source] * rows
        columns["file"] = [self.file] * rows
        batch = pa.record_batch([pa.array(columns[field.name], field.type) for field in DOCUMENT], schema=DOCUMENT)
        if self.own is not None:
            batch = pa.RecordBatch.from_pydict({**dict(zip(COLUMNS, batch.columns)), **self.own.take(rows)})
        self.counts.records += rows
        self.counts.documents += rows
        self.told = self.counts.dead_letters
        self._start()
        return batch


class FileReader(ABC):
    """What readers share: how files are split, and what becomes of one that has no bytes.

    step   the reader's name in dead letters: "read/jsonl"
    """

    step: ClassVar[str]

    def __post_init__(self) -> None:
        if (max_mb := getattr(self, "max_mb", 1.0)) <= 0:
            raise RecipeError(f"need max_mb > 0, got {max_mb}")

    def can_cut(self, file: FileInfo) -> bool:
        """Whether a file can be read from the middle."""
        return False

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[FilePiece]:
        pieces: list[FilePiece] = []
        for file in files:
            cut = file.size > target_bytes and self.can_cut(file)
            pieces += split_bytes(file, target_bytes) if cut else [whole_file(file)]
        return pieces

    def read(self, piece: FilePiece, source: str, counts: ReadCounts) -> Iterator[pa.RecordBatch]:
        docs = DocumentBatches(piece, source, self.step, counts)
        if piece.file.size == 0:
            docs.dead(0, "empty_file", "the file has no bytes", expected=True)
        else:
            yield from self.documents(piece, docs)
        yield from docs.remainder()

    @abstractmethod
    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        """Adds the documents of a piece that has bytes, and gives the batches that are full."""


def check_choice(parameter: str, value: str, choices: Sequence[str]) -> None:
    """Raises RecipeError unless a parameter has one of these values."""
    if value not in choices:
        near = did_you_mean(value, choices)
        raise RecipeError(f'{parameter} must be one of {", ".join(choices)}, got "{value}"{near}')


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
        raise Unfit(kind, f"the other columns cannot be kept as metadata: {_metadata_problem(error)}") from error
    if len(data) > MAX_METADATA:
        reason = f"the other columns have {len(data)} bytes as JSON, and at most {MAX_METADATA} are kept as metadata"
        raise Unfit("too_large", reason)
    return data


def _metadata_problem(error: TypeError) -> str:
    return "they are nested too deep" if "ecursion" in str(error) else str(error)


def _str(value: object) -> object:
    """A value that JSON has no type for: bytes as text, anything else as str()."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
