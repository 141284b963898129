"""The records of a run as bytes, and how it is seen that one is not as it was written.

A plan is named for what it holds, results have their checksum in their name, a commit begins with its own. `run_folder`
knows where they are.
"""

import errno
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash
from numpy.typing import NDArray

from corpusmill import storage
from corpusmill.errors import InputError, ResumeError, StorageError
from corpusmill.store.facts import Facts, in_order, merge
from corpusmill.store.units import Commit, OutputFiles, QuarantinedRecord, Results

CHECKSUM = 32  # hexadecimal digits
SEAL = b'{"checksum":"'  # what a commit begins with
# Of these the file itself is the reason, and writing it anew under another name helps; others concern the whole disk.
UNREADABLE = (errno.EACCES, errno.EPERM, errno.EIO, errno.EISDIR)


class DamagedRecord(ResumeError):
    """A record of the run is not as it was written. `name` is the full name of its file."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(name, problem)
        self.name = name
        self.problem = problem

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.problem}; it was changed or damaged. Run the recipe again in this folder: the "
            f"units of this record are done again, and nothing else."
        )


@dataclass(frozen=True)
class DamagedFile:
    """An output of a unit that is not as its commit says: the unit's key, the file, relative to the run, and what is
    wrong with it."""

    key: str
    path: str
    problem: str


class CollectedCommits:
    """Commits on their way to results, held as compact as they can be: 500 bytes a unit.

    facts   the sum over the units so far; a commit that several units share counts for each
    """

    def __init__(self, folder: str, keys: Iterable[str]) -> None:
        self.folder = folder
        self.times: dict[str, int] = {}
        for key in keys:
            self.times[key] = self.times.get(key, 0) + 1
        self.units: dict[str, bytes] = {}
        self.facts: Facts = {}
        self._count = 0

    def __len__(self) -> int:
        """Units of the plan that are done."""
        return self._count

    def add(self, commit: Commit) -> None:
        if commit.key in self.units:
            return
        outputs = {
            name: [output.path.rpartition(commit.attempt)[2], output.rows, output.bytes, output.checksum]
            for name, output in commit.outputs.items()
        }
        record = [commit.attempt, outputs, commit.notes, commit.seconds, commit.memory, commit.cpu]
        self.units[commit.key] = json.dumps(record).encode()
        merge(self.facts, commit.facts, self.times[commit.key])
        self._count += self.times[commit.key]

    def attempts(self) -> dict[str, str]:
        """key -> the attempt that counts."""
        return {key: json.loads(record)[0] for key, record in self.units.items()}

    def table(self, keys: Sequence[str]) -> pa.Table:
        """Results of units with these keys, in this order, as `as_results` reads them."""
        columns: dict[str, list[Any]] = {"attempt": [], "seconds": [], "memory": [], "cpu": []}
        names: dict[str, str] = {}  # output -> suffix
        notes: dict[str, None] = {}
        for number, key in enumerate(keys):
            attempt, outputs, noted, seconds, memory, cpu = json.loads(self.units[key])
            columns["attempt"].append(attempt)
            columns["seconds"].append(seconds)
            columns["memory"].append(memory)
            columns["cpu"].append(cpu)
            for name, (suffix, *measures) in outputs.items():
                names.setdefault(name, suffix)
                for part, value in zip(("rows", "bytes", "checksum"), measures):
                    _column(columns, f"{name}:{part}", number).append(value)
            for name, value in noted.items():
                notes.setdefault(name)
                _column(columns, f"note:{name}", number).append(value)
        for values in columns.values():
            values.extend([None] * (len(keys) - len(values)))
        arrays = {"key": pa.array(keys, pa.string())} | {name: _typed(name, v) for name, v in columns.items()}
        head = {"folder": self.folder, "outputs": names, "notes": list(notes), "facts": in_order(self.facts)}
        return pa.table(arrays).replace_schema_metadata({"corpusmill": json.dumps(head)})


def plan_name(keys: Sequence[str], inputs: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for key, text in zip(keys, inputs):
        digest.update(f"{key}\0{text}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:20]


def sealed(record: Mapping[str, Any]) -> bytes:
    """A record as JSON that begins with the checksum of all that follows it."""
    body = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()[1:]
    return SEAL + xxhash.xxh3_128_hexdigest(body).encode() + b'",' + body


def unsealed(content: bytes) -> dict[str, Any]:
    """The record that `sealed` made. Raises ValueError if a bit of it has changed."""
    end = len(SEAL) + CHECKSUM
    seal, body = content[: end + 2], content[end + 2 :]
    if not seal.startswith(SEAL) or seal[len(SEAL) :] != xxhash.xxh3_128_hexdigest(body).encode() + b'",':
        raise ValueError("its checksum is not the one that it begins with")
    record: dict[str, Any] = json.loads(b"{" + body)
    return record


def read_record(name: str) -> bytes:
    """The bytes of a record. Raises DamagedRecord where it is no file, or this file cannot be read."""
    try:
        return storage.read_bytes(name)
    except InputError as error:
        raise DamagedRecord(name, str(error).rpartition(": ")[2]) from error
    except StorageError as error:
        if not storage.is_local(name) or error.errno not in UNREADABLE:
            raise
        raise DamagedRecord(name, f"it cannot be read ({str(error).rpartition(': ')[2]})") from error


def asides(name: str) -> tuple[QuarantinedRecord, ...]:
    try:
        return tuple(map(QuarantinedRecord.from_json, read_json(name)))
    except (AttributeError, KeyError, TypeError) as error:
        raise DamagedRecord(name, f"it does not say what was set aside ({error!r})") from error


def read_json(name: str) -> Any:
    try:
        return json.loads(read_record(name))
    except (ValueError, RecursionError) as error:
        raise DamagedRecord(name, f"not valid JSON ({first_line(error)})") from error


def first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def is_stage(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and all(isinstance(entry.get(name), str) for name in ("stage", "folder"))
        and isinstance(entry.get("plan", 0), str | None)
    )


def _column(columns: dict[str, list[Any]], name: str, number: int) -> list[Any]:
    values = columns.setdefault(name, [])
    values += [None] * (number - len(values))
    return values


def _typed(name: str, values: list[Any]) -> pa.Array:
    if name.endswith(":checksum"):
        return pa.array([value and bytes.fromhex(value) for value in values], pa.binary(CHECKSUM // 2))
    if name.endswith((":rows", ":bytes")) or name == "memory":
        return pa.array(values, pa.int64())
    if name == "cpu":
        return pa.array(values, pa.float64())
    return pa.array(values)


def read_results(content: bytes) -> Results:
    return as_results(read_table(content))


def read_table(content: bytes, columns: list[str] | None = None) -> pa.Table:
    """A Parquet file in memory, read by this thread alone: one of Arrow's that still holds these bytes when Python ends
    aborts the process (it wants Python's lock to let go of them)."""
    with pq.ParquetFile(pa.BufferReader(content), pre_buffer=False) as file:
        return file.read(columns, use_threads=False)


def as_results(table: pa.Table, complete: bool = True) -> Results:
    head = json.loads(table.schema.metadata[b"corpusmill"])
    folder: str = head["folder"]
    keys, attempts = table["key"].to_pylist(), table["attempt"].to_pylist()
    outputs = {}
    for name, suffix in head["outputs"].items():
        paths = pa.array(
            [f"{folder}/{name}/{key}-{attempt}{suffix}" for key, attempt in zip(keys, attempts)], pa.string()
        )
        digests = (value.hex() if value is not None else None for value in table[f"{name}:checksum"].to_pylist())
        rows, sizes = (_numbers(table[f"{name}:{part}"]) for part in ("rows", "bytes"))
        outputs[name] = OutputFiles(paths, rows, sizes, pa.array(digests, pa.string()))
    notes = {name: table[f"note:{name}"].to_pylist() for name in head["notes"]}
    stage = folder.rpartition("/")[2].rpartition("-")[0]
    seconds = table["seconds"].to_numpy().astype(np.float64)
    # Earlier versions noted neither the memory nor the seconds of processors.
    memory = _numbers(table["memory"]) if "memory" in table.column_names else np.zeros(len(keys), np.int64)
    cpu = table["cpu"].to_numpy().astype(np.float64) if "cpu" in table.column_names else np.full(len(keys), np.nan)
    return Results(stage, folder, tuple(keys), head["facts"], outputs, notes, seconds, memory, cpu, complete)


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = column.fill_null(0).to_numpy().astype(np.int64)
    return numbers


def plain(value: Any) -> Any:
    """Inputs of a unit as JSON: dataclasses are lists of their fields."""
    if is_dataclass(value) and not isinstance(value, type):
        return [plain(getattr(value, part.name)) for part in fields(value)]
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a unit's inputs must be plain data, got {type(value).__name__}")


def parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def as_json(value: Any) -> bytes:
    return escaped(json.dumps(value, indent=1, ensure_ascii=False))


def escaped(text: str) -> bytes:
    r"""JSON as UTF-8. What of a name is not UTF-8 is a lone surrogate in Python, and as "\udcff" one in JSON, too."""
    return text.encode("utf-8", "backslashreplace")
