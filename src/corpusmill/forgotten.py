"""Documents that a run must leave out from now on: the record of them, and the output rewritten without them."""

import gzip
import hashlib
import io
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlsplit

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import zstandard
from numpy.typing import NDArray

from corpusmill.errors import ResumeError
from corpusmill.run_folder import RunFolder
from corpusmill.shards import open_shards
from corpusmill.shards.forgotten import FORGOTTEN as LIST
from corpusmill.shards.forgotten import erase
from corpusmill.shards.layout import FORMAT, INDEX
from corpusmill.storage.local import temporary
from corpusmill.sums import files_in, sha256, sums_in, write_sums
from corpusmill.tables import TableWriter

LINES = (".jsonl", ".jsonl.gz", ".jsonl.zst")
LEVEL = 3  # of compression of lines
RECORD, VERSION = "corpusmill-run-forgotten", 1


@dataclass(frozen=True)
class Forgotten:
    """Documents by their ids, their exact URLs, and the domains of these with all below."""

    ids: frozenset[str] = frozenset()
    urls: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()

    def __or__(self, other: "Forgotten") -> "Forgotten":
        return Forgotten(self.ids | other.ids, self.urls | other.urls, self.domains | other.domains)

    def among(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """(documents,) which of a batch with `id` and `url` these are."""
        found = _in(batch["id"], self.ids) | _in(batch["url"], self.urls)
        if self.domains:
            lower = pc.utf8_lower(batch["url"])
            for domain in sorted(self.domains):
                for row in pc.indices_nonzero(pc.fill_null(pc.match_substring(lower, domain), False)).to_pylist():
                    host = host_of(batch["url"][row].as_py())
                    found[row] |= host == domain or host.endswith(f".{domain}")
        return found

    def to_bytes(self) -> bytes:
        lists = {"ids": sorted(self.ids), "urls": sorted(self.urls), "domains": sorted(self.domains)}
        record = {"format": RECORD, "version": VERSION, **lists, "sha256": _sum(lists)}
        return (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode()


def read(run: RunFolder) -> Forgotten | None:
    """What a run must leave out; None: nothing. Raises ResumeError if the record is damaged."""
    content = run.forgotten_record()
    if content is None:
        return None
    try:
        record = json.loads(content)
        lists = {name: record[name] for name in ("ids", "urls", "domains")}
        if record["format"] == RECORD and record["version"] == VERSION and record["sha256"] == _sum(lists):
            return Forgotten(*map(frozenset, lists.values()))
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise ResumeError(
        f"{run.name_of('forgotten.json')}: is not as it was written. It says which documents this run must leave "
        f"out, so nothing is done without it. Put it back from a copy; the files in {run.name_of('forget')} say what "
        "was asked for."
    )


def host_of(url: str) -> str:
    """The host of a URL in lower case, without a dot at its end; empty if there is none.

    >>> host_of("https://News.Example.org.:8080/a"), host_of("example.org/a"), host_of("http://[")
    ('news.example.org', 'example.org', '')
    """
    try:
        return (urlsplit(url if "//" in url else f"//{url}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _in(column: pa.Array, names: Collection[str]) -> NDArray[np.bool_]:
    wanted = pa.array(sorted(names), column.type)
    return np.asarray(pc.fill_null(pc.is_in(column, value_set=wanted), False).to_numpy(zero_copy_only=False), np.bool_)


def _sum(lists: dict[str, list[str]]) -> str:
    return hashlib.sha256(json.dumps(lists, sort_keys=True).encode()).hexdigest()


# ------------------------------------------------------------------ output


def unfit(run: RunFolder) -> list[str]:
    """The folders of output from which documents cannot be taken: their files do not say which documents they hold."""
    return [name for name in run.outputs() if not _is_fit(run.output_folder(name))]


def rewrite(run: RunFolder, ids: frozenset[str]) -> list[str]:
    """Take documents out of the output of a run; returns the names of the files that have changed, below the output.

    Files without any of them keep their bytes. Folders that are `unfit` are removed. Raises
    RefusedFolder if there are files that the run has not written.
    """
    run.refuse_other_output()
    changed = []
    for name in run.outputs() if ids else ():
        folder = run.output_folder(name)
        if not _is_fit(folder):
            changed += [f"{name}/{file}" for file in files_in(folder)]
            run.remove_output_folder(name)
            continue
        if _is_native(folder):
            run.will_publish({*run.has_published(), f"{name}/{LIST}"})
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


def _is_fit(folder: Path) -> bool:
    if _is_native(folder):
        return open_shards(folder).has_tables
    return all(_has_ids(folder / name) for name in files_in(folder))


def _has_ids(path: Path) -> bool:
    if path.name.endswith(".parquet"):
        schema = pq.read_schema(path)
        return "id" in schema.names and pa.types.is_string(schema.field("id").type)
    if not path.name.endswith(LINES):
        return False
    with _lines(path) as lines:
        first = next(iter(lines), None)
    return first is None or isinstance(orjson.loads(first).get("id"), str)


def _rewrite_shards(folder: Path, ids: frozenset[str]) -> list[str]:
    numbers = open_shards(folder).numbers_of(ids)
    return erase(folder, {number for mine in numbers.values() for number in mine})


def _rewrite_files(folder: Path, ids: frozenset[str]) -> list[str]:
    changed = []
    for name in files_in(folder):
        path = folder / name
        with temporary(path) as draft:
            if (_filter_table if name.endswith(".parquet") else _filter_lines)(path, draft, ids):
                draft.replace(path)
                changed.append(name)
    if changed and (listed := sums_in(folder)):
        rows = (line.split("  ", 1) for line in listed.read_text("utf-8").splitlines())
        write_sums(folder, {name: digest for digest, name in rows if name not in changed})
    return changed


def _filter_table(path: Path, draft: Path, ids: frozenset[str]) -> int:
    """Write a table without these documents; returns how many that are."""
    gone = 0
    with pq.ParquetFile(path) as file, TableWriter(draft, file.schema_arrow) as table:
        for batch in file.iter_batches(1024, use_threads=False):
            mine = _in(batch["id"], ids)
            gone += int(mine.sum())
            table.write(batch.filter(pa.array(~mine)))
    return gone


def _filter_lines(path: Path, draft: Path, ids: frozenset[str]) -> int:
    gone = 0
    with _lines(path) as lines, _new_lines(draft, path.name) as new:
        for line in lines:
            if orjson.loads(line)["id"] in ids:
                gone += 1
            else:
                new.write(line)
    return gone


def _lines(path: Path) -> IO[bytes]:
    if path.name.endswith(".gz"):
        return cast(IO[bytes], gzip.open(path))
    if path.name.endswith(".zst"):
        raw: Any = zstandard.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True, closefd=True)
        return io.BufferedReader(raw)
    return path.open("rb")


@contextmanager
def _new_lines(path: Path, name: str) -> Iterator[Any]:
    """A file of lines, compressed as its name says. The same lines give the same bytes."""
    with path.open("wb") as file:
        if name.endswith(".gz"):
            with gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed:
                yield packed
        elif name.endswith(".zst"):
            with zstandard.ZstdCompressor(LEVEL).stream_writer(file, closefd=False) as packed:
                yield packed
        else:
            yield file
