"""Readers: from files to documents, one module per format.

A format is named by its module: `jsonl` in a recipe is the class JsonlReader in jsonl.py, and being there is all that
registers it. Modules whose name begins with "_" are shared by several formats. A reader of your own is named
`module:Class`. In Python, `from corpusmill.read import JsonlReader`.

A reader is a frozen dataclass whose fields are its parameters. It splits files into pieces when the run is planned, and
reads one piece at a time in a worker. What it reads depends on the piece alone, and the pieces of a file give the same
documents as the whole file in one piece.

Nothing is lost silently: every record is a document, a dead letter, or counted under its kind as a record that could
not be a document; `ReadCounts.records` is the sum of the three.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

import pyarrow as pa

from corpusmill.assets.registry import Registry
from corpusmill.hidden import masked
from corpusmill.read import _content
from corpusmill.read._content import COMPRESSED, reader_of_records
from corpusmill.read._expansion import expansion
from corpusmill.read._hub_datasets import dataset_files, is_dataset, is_whole
from corpusmill.read._values import numbered, to_python
from corpusmill.schema import DEAD
from corpusmill.storage import FileInfo, PassedOver, expand, has_ending

__all__ = [
    "BATCH_BYTES",
    "BATCH_ROWS",
    "END",
    "HTML_PAGES",
    "ChoosesFiles",
    "ColumnTypes",
    "Describes",
    "FindsFiles",
    "GivesPages",
    "KeepsColumns",
    "LooksBack",
    "PageKind",
    "Piece",
    "ReadCounts",
    "Reader",
    "SelectsRecords",
    "content_of",
    "dataset_files",
    "expansion",
    "files_at",
    "find",
    "is_dataset",
    "is_whole",
    "names",
    "plain_rows",
    "reader_of_records",
    "readers_by_ending",
    "split_bytes",
    "whole_file",
]

PUBLIC = ("Piece", "ReadCounts", "Reader", "find", "names")
BATCH_BYTES = 8 << 20  # of text, raw, metadata, URLs: a batch, its copies and measures stay within a few times this
BATCH_ROWS = 2048
LAYOUTS = ("dolma", "redpajama")  # readers of JSON lines that have more beside them
END = 1 << 62  # as the stop of a piece: to the end of the file


@dataclass(frozen=True)
class FilePiece:
    """A part of one file that a worker reads: records that begin in [start, stop)."""

    file: FileInfo
    start: int = 0  # a byte offset, or a row group or batch number: the reader's own unit
    stop: int = END
    size: int = 0  # bytes of the file that the piece covers, for sharing the work evenly


Piece = FilePiece  # its public name


@dataclass
class ReadCounts:
    """Outcomes of the records that were read: documents, dead letters, skipped records."""

    records: int = 0
    documents: int = 0
    skipped: Counter[str] = field(default_factory=Counter)  # kind -> records that could not be documents
    letters: list[dict[str, Any]] = field(default_factory=list)  # dead letters not yet drained, columns of DEAD
    dead_letters: int = 0  # all, drained or not
    faults: int = 0  # dead letters that were not expected: what the error budget counts
    unread_dates: int = 0  # documents whose date is none that can be read: it is null, and the value is in `metadata`
    unread_dates_sample: str = ""  # the first of these values
    broken_texts: int = 0  # records with bytes that are not in their charset, which become U+FFFD
    batch_rows: int = BATCH_ROWS  # documents in the next batch at most; lowered where a record must be found
    columns: pa.Schema | None = None  # columns of the input that documents bring with them, if their source keeps any

    def dead(self, *, kind: str, reason: str, expected: bool = False, **address: Any) -> None:
        """Add a dead letter: a record that should have been a document, and is not.

        kind       a short stable name
        reason     a sentence for people
        expected   nothing is wrong (an image, a 404): reported, but not charged to the error budget
        address    id, source, file, position, url, step, as in DEAD
        """
        self.records += 1
        self.dead_letters += 1
        self.faults += not expected
        self.letters.append({**address, "kind": kind, "reason": masked(reason), "expected": expected})

    def skip(self, kind: str, count: int = 1) -> None:
        """Count records that could not be documents under their kind."""
        self.records += count
        self.skipped[kind] += count

    def unread_date(self, value: str) -> None:
        """Count a document that has something else where its date should be."""
        self.unread_dates += 1
        self.unread_dates_sample = self.unread_dates_sample or value[:40]

    def drain(self) -> pa.RecordBatch:
        """The dead letters since the last call, with the columns of DEAD."""
        letters, self.letters = self.letters, []
        return pa.RecordBatch.from_pylist(letters, schema=DEAD)


class ColumnTypes(NamedTuple):
    """The columns of a file that its documents keep.

    schema   their names and types; the column of the text is among them, and of type null: texts are carried apart
    text     its name; None if the text is not a column, but made of a page or within a struct
    names    of all columns of the file

    Batches have them behind those of DOCUMENT, each by its name behind OWN.
    """

    schema: pa.Schema
    text: str | None
    names: tuple[str, ...]


@runtime_checkable
class KeepsColumns(Protocol):
    """A reader whose documents can keep columns of the input, in their types.

    columns   "keep": all; or the names of some; None: none
    """

    @property
    def columns(self) -> Literal["keep"] | tuple[str, ...] | None: ...

    def column_types(self, file: FileInfo, until: int) -> ColumnTypes | None:
        """Those of a file; None of one that cannot be read, or has no records.

        until   bytes of it, decompressed, by whose records types are found where the format does not say them
        """
        ...


@runtime_checkable
class ChoosesFiles(Protocol):
    """A reader that chooses among the files of a folder by their endings; one that does not takes all."""

    @property
    def suffixes(self) -> tuple[str, ...]: ...


@runtime_checkable
class FindsFiles(Protocol):
    """A reader whose inputs are not single files: it finds them itself, as a folder that is one repository."""

    def find_files(self, paths: Sequence[str], passed_over: PassedOver | None = None) -> list[FileInfo]:
        """What paths name, sorted by name. The fingerprint of an input changes when anything in it does.

        passed_over   gets what is there and is not read

        Raises InputError if a path names nothing.
        """
        ...


@runtime_checkable
class LooksBack(Protocol):
    """A reader that must read what is before a piece, to find where records begin: so many bytes of it."""

    @property
    def look_back(self) -> int: ...


@runtime_checkable
class Describes(Protocol):
    """A reader that finds out for itself how a file is to be read."""

    def describe(self, file: FileInfo) -> str:
        """What it found out, in words; "" where there was nothing to find out."""
        ...


@runtime_checkable
class SelectsRecords(Protocol):
    """A reader that has to ask which records of a large collection are meant. A run asks once, and keeps the answer
    among its own files, see `corpusmill.engine.plan.selections`.

    location    where the collection is, if the recipe names no paths
    selection   the name of a file with the answer
    """

    @property
    def location(self) -> str: ...

    @property
    def selection(self) -> str: ...

    def is_location(self, path: str) -> bool:
        """Whether a path is where a collection is, and not an answer."""
        ...

    def check_location(self, location: str) -> None:
        """Raises RecipeError if the collection cannot be asked for there with these parameters."""
        ...

    def question(self, location: str) -> str:
        """What decides on the answer, in words that are the same where the answer is."""
        ...

    def select(self, location: str, target: Path, scratch: Path) -> str:
        """Write the answer to a file, whose path the reader takes in place of the location. Returns a sentence about
        it. Raises InputError if nothing is meant, or the collection is not there.

        scratch   a folder of this question, in which one that was asked and broke off may have left something
        """
        ...


@runtime_checkable
class GivesPages(Protocol):
    """A reader whose documents are sources (`raw`) without text, which a step must extract."""

    @property
    def gives(self) -> "PageKind": ...


class PageKind(NamedTuple):
    """What the documents of a reader are, in words, and the step that extracts their text."""

    words: str
    extractor: str


HTML_PAGES = PageKind("HTML pages", "extract/blocks")


@runtime_checkable
class Reader(Protocol):
    """Reads one format.

    suffixes   the file name endings that select files in a folder
    begins     if the reader has it: bytes that a file of its kind begins with -> what that is, for messages about files
               that another reader was given
    """

    @property
    def suffixes(self) -> tuple[str, ...]: ...

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[FilePiece]:
        """Pieces of about `target_bytes`, in document order; a function of the files and the target alone.

        Raises InputError if the files do not fit the parameters: a column that is not there, for example.
        """
        ...

    def read(self, piece: FilePiece, source: str, counts: ReadCounts) -> Iterator[pa.RecordBatch]:
        """The documents of a piece, with the columns of DOCUMENT, in the order of the file; with those of
        `counts.columns` behind them, each by its name behind OWN, if the reader keeps any.

        A batch holds at most `counts.batch_rows` documents and stops growing at BATCH_BYTES, or when there are
        BATCH_ROWS dead letters; it may be empty.
        """
        ...


def split_bytes(file: FileInfo, target_bytes: int) -> list[FilePiece]:
    """A file in equal byte ranges of at most `target_bytes`."""
    count = max(1, -(-file.size // max(1, target_bytes)))
    cuts = [file.size * i // count for i in range(count)] + [END]
    return [FilePiece(file, a, b, min(b, file.size) - a) for a, b in pairwise(cuts)]


def whole_file(file: FileInfo) -> FilePiece:
    """A file in one piece."""
    return FilePiece(file, size=file.size)


def files_at(reader: Any, paths: Sequence[str], passed_over: PassedOver | None = None) -> list[FileInfo]:
    """The inputs of a reader that paths name, sorted by name. Raises InputError if a path names nothing.

    passed_over   gets what is there and is not read, see `expand`
    """
    if isinstance(reader, FindsFiles):
        if "passed_over" not in signature(reader.find_files).parameters:  # of a user's reader, before 0.9
            return reader.find_files(paths)
        return reader.find_files(paths, passed_over)
    return expand(paths, reader.suffixes if isinstance(reader, ChoosesFiles) else (), passed_over)


def content_of(file: FileInfo) -> tuple[str, str]:
    """What a file seems to be, in words after "it", and the reader of that; empty where nothing can be said."""
    return _content.content_of(file, REGISTRY)


def readers_by_ending(path: str) -> list[str]:
    """The readers that read files with this ending where a folder is named, first that of the longest ending; none, if
    it only says how a file is compressed."""
    fits = {
        name: [
            len(suffix)
            for suffix in REGISTRY.find(name).suffixes
            if suffix not in COMPRESSED and has_ending(path, (suffix,))
        ]
        for name in REGISTRY.names()
    }
    return sorted((name for name in fits if fits[name]), key=lambda name: (-max(fits[name]), name in LAYOUTS, name))


def plain_rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """The rows of a table as the readers of tables see them: Python values, and each column's name once."""
    columns = numbered(batch.schema.names)
    for values in zip(*map(to_python, batch.columns)):
        yield dict(zip(columns, values))


REGISTRY = Registry(__name__, "reader", "Reader")
names, find = REGISTRY.names, REGISTRY.find


def __dir__() -> list[str]:
    return sorted([*REGISTRY.classes, *PUBLIC])


if TYPE_CHECKING:
    from corpusmill.read._exported import *  # noqa: F403
else:  # a type checker would take any name for granted
    __getattr__ = REGISTRY.importer()
