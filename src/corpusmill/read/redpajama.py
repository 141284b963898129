"""Documents with quality signals beside them, as RedPajama-v2 is published."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.read import Piece, ReadCounts, whole
from corpusmill.read._beside import (
    Beside,
    Join,
    Listings,
    SignalLines,
    bare,
    check_found,
    find_documents,
    joined,
    missing,
    place_of,
    unknown,
    with_beside,
)
from corpusmill.read._columns import Roles
from corpusmill.read._documents import DocumentBatches
from corpusmill.read._ipc import opened
from corpusmill.read._tables import FAULTS, decoded, is_damage
from corpusmill.read.jsonl import Jsonl
from corpusmill.storage import FileInfo, printable

STEP = "read/redpajama"
PARTS = {
    "quality_signals": ".signals.json",
    "duplicates": ".duplicates.parquet",
    "minhash": ".minhash.parquet",
}
USUAL = ("quality_signals", "duplicates")
ROWS = 1024


@dataclass(frozen=True, kw_only=True)
class Redpajama:
    """Documents in the layout of RedPajama-v2: `documents/2023-06/0000/en_head.json.gz`, and of the same path
    `quality_signals/….signals.json.gz`, `duplicates/….duplicates.parquet` and `minhash/….minhash.parquet`.

    A path is the layout's root, its `documents`, or a folder, file or pattern in that. `parts` names what is joined; by
    default quality_signals and duplicates, where these folders are. The tail of a crawl has neither: `parts: []`.

    The text is `raw_content`. A document's id is that of its signals, `2023-06/0000/en_head.json.gz/17`: its file and
    its number in it. In `metadata`, besides the fields of the document (url and date_download become url and date), are
    `quality_signals.NAME` (`ccnet_perplexity`, `rps_doc_word_count`, …) as spans, [start, end, score], `is_duplicate`
    where duplicates are joined, and `minhash.signature_sim0.7` and the like as hexadecimal strings, where these are.
    `annotate/metadata: {numbers: {perplexity: quality_signals.ccnet_perplexity.0.2}, flags: {is_duplicate:
    is_duplicate}}` makes signals of them.

    A file that one part has not, while it has others, is an InputError. Faults, besides those of `jsonl`:
    `no_signals` (a record is missing beside a document, or cannot be read), `other_signals` (it is of another number,
    or of another URL), `more_signals` (records that are left over, or duplicates of documents that are not there: one
    dead letter for a file). A file is one piece; its ids of duplicates are held in memory.

    Source: Weber et al. 2024, "RedPajama", arXiv:2411.12372; togethercomputer/RedPajama-Data, app/src/core/worker.py
    """

    parts: tuple[str, ...] | None = None  # of quality_signals, duplicates, minhash; null: the first two, where they are
    max_line_mb: float = 32.0
    suffixes = (".json.gz", ".json", ".json.zst", ".jsonl.gz", ".jsonl", ".jsonl.zst")

    def __post_init__(self) -> None:
        Jsonl(max_line_mb=self.max_line_mb)  # which knows what it may be
        if self.parts is None:
            return
        object.__setattr__(self, "parts", tuple(self.parts))
        for name in self.parts:
            if name not in PARTS:
                near = did_you_mean(name, PARTS) or "."
                raise RecipeError(f'parts: there is no part "{name}"{near} There are: {", ".join(PARTS)}')

    def find_files(self, paths: Sequence[str]) -> list[FileInfo]:
        """The files of documents, each with those of its signals."""
        found = find_documents(paths, self.suffixes)
        listings = Listings()
        files: list[FileInfo] = []
        for file, place in found:
            beside = {}
            for part in self.parts if self.parts is not None else USUAL:
                held = listings.below(place.root, part)
                if not held:
                    if self.parts is not None:
                        raise unknown(place.root, part, [name for name in PARTS if listings.below(place.root, name)])
                    continue
                if (one := held.get(f"{_stem(place.inner)}{PARTS[part]}")) is None:
                    there = sum(f"{_stem(at.inner)}{PARTS[part]}" in held for _, at in found if at.root == place.root)
                    cure = "Name files that have it, or choose parts: [], or exclude these."
                    raise missing(f"{place.root}/{part}", [file.path], there, cure)
                beside[part] = one
            files.append(with_beside(file, beside))
        return files

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[Piece]:
        check_found(files, STEP)
        self._jsonl().check_head(next((file for file in files if file.size), None))
        return [whole(file) for file in files]

    def read(self, piece: Piece, source: str, counts: ReadCounts) -> Iterator[pa.RecordBatch]:
        docs = DocumentBatches(piece, source, STEP, counts)
        if piece.file.size == 0:
            docs.dead(0, "empty_file", "the file has no bytes", expected=True)
        limit = int(self.max_line_mb * 1e6)
        place = place_of(piece.file.path)
        rows = _JoinedRows(place.inner if place else piece.file.name)
        beside: dict[str, tuple[Beside, Join]] = {}
        for one in piece.file.beside:
            if one.name == "quality_signals":
                beside[one.name] = (SignalLines(one.path, limit), rows.signals)
            elif one.name == "duplicates":
                duplicates = Duplicates(one.path)
                beside[one.name] = (duplicates, rows.duplicate(duplicates))
            else:
                beside[one.name] = (SignalTable(one.path), rows.minhash)
        yield from joined(piece, docs, self._roles(), beside, rows.prepare, limit, 128_000_000)

    def _roles(self) -> Roles:
        return Roles(text="raw_content", id="id")

    def _jsonl(self) -> Jsonl:
        return Jsonl(text="raw_content", max_line_mb=self.max_line_mb)


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
        if said := self._other(record.get("id"), number):
            return said
        about = record.get("metadata")
        url = about.get("url") if isinstance(about, dict) else None
        if url is not None and row.get("url") is not None and url != row["url"]:
            return f"it is of {url}, and the document of {row['url']}"
        if not isinstance(record.get("quality_signals"), dict):
            return "it has no object `quality_signals`"
        row["quality_signals"] = record["quality_signals"]
        return ""

    def minhash(self, row: dict[str, Any], number: int, record: dict[str, Any]) -> str:
        if said := self._other(record.get("id"), number):
            return said
        bands = {name: bands for name, bands in record.items() if name.startswith("signature")}
        row["minhash"] = {name: None if each is None else [band.hex() for band in each] for name, each in bands.items()}
        return ""

    def duplicate(self, duplicates: "Duplicates") -> Join:
        def join(row: dict[str, Any], number: int, record: dict[str, Any]) -> str:
            row["is_duplicate"] = duplicates.take(f"{self.file}/{number}")
            return ""

        return join

    def _other(self, said: Any, number: int) -> str:
        if not isinstance(said, str) or tail(said) != f"{self.file}/{number}":
            return f"its id is {said!r}, and that of the document ends in {self.file}/{number}"
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

    def left(self) -> int:
        left = 0
        while not isinstance(self.next(), str):
            left += 1
        return left


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

    def left(self) -> int:
        return len(self._ids)


def _rows(path: str, columns: list[str] | None) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    with opened(path, mapped=False) as source, pq.ParquetFile(source) as table:
        for batch in table.iter_batches(ROWS, columns=columns):
            yield from decoded(batch).to_pylist()
