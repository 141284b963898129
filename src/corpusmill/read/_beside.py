"""Documents whose signals lie in files beside them: of the same name, below another folder, a record for a document.

A layout has a folder of documents, and beside it folders of signals:

    wiki/documents/2024/0.json.gz
    wiki/attributes/pii/2024/0.json.gz

Nothing is joined on trust. A file that others have and one lacks stops the run before it begins; a record that is of
another document, or that is not there, makes its document a dead letter; records that are left over are one, too.
"""

import os
import posixpath
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import orjson
import pyarrow as pa
import xxhash

from corpusmill.errors import InputError, RecordError, did_you_mean
from corpusmill.read import END, FilePiece, ReadCounts
from corpusmill.read._bytes import WINDOW
from corpusmill.read._columns import Roles, RowReader
from corpusmill.read._documents import DocumentBatches, FileReader, Unfit
from corpusmill.read._lines import KINDS, lines
from corpusmill.read.jsonl import JsonlReader, has_too_many_values, records_of, shown
from corpusmill.storage import FileInfo, PassedOver, expand, is_local, list_dir, local_path, printable
from corpusmill.storage.passed_over import NO_DOCUMENTS
from corpusmill.storage.places import is_hidden

DOCUMENTS = "documents"
COMPRESSION_ENDING = re.compile(r"\.(?:gz|gzip|zst|zstd|bz2|bzip2|xz|lz4|lzma)$", re.I)
FATAL_KINDS = ("truncated", "damaged", "window_too_large")  # dead letters after which nothing more is read of a file
FINGERPRINT_PREFIX = "with:"  # what fingerprints of files that have others beside them begin with


@dataclass(frozen=True)
class LayoutPlace:
    """Where a file of documents is in its layout: the folder above `documents`, and the path below it."""

    root: str
    inner: str


def find_documents(
    paths: Sequence[str], suffixes: tuple[str, ...], passed_over: PassedOver | None
) -> list[tuple[FileInfo, LayoutPlace]]:
    """The files of documents that paths name, sorted by name: those with a folder `documents` above them.

    A path may be the layout's root, its `documents`, a folder, a file or a pattern below. Raises InputError if there
    are none.
    """
    documents = []
    for file in expand(paths, suffixes, passed_over):
        if (location := place_of(file.path)) is not None:
            documents.append((file, location))
        elif passed_over is not None:
            passed_over.add(file.path, NO_DOCUMENTS)
    if not documents:
        raise InputError(
            f"{', '.join(paths)}: no file there is in a folder called {DOCUMENTS}, which this layout has, with its "
            "signals in folders beside it. Files of documents alone are read by `jsonl`."
        )
    return documents


def place_of(path: str) -> LayoutPlace | None:
    """Where a file is in its layout: below the last folder of its path that is called `documents`.

    >>> place_of("s3://bucket/wiki/documents/2024/0.json.gz")
    LayoutPlace(root='s3://bucket/wiki', inner='2024/0.json.gz')
    """
    parts = _absolute(path).split("/")
    above = [at for at, part in enumerate(parts[:-1]) if part == DOCUMENTS]
    return LayoutPlace("/".join(parts[: above[-1]]) or "/", "/".join(parts[above[-1] + 1 :])) if above else None


def _absolute(path: str) -> str:
    return os.path.abspath(local_path(path)).replace(os.sep, "/") if is_local(path) else path  # noqa: PTH100


def without_signals(files: Sequence[FileInfo], passed_over: PassedOver | None) -> list[FileInfo]:
    """Files of documents; those beside them are read, too, and not passed over."""
    if passed_over is not None:
        signals = {_absolute(file_beside.path) for file in files for file_beside in file.beside}
        passed_over.leave(lambda path: _absolute(path) in signals)
    return list(files)


@dataclass
class Listings:
    """What is in the folders of signals, each listed once."""

    known: dict[str, dict[str, FileInfo]] = field(default_factory=dict)

    def below(self, root: str, folder: str) -> dict[str, FileInfo]:
        """Path below a folder, without the ending of its compression -> the file; empty where there is no folder."""
        folder_path = f"{root.rstrip('/')}/{folder}"
        if folder_path not in self.known:
            files = expand(folder_path) if any(not is_hidden(name) for name in list_dir(folder_path)) else []
            self.known[folder_path] = {bare(_below(file.path, folder_path)): file for file in files}
        return self.known[folder_path]


def _below(path: str, folder: str) -> str:
    """The part of a file's path below a folder."""
    if is_local(folder):
        return posixpath.relpath(path.replace(os.sep, "/"), folder)
    return path.partition(f"{folder.partition('://')[2]}/")[2]


def bare(name: str) -> str:
    """A name without the ending of its compression: signals may be packed in another way than their documents."""
    return COMPRESSION_ENDING.sub("", name)


def with_beside(file: FileInfo, signals: Mapping[str, FileInfo]) -> FileInfo:
    """A file of documents with its files of signals; it is another input when one of these changes."""
    signal_files = tuple(replace(file_info, name=name) for name, file_info in sorted(signals.items()))
    digest = xxhash.xxh3_128(file.fingerprint.encode())
    for file_info in signal_files:
        digest.update(
            f"\0{file_info.name}\0{file_info.size}\0{file_info.fingerprint}".encode("utf-8", "surrogateescape")
        )
    return replace(file, fingerprint=f"{FINGERPRINT_PREFIX}{digest.hexdigest()}", beside=signal_files)


