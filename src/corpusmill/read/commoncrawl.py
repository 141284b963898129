"""Pages of a crawl of Common Crawl, by its name: those that a condition on its index selects, or whole files."""

import atexit
import base64
import hashlib
import re
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa

from corpusmill.errors import InputError, RecipeError, StorageError
from corpusmill.read import END, HTML_PAGES, FilePiece, ReadCounts, _http, split_bytes
from corpusmill.read._archive import LOOK_BACK, Damage, Record, records_in
from corpusmill.read._crawl_index import CONNECTIONS, problem_of, selected_records, whole_files
from corpusmill.read._documents import DocumentBatches
from corpusmill.read._expansion import TYPICAL_EXPANSION
from corpusmill.read._selections import (
    FILE,
    RECORDS,
    REQUESTS,
    TRANSFER,
    WHERE,
    FetchedRange,
    SelectedRecord,
    files_in,
    notes_of,
    ranges,
    records_of,
    write,
)
from corpusmill.read.warc import MAX_HTTP_HEAD, WarcReader
from corpusmill.read.wat import WatReader
from corpusmill.read.wet import WetReader
from corpusmill.retry import http_status
from corpusmill.storage import FileInfo, PassedOver, name_of, read_range
from corpusmill.storage.pace import SLOW_DOWN, agree_on
from corpusmill.storage.places import register_address, scheme_of

NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
CONTACT = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")  # what a field of HTTP can hold
WEB = ("http", "https")
READERS: dict[str, type[WarcReader | WetReader | WatReader]] = {"warc": WarcReader, "wet": WetReader, "wat": WatReader}


