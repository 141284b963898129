"""Tables in Arrow files: IPC files and streams, Feather, and folders that Hugging Face's save_to_disk wrote."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import pyarrow as pa

from corpusmill.read import FilePiece, whole_file
from corpusmill.read._columns import RowReader
from corpusmill.read._documents import DocumentBatches
from corpusmill.read._ipc import BatchBlock, Ipc, open_ipc
from corpusmill.read._tables import FAULTS, TableReader, add_rows, check, is_damage, names_of, needed
from corpusmill.storage import FileInfo, is_local


@dataclass(frozen=True, kw_only=True)
class ArrowReader(TableReader):
    """Documents from the rows of Arrow IPC files and streams.

    As `parquet`, but local files are split at record batches, and `damaged` is a record batch that is not what it says
    to be, or of more than 2 GiB; those after it are read.
    """

    step = "read/arrow"
    suffixes = (".arrow", ".arrows", ".feather", ".ipc")
    begins: ClassVar = {b"ARROW1": "an Arrow file"}

    def documents(self, piece: FilePiece, docs: DocumentBatches) -> Iterator[pa.RecordBatch]:
        with ExitStack() as stack:
            try:
                file = stack.enter_context(open_ipc(piece.file.path))
                names = names_of(file.schema)
            except FAULTS as error:
                if not is_damage(error):
                    raise
                docs.dead(0, "damaged", f"not an Arrow file, or its beginning is damaged: {error}")
                return
            yield from self._rows(file, names, piece, docs)

    def _rows(
        self, file: Ipc, all_names: list[str], piece: FilePiece, docs: DocumentBatches
    ) -> Iterator[pa.RecordBatch]:
        roles = self.roles
        check(file.schema, roles, piece.file.path)
        rows = RowReader(roles, docs)
        columns = needed(file.schema, roles)
        names = [all_names[number] for number in columns]
        position = 0
        for number, block in enumerate(file.blocks()):
            if number >= piece.stop:
                break
            if number < piece.start:
                file.skip(block)
            else:
                try:
                    batch = file.read(block, columns)
                except FAULTS as error:
                    if not is_damage(error):
                        raise
                    docs.dead(position, "damaged", _lost(block, number, position, error))
                else:
                    yield from add_rows(batch, names, position, rows)
            # Rows after one that is not known to be there do not have the address of its dead letter.
            position += block.rows or int(block.problem is not None)

    def schema(self, file: FileInfo) -> pa.Schema:
        with open_ipc(file.path) as table:
            return table.schema

    def can_cut(self, file: FileInfo) -> bool:
        return is_local(file.path)

    def cuts(self, file: FileInfo, target_bytes: int) -> list[FilePiece]:
        """Runs of record batches of about `target_bytes`; checks the columns, too."""
        with open_ipc(file.path) as table:
            check(table.schema, self.roles, file.path)
            if file.size <= target_bytes or not self.can_cut(file):
                return [whole_file(file)]
            count = sum(1 for _ in table.blocks())  # memory-mapped: only their headers are read
        parts = max(1, min(count, -(-file.size // max(1, target_bytes))))
        cuts = [count * i // parts for i in range(parts + 1)]
        return [FilePiece(file, a, b, file.size * (b - a) // max(1, count)) for a, b in pairwise(cuts)]


def _lost(block: BatchBlock, number: int, position: int, error: BaseException) -> str:
    if not block.end:
        return f"the file is damaged from row {position} on, and what follows is lost: {error}"
    rows = f"rows {position} to {position + block.rows - 1} are lost" if block.rows else "its rows are lost"
    return f"record batch {number} is damaged, {rows}: {error}"


Arrow = ArrowReader  # its name before 1.0
