"""Units of work: what an executor carries out, and what it leaves behind. Contracts only; `unit_io` reaches files.

A stage is a list of units. A unit has inputs, a small frozen dataclass of numbers and ranges, and a key: the hash of
the content of what it reads. Its stage's folder is named for the work: code, parameters, library versions. So work and
content together name what a unit makes, and equal work is never done twice.

What all units of a stage share (the files that earlier stages wrote) is not repeated in each of them: it is in the
`Results` of those stages, written once when a stage is complete.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill import system
from corpusmill.store.facts import Facts

Note = int | str


@dataclass(frozen=True)
class Unit:
    """A part of a stage.

    number   its place in the stage: results are in this order
    key      20 hexadecimal digits: the identity of what it reads; it names the unit's files and its commit
    inputs   what its work's `run` is given: a frozen dataclass of plain values
    """

    number: int
    key: str
    inputs: Any


@dataclass(frozen=True)
class UnitOutput:
    """A file that a unit wrote.

    path       relative to the run's folder
    checksum   XXH3-128 of its bytes
    """

    path: str
    rows: int
    bytes: int
    checksum: str


@dataclass(frozen=True)
class AttemptPosition:
    """Where an attempt at a unit is: a step is about to see some documents, or a reader to go on.

    part         which of the files that the unit reads, from 0
    first, last  positions of the first and the last of the documents; of a reader, the range of the file that it reads,
                 without `last`, in the reader's own unit
    count        documents; 0 of a reader
    step         the label of the step, or the name of the reader
    reading      whether it is a reader
    given        documents that the reader has made of its range so far
    single       nothing smaller has a name: one document, or a range that the reader cannot cut
    where        the same for people
    """

    part: int
    first: int
    last: int
    count: int = 0
    step: str = ""
    reading: bool = False
    given: int = 0
    single: bool = False
    where: str = ""

    @property
    def span(self) -> tuple[int, ...]:
        """Equal for two that are at the same records, whatever the step."""
        return (self.part, self.first, self.last, self.reading, self.given)


@dataclass(frozen=True)
class QuarantinedRecord:
    """Records that every attempt ends at: they are set aside as a dead letter.

    kind    of the dead letter: "killed_worker", "out_of_memory", "step_failed", "reader_failed"
    cause   what happened at them, for people
    """

    at: AttemptPosition
    kind: str
    cause: str

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "at": vars(self.at)}

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> "QuarantinedRecord":
        return QuarantinedRecord(AttemptPosition(**record["at"]), record["kind"], record["cause"])


@dataclass(frozen=True)
class RetryPolicy:
    """How an attempt is made, by what is known of earlier ones. No byte of what a unit leaves depends on `rows`.

    aside   what the attempt leaves out, see `QuarantinedRecord`
    rows    at most so many documents at a time, and where it is is noted before each step; None: as many as usual
    probe   only these records are tried, and nothing is committed
    """

    aside: tuple[QuarantinedRecord, ...] = ()
    rows: int | None = None
    probe: AttemptPosition | None = None


USUAL = RetryPolicy()


@dataclass(frozen=True)
class Commit:
    """The record that makes a unit count.

    facts   counts; the facts of a stage are their sum over its units
    notes   what planners and reports need to know of each unit by itself: numbers and short texts
    memory  bytes that its process had in memory at most, see `peak_memory`; None where nothing says
    cpu     seconds of processors that its process used, by all of its threads; None in commits of earlier versions
    """

    key: str
    attempt: str
    outputs: Mapping[str, UnitOutput]
    facts: Mapping[str, Any]
    notes: Mapping[str, Note]
    seconds: float
    memory: int | None = None
    cpu: float | None = None

    def to_json(self) -> dict[str, Any]:
        # Not `asdict`, which copies every number of the facts: 10 ms.
        outputs = {name: vars(output) for name, output in self.outputs.items()}
        return {**vars(self), "outputs": outputs}

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> "Commit":
        outputs = {name: UnitOutput(**output) for name, output in record["outputs"].items()}
        fields = {name: record[name] for name in ("key", "attempt", "facts", "notes", "seconds")}
        # Earlier versions noted neither memory nor cpu.
        return Commit(outputs=outputs, memory=record.get("memory"), cpu=record.get("cpu"), **fields)


@dataclass(frozen=True)
class Results:
    """What the units of a stage left, in the order of units, in columns: 100 bytes a unit and output.

    stage     the stage's name
    folder    its folder, relative to the run's
    keys      of the units
    facts     the sum of all facts
    outputs   name -> the files of that name, one a unit
    notes     name -> (units,) numbers, or texts
    seconds   (units,) how long each took
    memory    (units,) bytes that its process had in memory at most, 0 where that is not known
    cpu       (units,) seconds of processors, NaN where that is not known
    complete  whether all units of the stage are in it
    """

    stage: str
    folder: str
    keys: tuple[str, ...]
    facts: Facts
    outputs: Mapping[str, "OutputFiles"]
    notes: Mapping[str, Sequence[Any]]
    seconds: NDArray[np.float64]
    memory: NDArray[np.int64]
    cpu: NDArray[np.float64]
    complete: bool = True

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, name: str) -> "OutputFiles":
        """The output of this name. Raises KeyError if no unit wrote one."""
        return self.outputs[name]

    def numbers(self, name: str) -> NDArray[np.int64]:
        """(units,) a note of numbers."""
        return np.asarray(self.notes[name], np.int64)

    @property
    def bytes(self) -> int:
        """Of all outputs."""
        return sum(int(files.bytes.sum()) for files in self.outputs.values())


@dataclass(frozen=True)
class OutputFiles:
    """The files of one output, one a unit, relative to the run's folder."""

    paths: pa.StringArray
    rows: NDArray[np.int64]
    bytes: NDArray[np.int64]
    checksums: pa.StringArray

    def __len__(self) -> int:
        return len(self.paths)

    def path(self, unit: int) -> str:
        return str(self.paths[unit].as_py())

    def checksum(self, unit: int) -> str:
        return str(self.checksums[unit].as_py())

    @property
    def starts(self) -> NDArray[np.int64]:
        """(units + 1,) the number of each unit's first row, and in the end of how many there are."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.rows, dtype=np.int64)])


@dataclass(frozen=True)
class Resources:
    """What one unit of a stage needs, for executors that share machines among units.

    cpus           processors that it keeps busy
    memory_mb      megabytes that it holds at most; None: not known
    accelerators   GPUs and the like
    grows          what it holds grows with the corpus: freed memory is given back at once, at the price of page faults
    workers        units at a time, at most; None: as many as the processors allow
    keeps          what its process loads is large, and of no use to other stages: the process ends with the stage
    """

    cpus: float = 1.0
    memory_mb: int | None = None
    accelerators: float = 0.0
    grows: bool = False
    workers: int | None = None
    keeps: bool = False

    def at_a_time(self, workers: int) -> int:
        """How many units run at a time where there are `workers` processes for units of one processor.

        >>> Resources(cpus=4).at_a_time(10), Resources(cpus=4).at_a_time(2), Resources(workers=3).at_a_time(8)
        (2, 1, 3)
        """
        slots = max(int(workers / max(self.cpus, 1)), 1)
        return slots if self.workers is None else min(slots, self.workers)


def now() -> float:
    """Seconds, for durations only: nothing that is written may depend on it but a commit's `seconds`."""
    return time.perf_counter()


def peak_memory() -> int | None:
    """`system.peak_memory`, for a commit's `memory` only."""
    return system.peak_memory()
