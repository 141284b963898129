"""Units of work: what an executor carries out, and all that a unit may touch.

A unit reads named inputs and writes named outputs; a commit record, created once, makes them count. Output files
carry the number of the unit and the name of the attempt, so an attempt that was killed, doubled or late leaves an
orphan and nothing else.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill.storage import checksum
from corpusmill.tables import TableWriter


@dataclass(frozen=True)
class Unit:
    """A part of a stage.

    number   its place in the stage; it names the unit's files and its commit
    inputs   what it reads: pieces of inputs, or files of earlier stages relative to the run's folder
    """

    number: int
    inputs: tuple[Any, ...]


@dataclass(frozen=True)
class Output:
    """A file that a unit wrote. `path` is relative to the run's folder; `checksum` is XXH3-128 of its bytes."""

    path: str
    rows: int
    bytes: int
    checksum: str


@dataclass(frozen=True)
class Commit:
    """The record that makes a unit count."""

    unit: int
    attempt: str
    outputs: Mapping[str, Output]
    facts: Mapping[str, Any]  # counts: sums over commits are the facts of a stage
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(record: dict[str, Any]) -> "Commit":
        outputs = {name: Output(**output) for name, output in record["outputs"].items()}
        return Commit(record["unit"], record["attempt"], outputs, record["facts"], record["seconds"])


@dataclass
class UnitIO:
    """The only way a unit reaches files: it reads what it was given and writes outputs by name."""

    root: Path  # the run's folder
    stage: str  # the stage's folder in it
    unit: int
    attempt: str
    facts: dict[str, Any] = field(default_factory=dict)
    _open: dict[str, tuple[Path, TableWriter]] = field(default_factory=dict)
    _rows: dict[str, tuple[Path, int]] = field(default_factory=dict)

    def path(self, name: str, suffix: str, rows: int = 0) -> Path:
        """A new output file `name`, to be written by the caller."""
        path = self.root / self.stage / name / f"{self.unit:05d}-{self.attempt}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._rows[name] = (path, rows)
        return path

    def scratch(self) -> Path:
        """A folder for temporary files, inside the run's folder; it is removed when the stage is done."""
        path = self.root / self.stage / "tmp" / f"{self.unit:05d}-{self.attempt}"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, name: str, batch: pa.RecordBatch) -> None:
        """Add rows to the output table `name`; the first batch, which may be empty, sets its schema."""
        if name not in self._open:
            path = self.path(name, ".parquet")
            self._open[name] = (path, TableWriter(path, batch.schema))
        self._open[name][1].write(batch)

    def write_arrays(self, name: str, rows: int = 0, **arrays: NDArray[Any]) -> None:
        """One output file of arrays by name, 64-byte aligned so that they can be mapped."""
        write_arrays(self.path(name, ".arrays", rows), arrays)

    def table(self, path: str, columns: list[str] | None = None, **options: Any) -> pa.Table:
        """A table that an earlier stage wrote. With a list of paths, see `tables`."""
        return pq.read_table(self.root / path, columns=columns, use_threads=False, **options)

    def arrays(self, path: str) -> dict[str, NDArray[Any]]:
        """Arrays that an earlier stage wrote, mapped and not read."""
        return map_arrays(self.root / path)

    def parquet(self, path: str) -> pq.ParquetFile:
        return pq.ParquetFile(self.root / path, memory_map=False)

    def finish(self) -> dict[str, Output]:
        """Close all outputs and say what they are."""
        for name, (path, writer) in self._open.items():
            writer.close()
            self._rows[name] = (path, writer.rows_written)
        return {
            name: Output(str(path.relative_to(self.root).as_posix()), rows, path.stat().st_size, checksum(path))
            for name, (path, rows) in sorted(self._rows.items())
        }

    def abandon(self) -> None:
        """Close what is open, after a failure; the files stay as orphans until the stage is tidied."""
        for _, writer in self._open.values():
            try:
                writer.close()
            except Exception:
                pass


class Work(Protocol):
    """What a stage does with each of its units. Frozen, picklable, sent to a worker once a stage."""

    def run(self, unit: Unit, io: UnitIO) -> None: ...


Committed = Mapping[str, list[Commit]]  # stage name -> its commits by unit number


@dataclass(frozen=True)
class Stage:
    """A list of units to come.

    name          short, without a number: "map", "minhash-group"
    fingerprint   of the steps, their parameters and code, and of everything upstream
    after         the stages whose commits `units` looks at
    units         the plan, made when all of `after` is committed: a pure function of the commits, and of the files
                  that they name in the run's folder
    """

    name: str
    fingerprint: str
    work: Work
    after: tuple[str, ...]
    units: Callable[[Committed, Path], list[Unit]]


MAGIC = b"CMARRAY1"


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Arrays in one file: magic, length of a JSON header, the header (name -> dtype, shape, offset), the bytes."""
    import json

    head: dict[str, Any] = {}
    at = 0
    for name, array in arrays.items():
        head[name] = {"dtype": array.dtype.newbyteorder("<").str, "shape": list(array.shape), "offset": at}
        at += -(-array.nbytes // 64) * 64
    header = json.dumps(head, sort_keys=True).encode()
    header += b" " * (-(len(header) + 16) % 64)
    with path.open("wb") as file:
        file.write(MAGIC + len(header).to_bytes(8, "little") + header)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
            file.write(b"\0" * (-array.nbytes % 64))


def map_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of `write_arrays`, mapped read-only."""
    import json
    import mmap

    with path.open("rb") as file:
        start = file.read(16)
        if start[:8] != MAGIC:
            raise ValueError(f"{path}: not a file of arrays, it begins with {start[:8]!r}")
        size = int.from_bytes(start[8:], "little")
        head = json.loads(file.read(size))
        # One map for all: a stage opens every file once a partition, and np.memmap would open it once an array.
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    arrays: dict[str, NDArray[Any]] = {}
    for name, entry in head.items():
        shape = tuple(entry["shape"])
        if 0 in shape:
            arrays[name] = np.empty(shape, entry["dtype"])
        else:
            flat = np.frombuffer(mapped, entry["dtype"], math.prod(shape), 16 + size + entry["offset"])
            arrays[name] = flat.reshape(shape)
    return arrays


def now() -> float:
    """Seconds, for durations only: nothing that is written may depend on it but a commit's `seconds`."""
    return time.perf_counter()
