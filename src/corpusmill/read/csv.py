"""Tables in CSV and TSV files."""

import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from corpusmill.errors import RecipeError, RecordError
from corpusmill.read import Piece, ReadCounts, whole
from corpusmill.read._bytes import Damaged, Truncated, WindowTooLarge
from corpusmill.read._columns import Roles, Rows, one_content
from corpusmill.read._documents import Documents
from corpusmill.read._lines import TooLong, lines
from corpusmill.storage import FileInfo

STEP = "read/csv"
KINDS = {TooLong: "too_long", Truncated: "truncated", Damaged: "damaged", WindowTooLarge: "window_too_large"}
MAX_ROW = 32_000_000  # bytes of a row, and so of a line
MAX_FIELDS = 2_000_000  # delimiters in a line


@dataclass(frozen=True, kw_only=True)
class Csv:
    """Documents from the rows of CSV files with a header line, compressed or not.

    Columns are chosen and kept, and pages read, as by `jsonl`, all as strings. Fields in double quotes may
    contain line breaks, so a file is one piece. A document's position is its row number, 0 for the first after the
    header. Bytes that are not UTF-8 become U+FFFD. Faults: `bad_row` (not as many fields as the header), `too_long` (a
    row of more than 32 MB, or a line of more than 2 million fields: the rest of the file is lost), `truncated`,
    `damaged`; `empty_text` and `empty_page` are expected. Blank lines are counted as `blank_line`.
    """

    text: str | None = None
    html: str | None = None  # the column that holds HTML pages, instead of text
    id: str | None = None
    url: str | None = None
    date: str | None = None
    keep: tuple[str, ...] | None = None  # other columns to keep; null keeps all, [] none
    delimiter: str | None = None  # null: a tab in files called .tsv, a comma in others
    suffixes = tuple(f".{name}{packed}" for name in ("csv", "tsv") for packed in ("", ".gz", ".zst", ".bz2", ".xz"))

    def __post_init__(self) -> None:
        one_content(self.text, self.html)
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise RecipeError(f"delimiter must be one character, got {self.delimiter!r}")
        object.__setattr__(self, "keep", None if self.keep is None else tuple(self.keep))

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[Piece]:
        first = next((file for file in files if file.size), None)
        if first is not None:
            text = _Text(whole(first), self._delimiter(first))
            header = next(self._parsed(text), [])
            if header or text.error is None:
                self._roles().check(header, f"{first.path}, header")
        return [whole(file) for file in files]

    def read(self, piece: Piece, source: str, counts: ReadCounts) -> Iterator[pa.RecordBatch]:
        docs = Documents(piece, source, STEP, counts)
        if piece.file.size == 0:
            docs.dead(0, "empty_file", "the file has no bytes", expected=True)
            return
        text = _Text(piece, self._delimiter(piece.file))
        parsed = self._parsed(text)
        header = next(parsed, [])
        roles = self._roles()
        if header or text.error is None:
            roles.check(header, f"{piece.file.path}, header")
        rows = Rows(roles, docs)
        lost = 0  # the row where the file ends early, if it does
        for position, fields in enumerate(parsed):
            if text.error:
                break
            lost = position + 1
            text.size = 0
            if not fields:
                counts.skip("blank_line")
            elif len(fields) != len(header):
                reason = f"the row has {len(fields)} fields, the header {len(header)}: {str(fields[:20])[:80]}"
                docs.dead(position, "bad_row", reason)
            else:
                rows.add(position, dict(zip(header, fields, strict=True)))
            yield from docs.full()
        if text.error:
            kind = KINDS[type(text.error)]
            docs.dead(lost, kind, f"{text.error}; the rows from here on are lost")
        yield from docs.rest()

    def _roles(self) -> Roles:
        return Roles(self.text, self.html, self.id, self.url, self.date, self.keep)

    def _delimiter(self, file: FileInfo) -> str:
        return self.delimiter or ("\t" if ".tsv" in file.path.rpartition("/")[2].lower() else ",")

    def _parsed(self, text: "_Text") -> Iterator[list[str]]:
        csv.field_size_limit(sys.maxsize)  # process-wide; the default of 128 KiB is shorter than many documents
        return iter(csv.reader(text, delimiter=text.delimiter))


class _Text:
    """The lines of a file for `csv.reader`.

    error   why they ended early, if they did
    size    bytes of the lines since it was set to 0
    """

    def __init__(self, piece: Piece, delimiter: str) -> None:
        self.error: RecordError | None = None
        self.size = 0
        self.delimiter = delimiter
        self._lines = lines(piece, MAX_ROW)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        _, line = next(self._lines)
        if isinstance(line, bytes):
            self.size += len(line) + 1
            if self.size > MAX_ROW:
                line = TooLong(f"a row has more than {MAX_ROW} bytes; a quotation mark may be missing")
            elif len(line) > MAX_FIELDS and line.count(self.delimiter.encode()) > MAX_FIELDS:
                line = TooLong(f"a line has more than {MAX_FIELDS} fields")
        if isinstance(line, RecordError):
            self.error = line
            raise StopIteration
        return line.decode("utf-8", "replace") + "\n"
