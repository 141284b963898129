"""Small pieces from all over the input, read as if they were neighbours: what a batch takes whatever it holds is then
as much of a sample as of a run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pyarrow as pa

from corpusmill.engine.plan.plan import RunPlan
from corpusmill.read import BATCH_BYTES, BATCH_ROWS, FilePiece, ReadCounts

TEXT_COLUMNS = ("text", "raw", "metadata", "url")  # whose bytes end a batch


@dataclass(frozen=True)
class PieceGroup(FilePiece):
    """Pieces of a source that are read one after another. File, start and stop are those of the first and the last."""

    parts: tuple[FilePiece, ...] = ()

    @classmethod
    def from_pieces(cls, pieces: Sequence[FilePiece]) -> Self:
        first, last = pieces[0], pieces[-1]
        return cls(first.file, first.start, last.stop, sum(piece.size for piece in pieces), tuple(pieces))


@dataclass(frozen=True)
class GroupReader:
    """A reader of `PieceGroup`, whose batches are as full as those of a long piece."""

    reader: Any
    suffixes: tuple[str, ...] = field(default=(), init=False)

    def split(self, files: Sequence[Any], target_bytes: int) -> list[FilePiece]:
        """Those of the reader itself."""
        pieces: list[FilePiece] = self.reader.split(files, target_bytes)
        return pieces

    def read(self, piece: FilePiece, source: str, counts: ReadCounts) -> Iterator[pa.RecordBatch]:
        """The documents of all parts, in batches that end at BATCH_ROWS or BATCH_BYTES, but for the rest of a part that
        would make one larger."""
        waiting: list[pa.RecordBatch] = []
        rows = size = 0
        for part in piece.parts if isinstance(piece, PieceGroup) else (piece,):
            for docs in self.reader.read(part, source, counts):
                text_bytes = sum(docs[name].nbytes for name in TEXT_COLUMNS if name in docs.schema.names)
                if waiting and (rows + len(docs) > BATCH_ROWS or size + text_bytes > BATCH_BYTES):
                    yield _combined(waiting)
                    waiting, rows, size = [], 0, 0
                waiting.append(docs)
                rows, size = rows + len(docs), size + text_bytes
        if waiting:
            yield _combined(waiting)


def joined(group: Sequence[tuple[int, FilePiece]]) -> list[tuple[int, FilePiece]]:
    """The pieces of a unit, with those of a source in one."""
    by_source: dict[int, list[FilePiece]] = {}
    for source, piece in group:
        by_source.setdefault(source, []).append(piece)
    return [(source, PieceGroup.from_pieces(pieces)) for source, pieces in by_source.items()]


def reading_groups(plan: RunPlan) -> RunPlan:
    """The plan, whose first pass reads `PieceGroup`."""
    first, *others = plan.stages
    work: Any = first.work
    readers = tuple((source, GroupReader(reader)) for source, reader in work.source.readers)
    joined_work = replace(work, source=replace(work.source, readers=readers))
    return replace(plan, stages=(replace(first, work=joined_work), *others))


def _combined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
