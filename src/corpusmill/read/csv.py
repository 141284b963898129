"""Tables in CSV and TSV files."""

import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from corpusmill.errors import RecipeError, RecordError
from corpusmill.read import Piece, ReadCounts, whole
from corpusmill.read._columns import Roles, Rows, one_content
from corpusmill.read._documents import Documents
from corpusmill.read._lines import TooLong, lines
from corpusmill.storage import FileInfo

STEP = "read/csv"
MAX_LINE = 256_000_000  # bytes


@dataclass(frozen=True, kw_only=True)
class Csv:
    """Documents from the rows of CSV files with a header line, compressed or not.

    Columns are chosen and kept, and pages read, as by `jsonl`, all as strings. Fields in double quotes may
    contain line breaks, so a file is one piece. A document's position is its row number, 0 for the first after the
    header. Bytes that are not UTF-8 become U+FFFD. Faults: `bad_row` (not as many fields as the header), `truncated`,
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
            header = next(self._parsed(_Text(whole(first)), first), [])
            self._roles().check(header, f"{first.path}, header")
        return [whole(file) for file in files]

    def read(self, piece: Piece, source: str, counts: ReadCounts) -> Iterator[pa.RecordBatch]:
        docs = Documents(piece, source, STEP, counts)
        if piece.file.size == 0:
            docs.dead(0, "empty_file", "the file has no bytes", expected=True)
            return
        text = _Text(piece)
        parsed = self._parsed(text, piece.file)
        header = next(parsed, [])
        roles = self._roles()
        if header or text.error is None:
            roles.check(header, f"{piece.file.path}, header")
        rows = Rows(roles, docs)
        position = -1
        for position, fields in enumerate(parsed):
            if not fields:
                counts.skip("blank_line")
            elif len(fields) != len(header):
                reason = f"the row has {len(fields)} fields, the header {len(header)}: {str(fields)[:80]}"
                docs.dead(position, "bad_row", reason)
            else:
                rows.add(position, dict(zip(header, fields, strict=True)))
            yield from docs.full()
        if text.error:
            kind = "too_long" if isinstance(text.error, TooLong) else type(text.error).__name__.lower()
            docs.dead(position + 1, kind, f"{text.error}; the rows from here on are lost")
        yield from docs.rest()

    def _roles(self) -> Roles:
        return Roles(self.text, self.html, self.id, self.url, self.date, self.keep)

    def _parsed(self, text: Iterator[str], file: FileInfo) -> Iterator[list[str]]:
        csv.field_size_limit(sys.maxsize)  # process-wide; the default of 128 KiB is shorter than many documents
        delimiter = self.delimiter or ("\t" if ".tsv" in file.path.rpartition("/")[2].lower() else ",")
        return iter(csv.reader(text, delimiter=delimiter))


class _Text:
    """The lines of a file for `csv.reader`; `error` says why they ended early, if they did."""

    def __init__(self, piece: Piece) -> None:
        self.error: RecordError | None = None
        self._lines = lines(piece, MAX_LINE)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        _, line = next(self._lines)
        if isinstance(line, RecordError):
            self.error = line
            raise StopIteration
        return line.decode("utf-8", "replace") + "\n"
