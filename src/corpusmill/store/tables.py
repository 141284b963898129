"""Parquet tables whose bytes depend on their rows alone, not on how the rows arrived."""

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

ROWS = 4096  # rows of a row group at most …
SIZE = 32 << 20  # … and bytes of text, so that one row group of long documents still fits a worker
ROWS_WITHOUT_TEXT = 4 * ROWS  # columns of numbers read twice as fast in row groups of this size


def read_table(path: str | Path, columns: list[str] | None = None, filters: Any = None) -> pa.Table:
    """A Parquet file. Its folders say nothing of its columns: elsewhere those of `runs/source=web` would."""
    return pq.read_table(path, columns=columns, filters=filters, use_threads=False, partitioning=None)


class TableWriter:
    """Writes record batches to one Parquet file.

    Row groups are cut after `rows` rows, or after the row that brings the texts in the group to `size` bytes: both
    are counted row by row, so the file is the same whatever the batches were. Compressed with zstd. If `rows` is not
    given, it is ROWS for a table of texts, and ROWS_WITHOUT_TEXT for another.

    sized         the column of which `size` bytes fill a row group: texts, lists of numbers, or the sizes of texts that
                  are elsewhere
    compression   "zstd" or "snappy"
    level         of zstd: 3 takes a seventh less than 1, and of a table of texts twice the time, which is still little
    """

    def __init__(
        self,
        path: Path,
        schema: pa.Schema,
        rows: int | None = None,
        size: int = SIZE,
        *,
        sized: str | None = "text",
        compression: str = "zstd",
        level: int = 1,
    ) -> None:
        self.schema = schema
        self.rows_written = 0
        self._sized = sized if sized in schema.names else None
        self._rows, self._size = rows or (ROWS if self._sized else ROWS_WITHOUT_TEXT), size
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0
        self._waiting_size = 0
        self._groups: list[int] = []  # bytes of text in each row group
        self._writer = pq.ParquetWriter(
            path,
            schema,
            compression=compression,
            compression_level=level if compression == "zstd" else None,
        )

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows. The batch's columns must be the schema's."""
        start = 0
        while start < len(batch):
            stop = min(len(batch), start + self._rows - self._waiting_rows)
            size = 0
            if self._sized:
                total = self._waiting_size + np.cumsum(_sizes(batch[self._sized].slice(start, stop - start)))
                over = int(np.searchsorted(total, self._size))
                stop = min(stop, start + over + 1)
                size = int(total[stop - start - 1]) - self._waiting_size
            self._waiting.append(batch.slice(start, stop - start))
            self._waiting_rows += stop - start
            self._waiting_size += size
            if self._waiting_rows >= self._rows or self._waiting_size >= self._size:
                self._flush()
            start = stop

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._waiting, schema=self.schema).combine_chunks()
        self._writer.write_table(table, row_group_size=max(len(table), 1))
        self.rows_written += len(table)
        self._groups.append(self._waiting_size)
        self._waiting, self._waiting_rows, self._waiting_size = [], 0, 0

    def close(self) -> None:
        if self._waiting:
            self._flush()
        self._writer.close()

    def text_groups(self) -> list[int]:
        """Bytes of text in each row group; nothing may be written after."""
        self.close()
        return self._groups

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self._writer.close()


def _sizes(column: pa.Array) -> NDArray[np.int64]:
    """(rows,) bytes of each text, of the numbers in each list, or as the numbers say."""
    if pa.types.is_integer(column.type):
        sizes = column
    elif pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        sizes = pc.multiply(pc.list_value_length(column).cast(pa.int64()), column.type.value_type.byte_width)
    else:
        sizes = pc.binary_length(column)
    numbers: NDArray[np.int64] = pc.fill_null(sizes, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers
