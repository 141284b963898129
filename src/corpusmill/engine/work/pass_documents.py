"""The documents that a pass kept, to be read with their texts, which may have stayed in the files of the pass before:
see `texts_in_place`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill.store.unit_io import Upstream

HASH = "text_hash"  # XXH64 of the text
BYTES, CHARS, WORDS, FLAGGED = "text_bytes", "text_chars", "text_words", "text_flags"
ROW = "text_row"  # of the file that has the text
TEXTS = b"texts"  # in the metadata of a schema: the pass whose files have the texts


@dataclass(frozen=True)
class PassDocuments:
    """The documents that a pass kept.

    stage   the pass
    texts   the pass whose files have their texts
    """

    stage: str
    texts: str

    @property
    def after(self) -> tuple[str, ...]:
        """The stages whose files they are in."""
        return tuple(dict.fromkeys((self.texts, self.stage)))

    def content(self, upstream: Upstream, unit: int, metadata: bool = False) -> tuple[str, ...]:
        """What is in a unit's documents. `docs` have the hashes of all texts; not of `metadata`, where that is read."""
        own = upstream.results(self.stage)["docs"].checksum(unit)
        if not metadata or self.texts == self.stage:
            return (own,)
        return (own, upstream.results(self.texts)["docs"].checksum(unit))

    def batches(self, files: Upstream, unit: int, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The documents of a unit, in order: these columns, at most so many rows at a time."""
        docs, texts = (files.results(stage)["docs"].path(unit) for stage in (self.stage, self.texts))
        return read_documents(files, docs, texts, columns, rows)


def read_documents(
    files: Upstream, docs: str, texts: str, columns: Sequence[str], rows: int, groups: range | None = None
) -> Iterator[pa.RecordBatch]:
    """Documents of a file in order, with their texts from another one if they stayed there.

    docs, texts   paths of the two files; the same path if the texts are with the documents
    rows          at most so many at a time
    groups        the row groups of `docs` to read; all of them if not given
    """
    file = files.parquet(docs)
    chosen = list(range(file.metadata.num_row_groups) if groups is None else groups)
    own_names = [name for name in columns if name in file.schema_arrow.names]
    if docs == texts or len(own_names) == len(columns):
        yield from file.iter_batches(rows, row_groups=chosen, columns=list(columns), use_threads=False)
        return
    own = file.read_row_groups(chosen, [*own_names, ROW], use_threads=False).combine_chunks()
    at = own[ROW].to_numpy()
    text_names = [name for name in columns if name not in own_names]
    for start, batch in _batches_with(files.parquet(texts), at, text_names, rows):
        first, stop = np.searchsorted(at, [start, start + len(batch)]).tolist()
        if first == stop:
            continue
        with_text = batch if stop - first == len(batch) else batch.take(pa.array(at[first:stop] - start))
        own_columns = own.slice(first, stop - first).to_batches()[0]
        merged = {name: with_text[name] if name in text_names else own_columns[name] for name in columns}
        yield pa.RecordBatch.from_pydict(merged)


def _batches_with(
    file: pq.ParquetFile, rows: NDArray[np.int64], columns: list[str], many: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches of a file, each with the number of its first row: those of row groups that hold some of the rows, which
    rise."""
    start = 0
    for group in range(file.metadata.num_row_groups):
        stop = start + file.metadata.row_group(group).num_rows
        first, last = np.searchsorted(rows, [start, stop])
        if first < last:
            for batch in file.iter_batches(many, row_groups=[group], columns=columns, use_threads=False):
                yield start, batch
                start += len(batch)
        start = stop


def stage_with_texts(schema: pa.Schema) -> str | None:
    """The pass whose files have the texts of documents with this schema; None: they are with the documents."""
    stage = (schema.metadata or {}).get(TEXTS)
    return stage.decode() if stage else None


def unchunked(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
