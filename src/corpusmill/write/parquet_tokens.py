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
from corpusmill.shards.layout import PADDING, Spans
from corpusmill.shards.pack import Packed
from corpusmill.tokens.packing import Int64s
from corpusmill.write import WriteFacts


@dataclass(frozen=True, kw_only=True)
class ParquetTokens:
    """The rows of the training shards as Parquet, one file a shard, for `load_dataset("parquet", streaming=True)`.

    input_ids   list of uint16 or uint32, as the vocabulary needs: the tokens of the row, with its padding
    documents   list of int64: the numbers of the documents in the row, in order
    lengths     list of int32: how many tokens of each stand there; what is left of the row is padding at its end

    The running sums of `lengths`, 0 first, are the cu_seqlens of attention kernels.
    """

    tokens_per_shard: int = 100_000_000  # rounded down to whole rows
    tokens_per_group: int = 1 << 20  # rounded down to whole rows, but one at least

    def __post_init__(self) -> None:
        if self.tokens_per_shard < 1 or self.tokens_per_group < 1:
            raise RecipeError(
                f"need tokens_per_shard >= 1 and tokens_per_group >= 1, got {self.tokens_per_shard} and "
                f"{self.tokens_per_group}"
            )

    @property
    def suffixes(self) -> tuple[str, ...]:
        return (".parquet",)

    def write_rows(self, packed: Packed, files: Mapping[str, Path]) -> WriteFacts:
        """Write the rows of one shard, one row group in memory at a time."""
        path = files[".parquet"]
        ids = pa.from_numpy_dtype(packed.dtype)
        schema = pa.schema(
            [("input_ids", pa.list_(ids)), ("documents", pa.list_(pa.int64())), ("lengths", pa.list_(pa.int32()))]
        )
        rows = max(1, self.tokens_per_group // packed.plan.row)
        written = 0
        with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as file:
            for batch in _groups(packed, rows, schema):
                file.write_batch(batch, row_group_size=rows)
                written += len(batch)
        return WriteFacts(written, path.stat().st_size)


def _groups(packed: Packed, rows: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    row = packed.plan.row
    in_row, start, document = by_row(packed.spans, packed.size, row)
    length = np.append(start[1:], packed.size) - start
    real = document != PADDING
    in_row, length, document = in_row[real], length[real], document[real]
    for number, tokens in enumerate(packed.chunks(rows)):
        count = -(-len(tokens) // row)
        edges = np.minimum(np.arange(count + 1) * row, len(tokens))
        runs = np.searchsorted(in_row, number * rows + np.arange(count + 1))
        within = slice(int(runs[0]), int(runs[-1]))
        columns = [
            _lists(edges, tokens),
            _lists(runs - runs[0], document[within]),
            _lists(runs - runs[0], length[within].astype(np.int32)),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def by_row(spans: Spans, size: int, row: int) -> tuple[Int64s, Int64s, Int64s]:
    """Spans cut where rows end: (spans,) the row, where it starts in the shard, and its document.

    size   tokens in the shard
    """
    start = np.union1d(spans.start, np.arange(0, size, row))
    document = spans.document[np.searchsorted(spans.start, start, "right") - 1]
    return start // row, start, document


def _lists(edges: Int64s, values: NDArray[Any]) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(edges.astype(np.int32)), pa.array(values))
