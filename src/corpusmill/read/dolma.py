"""Documents with attributes beside them, as the Dolma toolkit lays them out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corpusmill.errors import InputError, RecipeError
from corpusmill.read import FilePiece
from corpusmill.read._beside import (
    LayoutReader,
    Listings,
    SignalLines,
    bare,
    find_documents,
    joined,
    missing,
    unknown,
    with_beside,
    without_signals,
)
from corpusmill.read._columns import Roles
from corpusmill.read._documents import DocumentBatches
from corpusmill.read.jsonl import JsonlReader
from corpusmill.storage import FileInfo, PassedOver

ATTRIBUTES = "attributes"
OWN_ATTRIBUTES = "documents"  # under which a document's own attributes are kept beside those of taggers


@dataclass(frozen=True, kw_only=True)
class DolmaReader(LayoutReader):
    """Documents in the layout of the Dolma toolkit: `documents/PATH.json.gz`, and for each tagger a file
    `attributes/TAGGER/PATH.json.gz` with a line for each document.

    A path is the layout's root, its `documents`, or a folder, file or pattern in that. `attributes` names the taggers
    that are joined; by default all that there are, `[]` joins none. What taggers say is in `metadata` under
    `attributes.TAGGER.NAME`, attributes of the document's own under `attributes.documents`: spans, [start, end, score],
    in characters of the text. `annotate/metadata: {numbers: {toxic: attributes.jigsaw.toxic.0.2}}` makes a signal of
    the first one's score, `clean/spans` replaces them. The other fields (source, added, created, version, metadata) are
    kept, as by `jsonl`.

    A file that one tagger has not, while it has others, is an InputError. Faults, besides those of `jsonl`:
    `no_signals` (a line is missing beside a document, or cannot be read), `other_signals` (it has another id, and so
    all that follow), `more_signals` (lines that are left over, one dead letter for a file). A file is one piece.

    Source: Soldaini et al. 2024, "Dolma", arXiv:2402.00159; docs/data-format.md of the Dolma toolkit 1.2
    """

    attributes: tuple[str, ...] | None = None  # taggers to join; null: all, []: none
    max_line_mb: float = 32.0
    max_window_mb: float = 128.0  # that decompressing may take; `zstd --long=31` needs 2148
    step = "read/dolma"
    roles = Roles(text="text", id="id")
    suffixes = JsonlReader.suffixes

    def __post_init__(self) -> None:
        JsonlReader(max_line_mb=self.max_line_mb, max_window_mb=self.max_window_mb)  # which knows what these may be
        if self.attributes is None:
            return
        object.__setattr__(self, "attributes", tuple(self.attributes))
        for name in self.attributes:
            if not name or name.startswith("/") or OWN_ATTRIBUTES in name.split("/") or ".." in name.split("/"):
                raise RecipeError(f'attributes: "{name}" cannot be a folder of attributes')

    def find_files(self, paths: Sequence[str], passed_over: PassedOver | None = None) -> list[FileInfo]:
        """The files of documents, each with those of its attributes."""
        documents = find_documents(paths, self.suffixes, passed_over)
        listings = Listings()
        taggers: dict[str, list[str]] = {}
        files = []
        for file, location in documents:
            listing = listings.below(location.root, ATTRIBUTES)
            if location.root not in taggers:
                taggers[location.root] = self._taggers(location.root, listing)
            by_tagger = {name: listing.get(f"{name}/{bare(location.inner)}") for name in taggers[location.root]}
            files.append(
                (
                    file,
                    location,
                    {name: file_beside for name, file_beside in by_tagger.items() if file_beside is not None},
                )
            )
        for _, location, attributes in files:
            if lacks := [name for name in taggers[location.root] if name not in attributes]:
                others = [
                    file_beside.path
                    for file_beside, at, listing in files
                    if at.root == location.root and lacks[0] not in listing
                ]
                complete = sum(at.root == location.root for _, at, _ in files) - len(others)
                raise missing(
                    f"{location.root}/{ATTRIBUTES}/{lacks[0]}",
                    others,
                    complete,
                    "Tag these, too, or name the taggers to join, as in attributes: [].",
                )
        return without_signals([with_beside(file, attributes) for file, _, attributes in files], passed_over)

    def _taggers(self, root: str, listing: dict[str, FileInfo]) -> list[str]:
        taggers = sorted({name.partition("/")[0] for name in listing if "/" in name})
        where = f"{root}/{ATTRIBUTES}"
        if self.attributes is None:
            if OWN_ATTRIBUTES in taggers:
                raise InputError(
                    f'{where}: a folder "{OWN_ATTRIBUTES}" among the taggers; name those to join in `attributes`'
                )
            return taggers
        for name in self.attributes:
            if not any(path.startswith(f"{name}/") for path in listing):
                raise unknown(where, name, taggers)
        return list(self.attributes)

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        limit, window = int(self.max_line_mb * 1e6), int(self.max_window_mb * 1e6)
        signals = {
            file_beside.name: (SignalLines(file_beside.path, limit, window), _Join(file_beside.name).join)
            for file_beside in piece.file.beside
        }
        yield from joined(piece, docs, self.roles, signals, _prepare, limit, window)

    def documents_reader(self) -> JsonlReader:
        return JsonlReader(text="text", id="id", max_line_mb=self.max_line_mb, max_window_mb=self.max_window_mb)


def _prepare(row: dict[str, Any], number: int) -> None:
    """Put a document's own attributes aside."""
    if ATTRIBUTES in row:
        row[ATTRIBUTES] = {OWN_ATTRIBUTES: row[ATTRIBUTES]}


@dataclass(frozen=True)
class _Join:
    tagger: str

    def join(self, row: dict[str, Any], number: int, record: dict[str, Any]) -> str:
        if record.get("id") != row.get("id"):
            return f"it is of id {record.get('id')!r}, and the document has {row.get('id')!r}"
        attributes = record.get(ATTRIBUTES)
        if not isinstance(attributes, dict):
            return "it has no object `attributes`"
        row.setdefault(ATTRIBUTES, {})[self.tagger] = attributes
        return ""


Dolma = DolmaReader  # its name before 1.0
