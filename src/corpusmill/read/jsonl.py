"""JSON lines: one object per line."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson
import pyarrow as pa

from corpusmill.errors import InputError, RecipeError, RecordError
from corpusmill.read import BATCH_BYTES, BATCH_ROWS, ColumnTypes, FilePiece, ReadCounts, whole_file
from corpusmill.read._bytes import endings, sniff
from corpusmill.read._columns import ColumnReader, RowReader, content_of
from corpusmill.read._documents import DocumentBatches, Unfit
from corpusmill.read._encoding import (
    advice,
    check_charset,
    decoded,
    is_broken,
    is_marked,
    is_wide,
    looks_like_utf16,
)
from corpusmill.read._lines import KINDS, OtherCharset, lines
from corpusmill.read._own_columns import types_of_rows
from corpusmill.storage import FileInfo

SURROGATE = re.compile("[\ud800-\udfff]")
BOM = b"\xef\xbb\xbf"
MAX_DEPTH = 250  # as deep as metadata can be kept
BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+["\\]?|[\[\]{}]', re.DOTALL)
LONG_LINE_BYTES = 4_000_000  # bytes of a line whose values are counted before it is parsed
MAX_VALUE_BYTES = 256_000_000  # bytes of memory that the values of a long line may take, beside their characters


@dataclass(frozen=True, kw_only=True)
class JsonlReader(ColumnReader):
    """Documents from JSON lines: plain, gzip, bz2, xz, zstd or lz4.

    The text is the column that `text` names, nested with dots (`body.text`); id, url and date are chosen likewise and
    may be missing. Other columns are kept in `metadata` as JSON with sorted keys, or only those that `keep` names.
    Where `html` names a column, its values are the pages that an `extract/…` step makes the text of. `columns: keep` or
    a list of names, keeps columns in their types, for `parquet` and `jsonl` to write: see the guide.

    A document's position is the offset of its line in decompressed bytes (of UTF-16, as UTF-8). Read beyond the
    standard: NaN and Infinity (as null), whole numbers beyond 64 bits (as floats), lines ended by carriage returns,
    byte order marks, UTF-16 with one; bytes that are not UTF-8 and lone surrogates become U+FFFD; of a name given twice
    the last value counts. Faults: `bad_json`, `bad_encoding` (a file that is plainly not UTF-8, while no `charset` is
    given, is not read), `too_deep`
    (nested more than 250 deep), `no_text` or `no_page` (missing or not a string), `too_long`, `too_many_values`,
    `truncated`, `damaged`, `window_too_large`, `other_type` (of a column that `columns` keeps); `empty_text` and
    `empty_page` are expected. Blank lines are counted as `blank_line`. Uncompressed files are split at lines. A line
    takes up to eight times its length of memory.
    """

    charset: str | None = None  # of the files; null: UTF-8, or what a byte order mark says
    max_line_mb: float = 32.0
    max_window_mb: float = 128.0  # that decompressing may take; `zstd --long=31` needs 2148
    step = "read/jsonl"
    begins: ClassVar = {b"{": "JSON lines, or one JSON object"}
    suffixes = endings("jsonl", "json", "ndjson", "jsonlines", "jl", "ldjson")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_charset(self.charset)
        if self.max_line_mb <= 0:
            raise RecipeError(f"need max_line_mb > 0, got {self.max_line_mb}")
        if not 1 <= self.max_window_mb <= 2148:
            raise RecipeError(f"need 1 <= max_window_mb <= 2148, got {self.max_window_mb:g}")

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[FilePiece]:
        self.check_head(next((file for file in files if file.size), None))
        return super().split(files, target_bytes)

    def can_cut(self, file: FileInfo) -> bool:
        return not sniff(file.path) and not is_wide(self.charset) and not is_marked(file.path)

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        rows, counts = RowReader(self.roles, docs), docs.counts
        loads = orjson.loads
        before = counts.records
        for position, line in self._lines(piece, counts):
            if counts.dead_letters - docs.told >= BATCH_ROWS:
                yield from docs.full()
            if isinstance(line, RecordError):
                docs.dead(position, KINDS[type(line)], str(line))
                continue
            if has_too_many_values(line):
                docs.dead(position, "too_many_values", _too_many(line))
                continue
            try:
                row = loads(line)
            except orjson.JSONDecodeError:
                if not line or line.isspace():
                    counts.skip("blank_line")
                    continue
                if not docs.rows and counts.records == before and (encoding := looks_like_utf16(line)):
                    docs.dead(position, "bad_encoding", advice(encoding, piece.file.path))
                    break
                for at, record in records_of(line):
                    if isinstance(record, Unfit):
                        docs.dead(position + at, record.kind, str(record))
                    else:
                        rows.add_values(position + at, record, len(line))
                    yield from docs.full()
                counts.broken_texts += is_broken(line)
                continue
            if not isinstance(row, dict):
                docs.dead(position, "bad_json", f"the line is not a JSON object: {shown(line)}")
                continue
            rows.add_values(position, row, len(line))
            if docs.rows >= counts.batch_rows or docs.bytes >= BATCH_BYTES:
                del line, row  # so that a long one is not kept while the batch is in use
                yield from docs.full()

    def column_types(self, file: FileInfo, until: int) -> ColumnTypes | None:
        """By the values of its records; see `corpusmill.read.KeepsColumns`."""
        schema = types_of_rows(self._records(file, until))
        return None if schema is None else self.roles.column_types(schema)

    def _records(self, file: FileInfo, until: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """The records of a file up to so many bytes, with where they are. What cannot be read is left to `read`."""
        named = self.columns if isinstance(self.columns, tuple) else ()
        for position, line in self._lines(whole_file(file)):
            if position >= until:
                break
            if not isinstance(line, bytes) or has_too_many_values(line):
                continue
            for at, record in records_of(line):
                if isinstance(record, dict):
                    # Of columns that are not named the types do not matter.
                    own = {name: value if name in named else None for name, value in record.items()}
                    yield f"{file.path}, offset {position + at}", own if named else record

    def check_columns(self, row: dict[str, Any], where: str) -> None:
        """Raises InputError, which begins with `where`, if a record has not the columns that the parameters name."""
        self.roles.check(row, where, row)

    def content_of(self, row: dict[str, Any]) -> tuple[str, Any]:
        """Name and value of a record's text or page; None where it has none."""
        return content_of(self.roles, row)

    def _lines(self, piece: FilePiece, counts: ReadCounts | None = None) -> Iterator[tuple[int, bytes | RecordError]]:
        limit = int(self.max_line_mb * 1e6)
        numbered = lines(piece, limit, window=int(self.max_window_mb * 1e6))
        return decoded(numbered, piece, limit, charset=self.charset, counts=counts)

    def check_head(self, file: FileInfo | None) -> None:
        """Check the first record of an input before anything runs. Bad records are left to `read`."""
        head_lines = (line for _, line in self._lines(whole_file(file))) if file else iter(())
        first = next((line for line in head_lines if not isinstance(line, bytes) or line.strip()), None)
        if file and isinstance(first, OtherCharset):
            raise InputError(f"{file.path}: {first}")
        if file is None or not isinstance(first, bytes) or has_too_many_values(first):
            return
        if first.lstrip().startswith(b"["):
            raise InputError(
                f"{file.path}: holds a JSON list, not one object per line. Convert it, for example with: jq -c '.[]'"
            )
        if encoding := looks_like_utf16(first):
            raise InputError(f"{file.path}: {advice(encoding, file.path)}")
        try:
            row = orjson.loads(first)
        except orjson.JSONDecodeError:
            row = next((record for _, record in records_of(first) if isinstance(record, dict)), None)
        if isinstance(row, dict):
            self.roles.check(row, f"{file.path}, first record", row)


