"""JSON lines: one object per line."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow as pa

from corpusmill.errors import InputError, RecipeError, RecordError
from corpusmill.read import BATCH_BYTES, BATCH_ROWS, Piece, ReadCounts, split_bytes, whole
from corpusmill.read._bytes import Damaged, Truncated, WindowTooLarge, sniff
from corpusmill.read._columns import Roles, Rows, one_content
from corpusmill.read._documents import Documents
from corpusmill.read._lines import TooLong, lines
from corpusmill.storage import FileInfo

STEP = "read/jsonl"
SURROGATE = re.compile("[\ud800-\udfff]")
KINDS = {TooLong: "too_long", Truncated: "truncated", Damaged: "damaged", WindowTooLarge: "window_too_large"}
LONG = 4_000_000  # bytes of a line whose values are counted before it is parsed
VALUES = 256_000_000  # bytes of memory that the values of a long line may take, beside their characters


@dataclass(frozen=True, kw_only=True)
class Jsonl:
    """Documents from JSON lines: plain, gzip, bz2, xz, zstd or lz4.

    The text is the column that `text` names, nested with dots (`body.text`), by default the first of text, content,
    body, raw_content and document that a record has. id, url and date are chosen likewise and may be missing. The other
    columns are kept in `metadata` as JSON with sorted keys, or only those that `keep` names. Where `html` names a
    column, its values are the pages that an `extract/…` step makes the text of, and no column with text is looked for.

    A document's position is the offset of its line in decompressed bytes. Beyond the standard, NaN and Infinity are
    read (and kept as null), and bytes that are not UTF-8 and lone surrogates become U+FFFD. Faults: `bad_json`,
    `no_text` or `no_page` (missing or not a string), `too_long`, `too_many_values`, `truncated`, `damaged`,
    `window_too_large`; `empty_text` and `empty_page` are expected. Blank lines are counted as `blank_line`.
    Uncompressed files are split at lines.

    A line of L bytes takes up to six times L of memory while it is parsed and becomes a batch, a file compressed by
    `zstd --long` up to `max_window_mb` beside that.
    """

    text: str | None = None
    html: str | None = None  # the column that holds HTML pages, instead of text
    id: str | None = None
    url: str | None = None
    date: str | None = None
    keep: tuple[str, ...] | None = None  # other columns to keep; null keeps all, [] none
    max_line_mb: float = 32.0
    max_window_mb: float = 128.0  # that decompressing may take; `zstd --long=31` needs 2148
    suffixes = tuple(
        f".{name}{packed}"
        for name in ("jsonl", "json", "ndjson")
        for packed in ("", ".gz", ".zst", ".bz2", ".xz", ".lz4")
    )

    def __post_init__(self) -> None:
        one_content(self.text, self.html)
        if self.max_line_mb <= 0:
            raise RecipeError(f"need max_line_mb > 0, got {self.max_line_mb}")
        if not 1 <= self.max_window_mb <= 2148:
            raise RecipeError(f"need 1 <= max_window_mb <= 2148, got {self.max_window_mb:g}")
        object.__setattr__(self, "keep", None if self.keep is None else tuple(self.keep))

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[Piece]:
        self._check(next((file for file in files if file.size), None))
        pieces: list[Piece] = []
        for file in files:
            cut = file.size > target_bytes and not sniff(file.path)
            pieces += split_bytes(file, target_bytes) if cut else [whole(file)]
        return pieces

    def read(self, piece: Piece, source: str, counts: ReadCounts) -> Iterator[pa.RecordBatch]:
        docs = Documents(piece, source, STEP, counts)
        rows = Rows(self._roles(), docs)
        if piece.file.size == 0:
            docs.dead(0, "empty_file", "the file has no bytes", expected=True)
        loads = orjson.loads
        for position, line in self._lines(piece):
            if counts.dead_letters - docs.told >= BATCH_ROWS:
                yield from docs.full()
            if isinstance(line, RecordError):
                docs.dead(position, KINDS[type(line)], str(line))
                continue
            if has_too_many_values(line):
                reason = f"the values of the line may take more than {VALUES / 1e6:.0f} MB of memory: {shown(line)}"
                docs.dead(position, "too_many_values", reason)
                continue
            try:
                row = loads(line)
            except orjson.JSONDecodeError as error:
                if not line or line.isspace():
                    counts.skip("blank_line")
                    continue
                row = parse_leniently(line)
                if row is None:
                    docs.dead(position, "bad_json", f"{error}: {shown(line)}")
                    continue
            if not isinstance(row, dict):
                docs.dead(position, "bad_json", f"the line is not a JSON object: {shown(line)}")
                continue
            rows.add(position, row)
            if docs.rows >= BATCH_ROWS or docs.bytes >= BATCH_BYTES:
                del line, row  # so that a long one is not kept while the batch is in use
                yield from docs.full()
        yield from docs.rest()

    def _roles(self) -> Roles:
        return Roles(self.text, self.html, self.id, self.url, self.date, self.keep)

    def _lines(self, piece: Piece) -> Iterator[tuple[int, bytes | RecordError]]:
        return lines(piece, int(self.max_line_mb * 1e6), window=int(self.max_window_mb * 1e6))

    def _check(self, file: FileInfo | None) -> None:
        """Check the first record of an input before anything runs. Bad records are left to `read`."""
        given = (line for _, line in self._lines(whole(file))) if file else iter(())
        first = next((line for line in given if not isinstance(line, bytes) or line.strip()), None)
        if file is None or not isinstance(first, bytes) or has_too_many_values(first):
            return
        if first.lstrip().startswith(b"["):
            raise InputError(
                f"{file.path}: holds a JSON list, not one object per line. Convert it, for example with: jq -c '.[]'"
            )
        try:
            row = orjson.loads(first)
        except orjson.JSONDecodeError:
            row = parse_leniently(first)
        if isinstance(row, dict):
            self._roles().check(row, f"{file.path}, first record", row)


def has_too_many_values(line: bytes) -> bool:
    """Whether the values of a long line of JSON may take more than VALUES bytes in Python, beside their characters: 240
    an object, 80 a list or a string. What looks like one of these inside a string is counted, too."""
    if len(line) <= LONG:
        return False
    strings = (line.count(b'"') - line.count(b'\\"')) // 2
    return 240 * line.count(b"{") + 80 * (line.count(b"[") + strings) > VALUES


def parse_leniently(line: bytes) -> Any:
    """Parse a line that is not quite JSON: bad UTF-8, lone surrogates, NaN. None if that fails, too."""
    try:
        return _clean(json.loads(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return None


def _clean(value: Any) -> Any:
    """A JSON value without lone surrogates, which UTF-8 cannot encode, and with larger integers than 64 bits as
    floats."""
    if isinstance(value, str):
        return SURROGATE.sub("\ufffd", value)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return float(str(value))
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    return value


def shown(line: bytes) -> str:
    """The beginning of a line, for dead letters."""
    head = line[:80].decode("utf-8", "replace")
    return f"{head} …" if len(line) > 80 else head
