"""Reads training shards. Needs NumPy and the standard library only (and pyarrow, to name a document)."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import ShardError
from corpusmill.shards.files import ShardFiles
from corpusmill.shards.layout import INDEX, PADDING, Entry, Index, Spans, stored, table_name, tokens_name


class Place(NamedTuple):
    """Where a token comes from."""

    document: int  # its number in the stream
    offset: int  # tokens of the document before it
    shard: int
    row: int  # counted over all shards, in rows of the index's sequence length


def open_shards(path: str | Path) -> "Shards":
    """Open a folder of training shards.

    Looks at the index and at the sizes of the files, not at their content: `verify` does that.
    Raises ShardError if something is missing, cut, or not a folder of shards.
    """
    folder = Path(path)
    folder = folder.parent if folder.name == INDEX else folder
    index = Index.read(folder / INDEX)
    width = stored(index.dtype).itemsize
    for entry in index.shards:
        file = folder / tokens_name(entry.number)
        try:
            size = file.stat().st_size
        except OSError as error:
            raise ShardError(f"{file}: {error.strerror}. The index names it; copy the shards again.") from error
        if size != entry.tokens * width:
            raise ShardError(
                f"{file}: has {size} bytes, the index says {entry.tokens * width} ({entry.tokens} tokens of {width} "
                "bytes). It was cut or changed; copy it again."
            )
    return Shards(folder, index)


class Shards:
    """Training shards as one array of tokens, padding included. `len` is how many there are."""

    def __init__(self, folder: Path, index: Index) -> None:
        self.folder = folder
        self.index = index
        self.dtype: np.dtype[Any] = np.dtype(index.dtype)
        self._edges = np.cumsum([0, *(entry.tokens for entry in index.shards)])
        self._files = ShardFiles(folder, index)

    def __len__(self) -> int:
        return self.index.tokens

    def tokens(self, start: int, stop: int) -> NDArray[Any]:
        """The tokens [start, stop): a view of the mapped file where they lie in one shard, else a copy.

        Raises ShardError where that is not within the tokens that there are.
        """
        parts = [self._files.tokens(entry)[a:b] for entry, a, b, _ in self._parts(start, stop)]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, self.dtype), *parts])

    def spans(self, start: int, stop: int) -> Spans:
        """Which document the tokens [start, stop) belong to: runs, the first from `start`, counted from `start`."""
        columns: list[list[NDArray[np.int64]]] = [[], [], []]
        for entry, a, b, before in self._parts(start, stop):
            runs = self._files.spans(entry)
            first = int(np.searchsorted(runs.start, a, "right")) - 1
            last = int(np.searchsorted(runs.start, b))
            begin = np.maximum(runs.start[first:last], a)
            document = runs.document[first:last]
            skipped = np.where(document == PADDING, 0, begin - runs.start[first:last])
            for column, values in zip(columns, (begin + (before - start), document, runs.offset[first:last] + skipped)):
                column.append(values)
        none = np.empty(0, np.int64)
        return Spans(*(np.concatenate([none, *column]) for column in columns))

    def rows(self, length: int | None = None) -> Iterator[NDArray[Any]]:
        """All tokens in rows of `length` (the sequence length of the index if not given); the last may be short."""
        step = length or self.index.sequence_length
        for start in range(0, len(self), step):
            yield self.tokens(start, min(start + step, len(self)))

    def document_at(self, token: int) -> Place | None:
        """The document that a token belongs to; None for padding."""
        ((entry, _, _, _),) = self._parts(token, token + 1)
        _, (document,), (offset,) = self.spans(token, token + 1)
        if document == PADDING:
            return None
        return Place(int(document), int(offset), entry.number, token // self.index.sequence_length)

    def provenance(self, document: int) -> dict[str, Any]:
        """What the table of documents says of one: document, id, source, file, position, url, tokens.

        Raises ShardError if the shards were written without tables, or hold no such document.
        """
        import pyarrow.parquet as pq

        for entry in self.index.shards:
            if entry.first_document <= document < entry.first_document + entry.documents:
                if entry.table_xxh3_128 is None:
                    raise ShardError(f"{self.folder}: written without tables of documents, so {document} has no name.")
                table = pq.ParquetFile(self.folder / table_name(entry.number))
                row = document - entry.first_document
                for group in range(table.num_row_groups):
                    rows = table.metadata.row_group(group).num_rows
                    if row < rows:
                        found: dict[str, Any] = table.read_row_group(group).slice(row, 1).to_pylist()[0]
                        return found
                    row -= rows
        raise ShardError(f"{self.folder}: no document {document}; there are {self.index.documents}, from 0.")

    def verify(self) -> list[str]:
        """Read everything and say what is wrong; an empty list is a proof of what FORMAT.md promises."""
        from corpusmill.shards.verify import problems

        return list(problems(self._files))

    @cached_property
    def has_tables(self) -> bool:
        return all(entry.table_xxh3_128 is not None for entry in self.index.shards)

    def mapped(self, shard: int) -> NDArray[Any]:
        """All tokens of a shard, by its place in the index."""
        return self._files.tokens(self.index.shards[shard])

    def release(self) -> None:
        """Unmap all files: pages that were read count as memory of the process. They are mapped again on next use."""
        self._files.release()

    def runs(self, shard: int) -> Spans:
        """Which document each token of a shard belongs to."""
        return self._files.spans(self.index.shards[shard])

    def _parts(self, start: int, stop: int) -> list[tuple[Entry, int, int, int]]:
        """(shard, first and last token in it, tokens in the shards before it) of a range."""
        if not 0 <= start <= stop <= len(self):
            raise ShardError(f"{self.folder}: asked for tokens {start} to {stop}; there are {len(self)}.")
        parts = []
        first = int(np.searchsorted(self._edges, start, "right")) - 1
        for entry, edge in zip(self.index.shards[first:], self._edges[first:].tolist()):
            if edge >= stop:
                break
            parts.append((entry, max(start - edge, 0), min(stop - edge, entry.tokens), edge))
        return parts