def missing(folder: str, lacking: Sequence[str], present: int, cure: str) -> InputError:
    """The error of a layout in which some files of documents have no file of signals."""
    others = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    return InputError(f"{folder} has no file for {lacking[0]}{others}, and one for {present} others. {cure}")


def unknown(where: str, name: str, folders: Sequence[str]) -> InputError:
    listed = ", ".join(folders) or "none"
    return InputError(f'{where}: there is no folder "{name}"{did_you_mean(name, folders) or "."} It has: {listed}')


class LayoutReader(FileReader):
    """What readers of layouts share: they look for files themselves, and check the first record."""

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[FilePiece]:
        for file in files:
            if not file.fingerprint.startswith(FINGERPRINT_PREFIX):  # it did not come by `find_files`
                raise InputError(
                    f"{file.path}: {self.step} looks for signals beside documents in folders and object stores, not on "
                    "the Hub. Fetch the data set (hf download), and give its folder."
                )
        self.documents_reader().check_head(next((file for file in files if file.size), None))
        return super().split(files, target_bytes)

    @abstractmethod
    def documents_reader(self) -> JsonlReader:
        """The reader of the documents alone."""


class Beside(Protocol):
    """The records of a file of signals, in order, one for each document."""

    def next(self) -> dict[str, Any] | str:
        """The next record; a sentence if it cannot be read, or if there is none."""
        ...

    def remaining(self) -> int:
        """How many records follow. They are read."""
        ...


class SignalLines:
    """JSON lines of signals."""

    def __init__(self, path: str, limit: int, window: int = WINDOW) -> None:
        self.path = printable(path)
        piece = FilePiece(FileInfo(path, path, 0, ""))
        self._lines = (item for item in lines(piece, limit, window=window) if _holds(item[1]))
        self._read = 0
        self._broken: str | None = None

    def next(self) -> dict[str, Any] | str:
        if self._broken is not None:
            return self._broken
        numbered = next(self._lines, None)
        if numbered is None:
            return f"{self.path} ends after {self._read} records"
        self._read += 1
        position, line = numbered
        if isinstance(line, RecordError):
            reason = f"{self.path}, byte {position}: {line}"
            if KINDS[type(line)] != "too_long":
                self._broken = reason
            return reason
        if has_too_many_values(line):
            return f"{self.path}, record {self._read}: it has too many values"
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            row = next((record for _, record in records_of(line)), None)
        return row if isinstance(row, dict) else f"{self.path}, record {self._read}: not a JSON object: {shown(line)}"

    def remaining(self) -> int:
        return 0 if self._broken is not None else sum(1 for _ in self._lines)


def _holds(line: bytes | RecordError) -> bool:
    return not isinstance(line, bytes) or bool(line.strip())


# Takes a document's row, its number and the record beside it, and puts the record into the row. Returns why the record
# is not of this document, "" if it is.
Join = Callable[[dict[str, Any], int, dict[str, Any]], str]


def joined(
    piece: FilePiece,
    docs: DocumentBatches,
    roles: Roles,
    signals: Mapping[str, tuple[Beside, Join]],
    prepare: Callable[[dict[str, Any], int], None],
    limit: int,
    window: int,
) -> Iterator[pa.RecordBatch]:
    """The documents of a file with what is beside it.

    signals        what it is called -> its records, and what joins one to its document
    prepare        is given each row with its number first
    limit, window  bytes of a line, and bytes that decompressing may take

    Dead letters, besides those of `jsonl`: `no_signals` (the record is missing, or cannot be read), `other_signals` (it
    is of another document), `more_signals` (records that are left over).
    """
    rows = RowReader(roles, docs)
    number, position, broken = -1, 0, False
    for position, row in rows_of(replace(piece, start=0), docs.counts, limit, window):
        number += 1
        records_beside = {name: records.next() for name, (records, _) in signals.items()}
        if position < piece.start:  # a record's number is known from the beginning alone
            continue
        if isinstance(row, Unfit):
            docs.dead(position, row.kind, str(row))
            broken = row.kind in FATAL_KINDS
            yield from docs.full()
            continue
        prepare(row, number)
        kind, why = "", ""
        for name, record in records_beside.items():
            if isinstance(record, str):
                kind, why = "no_signals", f"{name}: {record}"
            elif reason := signals[name][1](row, number, record):
                kind, why = "other_signals", f"{name}, record {number + 1}: {reason}"
            if kind:
                break
        if kind:
            docs.dead(position, kind, why)
        else:
            rows.add(position, row)
        yield from docs.full()
    if piece.stop >= END and not broken:
        for name, (records, _) in signals.items():
            if surplus := records.remaining():
                reason = f"{name}: {surplus} records are left over after those of {number + 1} documents"
                docs.dead(position + 1, "more_signals", reason)
    yield from docs.remainder()


def rows_of(
    piece: FilePiece, counts: ReadCounts, limit: int, window: int
) -> Iterator[tuple[int, dict[str, Any] | Unfit]]:
    """(offset, row) of the lines of a file of documents; what cannot be read is an Unfit, and has a record beside it
    all the same. Blank lines are counted, and have none."""
    for position, line in lines(piece, limit, window=window):
        if isinstance(line, RecordError):
            yield position, Unfit(KINDS[type(line)], str(line))
            continue
        if has_too_many_values(line):
            yield position, Unfit("too_many_values", f"the line has too many values: {shown(line)}")
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            if not line or line.isspace():
                counts.skip("blank_line")
                continue
            yield from ((position + at, record) for at, record in records_of(line))
            continue
        yield position, row if isinstance(row, dict) else Unfit("bad_json", f"not a JSON object: {shown(line)}")