Jsonl = JsonlReader  # its name before, for code that imports it from here


def has_too_many_values(line: bytes) -> bool:
    """Whether the values of a long line of JSON may take more than VALUES bytes in Python, beside their characters: 240
    an object, 80 a list or a string. What looks like one of these inside a string is counted, too."""
    if len(line) <= LONG_LINE_BYTES:
        return False
    strings = (line.count(b'"') - line.count(b'\\"')) // 2
    return 240 * line.count(b"{") + 80 * (line.count(b"[") + strings) > MAX_VALUE_BYTES


def _too_many(line: bytes) -> str:
    return f"the values of the line may take more than {MAX_VALUE_BYTES / 1e6:.0f} MB of memory: {shown(line)}"


def json_object(line: bytes) -> dict[str, Any] | Unfit:
    """The object in a line, or in a record that is one line; Unfit if it is none."""
    return Unfit("too_many_values", _too_many(line)) if has_too_many_values(line) else _record(line.removeprefix(BOM))


def records_of(line: bytes) -> Iterator[tuple[int, dict[str, Any] | Unfit]]:
    """(offset, record) of the records in a line that is not JSON as it is: one with bad UTF-8, lone surrogates, NaN,
    large numbers or a byte order mark, or several that end with carriage returns."""
    ended = line.rstrip(b"\r")
    parts = [ended] if b"\r" not in ended or not _is_object(ended.lstrip().partition(b"\r")[0]) else ended.split(b"\r")
    at = 0
    for part in parts:
        if part.strip() or len(parts) == 1:
            yield at, _record(part.removeprefix(BOM))
        at += len(part) + 1


def _is_object(part: bytes) -> bool:
    return isinstance(_parsed(part.removeprefix(BOM)), dict)


def _record(line: bytes) -> dict[str, Any] | Unfit:
    row = _parsed(line)
    if isinstance(row, dict | Unfit):
        return row
    return Unfit("bad_json", f"the line is not a JSON object: {shown(line)}")


def _parsed(line: bytes) -> Any:
    """The value of a line that may be not quite JSON; Unfit if it is not JSON at all."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        message = f"{error}: {shown(line)}"
    if is_deep(line):
        return Unfit("too_deep", f"lists and objects are nested more than {MAX_DEPTH} deep: {shown(line)}")
    try:
        return _clean(json.loads(line.decode("utf-8", "replace"), parse_int=_number))
    except ValueError:
        return Unfit("bad_json", message)


def is_deep(line: bytes) -> bool:
    """Whether lists and objects are nested more than MAX_DEPTH deep: what a parser takes depends on its caller's depth,
    and on the version of Python."""
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return False
    depth = 0
    for token in BRACKETS.finditer(line):
        if token[0] in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif token[0] in b"]}":
            depth -= 1
    return False


def _number(digits: str) -> int | float:
    """A whole number; as a float beyond 64 bits."""
    number = int(digits) if len(digits) <= 20 else math.inf
    return number if -(2**63) <= number < 2**64 else float(digits)


def _clean(value: Any) -> Any:
    """A JSON value without lone surrogates, which UTF-8 cannot encode."""
    if isinstance(value, str):
        return SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    return value


def shown(line: bytes) -> str:
    """The beginning of a line, for dead letters."""
    head = line[:80].decode("utf-8", "replace")
    return f"{head} …" if len(line) > 80 else head
