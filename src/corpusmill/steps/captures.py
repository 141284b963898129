"""What hosts said of themselves when they were crawled: their robots.txt and /.well-known/tdmrep.json.

A crawl has these as records among its pages, or in files of their own (`robotstxt/` of Common Crawl), and a page has to
find those of its host. `collect` writes them once as a table in order of the hashes of their places; `Captures` maps
that table and finds a host by halving, so that neither the size of a crawl nor the order of its files matters.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any
from urllib.parse import urljoin, urlsplit

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from corpusmill import system
from corpusmill.errors import AssetError, InputError, other_format

PATHS = {"/robots.txt": "robots", "/.well-known/tdmrep.json": "tdmrep"}
LARGEST = 500 << 10  # bytes of a file that are kept: RFC 9309, section 2.5, demands as many
DEFAULT_PORTS = {"http": 80, "https": 443}
KIND, VERSION = b"corpusmill captures ", 1
FORMAT = KIND + b"%d" % VERSION
TABLE = pa.schema(
    [
        ("key", pa.uint64()),  # of the origin and the kind, in order
        ("origin", pa.string()),  # https://example.org, with a port that is not the usual one
        ("kind", pa.string()),  # robots, tdmrep
        ("date", pa.string()),  # of the capture, ISO 8601
        ("status", pa.int32()),  # of the last answer, where there were redirects
        ("body", pa.large_string()),
    ],
    metadata={b"format": FORMAT},
)
FOUND = TABLE.append(pa.field("target", pa.string()))
COLUMNS = FOUND.names[1:]
ROWS = 2048  # of a batch


@dataclass(frozen=True)
class Capture:
    """An answer of a host."""

    status: int
    body: str
    date: str | None


@dataclass(frozen=True)
class CapturedAnswer:
    """What was found in a crawl: one answer of a host, of one kind."""

    origin: str
    kind: str
    date: str | None
    status: int
    target: str | None  # the origin that a redirect leads to, if it is to the same file there
    body: str


def origin_of(url: str) -> str | None:
    """Scheme, host and port of an address, as robots.txt is said by: https://example.org; None if it has no host.

    >>> origin_of("HTTPS://Example.ORG:443/a?b#c"), origin_of("http://example.org:8080"), origin_of("mailto:a@b")
    ('https://example.org', 'http://example.org:8080', None)
    """
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
        if not host or parts.scheme not in DEFAULT_PORTS:
            return None
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
    except ValueError:  # a port that is no number, brackets, a name that resolvers refuse
        return None
    shown = f"[{host}]" if ":" in host else host.rstrip(".")
    return f"{parts.scheme}://{shown}" + (f":{port}" if port not in (None, DEFAULT_PORTS[parts.scheme]) else "")


def kind_of(url: str) -> str | None:
    """Which of the files an address is; None for all others."""
    try:
        return PATHS.get(urlsplit(url.strip()).path)
    except ValueError:
        return None


def target_of(url: str, location: str) -> str | None:
    """The origin to which a redirect leads, if it leads to the file of the same name there."""
    try:
        to = urljoin(url, location.strip())
    except ValueError:
        return None
    return origin_of(to) if kind_of(to) == kind_of(url) else None


def key_of(origin: str, kind: str) -> int:
    return xxhash.xxh3_64_intdigest(f"{kind} {origin}".encode())


class Captures:
    """A table of captures, mapped: of it, what is looked at is in memory. Raises AssetError if the file is none."""

    def __init__(self, path: Path) -> None:
        try:
            reader = pa.ipc.open_file(pa.memory_map(str(path)))
            format = (reader.schema.metadata or {}).get(b"format", b"")
            if format.startswith(KIND) and format != FORMAT:
                raise AssetError(other_format(str(path), format.removeprefix(KIND).decode("ascii", "replace"), VERSION))
            if format != FORMAT:
                raise pa.ArrowInvalid("it was not written by `corpusmill rights`")
            self._batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
        except pa.ArrowException as error:
            raise AssetError(
                f"{path}: not a table of captures: {error}. Make one: corpusmill rights CRAWL --out {quote(path.name)}"
            ) from None
        self._keys: list[NDArray[np.uint64]] = [batch["key"].to_numpy() for batch in self._batches]
        self._first = np.array([keys[0] for keys in self._keys], np.uint64)

    def __len__(self) -> int:
        return sum(map(len, self._keys))

    def find(self, origin: str, kind: str) -> Capture | None:
        """The capture of a host; if there is none, that of the same host by the other of http and https."""
        scheme, _, host = origin.partition("://")
        other_scheme = {"http": "https", "https": "http"}[scheme]
        return self._find(origin, kind) or (self._find(f"{other_scheme}://{host}", kind) if ":" not in host else None)

    def _find(self, origin: str, kind: str) -> Capture | None:
        key = np.uint64(key_of(origin, kind))
        number = max(int(np.searchsorted(self._first, key, "right")) - 1, 0)
        if not self._keys:
            return None
        row = int(np.searchsorted(self._keys[number], key))
        batch = self._batches[number]
        if row == len(batch) or self._keys[number][row] != key or batch["origin"][row].as_py() != origin:
            return None
        return Capture(batch["status"][row].as_py(), batch["body"][row].as_py(), batch["date"][row].as_py())


def collect(answers: Iterator[CapturedAnswer], out: Path, memory_mb: int = 1024) -> int:
    """Write the table of captures; returns how many there are. Without any, nothing is written.

    The latest capture of a file counts, and of equally late ones that of the first content in order, so the order in
    which they are found makes no difference. A redirect to the same file of another host is followed, up to eight
    times, as far as the crawl has the answers. What does not fit in `memory_mb` is sorted on disk, beside `out`.

    Raises InputError if `out` cannot be written.
    """
    import duckdb

    if not out.parent.is_dir() or out.is_dir():
        raise InputError(f"{out}: cannot be written: {'a folder' if out.is_dir() else f'no folder {out.parent}'}")
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".captures-") as scratch:
        with duckdb.connect(str(Path(scratch) / "found.duckdb")) as database:
            database.execute(f"SET memory_limit = '{memory_mb}MB'")
            database.execute("SET threads = 1")
            database.execute("SET preserve_insertion_order = true")
            database.execute(f"SET temp_directory = '{Path(scratch, 'spilled').as_posix()}'")
            database.execute(
                "CREATE TABLE found (key UBIGINT, origin VARCHAR, kind VARCHAR, date VARCHAR, status INTEGER, "
                "body VARCHAR, target VARCHAR)"
            )
            for rows in _parts(answers):  # noqa: B007 - DuckDB finds it by its name
                database.execute("INSERT INTO found SELECT * FROM rows")
            database.execute(
                "CREATE TABLE kept AS SELECT found.* FROM found JOIN (SELECT arg_max(rowid, (coalesce(date, ''), "
                "-status, md5(body), coalesce(target, ''))) AS at FROM found GROUP BY kind, origin) best "
                "ON found.rowid = best.at"
            )
            for _ in range(3):  # each of them follows twice as many redirects: 8
                database.execute(
                    "UPDATE kept SET status = t.status, body = t.body, target = t.target FROM kept t "
                    "WHERE kept.status BETWEEN 300 AND 399 AND t.kind = kept.kind AND t.origin = kept.target"
                )
            answer = database.sql(
                "SELECT key, origin, kind, date, status, body FROM kept ORDER BY key, kind, origin"
            ).to_arrow_reader(ROWS)
            table, count = Path(scratch) / "table", 0
            with pa.ipc.new_file(table, TABLE) as writer:
                for batch in answer:
                    writer.write_batch(batch.cast(TABLE))
                    count += len(batch)
            del answer
        if count:
            system.replace(table, out)
    return count


def _parts(answers: Iterator[CapturedAnswer]) -> Iterator[pa.Table]:
    """The captures, in tables of some megabytes."""
    rows: list[dict[str, Any]] = []
    size = 0
    for answer in answers:
        rows.append({"key": key_of(answer.origin, answer.kind), **{name: getattr(answer, name) for name in COLUMNS}})
        size += len(answer.body)
        if size > 16 << 20 or len(rows) == 16 * ROWS:
            yield pa.Table.from_pylist(rows, FOUND)
            rows, size = [], 0
    yield pa.Table.from_pylist(rows, FOUND)
