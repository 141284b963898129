"""Documents with their token ids, one row for each."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.store.tables import ROWS, SIZE, TableWriter
from corpusmill.write import COUNT_COLUMNS, MB_PER_FILE, WriteFacts
from corpusmill.write._columns import Columns, ColumnSelection, selection
from corpusmill.write._files import DocumentFiles
from corpusmill.write._lines import SUFFIXES, records, write_lines

Int64s = NDArray[np.int64]
OWN_COLUMNS = ("input_ids", "token_count", "offset")
DEFAULT_COLUMNS = ("id", "input_ids", "token_count", "source", "url", "date")
COUNT_NAMES = ("documents", "tokens", "shortened_documents", "left_out_tokens", "too_long_documents", "too_long_tokens")


@dataclass(frozen=True, kw_only=True)
class TokenizedWriter(DocumentFiles):
    """Documents with their token ids, a row for each, as Parquet or JSON Lines; no packing.

    id, source, url, date   of the document; null where unknown
    input_ids               list of uint16 or uint32, depending on the vocabulary: its tokens, EOS at the end
    token_count             how many there are in the row
    offset                  with `windows`: tokens of the document before the row
    text                    with `keep_text`
    copies                  if a mix decides how often each document is drawn: it is written once

    Of a document longer than `max_length` the beginning is written, without EOS, or with `windows` all of it in several
    rows, of which each but the first repeats `overlap` tokens. Of one with more than `max_document_tokens`, `too_long:
    empty` writes a row without tokens, and `too_long: drop` no row; this is decided first. The report counts what is
    left out. `signals`, `columns` and `name` are as of `parquet`, and so are the files.
    """

    adds_tokens: ClassVar[bool] = True

    format: Literal["parquet", "jsonl"] = "parquet"
    compression: Literal["zstd", "snappy", "gz", "none"] | None = None  # null: zstd; none for jsonl
    max_length: int | None = None  # tokens in a row at most
    windows: bool = False  # a document longer than max_length makes several rows
    overlap: int = 0  # tokens that a window repeats
    max_document_tokens: int | None = None  # EOS included if it is written
    too_long: Literal["empty", "drop"] = "empty"  # a document with more than max_document_tokens
    eos: bool = True  # EOS at the end of a document
    keep_text: bool = False
    mb_per_file: int = MB_PER_FILE  # megabytes of text, roughly
    single_file: bool = False  # one file for all documents, which one worker writes alone
    name: str | None = None  # of the files, {:05d} stands for their number; null: 00000, 00001 …
    columns: Columns = None  # a list, or column: its name in the file; null: those above
    signals: tuple[str, ...] = ()  # patterns of the signals in the column `signals`

    def check(self) -> None:
        possible = ("zstd", "snappy", "none") if self.format == "parquet" else ("none", "zstd", "gz")
        if self.format not in ("parquet", "jsonl"):
            raise RecipeError(f'format must be parquet or jsonl, got "{self.format}"')
        if self.compression is not None and self.compression not in possible:
            raise RecipeError(
                f'{self.format} can be compressed with {", ".join(possible)}, not with "{self.compression}"'
            )
        if self.max_length is not None and self.max_length < 1:
            raise RecipeError(f"need max_length >= 1, got {self.max_length}; null for no bound")
        if self.max_document_tokens is not None and self.max_document_tokens < 1:
            raise RecipeError(f"need max_document_tokens >= 1, got {self.max_document_tokens}; null for no bound")
        if self.too_long not in ("empty", "drop"):
            raise RecipeError(f'too_long is "empty" or "drop", got "{self.too_long}"')
        if self.windows and self.max_length is None:
            raise RecipeError("windows need max_length, their length")
        if self.overlap and not self.windows:
            raise RecipeError("overlap is of windows; add windows: true")
        if self.overlap < 0 or (self.max_length is not None and self.overlap >= self.max_length):
            raise RecipeError(f"need 0 <= overlap < max_length, got {self.overlap} and {self.max_length}")
        if self.columns is not None and self.keep_text:
            raise RecipeError("columns and keep_text exclude each other; name text in columns, and leave keep_text out")
        if self.windows and self.selection.has("text"):
            raise RecipeError("with windows the text would be written once for each of them; leave it out")
        if self.selection.has("offset") and not self.windows:
            raise RecipeError("offset is of windows; add windows: true")

    @property
    def suffix(self) -> str:
        if self.format == "parquet":
            return ".parquet"
        return SUFFIXES[{"zstd": "zst", None: "none"}.get(self.compression, self.compression or "none")]

    @cached_property
    def selection(self) -> ColumnSelection:
        own = (("offset",) if self.windows else ()) + (("text",) if self.keep_text else ())
        chosen = selection(self.columns, self.signals, (*DEFAULT_COLUMNS, *own, "copies"), OWN_COLUMNS)
        return ColumnSelection(chosen.columns, chosen.signals, COUNT_COLUMNS if self.columns is None else ())

    def write(self, batches: Iterable[pa.RecordBatch], path: Path) -> WriteFacts:
        """Write the documents of one file; the batches have a column `input_ids` with EOS at the end of each."""
        counts = dict.fromkeys(COUNT_NAMES, 0)
        rows = (self._rows(batch, counts) for batch in batches)
        if self.format == "jsonl":
            compression = self.suffix.removeprefix(".jsonl").removeprefix(".") or "none"
            lines = records(rows, self.selection)
            row_count = write_lines(lines, path, compression, 3, sort=False)
        else:
            first = next(rows)
            sized = next((name for column, name in self.selection.columns if column == "input_ids"), None)
            how: dict[str, Any] = {"sized": sized, "compression": self.compression or "zstd"}
            with TableWriter(path, first.schema, ROWS, SIZE, **how) as table:
                for batch in chain([first], rows):
                    table.write(batch)
            row_count = table.rows_written
        return WriteFacts(row_count, path.stat().st_size, counts=counts)

    def _rows(self, batch: pa.RecordBatch, counts: dict[str, int]) -> pa.RecordBatch:
        """The rows of a batch of documents, as they are written; adds to the counts."""
        ids = batch["input_ids"]
        values, edges = ids.values.to_numpy(), ids.offsets.to_numpy().astype(np.int64)
        length = np.diff(edges) - (0 if self.eos else 1)
        over = length > self.max_document_tokens if self.max_document_tokens else np.zeros(len(length), bool)
        used = np.where(over, 0, length)
        if self.windows:
            assert self.max_length is not None
            windows = cut_into_windows(used, self.max_length, self.overlap)
        else:
            row_length = np.minimum(used, self.max_length) if self.max_length else used
            windows = DocumentRows(np.arange(len(used)), np.zeros_like(row_length), row_length)
        if self.too_long == "drop":
            windows = DocumentRows(*(column[~over[windows.document]] for column in windows))
        batch_counts = {
            "documents": len(np.unique(windows.document)),
            "tokens": int(windows.length.sum()),
            "shortened_documents": 0 if self.windows or not self.max_length else int((used > self.max_length).sum()),
            "left_out_tokens": 0 if self.windows else int(used.sum() - windows.length.sum()),
            "too_long_documents": int(over.sum()),
            "too_long_tokens": int(length[over].sum()),
        }
        for name, count in batch_counts.items():
            counts[name] += count
        counted = [name for name in ("input_ids", "token_count") if name in batch.schema.names]
        others = batch.drop_columns(counted).take(pa.array(windows.document))
        own = {
            "input_ids": _lists(values, edges[windows.document] + windows.offset, windows.length),
            "token_count": pa.array(windows.length),
            "offset": pa.array(windows.offset),
        }
        names = [*others.schema.names, *own]
        return self.selection.select(pa.RecordBatch.from_arrays([*others.columns, *own.values()], names))


class DocumentRows(NamedTuple):
    """Rows of documents: (rows,) the document, tokens of it before the row, tokens in the row."""

    document: Int64s
    offset: Int64s
    length: Int64s


def cut_into_windows(lengths: Int64s, size: int, overlap: int) -> DocumentRows:
    """Windows of `size` tokens of each document, each but the first beginning with the last `overlap` tokens of the one
    before; the last ends with the document and may be shorter. A document without tokens has one window, without any.

    lengths   (documents,) tokens of each
    """
    step = size - overlap
    count = 1 + np.maximum(0, -(-(lengths - size) // step))
    document = np.repeat(np.arange(len(lengths)), count)
    offset = (np.arange(len(document)) - np.repeat(np.cumsum(count) - count, count)) * step
    return DocumentRows(document, offset, np.minimum(size, lengths[document] - offset))


def _lists(values: NDArray[Any], start: Int64s, length: Int64s) -> pa.ListArray:
    """Lists of `length` values from `start` on."""
    edges = np.append(0, np.cumsum(length))
    if len(start) and (start[1:] == start[:-1] + length[:-1]).all():  # as they stand
        return pa.ListArray.from_arrays(
            pa.array(edges.astype(np.int32)), pa.array(values[int(start[0]) : int(start[0] + edges[-1])])
        )
    at = np.arange(edges[-1]) + np.repeat(start - edges[:-1], length)
    return pa.ListArray.from_arrays(pa.array(edges.astype(np.int32)), pa.array(values[at]))


Tokenized = TokenizedWriter  # its name before 1.0