@dataclass(frozen=True, kw_only=True)
class CommoncrawlReader:
    """Pages of a crawl of Common Crawl: those that `where` selects, or whole files.

    `where` is a condition in SQL on the columns of the crawl's URL index, such as `url_host_registered_domain`,
    `url_host_tld`, `content_languages`, `content_mime_detected`, `fetch_status`. A run asks the index once and keeps
    the answer in its folder, so a resumed run reads the same. Records that lie near each other in a file are
    fetched together. Each selected record is a document, as `warc` reads it, or a dead letter: besides those of `warc`
    the faults `missing` (no such file, or it ends before), `digest_differs` (SHA-1 of the page is not the index's) and
    `not_a_response`.

    Without `where`, all files of the crawl are read, or the first `files`: pages (`warc`), extracted text (`wet`), or
    titles, descriptions and links (`wat`), as the readers of these names read them.

    `paths` is where the crawl is: `https://data.commoncrawl.org/`, `s3://commoncrawl/`, or a folder or bucket with the
    same layout. A server of the web is asked with `contact` in the User-Agent and at most `requests_per_second` times
    by all processes of a machine. After 403, 429 and 503 none of them asks for the time that the server names, or a
    second; each request is made ten times in two minutes before the run stops; run it again to resume.

    Source: https://commoncrawl.org/columnar-index, https://status.commoncrawl.org
    """

    crawl: str  # its name: CC-MAIN-2026-25
    where: str = ""  # which pages, in SQL: content_languages = 'isl' AND fetch_status = 200
    format: Literal["warc", "wet", "wat"] = "warc"  # pages; the text that Common Crawl has extracted; titles and links
    files: int | None = None  # how many files to read, the first ones; None: all
    contact: str = ""  # mail address or page for the server's administrators; must be given for https://
    requests_per_second: float = 10.0  # to a server of the web
    location: ClassVar[str] = "https://data.commoncrawl.org/"
    selection: ClassVar[str] = FILE
    step: ClassVar[str] = "read/commoncrawl"
    suffixes: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.crawl):
            raise RecipeError(f'crawl is the name of a crawl, as in CC-MAIN-2026-25, got "{self.crawl}"')
        if self.where and self.format != "warc":
            raise RecipeError(f"where selects records of WARC files, and the index knows no {self.format}: drop one")
        if self.where and self.files is not None:
            raise RecipeError("where selects records, files takes whole files: drop one; run.limit takes some of both")
        if self.files is not None and self.files < 1:
            raise RecipeError(f"need files >= 1, got {self.files}; leave it out for all")
        if self.requests_per_second <= 0:
            raise RecipeError(f"need requests_per_second > 0, got {self.requests_per_second}")
        if self.contact and not CONTACT.fullmatch(self.contact):
            raise RecipeError(f"contact must be ASCII, as requests carry it, got {self.contact!r}")
        if self.where and (problem := problem_of(self.where)):
            raise RecipeError(f"where: {self.where}: {problem}. It is a condition, as after WHERE in SQL")
        if self.format == "warc":  # of the value: whether pages must be extracted depends on it
            object.__setattr__(self, "gives", HTML_PAGES)

    def identity(self) -> Any:
        """What of it matters for the bytes: which records they are is in the pieces."""
        return self._reader

    @property
    def _reader(self) -> WarcReader | WetReader | WatReader:
        return READERS[self.format]()

    # ------------------------------------------------------------- which records

    def is_location(self, path: str) -> bool:
        return path.rpartition("/")[2] != FILE

    def check_location(self, location: str) -> None:
        register_address(location)  # with user and password, which are not written down
        if scheme_of(location) in WEB and not self.contact:
            raise RecipeError(
                f"needs a contact to read from {name_of(location)}, as in contact: you@example.org: requests name it, "
                "so that its administrators can tell you if you ask too much"
            )

    def question(self, location: str) -> str:
        return repr((name_of(location).rstrip("/"), self.crawl, self.where, self.format, self.files))

    def select(self, location: str, target: Path, scratch: Path) -> str:
        location = register_address(location)
        self._agree(location)
        with _refusals(location):
            if self.where:
                batches = selected_records(location, self.crawl, self.where, scratch)
            else:
                batches = whole_files(location, self.crawl, self.format, self.files)
            records, transfer, requests = write(target, location, batches)
        if not records:
            raise InputError(f"{self.crawl}: no page fits where: {self.where}")
        return _in_words(records, transfer, requests)

    def find_files(self, paths: Sequence[str], passed_over: PassedOver | None = None) -> list[FileInfo]:
        # Where no run keeps it, the selection is made for this process.
        selections = [_kept_here(self, path) if self.is_location(path) else path for path in paths]
        for path in selections:  # one that a run has kept, too
            self._agree(notes_of(path)[WHERE])
        return sorted((file for path in selections for file in files_in(path)), key=lambda file: file.name)

    def describe(self, file: FileInfo) -> str:
        if not file.beside:
            return ""
        notes = notes_of(file.beside[0].path)
        return _in_words(int(notes[RECORDS]), int(notes[TRANSFER]), int(notes[REQUESTS]))

    # ------------------------------------------------------------- reading

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[FilePiece]:
        pieces: list[FilePiece] = []
        for file in files:
            if file.beside:
                pieces += _cut(file, target_bytes)
            else:  # they are compressed record by record, which need not be asked for
                pieces += split_bytes(file, target_bytes)
        return pieces

    @property
    def look_back(self) -> int:
        return 0 if self.where else LOOK_BACK

    @property
    def expands(self) -> float | None:
        """Bytes of text in a byte of a file, where files are not to be looked into for it."""
        return TYPICAL_EXPANSION if self.where else None

    def read(self, piece: FilePiece, source: str, counts: ReadCounts) -> Iterator[pa.RecordBatch]:
        docs = DocumentBatches(piece, source, self.step, counts)
        self._agree(piece.file.path)
        reader = self._reader
        with _refusals(piece.file.path):
            if isinstance(reader, WarcReader) and piece.file.beside:
                yield from _selected_documents(piece, docs, reader)
            else:
                yield from reader.documents(piece, docs)
        yield from docs.remainder()

    def _agree(self, location: str) -> None:
        if scheme_of(location) in WEB:
            agree_on(location, self.contact, self.requests_per_second)


