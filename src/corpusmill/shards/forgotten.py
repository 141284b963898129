"""Documents that are to be forgotten, beside finished shards: a list that readers mask, and their tokens erased.

Needs NumPy and xxhash only, but for the tables of documents. FORMAT.md is the contract.
"""

import hashlib
import json
import os
import uuid
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from corpusmill import system
from corpusmill.errors import ShardError, other_format
from corpusmill.shards.entries import index_files
from corpusmill.shards.layout import INDEX, DocumentSpans, ShardEntry, ShardIndex, stored

FORGOTTEN_FILE = "forgotten.json"
FORMAT, VERSION = "corpusmill-forgotten", 1
NO_DOCUMENTS: NDArray[np.int64] = np.empty(0, np.int64)
Int64s = NDArray[np.int64]


def read_forgotten(folder: Path) -> tuple[Int64s, Int64s]:
    """The numbers of the documents that are forgotten, and of those whose tokens are erased, each sorted. None of a
    folder without the list.

    Raises ShardError if the list is damaged: what it names would be read again.
    """
    path = folder / FORGOTTEN_FILE
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        return NO_DOCUMENTS, NO_DOCUMENTS
    except (OSError, ValueError, RecursionError) as error:
        raise ShardError(f"{path}: cannot be read ({error}). It lists documents to leave out; copy it again.") from None
    if isinstance(record, dict) and record.get("format") == FORMAT and record.get("version") != VERSION:
        raise ShardError(other_format(str(path), record.get("version"), VERSION))
    lists = [record.get(name) for name in ("documents", "erased")] if isinstance(record, dict) else []
    if not lists or record.get("format") != FORMAT or record.get("xxh3_128") != _checksum(*lists):
        raise ShardError(
            f"{path}: is not as it was written: its checksum differs. It lists documents to leave out; copy it again."
        )
    documents, erased = (np.array(numbers, np.int64) for numbers in lists)
    return documents, erased


def write_forgotten(folder: Path, documents: Int64s, erased: Int64s) -> None:
    lists = [np.unique(numbers).tolist() for numbers in (documents, erased)]
    record = {"format": FORMAT, "version": VERSION, "documents": lists[0], "erased": lists[1]}
    _replace(folder / FORGOTTEN_FILE, (json.dumps(record | {"xxh3_128": _checksum(*lists)}) + "\n").encode())


def erase(folder: Path, numbers: Collection[int]) -> list[str]:
    """Forget documents of a folder of shards: list them, then overwrite their tokens with the padding token, and take
    their URLs from the tables. Rows, numbers and lengths of documents stay as they are, so the order of samples does.

    Returns the names of the files that have changed; others are not written. The list is there before the first file
    is, so a reader never sees what it should not; what a call that was killed has done, the next one finds done.

    Raises ShardError if a file is neither as it was written nor erased already.
    """
    index = ShardIndex.read(folder / INDEX)
    before, erased = read_forgotten(folder)
    forgotten = np.union1d(before, np.array(sorted(numbers), np.int64))
    if not len(np.setdiff1d(forgotten, erased)):
        return []
    write_forgotten(folder, forgotten, erased)
    entries, changed = [], [FORGOTTEN_FILE]
    for entry in index.shards:
        new, files = _erased(folder, index, entry, forgotten)
        entries.append(new)
        changed += files
    for name, content in index_files(replace(index, shards=tuple(entries))).items():
        _replace(folder / name, content)
        changed.append(name)
    write_forgotten(folder, forgotten, forgotten)
    return sorted(changed)


def _erased(folder: Path, index: ShardIndex, entry: ShardEntry, forgotten: Int64s) -> tuple[ShardEntry, list[str]]:
    """The entry of a shard without the tokens of these documents, and the files that were written for it."""
    runs = DocumentSpans.map(folder / index.spans_name(entry.number), entry.tokens)
    is_erased = np.isin(runs.document, forgotten)
    if not is_erased.any():
        return entry, []
    name = index.tokens_name(entry.number)
    path = folder / name
    old = xxhash.xxh3_128_hexdigest(path.read_bytes())
    tokens = np.fromfile(path, stored(index.dtype))
    ends = np.append(runs.start[1:], entry.tokens)
    for start, stop in zip(runs.start[is_erased].tolist(), ends[is_erased].tolist()):
        tokens[start:stop] = index.pad_id
    content = tokens.tobytes()
    new = xxhash.xxh3_128_hexdigest(content)
    if old not in (entry.tokens_xxh3_128, new):
        raise ShardError(f"{path}: was changed or damaged before; run the recipe again, which writes it new.")
    _replace(path, content)
    entry, files = replace(entry, tokens_xxh3_128=new), [name]
    first = np.isin(np.arange(entry.first_document, entry.first_document + entry.documents), forgotten)
    if entry.table_xxh3_128 is not None and first.any():
        table = index.table_name(entry.number)
        entry = replace(entry, table_xxh3_128=_without_urls(folder / table, first))
        files.append(table)
    return entry, files


def _without_urls(path: Path, rows: NDArray[np.bool_]) -> str:
    """Take the URLs of these rows from a table of documents; returns its checksum."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    draft = _draft(path)
    start = 0
    with pq.ParquetWriter(draft, file.schema_arrow, compression="zstd") as writer:
        for group in range(file.metadata.num_row_groups):
            table = file.read_row_group(group, use_threads=False)
            mask = pa.array(rows[start : start + len(table)])
            at, field = table.schema.get_field_index("url"), table.schema.field("url")
            url = pc.if_else(mask, pa.scalar(None, field.type), table["url"])
            writer.write_table(table.set_column(at, field, url))
            start += len(table)
    file.close()
    with draft.open("rb") as content:
        digest: str = hashlib.file_digest(content, xxhash.xxh3_128).hexdigest()
    system.replace(draft, path)
    return digest


def _draft(path: Path) -> Path:
    """An unused name, of a file that is being written: the next run removes what a killed process left."""
    return path.with_name(f".writing-{uuid.uuid4().hex}-{path.name}")


def _checksum(documents: Any, erased: Any) -> str:
    return xxhash.xxh3_128_hexdigest(json.dumps([documents, erased]).encode())


def _replace(path: Path, content: bytes) -> None:
    """Write a file anew, in one step. Never in place: it may be another name of a file of a stage."""
    draft = _draft(path)
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    system.replace(draft, path)
