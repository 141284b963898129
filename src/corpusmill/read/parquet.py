"""Tables in Parquet files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from corpusmill.read import Piece, ReadCounts, whole
from corpusmill.read._columns import Roles, RowReader, one_content
from corpusmill.read._documents import DocumentBatches
from corpusmill.read._ipc import opened
from corpusmill.read._tables import FAULTS, ROWS, add_rows, check, decoded, is_damage, names_of, needed
from corpusmill.storage import FileInfo

STEP = "read/parquet"


@dataclass(frozen=True, kw_only=True)
class Parquet:
    """Documents from the rows of Parquet files; only the columns that are needed are read.

    Columns are chosen and kept, and pages read, as by `jsonl`. Pages may be strings or
    bytes. A document's position is its row number in the file. A file whose text column is missing or does not hold
    strings is an InputError. Values of other columns that JSON has no type for are written as text; a second column of
    a name is called NAME_1. Faults: `no_text` or `no_page` (null), `too_large` (a row of more than 512 MiB), `damaged`
    (a file, or the rest of a row group, that cannot be read); `empty_text` and `empty_page` are expected. Files are
    split at row groups and never within one, so write small ones (64 MB) if many workers are to share a file.
    """

    text: str | None = None
    html: str | None = None  # the column that holds HTML pages, instead of text
    id: str | None = None
    url: str | None = None
    date: str | None = None
    keep: tuple[str, ...] | None = None  # other columns to keep; null keeps all, [] none
    suffixes = (".parquet", ".parq", ".pq")

    def __post_init__(self) -> None:
        one_content(self.text, self.html)
        object.__setattr__(self, "keep", None if self.keep is None else tuple(self.keep))

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[Piece]:
        pieces: list[Piece] = []
        checked = False
        for file in files:
            cuts = [whole(file)]
            if file.size > target_bytes or (file.size and not checked):
                try:
                    cuts = self._cuts(file, target_bytes)
                    checked = True
                except FAULTS as error:
                    if not is_damage(error):
                        raise
            pieces += cuts
        return pieces

    def read(self, piece: Piece, source: str, counts: ReadCounts) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        docs = DocumentBatches(piece, source, STEP, counts)
        if piece.file.size == 0:
            docs.dead(0, "empty_file", "the file has no bytes", expected=True)
            return
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
            roles = self._roles()
            check(schema, roles, piece.file.path)
            rows = RowReader(roles, docs)
            numbers = needed(schema, roles)
            names = [all_names[number] for number in numbers]
            # Parquet reads by name, which does not tell columns of one name apart.
            columns = names if all_names == schema.names else None
            for group in range(piece.start, min(piece.stop, len(groups))):
                position = sum(groups[:group])
                end = position + groups[group]
                batches = file.iter_batches(ROWS, row_groups=[group], columns=columns)
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
        yield from docs.rest()

    def _roles(self) -> Roles:
        return Roles(self.text, self.html, self.id, self.url, self.date, self.keep)

    def _cuts(self, file: FileInfo, target_bytes: int) -> list[Piece]:
        """Runs of row groups of about `target_bytes`; checks the columns, too."""
        import pyarrow.parquet as pq

        with opened(file.path, mapped=False) as source, pq.ParquetFile(source) as table:
            check(table.schema_arrow, self._roles(), file.path)
            if file.size <= target_bytes:
                return [whole(file)]
            meta = table.metadata
            sizes = []
            for group in range(meta.num_row_groups):
                columns = meta.row_group(group)
                sizes.append(sum(columns.column(i).total_compressed_size for i in range(columns.num_columns)))
        pieces: list[Piece] = []
        start = size = 0
        for group, bytes_ in enumerate(sizes):
            size += bytes_
            if size >= target_bytes or group == len(sizes) - 1:
                pieces.append(Piece(file, start, group + 1, size))
                start, size = group + 1, 0
        return pieces or [whole(file)]
