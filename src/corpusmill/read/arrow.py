"""Tables in Arrow files: IPC files and streams, Feather, and folders that Hugging Face's save_to_disk wrote."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa

from corpusmill.read import Piece, ReadCounts, whole
from corpusmill.read._columns import Roles, Rows, one_content
from corpusmill.read._documents import Documents
from corpusmill.read._tables import add_rows, check, is_damage, opened
from corpusmill.storage import FileInfo, is_local

STEP = "read/arrow"


@dataclass(frozen=True, kw_only=True)
class Arrow:
    """Documents from the rows of Arrow IPC files and streams.

    Columns are chosen and kept, and pages read, as by `jsonl`. Pages may be strings or
    bytes. A document's position is its row number in the file. A file whose text column is missing or does not hold
    strings is an InputError. Faults: `no_text` or `no_page` (null), `damaged` (a file, or the rest of one, that cannot
    be read); `empty_text` and `empty_page` are expected. Local files are split at record batches.
    """

    text: str | None = None
    html: str | None = None  # the column that holds HTML pages, instead of text
    id: str | None = None
    url: str | None = None
    date: str | None = None
    keep: tuple[str, ...] | None = None  # other columns to keep; null keeps all, [] none
    suffixes = (".arrow", ".feather", ".ipc")

    def __post_init__(self) -> None:
        one_content(self.text, self.html)
        object.__setattr__(self, "keep", None if self.keep is None else tuple(self.keep))

    def split(self, files: Sequence[FileInfo], target_bytes: int) -> list[Piece]:
        pieces: list[Piece] = []
        checked = False
        for file in files:
            cuts = [whole(file)]
            if (file.size > target_bytes and is_local(file.path)) or (file.size and not checked):
                try:
                    cuts = self._cuts(file, target_bytes)
                    checked = True
                except (pa.ArrowException, OSError) as error:
                    if not is_damage(error):
                        raise
            pieces += cuts
        return pieces

    def read(self, piece: Piece, source: str, counts: ReadCounts) -> Iterator[pa.RecordBatch]:
        docs = Documents(piece, source, STEP, counts)
        if piece.file.size == 0:
            docs.dead(0, "empty_file", "the file has no bytes", expected=True)
            return
        position = 0
        try:
            with _batches(piece.file.path) as (schema, batches):
                roles = self._roles()
                check(schema, roles, piece.file.path)
                rows = Rows(roles, docs)
                needed = roles.needed(schema.names)
                for number, batch in enumerate(batches):
                    if number >= piece.stop:
                        break
                    if number >= piece.start:
                        yield from add_rows(batch.select(needed), position, rows)
                    position += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            if not is_damage(error):
                raise
            docs.dead(position, "damaged", f"not an Arrow file, or damaged from row {position} on: {error}")
        yield from docs.rest()

    def _roles(self) -> Roles:
        return Roles(self.text, self.html, self.id, self.url, self.date, self.keep)

    def _cuts(self, file: FileInfo, target_bytes: int) -> list[Piece]:
        """Runs of record batches of about `target_bytes`; checks the columns, too."""
        with _batches(file.path) as (schema, batches):
            check(schema, self._roles(), file.path)
            if file.size <= target_bytes or not is_local(file.path):
                return [whole(file)]
            count = sum(1 for _ in batches)  # memory-mapped: only their headers are read
        parts = max(1, min(count, -(-file.size // max(1, target_bytes))))
        cuts = [count * i // parts for i in range(parts + 1)]
        return [Piece(file, a, b, file.size * (b - a) // max(1, count)) for a, b in pairwise(cuts)]


@contextmanager
def _batches(path: str) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The schema and the record batches of a file in either format."""
    source: Any = opened(path)
    with pa.memory_map(source) if isinstance(source, str) else source as file:
        try:
            reader = pa.ipc.open_file(file)
        except pa.ArrowInvalid:
            file.seek(0)
            with pa.ipc.open_stream(file) as stream:
                yield stream.schema, iter(stream)
        else:
            with reader:
                yield reader.schema, (reader.get_batch(i) for i in range(reader.num_record_batches))
