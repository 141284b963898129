"""Documents with quality signals beside them, as RedPajama-v2 is published."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.read import FilePiece
from corpusmill.read._beside import (
    Beside,
    Join,
    LayoutReader,
    Listings,
    SignalLines,
    bare,
    find_documents,
    joined,
    missing,
    place_of,
    unknown,
    with_beside,
    without_signals,
)
from corpusmill.read._bytes import endings
from corpusmill.read._columns import Roles
from corpusmill.read._documents import DocumentBatches
from corpusmill.read._ipc import opened
from corpusmill.read._tables import FAULTS, decoded, is_damage
from corpusmill.read.jsonl import JsonlReader
from corpusmill.storage import FileInfo, PassedOver, printable

PARTS = {
    "quality_signals": ".signals.json",
    "duplicates": ".duplicates.parquet",
    "minhash": ".minhash.parquet",
}
DEFAULT_PARTS = ("quality_signals", "duplicates")
ROWS_READ = 1024


@dataclass(frozen=True, kw_only=True)
class RedpajamaReader(LayoutReader):
    """Documents in the layout of RedPajama-v2: `documents/2023-06/0000/en_head.json.gz`, and of the same path
    `quality_signals/….signals.json.gz`, `duplicates/….duplicates.parquet` and `minhash/….minhash.parquet`.

    A path is the layout's root, its `documents`, or a folder, file or pattern in that. `parts` names what is joined; by
    default quality_signals and duplicates. The tail of a crawl has neither: `parts: []`. A document's id is that of its
    signals, `2023-06/0000/en_head.json.gz/17`: its file and its number in it. In `metadata` are `quality_signals.NAME`
    as spans, [start, end, score], `is_duplicate` where duplicates are joined, and `minhash.signature_sim0.7` and the
    like as hexadecimal strings. `annotate/metadata: {numbers: {perplexity: quality_signals.ccnet_perplexity.0.2},
    flags: {is_duplicate: is_duplicate}}` makes signals of them.

    A file that one part has not, while it has others, is an InputError. Faults, besides those of `jsonl`: `no_signals`
    (a record is missing beside a document, or cannot be read), `other_signals` (of another number or URL),
    `more_signals` (records left over: one dead letter for a file). A file is one piece; its ids of duplicates are held
    in memory.

    Source: Weber et al. 2024, "RedPajama", arXiv:2411.12372; togethercomputer/RedPajama-Data, app/src/core/worker.py
    """

    parts: tuple[str, ...] | None = None  # of quality_signals, duplicates, minhash; null: the first two, where they are
    max_line_mb: float = 32.0
    step = "read/redpajama"
    roles = Roles(text="raw_content", id="id")
    suffixes = endings("json", "jsonl")

    def __post_init__(self) -> None:
        JsonlReader(max_line_mb=self.max_line_mb)  # which knows what it may be
        if self.parts is None:
            return
        object.__setattr__(self, "parts", tuple(self.parts))
        for name in self.parts:
            if name not in PARTS:
                suggestion = did_you_mean(name, PARTS) or "."
                raise RecipeError(f'parts: there is no part "{name}"{suggestion} There are: {", ".join(PARTS)}')

    def find_files(self, paths: Sequence[str], passed_over: PassedOver | None = None) -> list[FileInfo]:
        """The files of documents, each with those of its signals."""
        documents = find_documents(paths, self.suffixes, passed_over)
        listings = Listings()
        files: list[FileInfo] = []
        for file, location in documents:
            signals = {}
            for part in self.parts if self.parts is not None else DEFAULT_PARTS:
                listing = listings.below(location.root, part)
                if not listing:
                    if self.parts is not None:
                        raise unknown(
                            location.root, part, [name for name in PARTS if listings.below(location.root, name)]
                        )
                    continue
                if (signal_file := listing.get(f"{_stem(location.inner)}{PARTS[part]}")) is None:
                    present = sum(
                        f"{_stem(at.inner)}{PARTS[part]}" in listing for _, at in documents if at.root == location.root
                    )
                    cure = "Name files that have it, or choose parts: [], or exclude these."
                    raise missing(f"{location.root}/{part}", [file.path], present, cure)
                signals[part] = signal_file
            files.append(with_beside(file, signals))
        return without_signals(files, passed_over)

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        limit = int(self.max_line_mb * 1e6)
        location = place_of(piece.file.path)
        rows = _JoinedRows(location.inner if location else piece.file.name)
        signals: dict[str, tuple[Beside, Join]] = {}
        for signal_file in piece.file.beside:
            if signal_file.name == "quality_signals":
                signals[signal_file.name] = (SignalLines(signal_file.path, limit), rows.signals)
            elif signal_file.name == "duplicates":
                duplicates = Duplicates(signal_file.path)
                signals[signal_file.name] = (duplicates, rows.duplicate(duplicates))
            else:
                signals[signal_file.name] = (SignalTable(signal_file.path), rows.minhash)
        yield from joined(piece, docs, self.roles, signals, rows.prepare, limit, 128_000_000)

    def documents_reader(self) -> JsonlReader:
        return JsonlReader(text="raw_content", max_line_mb=self.max_line_mb)


def _stem(inner: str) -> str:
    """The path of a file of documents without .json.gz."""
    name = bare(inner)
    return name.removesuffix(".json").removesuffix(".jsonl")


class _JoinedRows:
    """What joins the records beside the documents of one file.

    A record's id ends with the name of the file of documents and the number of the document in it. The folders before
    them are not compared: files may have been copied elsewhere.
    """

    def __init__(self, inner: str) -> None:
        self.inner = inner
        self.file = inner.rpartition("/")[2]

    def prepare(self, row: dict[str, Any], number: int) -> None:
        if not isinstance(row.get("id"), str):
            row["id"] = f"{self.inner}/{number}"

    def signals(self, row: dict[str, Any], number: int, record: dict[str, Any]) -> str:
        if mismatch := self._id_mismatch(record.get("id"), number):
            return mismatch
        about = record.get("metadata")
        url = about.get("url") if isinstance(about, dict) else None
        if url is not None and row.get("url") is not None and url != row["url"]:
            return f"it is of {url}, and the document of {row['url']}"
        if not isinstance(record.get("quality_signals"), dict):
            return "it has no object `quality_signals`"
        row["quality_signals"] = record["quality_signals"]
        return ""

    def minhash(self, row: dict[str, Any], number: int, record: dict[str, Any]) -> str:
        if mismatch := self._id_mismatch(record.get("id"), number):
            return mismatch
        bands = {name: bands for name, bands in record.items() if name.startswith("signature")}
        row["minhash"] = {
            name: None if hashes is None else [band.hex() for band in hashes] for name, hashes in bands.items()
        }
        return ""

    def duplicate(self, duplicates: "Duplicates") -> Join:
        def join(row: dict[str, Any], number: int, record: dict[str, Any]) -> str:
            row["is_duplicate"] = duplicates.take(f"{self.file}/{number}")
            return ""

        return join

    def _id_mismatch(self, record_id: Any, number: int) -> str:
        if not isinstance(record_id, str) or tail(record_id) != f"{self.file}/{number}":
            return f"its id is {record_id!r}, and that of the document ends in {self.file}/{number}"
        return ""


def tail(name: str) -> str:
    """The file and the number of an id.

    >>> tail("2023-06/0000/en_head.json.gz/17")
    'en_head.json.gz/17'
    """
    return "/".join(name.split("/")[-2:])


class SignalTable:
    """Rows of a Parquet file beside documents, a row for each."""

    def __init__(self, path: str) -> None:
        self.path = printable(path)
        self._rows = _rows(path, None)
        self._read = 0
        self._broken = ""

    def next(self) -> dict[str, Any] | str:
        if self._broken:
            return self._broken
        try:
            row = next(self._rows, None)
        except FAULTS as error:
            if not is_damage(error):
                raise
            self._broken = f"{self.path} is damaged after {self._read} rows: {error}"
            return self._broken
        if row is None:
            return f"{self.path} ends after {self._read} rows"
        self._read += 1
        return row

    def remaining(self) -> int:
        count = 0
        while not isinstance(self.next(), str):
            count += 1
        return count


class Duplicates:
    """Which documents of a file are duplicates: its table lists these alone, in any order."""

    def __init__(self, path: str) -> None:
        self._broken = ""
        self._ids: set[str] = set()
        try:
            self._ids = {tail(str(row["doc_id"])) for row in _rows(path, ["doc_id"])}
        except (*FAULTS, KeyError) as error:
            if not isinstance(error, KeyError) and not is_damage(error):
                raise
            self._broken = f"{printable(path)}: not a table of duplicates with doc_id, or damaged: {error}"

    def next(self) -> dict[str, Any] | str:
        return self._broken or {}

    def take(self, name: str) -> bool:
        """Whether a document is a duplicate. Each is asked for once."""
        is_in = name in self._ids
        self._ids.discard(name)
        return is_in

    def remaining(self) -> int:
        return len(self._ids)


def _rows(path: str, columns: list[str] | None) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    with opened(path, mapped=False) as source, pq.ParquetFile(source) as table:
        for batch in table.iter_batches(ROWS_READ, columns=columns):
            yield from decoded(batch).to_pylist()


Redpajama = RedpajamaReader  # its name before 1.0
