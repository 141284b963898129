"""The verdicts of corpus steps on disk: a table for some neighbouring units of the pass, written and found again.

A stage of verdicts has one unit for about HOME documents, so none of them holds the corpus. `slices` says where the
verdicts on each unit of the pass are, and which of its documents are dropped; the note `units` of a unit of verdicts,
how many units of the pass it is about.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from corpusmill.steps.keys import KeyStage
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.units import Results

HOME = 1 << 20  # documents that a unit of verdicts is about, where one unit of the pass has fewer
ROWS = 1 << 14  # verdicts that are made ready at a time
UNITS = "units"  # the note


@dataclass(frozen=True)
class UnitRange:
    """Units [first, stop) of the pass, and their documents [start, end) by number, those of earlier runs before them
    counted."""

    first: int
    stop: int
    start: int
    end: int


def unit_ranges(keys: KeyStage, upstream: Upstream) -> list[UnitRange]:
    """Neighbouring units of the pass with HOME documents together; one unit may have more."""
    return ranges_of(upstream.results(keys.stage)[keys.output].rows.tolist(), keys.earlier.rows)


def ranges_of(rows: Sequence[int], start: int, max_documents: int | None = None) -> list[UnitRange]:
    """The same of units with so many documents each, of which the first is document `start`; `max_documents` is HOME
    if not given."""
    max_documents = HOME if max_documents is None else max_documents
    ranges: list[UnitRange] = []
    first, end = 0, start
    for unit, count in enumerate(rows):
        if unit > first and end + count - start > max_documents:
            ranges.append(UnitRange(first, unit, start, end))
            first, start = unit, end
        end += count
    return [*ranges, UnitRange(first, len(rows), start, end)]


def table_of(results: Results, unit: int) -> tuple[int, int]:
    """Which of the tables of a stage of verdicts is about a unit of the pass, and the place of the unit in it."""
    ends = np.cumsum(results.numbers(UNITS))
    table = int(np.searchsorted(ends, unit, "right"))
    return table, unit - (int(ends[table - 1]) if table else 0)


class VerdictWriter:
    """The verdicts on neighbouring units of the pass, in the order of documents.

    Writes the table `verdicts`, in which documents are numbered within the units of the pass, and `slices`: which rows
    are about which unit, `offsets` (units + 1,), and what they hold, `digests` (units, 16) bytes of XXH3-128, so that a
    unit of the next pass can tell that nothing has changed for it; and the rows of the documents that are dropped,
    `dropped`, those of a unit in [dropped_offsets[unit], dropped_offsets[unit + 1]).

    starts   (units + 1,) the number of the first document of each unit, and of the one behind the last
    """

    def __init__(self, io: UnitIO, starts: NDArray[np.int64], schema: pa.Schema) -> None:
        self._io, self._starts, self._schema = io, starts, schema
        units = len(starts) - 1
        self._sizes = np.zeros(units, np.int64)
        self._lost = np.zeros(units, np.int64)
        self._dropped: list[NDArray[np.uint32]] = [np.empty(0, np.uint32)]
        self._digests = np.tile(_digest([], schema), (units, 1))
        self._waiting: list[pa.RecordBatch] = []
        self._unit = -1
        io.write("verdicts", pa.RecordBatch.from_pylist([], schema=schema))

    def write(self, documents: NDArray[np.int64], columns: Sequence[pa.Array]) -> None:
        """Add verdicts.

        documents   (verdicts,) their numbers, as those in `starts`, rising
        columns     the other columns of the schema
        """
        unit = np.searchsorted(self._starts, documents, "right") - 1
        numbers = pa.array(documents - self._starts[unit])
        batch = pa.record_batch([numbers, *columns], schema=self._schema)
        self._io.write("verdicts", batch)
        dropped = np.flatnonzero(batch["reason"].is_valid().to_numpy(zero_copy_only=False))
        self._dropped.append(batch["document"].to_numpy()[dropped].astype(np.uint32))
        self._lost += np.bincount(unit[dropped], minlength=len(self._lost))
        edges = np.flatnonzero(np.append(True, unit[1:] != unit[:-1])) if len(unit) else np.empty(0, np.int64)
        for first, stop in pairwise([*edges.tolist(), len(unit)]):
            if unit[first] != self._unit:
                self._finish_unit()
                self._unit = int(unit[first])
            self._waiting.append(batch.slice(first, stop - first))

    def _finish_unit(self) -> None:
        if self._waiting:
            self._sizes[self._unit] = sum(map(len, self._waiting))
            self._digests[self._unit] = _digest(self._waiting, self._schema)
        self._waiting = []

    def close(self) -> None:
        self._finish_unit()
        offsets, dropped = (np.append(0, np.cumsum(counts)) for counts in (self._sizes, self._lost))
        self._io.write_arrays(
            "slices",
            len(self._sizes),
            offsets=offsets,
            digests=self._digests,
            dropped=np.concatenate(self._dropped),
            dropped_offsets=dropped,
        )
        self._io.notes[UNITS] = len(self._sizes)


def _digest(batches: list[pa.RecordBatch], schema: pa.Schema) -> NDArray[np.uint8]:
    """(16,) XXH3-128 of what the rows hold, however they are cut into batches."""
    table = pa.Table.from_batches(batches, schema=schema).combine_chunks()
    state = xxhash.xxh3_128()
    for name in schema.names:
        column = pa.concat_arrays(table[name].chunks) if len(table) else pa.array([], schema.field(name).type)
        state.update(column.is_valid().to_numpy(zero_copy_only=False).tobytes())
        if pa.types.is_string(column.type):
            column = pc.fill_null(column, "")
            state.update(pc.binary_length(column).to_numpy(zero_copy_only=False).astype(np.int64).tobytes())
            state.update("".join(column.to_pylist()).encode("utf-8", "surrogatepass"))
        else:
            state.update(pc.fill_null(column, 0).to_numpy(zero_copy_only=False).tobytes())
    return np.frombuffer(state.digest(), np.uint8)
