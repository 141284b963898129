"""Documents as Parquet."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.schema import DOCUMENT
from corpusmill.tables import ROWS, SIZE, TableWriter
from corpusmill.write import COLUMNS, COUNTS, MB_PER_FILE, WriteFacts, check_files


@dataclass(frozen=True, kw_only=True)
class Parquet:
    """Parquet, compressed with zstd, with the columns id, text, source, url, date and metadata.

    `metadata` is a JSON object as a string, null if there is none. A column `tokens` follows if tokens were counted,
    and `copies` if a mix decides how often each document is drawn. Row groups are small, so that a reader can stream
    them and read many in parallel. `datasets.load_dataset("parquet", data_files=…, streaming=True)` reads it.
    """

    rows_per_group: int = ROWS
    bytes_per_group: int = SIZE  # of text: a group ends with the document that reaches it
    mb_per_file: int = MB_PER_FILE  # megabytes of text, roughly
    single_file: bool = False  # one file for all documents, which one worker writes alone

    def __post_init__(self) -> None:
        check_files(self.mb_per_file)
        if self.rows_per_group < 1 or self.bytes_per_group < 1:
            raise RecipeError(
                f"need rows_per_group >= 1 and bytes_per_group >= 1, got {self.rows_per_group} and "
                f"{self.bytes_per_group}"
            )

    @property
    def suffix(self) -> str:
        return ".parquet"

    def write(self, batches: Iterable[pa.RecordBatch], path: Path) -> WriteFacts:
        """Write the documents of one file; other columns than those of the format are left out."""
        batches = iter(batches)
        first = next(batches, pa.RecordBatch.from_pylist([], schema=DOCUMENT))
        counts = [pa.field(name, pa.int64()) for name in COUNTS if name in first.schema.names]
        schema = pa.schema([*(DOCUMENT.field(name) for name in COLUMNS), *counts])
        with TableWriter(path, schema, self.rows_per_group, self.bytes_per_group) as table:
            for batch in chain([first], batches):
                table.write(pa.RecordBatch.from_arrays([batch[f.name].cast(f.type) for f in schema], schema=schema))
        return WriteFacts(table.rows_written, path.stat().st_size)
