"""What a crawl of Common Crawl has, by its lists of files and its columnar URL index.

    crawl-data/CRAWL/warc.paths.gz             the names of all WARC files, one a line; likewise wet, wat
    crawl-data/CRAWL/cc-index-table.paths.gz   those of the index: Parquet, by domain; a row is a capture
    cc-index/table/cc-main/warc/crawl=CRAWL/subset=warc/part-….parquet

Source: https://commoncrawl.org/get-started and https://commoncrawl.org/columnar-index
"""

import gzip
import json
import os
import re
import tempfile
import threading
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpusmill.errors import CorpusmillError, InputError, RecipeError, did_you_mean
from corpusmill.read._selections import SCHEMA
from corpusmill.storage import expand, is_local, join, read_bytes, read_range, size_of

CONNECTIONS = 4  # of one process
SIZED = 100  # files whose sizes are asked for, of many in a remote place
BATCH = 1 << 14  # rows of an answer
PROTOCOL = "crawl-index"
UNKNOWN = re.compile(r'Referenced column "([^"]+)" (?:was )?not found')
SELECT = "SELECT warc_filename, warc_record_offset, warc_record_length, url, content_digest FROM {} WHERE ({}\n)"


def files_of_crawl(location: str, crawl: str, kind: str) -> list[str]:
    """The names of all files of a kind ("warc", "wet", "wat", "cc-index-table"), as the crawl lists them."""
    path = join(location, "crawl-data", crawl, f"{kind}.paths.gz")
    try:
        data = read_bytes(path)
    except InputError as error:
        raise InputError(
            f"{path}: there is no such file, so no crawl {crawl} with {kind} files. Crawls are named as in "
            "CC-MAIN-2026-25; https://index.commoncrawl.org lists them. A folder needs the layout of the bucket"
        ) from error
    try:
        names = gzip.decompress(data).decode().split()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not a list of files in gzip: {error}") from error
    if not names:
        raise InputError(f"{path}: lists no files")
    return names


