"""The output of a run without the documents that it must forget: files that hold none of them keep their bytes."""

import gzip
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from corpusmill import system
from corpusmill.report.run_files import RunFiles
from corpusmill.shards import open_shards
from corpusmill.shards.forgotten import FORGOTTEN_FILE as LIST
from corpusmill.shards.forgotten import erase
from corpusmill.shards.layout import FORMAT, INDEX
from corpusmill.storage.local import temporary
from corpusmill.store.forgotten import is_in
from corpusmill.store.output import OutputFolder
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.sums import files_in, sha256, sums_in, write_sums
from corpusmill.store.tables import TableWriter

LINE_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst")
COMPRESSION_LEVEL = 3  # of compression of lines
ID_ROWS = 1 << 14  # ids in memory at a time


def unfit(run: RunFolder) -> list[str]:
    """The folders of output from which documents cannot be taken: their files do not say which documents they hold."""
    folders = {name: run.output_folder(name) for name in run.outputs()}
    firsts = {name: _first_ids(folder) for name, folder in folders.items() if not _is_native(folder)}
    known = _known_ids(run, {doc_id for ids in firsts.values() for doc_id in ids or () if doc_id is not None})
    return [
        name
        for name, folder in folders.items()
        if not (open_shards(folder).has_tables if name not in firsts else _are_known(firsts[name], known))
    ]


def rewrite(run: RunFolder, ids: frozenset[str]) -> list[str]:
    """Take documents out of the output of a run; returns the names of the files that have changed, below the output.

    Files without any of them keep their bytes. Folders that are `unfit` are removed. Raises
    RefusedFolder if there are files that the run has not written.
    """
    run.refuse_other_output()
    changed = []
    without_ids = unfit(run) if ids else []
    for name in run.outputs() if ids else ():
        folder = run.output_folder(name)
        if name in without_ids:
            changed += [f"{name}/{file}" for file in files_in(folder)]
            OutputFolder(run).remove_folder(name)
            continue
        if _is_native(folder):
            OutputFolder(run).expect({*run.has_published(), f"{name}/{LIST}"})
        take_out = _rewrite_shards if _is_native(folder) else _rewrite_files
        changed += [f"{name}/{file}" for file in take_out(folder, ids)]
    return changed


def sums(run: RunFolder) -> dict[str, str]:
    """file below the output -> SHA-256."""
    return {
        f"{name}/{file}": sha256(run.output_folder(name) / file)
        for name in run.outputs()
        for file in files_in(run.output_folder(name))
    }


def _is_native(folder: Path) -> bool:
    try:
        return bool(json.loads((folder / INDEX).read_bytes())["format"] == FORMAT)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _first_ids(folder: Path) -> list[str | None] | None:
    """What the column `id` of each file has in its first row, files without rows left out; None if one has no such
    column, or is of another format."""
    firsts: list[str | None] = []
    for name in files_in(folder):
        path = folder / name
        if path.name.endswith(".parquet"):
            with pq.ParquetFile(path) as file:
                schema = file.schema_arrow
                if "id" not in schema.names or not pa.types.is_string(schema.field("id").type):
                    return None
                rows = next((batch for batch in file.iter_batches(1, columns=["id"], use_threads=False)), None)
            firsts += rows["id"].to_pylist() if rows is not None else []
        elif path.name.endswith(LINE_SUFFIXES):
            with open_lines(path) as lines:
                first = next(iter(lines), None)
            if first is not None:
                value = orjson.loads(first).get("id")
                firsts.append(value if isinstance(value, str) else None)
        else:
            return None
    return firsts


def _known_ids(run: RunFolder, ids: set[str]) -> set[str]:
    """Those that are ids of documents that the run kept: a column `id` may also be the input's, or renamed."""
    known: set[str] = set()
    if not ids:
        return known
    files = RunFiles(run)
    for batch in files.all_documents("docs", len(files.passes) - 1, ("id",), ID_ROWS):
        known.update(batch["id"].filter(pa.array(is_in(batch["id"], ids))).to_pylist())
        if known == ids:
            break
    return known


def _are_known(firsts: list[str | None] | None, known: set[str]) -> bool:
    return firsts is not None and all(doc_id in known for doc_id in firsts)


def _rewrite_shards(folder: Path, ids: frozenset[str]) -> list[str]:
    numbers = open_shards(folder).numbers_of(ids)
    return erase(folder, {number for doc_numbers in numbers.values() for number in doc_numbers})


def _rewrite_files(folder: Path, ids: frozenset[str]) -> list[str]:
    changed = []
    for name in files_in(folder):
        path = folder / name
        with temporary(path) as draft:
            if (_filter_table if name.endswith(".parquet") else _filter_lines)(path, draft, ids):
                system.replace(draft, path)
                changed.append(name)
    if changed and (listed := sums_in(folder)):
        rows = (line.split("  ", 1) for line in listed.read_text("utf-8").splitlines())
        write_sums(folder, {name: digest for digest, name in rows if name not in changed})
    return changed


def _filter_table(path: Path, draft: Path, ids: frozenset[str]) -> int:
    """Write a table without these documents; returns how many that are."""
    removed = 0
    with pq.ParquetFile(path) as file, TableWriter(draft, file.schema_arrow) as table:
        for batch in file.iter_batches(1024, use_threads=False):
            is_removed = is_in(batch["id"], ids)
            removed += int(is_removed.sum())
            table.write(batch.filter(pa.array(~is_removed)))
    return removed


def _filter_lines(path: Path, draft: Path, ids: frozenset[str]) -> int:
    removed = 0
    with open_lines(path) as lines, _new_lines(draft, path.name) as new:
        for line in lines:
            if orjson.loads(line)["id"] in ids:
                removed += 1
            else:
                new.write(line)
    return removed


def open_lines(path: Path) -> IO[bytes]:
    """A file of lines, unpacked as its name says: all frames of it."""
    if path.name.endswith(".gz"):
        return cast(IO[bytes], gzip.open(path))
    if path.name.endswith(".zst"):
        stream: Any = pa.CompressedInputStream(str(path), "zstd")  # zstandard's own takes a cut file for a short one
        return io.BufferedReader(stream)
    return path.open("rb")


@contextmanager
def _new_lines(path: Path, name: str) -> Iterator[Any]:
    """A file of lines, compressed as its name says. The same lines give the same bytes."""
    with path.open("wb") as file:
        if name.endswith(".gz"):
            with gzip.GzipFile("", "wb", COMPRESSION_LEVEL, file, mtime=0) as packed:
                yield packed
        elif name.endswith(".zst"):
            with zstandard.ZstdCompressor(COMPRESSION_LEVEL).stream_writer(file, closefd=False) as packed:
                yield packed
        else:
            yield file