@lru_cache(maxsize=64)
def _kept_here(reader: CommoncrawlReader, location: str) -> str:
    """The file of a selection that no run keeps; it is gone when this process ends."""
    folder = tempfile.TemporaryDirectory(prefix="corpusmill-selection-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    target = Path(folder.name, FILE)
    reader.select(location, target, Path(folder.name, "scratch"))
    return str(target)


def _in_words(records: int, transfer: int, requests: int) -> str:
    if not requests:
        return f"{records:,} whole file{'s' * (records != 1)} of about {transfer:,} bytes"
    return (
        f"{records:,} selected record{'s' * (records != 1)}, {transfer:,} bytes "
        f"in {requests:,} request{'s' * (requests != 1)}"
    )


@contextmanager
def _refusals(location: str) -> Iterator[None]:
    """What to do about a server that refuses to be asked."""
    try:
        yield
    except StorageError as error:
        status = http_status(error)
        if status not in SLOW_DOWN or scheme_of(location) not in WEB:
            raise
        raise StorageError(
            f"{location}: the server still answers {status}, even to slower and slower requests: it is busy, or "
            "this address has sent too many. Wait, then run the same command again: what is committed is not fetched "
            "again. If it keeps refusing, lower requests_per_second, or read from s3://commoncrawl/"
        ) from error


def _cut(file: FileInfo, target_bytes: int) -> list[FilePiece]:
    """The selected records of a file in pieces of about so many bytes, by their numbers."""
    if file.size <= target_bytes:
        return [FilePiece(file, size=file.size)]
    pieces: list[FilePiece] = []
    first = size = 0
    for number, record in enumerate(records_of(file, 0, END)):
        if size and size + record.length > target_bytes:
            pieces.append(FilePiece(file, first, number, size))
            first, size = number, 0
        size += record.length
    return [*pieces, FilePiece(file, first, END, size)]


def _selected_documents(piece: FilePiece, docs: DocumentBatches, reader: WarcReader) -> Iterator[pa.RecordBatch]:
    """The documents of the selected records of a piece, in order."""
    for fetched, data in _fetched(piece.file.path, records_of(piece.file, piece.start, piece.stop)):
        for record in fetched.records:
            if data is None:
                docs.dead(record.offset, "missing", "there is no such file, and the index names it", url=record.url)
            else:
                start = record.offset - fetched.start
                _add(record, data[start : start + record.length], docs, reader)
            yield from docs.full()


def _fetched(path: str, records: Sequence[SelectedRecord]) -> Iterator[tuple[FetchedRange, bytes | None]]:
    """The ranges of a file that hold these records, with what is in them; None where there is no such file."""
    waiting: deque[tuple[FetchedRange, Future[bytes | None]]] = deque()
    ahead = 1  # one at first: a look at what is there should cost little
    pool = ThreadPoolExecutor(CONNECTIONS)
    try:
        for part in ranges(records):
            waiting.append((part, pool.submit(_fetch, path, part)))
            while len(waiting) >= ahead:
                fetched, future = waiting.popleft()
                yield fetched, future.result()
                ahead = min(ahead + 1, CONNECTIONS)
        for fetched, future in waiting:
            yield fetched, future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _fetch(path: str, part: FetchedRange) -> bytes | None:
    try:
        return read_range(path, part.start, part.stop)
    except InputError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise


def _add(selected: SelectedRecord, data: bytes, docs: DocumentBatches, reader: WarcReader) -> None:
    """Add the document of a record, or the dead letter that says why it is none."""
    at, url = selected.offset, selected.url
    if not data:
        docs.dead(at, "missing", "the file ends before this record, and the index names it", url=url)
        return
    item = next(records_in(data, reader.page_limit + MAX_HTTP_HEAD), None)
    if len(data) < selected.length:
        reason = f"the file ends after {len(data)} of the {selected.length} bytes that the index says"
        docs.dead(at, "truncated", reason, url=url)
    elif item is None:
        docs.dead(at, "damaged", "there is no record at this place, which the index names", url=url)
    elif isinstance(item, Damage):
        docs.dead(at, item.kind, item.reason, url=url)
    elif item.kind != "response":
        docs.dead(at, "not_a_response", f"the record is of the type {item.kind}", url=url)
    elif (digest := _digest(item)) and selected.sha1 not in (None, digest):
        docs.dead(at, "digest_differs", f"the page has the SHA-1 {digest}, by the index {selected.digest}", url=url)
    else:
        item.offset = at
        reader.add_page(item, docs, reader.page_limit)


def _digest(record: Record) -> str | None:
    """SHA-1 of a record's payload in base 32, as the index has it; None of one that is not here as a whole."""
    if record.length > len(record.body):
        return None
    end = _http.HEAD_END.search(record.body) if record.body.startswith(b"HTTP/") else None
    payload = record.body[end.end() :] if end else record.body
    return base64.b32encode(hashlib.sha1(payload, usedforsecurity=False).digest()).decode()
