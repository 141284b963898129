"""Packed rows as Parquet."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.text.array_types import Int64s
from corpusmill.write import PackedRows, WriteFacts
from corpusmill.write._names import stem
from corpusmill.write._rows import RowSlice, in_groups

PIECE_COLUMNS = {"documents": pa.int64(), "lengths": pa.int32(), "offsets": pa.int64()}
TOKEN_COLUMNS = {"input_ids": None, "labels": pa.int64(), "attention_mask": pa.int8(), "position_ids": pa.int32()}
COLUMN_NAMES = (*TOKEN_COLUMNS, *PIECE_COLUMNS)
IGNORED_LABEL = -100  # as a label: no loss here, as PyTorch's cross_entropy and the models of transformers have it


@dataclass(frozen=True, kw_only=True)
class ParquetTokensWriter:
    """The rows of the training shards as Parquet, one file per shard, for `load_dataset("parquet", streaming=True)`.

    input_ids        list of uint16 or uint32, depending on the vocabulary: the tokens of the row, padding included
    documents        list of int64: the numbers of the documents in the row, in order
    lengths          list of int32: the number of tokens of each in the row; the rest of the row is padding at its end
    offsets          list of int64: how many tokens of the document come before this piece, in other rows
    position_ids     list of int32, optional: from 0 on in every piece of a document, and in padding
    labels           list of int64, optional: `input_ids`, and -100 in padding; not shifted, as transformers want it
    attention_mask   list of int8, optional: 1 for tokens of documents, 0 in padding

    `columns: [input_ids, labels]` writes these and no others. Without documents, lengths and offsets all lists are as
    long as a row (in Parquet, of fixed size), so `load_dataset(…).with_format("torch")` feeds a DataLoader; a last row
    must be full then: `pack/concat` with `remainder: pad` or `drop`.

    `name: "train_{:05d}"` names the files train_00000.parquet …; with `single_file` it needs no number.
    """

    suffixes: ClassVar = (".parquet",)

    tokens_per_shard: int = 100_000_000  # rounded down to whole rows
    tokens_per_group: int = 1 << 20  # rounded down to whole rows, at least one
    position_ids: bool = False  # add this column to the usual ones
    columns: tuple[str, ...] | None = None  # null: input_ids, documents, lengths, offsets
    single_file: bool = False  # one file for all rows, which one worker writes alone
    name: str | None = None  # of the files, {:05d} stands for their number; null: 00000, 00001 …

    def __post_init__(self) -> None:
        if self.tokens_per_shard < 1 or self.tokens_per_group < 1:
            raise RecipeError(
                f"need tokens_per_shard >= 1 and tokens_per_group >= 1, got {self.tokens_per_shard} and "
                f"{self.tokens_per_group}"
            )
        if self.columns is not None:
            object.__setattr__(self, "columns", tuple(self.columns))
            for column in self.columns:
                if column not in COLUMN_NAMES:
                    suggestion = did_you_mean(column, COLUMN_NAMES) or "."
                    raise RecipeError(f'there is no column "{column}"{suggestion} There are: {", ".join(COLUMN_NAMES)}')
            if not self.columns or len(set(self.columns)) < len(self.columns):
                raise RecipeError(f"columns names each column once, and at least one; got {list(self.columns)}")
            if self.position_ids and "position_ids" not in self.columns:
                raise RecipeError("position_ids is true, and columns leaves it out; name it in columns")
        _ = self.stem  # complain now, not in a worker

    @property
    def stem(self) -> str | None:
        return stem(self.name, ".parquet", self.single_file)

    @property
    def full_rows(self) -> bool:
        """Whether all lists must have the length of a row."""
        return self.columns is not None and not set(self.columns) & set(PIECE_COLUMNS)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return self.columns or ("input_ids", *PIECE_COLUMNS, *(("position_ids",) if self.position_ids else ()))

    def write_rows(self, packed: PackedRows, files: Mapping[str, Path]) -> WriteFacts:
        """Write the rows of one shard, one row group in memory at a time."""
        path = files[".parquet"]
        size = packed.row if self.full_rows else -1
        if self.full_rows and packed.size % packed.row:
            raise RecipeError(
                f"parquet_tokens: the last row has {packed.size % packed.row} tokens of {packed.row}, and columns "
                "without documents need full rows; use remainder: pad or drop"
            )
        kinds = {**TOKEN_COLUMNS, **PIECE_COLUMNS, "input_ids": pa.from_numpy_dtype(packed.dtype)}
        schema = pa.schema([(name, pa.list_(kinds[name], size)) for name in self._names])
        rows = max(1, self.tokens_per_group // packed.row)
        row_count = 0
        with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as file:
            for batch in _groups(packed, rows, schema, size):
                file.write_batch(batch, row_group_size=rows)
                row_count += len(batch)
        return WriteFacts(row_count, path.stat().st_size)


def _groups(packed: PackedRows, rows: int, schema: pa.Schema, size: int) -> Iterator[pa.RecordBatch]:
    """The rows of a shard, `rows` at a time. With `size` above 0 all lists have that length."""
    for group in in_groups(packed, rows):
        columns = [
            _lists(
                group.pieces if name in PIECE_COLUMNS else group.edges,
                _values(name, group),
                -1 if name in PIECE_COLUMNS else size,
            )
            for name in schema.names
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _values(name: str, group: RowSlice) -> NDArray[Any]:
    """The values of a column, row after row."""
    if name == "input_ids":
        return group.tokens
    if name == "labels":
        return np.where(_is_padding(group), IGNORED_LABEL, group.tokens.astype(np.int64))
    if name == "attention_mask":
        return (~_is_padding(group)).astype(np.int8)
    if name == "position_ids":
        return _positions(group)
    values: NDArray[Any] = getattr(group, name)
    return values


def _document_tokens(group: RowSlice) -> Int64s:
    """(rows,) tokens of documents in each row; the rest of it is padding."""
    row_tokens: Int64s = np.add.reduceat(np.append(group.lengths, 0), group.pieces[:-1]) * (np.diff(group.pieces) > 0)
    return row_tokens


def _is_padding(group: RowSlice) -> NDArray[np.bool_]:
    """(tokens,) by the lengths of documents and not by the id, as padding may be EOS."""
    ends = np.repeat(group.edges[:-1] + _document_tokens(group), np.diff(group.edges))
    padding: NDArray[np.bool_] = np.arange(len(group.tokens)) >= ends
    return padding


def _positions(group: RowSlice) -> NDArray[np.int32]:
    """(tokens,) the position of each token in its piece of a document; padding also counts from 0."""
    padding = np.diff(group.edges) - _document_tokens(group)
    sizes = np.insert(group.lengths.astype(np.int64), group.pieces[1:], padding)
    starts = np.cumsum(sizes) - sizes
    return (np.arange(len(group.tokens)) - np.repeat(starts, sizes)).astype(np.int32)


def _lists(edges: Int64s, values: NDArray[Any], size: int) -> pa.Array:
    if size > 0:
        return pa.FixedSizeListArray.from_arrays(pa.array(values), size)
    return pa.ListArray.from_arrays(pa.array(edges.astype(np.int32)), pa.array(values))


ParquetTokens = ParquetTokensWriter  # its name before 1.0
