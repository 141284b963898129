"""Packed rows as Parquet."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.tokens.packing import Int64s
from corpusmill.write import PackedRows, WriteFacts
from corpusmill.write._rows import Rows, in_groups


@dataclass(frozen=True, kw_only=True)
class ParquetTokens:
    """The rows of the training shards as Parquet, one file per shard, for `load_dataset("parquet", streaming=True)`.

    input_ids      list of uint16 or uint32, depending on the vocabulary: the tokens of the row, padding included
    documents      list of int64: the numbers of the documents in the row, in order
    lengths        list of int32: the number of tokens of each in the row; the rest of the row is padding at its end
    offsets        list of int64: how many tokens of the document come before this piece, in other rows
    position_ids   list of int32, optional: from 0 on in every piece of a document, and in padding

    The running sums of `lengths`, starting with 0, are the cu_seqlens of attention kernels.
    """

    tokens_per_shard: int = 100_000_000  # rounded down to whole rows
    tokens_per_group: int = 1 << 20  # rounded down to whole rows, at least one
    position_ids: bool = False

    def __post_init__(self) -> None:
        if self.tokens_per_shard < 1 or self.tokens_per_group < 1:
            raise RecipeError(
                f"need tokens_per_shard >= 1 and tokens_per_group >= 1, got {self.tokens_per_shard} and "
                f"{self.tokens_per_group}"
            )

    @property
    def suffixes(self) -> tuple[str, ...]:
        return (".parquet",)

    def write_rows(self, packed: PackedRows, files: Mapping[str, Path]) -> WriteFacts:
        """Write the rows of one shard, one row group in memory at a time."""
        path = files[".parquet"]
        ids = pa.from_numpy_dtype(packed.dtype)
        fields = [("input_ids", ids), ("documents", pa.int64()), ("lengths", pa.int32()), ("offsets", pa.int64())]
        fields += [("position_ids", pa.int32())] * self.position_ids
        schema = pa.schema([(name, pa.list_(kind)) for name, kind in fields])
        rows = max(1, self.tokens_per_group // packed.row)
        written = 0
        with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as file:
            for batch in _groups(packed, rows, schema):
                file.write_batch(batch, row_group_size=rows)
                written += len(batch)
        return WriteFacts(written, path.stat().st_size)


def _groups(packed: PackedRows, rows: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for group in in_groups(packed, rows):
        columns = [
            _lists(group.edges, group.tokens),
            _lists(group.pieces, group.documents),
            _lists(group.pieces, group.lengths),
            _lists(group.pieces, group.offsets),
        ]
        if "position_ids" in schema.names:
            columns.append(_lists(group.edges, _positions(group)))
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _positions(group: Rows) -> NDArray[np.int32]:
    """(tokens,) the position of each token in its piece of a document; padding also counts from 0."""
    held = np.add.reduceat(np.append(group.lengths, 0), group.pieces[:-1]) * (np.diff(group.pieces) > 0)
    padding = np.diff(group.edges) - held
    sizes = np.insert(group.lengths.astype(np.int64), group.pieces[1:], padding)
    starts = np.cumsum(sizes) - sizes
    return (np.arange(len(group.tokens)) - np.repeat(starts, sizes)).astype(np.int32)


def _lists(edges: Int64s, values: NDArray[Any]) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(edges.astype(np.int32)), pa.array(values))
