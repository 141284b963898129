"""Tables in Parquet files."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from corpusmill.read import FilePiece, whole_file
from corpusmill.read._columns import RowReader
from corpusmill.read._documents import DocumentBatches
from corpusmill.read._ipc import opened
from corpusmill.read._parquet_pages import TooLarge, rows_at_once
from corpusmill.read._tables import (
    FAULTS,
    ROWS_CONVERTED,
    TableReader,
    add_rows,
    check,
    decoded,
    is_damage,
    names_of,
    needed,
)
from corpusmill.storage import FileInfo


@dataclass(frozen=True, kw_only=True)
class ParquetReader(TableReader):
    """Documents from the rows of Parquet files; only the columns that are needed are read.

    Columns are chosen and kept, and pages read, as by `jsonl`; pages may be strings or bytes. A document's position is
    its row number in the file. A file whose text column is missing or does not hold strings is an InputError. Where
    `text` names a column of bytes, these are read as UTF-8, and so are id, URL and date. Other values that JSON has no
    type for are written as text; a second column of a name is called NAME_1. Faults: `no_text` or `no_page` (null),
    `bad_encoding` (bytes that are not UTF-8), `too_large` (a row of more than 512 MiB; a row group with a page that
    holds more than 64 MiB and 200 times its bytes), `damaged` (a file, or the rest of a row group); `empty_text` and
    `empty_page` are expected. Files are split at row groups: write small ones (64 MB) if many workers are to share a
    file.
    """

    step = "read/parquet"
    suffixes = (".parquet", ".parq", ".pq")
    begins: ClassVar = {b"PAR1": "a Parquet file"}

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        with opened(piece.file.path, mapped=False) as opened_file:
            try:
                file = pq.ParquetFile(opened_file)
                schema, all_names = file.schema_arrow, names_of(file.schema_arrow)
                groups = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
            except FAULTS as error:
                if not is_damage(error):
                    raise
                docs.dead(0, "damaged", f"not a Parquet file, or its footer is damaged: {error}")
                return
            roles = self.roles
            check(schema, roles, piece.file.path)
            rows = RowReader(roles, docs)
            numbers = needed(schema, roles)
            names = [all_names[number] for number in numbers]
            # Parquet reads by name, which does not tell columns of one name apart.
            columns = names if all_names == schema.names else None
            for group in range(piece.start, min(piece.stop, len(groups))):
                position = sum(groups[:group])
                end = position + groups[group]
                try:
                    count = rows_at_once(opened_file, group, groups[group], ROWS_CONVERTED)
                except TooLarge as error:
                    docs.dead(position, "too_large", f"row group {group}, rows {position} to {end - 1}: {error}")
                    continue
                batches = file.iter_batches(count, row_groups=[group], columns=columns)
                while True:
                    try:
                        if (batch := next(batches, None)) is None:
                            break
                        batch = decoded(batch)
                    except FAULTS as error:
                        if not is_damage(error):
                            raise
                        reason = f"row group {group} is damaged, rows {position} to {end - 1} are lost: {error}"
                        docs.dead(position, "damaged", reason)
                        break
                    if columns is None:
                        batch = batch.select(numbers).rename_columns(names)
                    yield from add_rows(batch, batch.schema.names, position, rows)
                    position += batch.num_rows

    def schema(self, file: FileInfo) -> pa.Schema:
        import pyarrow.parquet as pq

        with opened(file.path, mapped=False) as source, pq.ParquetFile(source) as table:
            return table.schema_arrow

    def can_cut(self, file: FileInfo) -> bool:
        return True

    def cuts(self, file: FileInfo, target_bytes: int) -> list[FilePiece]:
        """Runs of row groups of about `target_bytes`; checks the columns, too."""
        import pyarrow.parquet as pq

        with opened(file.path, mapped=False) as source, pq.ParquetFile(source) as table:
            check(table.schema_arrow, self.roles, file.path)
            if file.size <= target_bytes:
                return [whole_file(file)]
            meta = table.metadata
            sizes = []
            for group in range(meta.num_row_groups):
                columns = meta.row_group(group)
                sizes.append(sum(columns.column(i).total_compressed_size for i in range(columns.num_columns)))
        pieces: list[FilePiece] = []
        start = size = 0
        for group, bytes_ in enumerate(sizes):
            size += bytes_
            if size >= target_bytes or group == len(sizes) - 1:
                pieces.append(FilePiece(file, start, group + 1, size))
                start, size = group + 1, 0
        return pieces or [whole_file(file)]


Parquet = ParquetReader  # its name before 1.0
