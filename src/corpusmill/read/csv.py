"""Tables in CSV and TSV files."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from corpusmill.errors import InputError, RecipeError, RecordError
from corpusmill.read import ColumnTypes, FilePiece, ReadCounts, whole_file
from corpusmill.read._bytes import blocks, endings
from corpusmill.read._columns import TEXT, ColumnReader, RowReader
from corpusmill.read._delimiter import AUTO, quoted, sniffed
from corpusmill.read._documents import DocumentBatches
from corpusmill.read._encoding import advice, check_charset, decoded, is_broken, looks_like_utf16, marked
from corpusmill.read._lines import KINDS, OtherCharset, TooLong, lines
from corpusmill.read._values import numbered
from corpusmill.storage import FileInfo

MAX_ROW = 32_000_000  # bytes of a row, and so of a line
MAX_FIELDS = 2_000_000  # delimiters in a line
LINE_END = re.compile("\r\n|\r|\n")
HEADER_BYTES = 1 << 16  # bytes in which a header ends whose lines end with carriage returns
# Lone surrogates, which no text holds that is decoded: see _Text.
END_MARK, RETURN_MARK = "\udc00", "\udc0d"


@dataclass(frozen=True, kw_only=True)
class CsvReader(ColumnReader):
    """Documents from the rows of CSV files with a header line, compressed or not.

    Columns are chosen and kept, and pages read, as by `jsonl`, all as strings. Quoted fields may contain line
    breaks, so a file is one piece. A document's position is its row number, 0 after the header. `delimiter` is
    found out for each file: the one of comma, semicolon, tab and | that divides the header and most of the first
    rows into equally many fields. A second column of a name is called NAME_1. Bytes that are not UTF-8 (or not in
    `charset`) become U+FFFD; UTF-16 with a byte order mark is read. Faults: `bad_row` (not as many fields as the
    header, or an open quotation mark: then the rest of the file is lost), `too_long` (a row of more than 32 MB or 2
    million fields: likewise), `bad_encoding` (a file that is plainly not UTF-8, while no `charset` is given),
    `truncated`, `damaged`, `window_too_large`; `empty_text` and `empty_page` are expected. Blank lines are counted
    as `blank_line`.
    """

    charset: str | None = None  # of the files; null: UTF-8, or what a byte order mark says
    delimiter: str = AUTO  # between fields, one character; auto: found out from the first rows of each file
    step = "read/csv"
    suffixes = endings("csv", "tsv", "tab", "psv")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_charset(self.charset)
        if self.delimiter != AUTO and len(self.delimiter) != 1:
            raise RecipeError(f"delimiter must be one character, or {AUTO}, got {self.delimiter!r}")
        if self.delimiter in '"\r\n':
            raise RecipeError(f"delimiter cannot be {self.delimiter!r}, which quotes a field or ends a line")

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[FilePiece]:
        first = next((file for file in files if file.size), None)
        if first is not None:
            text = _Text(whole_file(first), self._delimiter(first), self.charset)
            if text.encoding:
                raise InputError(f"{first.path}: {advice(text.encoding, first.path)}")
            header = self._header(text, first.path)
            if isinstance(text.error, OtherCharset):
                raise InputError(f"{first.path}: {text.error}")
            if header or text.error is None:
                self._check(header, first)
        return super().split(files, target_bytes)

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        text = _Text(piece, self._delimiter(piece.file), self.charset)
        if text.encoding:
            docs.dead(0, "bad_encoding", advice(text.encoding, piece.file.path))
            return
        header = self._header(text, piece.file.path)
        roles = self.roles
        if header or text.error is None:
            self._check(header, piece.file)
        names = numbered(header)
        rows = RowReader(roles, docs)
        position, before = 0, text.rows.line_num - text.ended
        for fields in text.rows:
            if text.ended:
                break
            text.size = 0
            docs.counts.broken_texts += text.is_broken
            text.is_broken = False
            if not fields:
                docs.counts.skip("blank_line")
            elif len(fields) != len(names):
                reason = (
                    f"the row has {len(fields)} fields, the header {len(names)}: {str(text.restored(fields[:20]))[:80]}"
                )
                docs.dead(position, "bad_row", reason)
            else:
                rows.add_values(position, dict(zip(names, text.restored(fields), strict=True)), sum(map(len, fields)))
            yield from docs.full()
            position += 1
            before = text.rows.line_num
        if isinstance(text.error, OtherCharset):
            docs.dead(position, KINDS[OtherCharset], str(text.error))
        elif text.error:
            docs.dead(position, KINDS[type(text.error)], f"{text.error}; the rows from here on are lost")
        elif lost := text.rows.line_num - before - 1:  # one is the mark of the end
            reason = f"a quotation mark opens a field in line {before + 1} of the file, and none closes it"
            docs.dead(position, "bad_row", f"{reason}: {'that line is' if lost == 1 else f'{lost} lines are'} lost")

    def column_types(self, file: FileInfo, until: int) -> ColumnTypes | None:
        """Those of its header, all strings."""
        header = numbered(self._header(_Text(whole_file(file), self._delimiter(file), self.charset), file.path))
        if not header:
            return None
        return self.roles.column_types(pa.schema([(name, pa.string()) for name in header]))

    def describe(self, file: FileInfo) -> str:
        """How a file is read, where that was found out by looking into it."""
        return f"fields separated by {quoted(self._delimiter(file))}" if self.delimiter == AUTO and file.size else ""

    def _delimiter(self, file: FileInfo) -> str:
        return sniffed(file.path, _head(file.path, self.charset)) if self.delimiter == AUTO else self.delimiter

    def _check(self, header: list[str], file: FileInfo) -> None:
        """Raises InputError unless the columns are there. One that is all of the header is not suggested."""
        roles = self.roles
        if len(header) == 1 and not {roles.content, *TEXT} & {*header}:
            used, better = self._delimiter(file), sniffed(file.path, _head(file.path, self.charset))
            advice = (
                f"it seems to be separated by {quoted(better)}: write delimiter: {quoted(better)}, or leave it out"
                if better != used
                else "if another character separates columns, name it: delimiter: ':'; if this is the column with the "
                f"text, name that: text: {header[0]!r}"
            )
            raise InputError(
                f"{file.path}, header: divided at {quoted(used)} it is one column, {header[0]!r}; {advice}"
            )
        roles.check(header, f"{file.path}, header")

    def _header(self, text: "_Text", path: str) -> list[str]:
        header = text.restored(next(text.rows, []))
        if text.ended and header != [END_MARK] and text.error is None:
            raise InputError(f"{path}, header: a quotation mark opens a name, and none closes it")
        return [] if text.ended else header


class _Text:
    """The rows of a file.

    A field that is not quoted may hold a carriage return, unless the header ends with one: then lines do, as once on
    the Macintosh. Python's parser takes neither, so the one is replaced while it parses, and of the other it gets the
    lines as they are. After the last line it gets a line more, which shows whether a quoted field is still open.

    rows       what the parser makes of them
    ended      whether the last of `rows` holds the line more: all of it, or a field that is not closed
    error      why the lines ended early, if they did
    size       bytes of the lines since it was set to 0
    encoding   another than UTF-8 that the file seems to have, else ""
    is_broken  whether a line since it was set to False has bytes that are not in the charset
    """

    def __init__(self, piece: FilePiece, delimiter: str, charset: str | None) -> None:
        self.error: RecordError | None = None
        self.ended = False
        self.size = 0
        self.is_broken = False
        self._delimiter = delimiter.encode()
        self._replaced = False
        self._counts = ReadCounts()
        self._lines, self._end, self.encoding = _lines(piece, delimiter, charset, self._counts)
        self._more: list[str] = []  # lines to be given, the last first
        csv.field_size_limit(2**31 - 1)  # process-wide; the default of 128 KiB is shorter than many documents
        self.rows = csv.reader(self, delimiter=delimiter)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._more:
            return self._more.pop()
        _, line = next(self._lines, (0, None)) if self.error is None else (0, None)
        if isinstance(line, bytes):
            line = self._bounded(line)
        if not isinstance(line, bytes):
            if self.ended:
                raise StopIteration
            self.ended, self.error = True, line
            return f"{END_MARK}\n"
        text = line.decode("utf-8", "replace") + self._end
        if "\ufffd" in text and (is_broken(line) or self._counts.broken_texts):
            self.is_broken, self._counts.broken_texts = True, 0
        if self._end == "\r":
            if "\n" in text:
                self._more = re.findall("[^\n]*\n|[^\n]+", text)[::-1]
                return self._more.pop()
        elif text.find("\r", 0, -2) >= 0:
            self._replaced = True
            return text[:-2].replace("\r", RETURN_MARK) + text[-2:]
        return text

    def _bounded(self, line: bytes) -> bytes | TooLong:
        self.size += len(line) + 1
        if self.size > MAX_ROW:
            return TooLong(f"a row has more than {MAX_ROW} bytes; a quotation mark may be missing")
        if len(line) > MAX_FIELDS and line.count(self._delimiter) > MAX_FIELDS:
            return TooLong(f"a line has more than {MAX_FIELDS} fields")
        return line

    def restored(self, fields: list[str]) -> list[str]:
        """Fields as they are in the file."""
        return [field.replace(RETURN_MARK, "\r") for field in fields] if self._replaced else fields


def _lines(
    piece: FilePiece, delimiter: str, charset: str | None, counts: ReadCounts
) -> tuple[Iterator[tuple[int, bytes | RecordError]], str, str]:
    """The lines of a file, what ends them, and the encoding that they seem to have if it is not UTF-8."""
    numbered_lines = decoded(lines(piece, MAX_ROW), piece, MAX_ROW, charset=charset, counts=counts)
    first = next(numbered_lines, None)
    if first is None:
        return iter(()), "\n", ""
    line = first[1]
    if isinstance(line, TooLong) or (isinstance(line, bytes) and b"\r" in line[:-1]):
        head = _head(piece.file.path, charset)
        if _first_end(head, delimiter) == "\r":
            return decoded(lines(piece, MAX_ROW, b"\r"), piece, MAX_ROW, b"\r", charset, counts), "\r", ""
    encoding = looks_like_utf16(line) if charset is None and isinstance(line, bytes) else ""
    return chain([first], numbered_lines), "\n", encoding


def _head(path: str, charset: str | None) -> str:
    try:
        data = next(blocks(path), b"")[:HEADER_BYTES]
    except RecordError:
        return ""
    return data.decode(charset or marked(data) or "utf-8", "replace")


def _first_end(head: str, delimiter: str) -> str:
    """The characters that end the header."""
    fed = [""]

    def parts() -> Iterator[str]:
        start = 0
        for end in LINE_END.finditer(head):
            fed.append(head[start : end.end()])
            yield fed[-1]
            start = end.end()

    next(csv.reader(parts(), delimiter=delimiter), None)
    return fed[-1][len(fed[-1].rstrip("\r\n")) :]


Csv = CsvReader  # its name before 1.0
