"""Documents as Parquet."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.schema import DOCUMENT
from corpusmill.store.tables import ROWS, SIZE, TableWriter
from corpusmill.write import COLUMNS, COUNT_COLUMNS, MB_PER_FILE, WriteFacts
from corpusmill.write._columns import Columns
from corpusmill.write._files import DocumentFiles


@dataclass(frozen=True, kw_only=True)
class ParquetWriter(DocumentFiles):
    """Parquet, compressed with zstd, with the columns id, text, source, url, date and metadata.

    `metadata` is a JSON object as a string, null if there is none. `token_count` follows if tokens were counted, and
    `copies` if a mix draws. Row groups are small. `datasets.load_dataset("parquet", data_files=…, streaming=True)`
    reads it. `signals: ["language.*", gopher_quality.content_words]` adds what the steps measured as one column
    `signals`, a struct. `columns: [id, text, language.score]` writes these and no others, in this order; `file`,
    `position` and single signals can be named too. `columns: {id: doc_id, text: content}` renames them.

    Where documents keep columns of the input (`columns: keep` of the reader), these are written in their types, then
    id, source and what steps add; in `columns` they are `columns.NAME`.

    `name: "train_{:05d}"` names the files train_00000.parquet …; with `single_file` it needs no number.
    """

    writes_own_columns: ClassVar[bool] = True

    rows_per_group: int = ROWS
    bytes_per_group: int = SIZE  # of text: a group ends with the document that reaches it
    mb_per_file: int = MB_PER_FILE  # megabytes of text, roughly
    single_file: bool = False  # one file for all documents, which one worker writes alone
    name: str | None = None  # of the files, {:05d} stands for their number; null: 00000, 00001 …
    columns: Columns = None  # a list, or column: its name in the file; null: those above
    signals: tuple[str, ...] = ()  # patterns of the signals in the column `signals`

    def check(self) -> None:
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
        batches = map(self._selected, batches)
        first = next(batches, None)
        if first is None:
            first = self._selected(pa.RecordBatch.from_pylist([], schema=DOCUMENT))
        text = next((name for column, name in self.selection.columns if column == "text"), None)
        with TableWriter(path, first.schema, self.rows_per_group, self.bytes_per_group, sized=text) as table:
            for batch in chain([first], batches):
                table.write(batch)
        return WriteFacts(table.rows_written, path.stat().st_size)

    def _selected(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns to write, of the types of the format."""
        types = {name: DOCUMENT.field(name).type for name in COLUMNS} | dict.fromkeys(COUNT_COLUMNS, pa.int64())
        cast = [batch[name].cast(types[name]) if name in types else batch[name] for name in batch.schema.names]
        return self.selection.select(pa.RecordBatch.from_arrays(cast, batch.schema.names))


Parquet = ParquetWriter  # its name before 1.0
