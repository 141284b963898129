"""The text of a run as nanochat trains on it: a folder of shuffled Parquet files, the last one for validation."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash
from numpy.typing import NDArray

from corpusmill.engine.work.split import SplitSubset
from corpusmill.errors import InputError, RecipeError
from corpusmill.export.streams import Progress
from corpusmill.export.texts import KeptTexts
from corpusmill.report.numbers import plural
from corpusmill.shards.layout import SPLITS, VALIDATION
from corpusmill.text.splitmix64 import GOLDEN, chance, mix64

ROWS_PER_GROUP = 1024  # documents in a row group, as nanochat's dev/repackage_data_reference.py has them
GROUPS_PER_FILE = (
    64  # row groups of a file at least, if it has so many documents: a rank without one would wait for ever
)
ZSTD_LEVEL = 3  # of zstd, as there
WAITING_BYTES = 64 << 20  # bytes of text held before they are written to the files of the first pass
SCHEMA = pa.schema([("text", pa.string()), ("order", pa.uint64())])


@dataclass(frozen=True, kw_only=True)
class Nanochat:
    """shard_00000.parquet …, a column `text`, compressed with zstd, in row groups of up to 1,024 documents.

    Every rank reads its share of the row groups of each file in order, without shuffling, so the documents are shuffled
    here: over all files, by a hash of their number. The last file is for validation: what the recipe's split keeps
    back, or else a share of the documents. A document that a mix draws several times is there as often.
    Memory: the text of one file, twice.

    Source: nanochat, nanochat/dataset.py and dev/repackage_data_reference.py.
    """

    mb_per_file: int = 250  # megabytes of text, roughly; nanochat's have 250 million characters

    def __post_init__(self) -> None:
        if not 1 <= self.mb_per_file <= 1000:
            raise RecipeError(f"need mb_per_file from 1 to 1000, got {self.mb_per_file}")

    def write(self, run: Path, folder: Path, val_fraction: float, progress: Progress, is_split: bool = False) -> int:
        """Returns how many documents are in the files, repeated ones as often as they are there.

        is_split   whether the recipe splits, which leaves nothing for `val_fraction` to say
        """
        if not val_fraction:
            raise InputError("nanochat takes the last file for validation, whatever is in it: val_fraction 0 is none.")
        sides: list[tuple[KeptTexts, float]] = [(KeptTexts(run), val_fraction)]
        if is_split:
            sides = [(KeptTexts(run, side=SplitSubset(name)), float(name == VALIDATION)) for name in SPLITS]
        train_bytes = sum(int(texts.bytes * (1 - share)) for texts, share in sides)
        files = 1 + max(1, -(-train_bytes // (self.mb_per_file * 1_000_000)))
        total = sum(texts.documents for texts, _ in sides)
        heaps = folder / ".heaps"
        heaps.mkdir()
        count = np.zeros(files, np.int64)
        waiting: list[tuple[pa.RecordBatch, NDArray[np.int64]]] = []
        waiting_bytes = position = 0
        numbered = ((batch, order, share) for texts, share in sides for batch, order in _numbered(texts))
        for batch, order, share in numbered:
            file_numbers = _files_of(batch, order, files, share)
            count += np.bincount(file_numbers, minlength=files)
            waiting.append((batch, file_numbers))
            waiting_bytes, position = waiting_bytes + batch.nbytes, position + len(batch)
            if waiting_bytes >= WAITING_BYTES:
                _spill(heaps, waiting)
                waiting, waiting_bytes = [], 0
                progress(min(position, total) // 2, total)
        _spill(heaps, waiting)
        for name, documents in (("training", count[:-1].sum()), ("validation", count[-1])):
            if count.sum() and not documents:
                cause = "the recipe's split" if is_split else f"val_fraction {val_fraction}"
                documents_in_all = plural(int(count.sum()), "document")
                raise InputError(f"with {cause} none of {documents_in_all} is for {name}. Give another.")
        numbers = [number for number in range(files) if count[number] or not count.sum()]
        for index, number in enumerate(numbers):  # no number is left out
            _write(heaps / f"{number}.arrows", folder / f"shard_{index:05d}.parquet")
            progress((total + total * (index + 1) // len(numbers)) // 2, total)
        shutil.rmtree(heaps)
        return int(count.sum())


def _numbered(texts: KeptTexts) -> Iterator[tuple[pa.RecordBatch, NDArray[np.uint64]]]:
    """Texts, each as often as it is drawn, and for each a number in which their order is random."""
    first = 0
    for batches in texts.files():
        for batch in batches:
            numbers = np.arange(first, first + len(batch), dtype=np.uint64)
            first += len(batch)
            copy = np.zeros(len(batch), np.uint64)
            text = batch["text"].cast(pa.string())
            if "copies" in batch.schema.names:
                copies = batch["copies"].to_numpy(zero_copy_only=False).astype(np.int64)
                rows = np.repeat(np.arange(len(batch)), copies)
                starts = np.cumsum(copies) - copies
                copy = (np.arange(len(rows)) - np.repeat(starts, copies)).astype(np.uint64)
                numbers, text = numbers[rows], text.take(pa.array(rows))
            order = mix64(mix64(numbers + np.uint64(GOLDEN)) + copy * np.uint64(GOLDEN))
            yield pa.RecordBatch.from_arrays([text, pa.array(order)], schema=SCHEMA), order


def _files_of(texts: pa.RecordBatch, order: NDArray[np.uint64], files: int, val_fraction: float) -> NDArray[np.int64]:
    """The file of each document, the last one for validation: by a hash of its text, so that copies are on one side and
    none changes sides when others are added."""
    hashes = (xxhash.xxh3_64_intdigest(text) for text in texts["text"].cast(pa.binary()).to_pylist())
    kept_back = chance(np.fromiter(hashes, np.uint64, len(texts))) < val_fraction
    file_numbers = (chance(order ^ np.uint64(GOLDEN)) * (files - 1)).astype(np.int64)
    return np.where(kept_back, files - 1, file_numbers)


def _spill(heaps: Path, waiting: list[tuple[pa.RecordBatch, NDArray[np.int64]]]) -> None:
    """Append to each file's heap the documents that go there, as one more stream: no file stays open."""
    if not waiting:
        return
    table = pa.Table.from_batches([batch for batch, _ in waiting]).combine_chunks()
    file_numbers = np.concatenate([places for _, places in waiting])
    by_file = np.argsort(file_numbers, kind="stable")
    sorted_ = table.take(pa.array(by_file))
    edges = np.searchsorted(file_numbers[by_file], np.arange(int(file_numbers.max(initial=0)) + 2))
    for number in np.unique(file_numbers).tolist():
        part = sorted_.slice(int(edges[number]), int(edges[number + 1] - edges[number]))
        with (heaps / f"{number}.arrows").open("ab") as file, pa.ipc.new_stream(file, SCHEMA) as stream:
            stream.write_table(part)


def _write(heap: Path, path: Path) -> None:
    parts = []
    if heap.exists():
        with heap.open("rb") as file:
            size = heap.stat().st_size
            while file.tell() < size:
                parts.append(pa.ipc.open_stream(file).read_all())
        heap.unlink()
    table = pa.concat_tables(parts) if parts else SCHEMA.empty_table()
    table = table.take(pa.array(np.argsort(table["order"].to_numpy(), kind="stable")))
    rows = min(ROWS_PER_GROUP, max(1, len(table) // GROUPS_PER_FILE))
    # Texts are all different, so a dictionary of them would only cost time.
    pq.write_table(
        table.select(["text"]).combine_chunks(),
        path,
        row_group_size=rows,
        compression="zstd",
        compression_level=ZSTD_LEVEL,
        use_dictionary=False,
        write_statistics=False,
    )