def whole_files(location: str, crawl: str, kind: str, count: int | None) -> Iterator[pa.RecordBatch]:
    """The first `count` files of a kind; None: all. Of more than SIZED files in a remote place, the sizes of some are
    asked for, and the others get their mean: only how units are cut depends on it."""
    names = sorted(files_of_crawl(location, crawl, kind)[:count])
    few = is_local(location) or len(names) <= SIZED
    chosen = names if few else names[:: -(-len(names) // SIZED)]
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        sizes = dict(zip(chosen, pool.map(size_of, (join(location, name) for name in chosen))))
    if lost := [name for name, size in sizes.items() if size is None]:
        raise InputError(
            f"{join(location, lost[0])}: the crawl lists this file, and it is not there, nor are {len(lost) - 1} of "
            f"{len(chosen) - 1} others that were looked for. `files:` takes the first ones alone; files that you have "
            "are read by `warc`, `wet` or `wat`"
        )
    mean = sum(size or 0 for size in sizes.values()) // len(sizes)
    for start in range(0, len(names), BATCH):
        part = names[start : start + BATCH]
        columns = [part, [None] * len(part), [sizes.get(name) or mean for name in part], *([[None] * len(part)] * 2)]
        yield pa.record_batch([pa.array(values, field.type) for values, field in zip(columns, SCHEMA)], schema=SCHEMA)


def index_files(location: str, crawl: str) -> list[str]:
    """The files of the index of a crawl's pages."""
    folder = f"cc-index/table/cc-main/warc/crawl={crawl}/subset=warc"
    try:
        names = [name for name in files_of_crawl(location, crawl, "cc-index-table") if "/subset=warc/" in name]
        return [join(location, name) for name in sorted(names)]
    except InputError:
        # Crawls before 2018 have no list, and a copy need not; a server of the web lists no folders.
        with suppress(CorpusmillError):
            return [file.path for file in expand(join(location, folder), (".parquet",))]
        raise


def problem_of(where: str) -> str:
    """What is wrong with a condition before it is known what columns there are; "" if nothing is."""
    import duckdb

    with duckdb.connect(":memory:") as database:
        statement = SELECT.format("captures", where)
        ((serialized,),) = database.execute("SELECT json_serialize_sql(?)", [statement]).fetchall()
    tree = json.loads(serialized)
    if tree["error"]:
        return str(tree["error_message"]).partition("\n")[0]
    nodes = [statement["node"]["type"] for statement in tree["statements"]]
    return "" if nodes == ["SELECT_NODE"] else "it holds more than a condition"


def selected_records(location: str, crawl: str, where: str, scratch: Path) -> Iterator[pa.RecordBatch]:
    """The captures in the index that fit a condition, sorted by file and offset, each record once. Of each file of the
    index DuckDB reads the columns that the condition names, and no row group whose statistics rule it out.

    scratch   a folder with what was found so far: files of the index that were asked before are not asked again
    """
    import duckdb

    paths = index_files(location, crawl)
    opener = IndexFiles(paths)
    with _database(scratch) as database:
        database.register_filesystem(opener.file_system())
        allowed = ", ".join(f"'{opener.name(number)}'" for number in range(len(paths)))
        database.execute(f"SET allowed_paths = [{allowed}]")
        database.execute("SET enable_external_access = false")
        database.execute("SET lock_configuration = true")
        database.execute("CREATE TABLE IF NOT EXISTS asked (path VARCHAR)")
        database.execute(
            "CREATE TABLE IF NOT EXISTS found (file VARCHAR, start BIGINT, size BIGINT, url VARCHAR, digest VARCHAR)"
        )
        asked = {path for (path,) in database.execute("SELECT path FROM asked").fetchall()}
        for number, path in enumerate(paths):
            if path in asked:
                continue
            table = f"read_parquet('{opener.name(number)}', hive_partitioning = false)"
            try:
                database.begin()
                database.execute(f"INSERT INTO found {SELECT.format(table, where)}")
                database.execute("INSERT INTO asked VALUES (?)", [path])
                database.commit()
            except duckdb.Error as error:
                raise _problem_with(error, opener, path, where, table, database) from error
        ordered = database.sql(
            "SELECT DISTINCT ON (file, start) * FROM found WHERE file IS NOT NULL AND start >= 0 AND size > 0 "
            "ORDER BY file, start, size, url, digest"
        ).to_arrow_reader(BATCH)
        for batch in ordered:
            yield pa.record_batch([column.cast(field.type) for column, field in zip(batch.columns, SCHEMA)], SCHEMA)


@contextmanager
def _database(scratch: Path) -> Iterator[Any]:
    """A database in a folder; elsewhere, if another process has that one open, or it cannot be read."""
    import duckdb

    settings = {"autoinstall_known_extensions": False, "python_enable_replacements": False, "threads": CONNECTIONS}
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="other-", dir=scratch, ignore_cleanup_errors=True) as other:
        try:
            database = duckdb.connect(str(scratch / "found.duckdb"), config=settings)
        except duckdb.Error:
            database = duckdb.connect(str(Path(other, "found.duckdb")), config=settings)
        with database:
            yield database


def _problem_with(
    error: Exception, opener: "IndexFiles", path: str, where: str, table: str, database: Any
) -> CorpusmillError:
    """What a condition, or a file of the index, has wrong."""
    import duckdb

    if opener.error is not None:
        return opener.error
    line = str(error).partition("\n")[0]
    if isinstance(
        error, duckdb.BinderException | duckdb.CatalogException | duckdb.ParserException | duckdb.PermissionException
    ):
        if unknown := UNKNOWN.search(line):
            database.rollback()
            columns = [row[0] for row in database.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()]
            hint = did_you_mean(unknown[1], columns) or "."
            return RecipeError(f'where: the index has no column "{unknown[1]}"{hint} It has: {", ".join(columns)}.')
        return RecipeError(f"where: {where}: {line}")
    return InputError(f"{path}: the index cannot be read with where: {where}: {line}")


class IndexFiles:
    """Files of an index, for DuckDB to read by our own requests.

    error   the first of ours that was raised meanwhile: DuckDB says it in other words
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        self.error: CorpusmillError | None = None
        self._sizes: dict[str, int] = {}
        self._connections = threading.Semaphore(CONNECTIONS)

    def name(self, number: int) -> str:
        return f"{PROTOCOL}://{number}.parquet"

    def file_system(self) -> Any:
        from fsspec import AbstractFileSystem

        files = self

        class FileSystem(AbstractFileSystem):  # type: ignore[misc]
            protocol = PROTOCOL

            def info(self, path: str, **_: Any) -> dict[str, Any]:
                return {"name": path, "size": files.size(path), "type": "file"}

            def modified(self, path: str) -> datetime:
                return datetime(2000, 1, 1, tzinfo=UTC)

            def exists(self, path: str, **_: Any) -> bool:
                return True

            def glob(self, path: str, **_: Any) -> list[str]:
                return [path]

            def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
                return files.open(path)

        return FileSystem(skip_instance_cache=True)

    def open(self, name: str) -> "IndexFile":
        return IndexFile(self, self._path(name), self.size(name))

    def read(self, path: str, start: int, stop: int) -> bytes:
        with self._noted(), self._connections:
            return read_range(path, start, stop)

    def size(self, name: str) -> int:
        path = self._path(name)
        with self._noted():
            if path not in self._sizes:
                size = size_of(path)
                if size is None:
                    raise InputError(f"{path}: the crawl lists this file of its index, but it does not exist")
                self._sizes[path] = size
            return self._sizes[path]

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Keeps an error of ours that is raised inside."""
        try:
            yield
        except CorpusmillError as error:
            self.error = self.error or error
            raise

    def _path(self, name: str) -> str:
        return self.paths[int(name.rpartition("/")[2].partition(".")[0])]


class IndexFile:
    """One of them, open for reading by several threads: DuckDB's seek, and then read, without a lock. Each of them is
    at a place of its own."""

    def __init__(self, files: IndexFiles, path: str, size: int) -> None:
        self._files = files
        self._path = path
        self._size = size
        self._thread = threading.local()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._thread.at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.tell(), os.SEEK_END: self._size}[whence]
        return self.tell()

    def tell(self) -> int:
        return int(getattr(self._thread, "at", 0))

    def read(self, count: int = -1) -> bytes:
        start = self.tell()
        stop = self._size if count < 0 else min(start + count, self._size)
        data = self._files.read(self._path, start, stop) if start < stop else b""
        self._thread.at = start + len(data)
        return data

    def close(self) -> None:
        """Nothing is open."""
