"""Canaries in the units of passes: what the pass before notes, and how the last pass puts them in.

Nothing here knows recipes: the work of every pass reaches this module, and an edit of what it reaches repeats it.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.schema import CANARY
from corpusmill.store.unit_io import UnitIO
from corpusmill.store.units import Results

HELD = "sources"  # the note of a pass: the sources of its kept documents, in order, each with how many follow
PLANTED = "planted"  # the note of the last pass: the canaries in a unit, and the documents that they are behind


@dataclass(frozen=True)
class UnitWithCanaries:
    """A unit of the pass before, with what is put into it: input of units of the last pass.

    moved   row of the document that the canary is put behind, -1: behind all; and unit and row of the canary
    """

    number: int
    moved: tuple[tuple[int, int, int], ...]


def host_note(sources: Sequence[str]) -> str:
    """The note HELD of documents of these sources.

    >>> held(["a", "a", "b"])
    '[["a", 2], ["b", 1]]'
    """
    return json.dumps([(source, len(list(group))) for source, group in groupby(sources)])


def put_in(batches: Iterator[pa.RecordBatch], inputs: UnitWithCanaries, before: Results, io: UnitIO) -> Any:
    """The documents of a unit with the canaries that are put into it, and without those that were read in it. Their ids
    and those of the documents before them are noted."""
    tables: dict[int, pa.Table] = {}
    noted: list[tuple[str, str | None]] = []
    waiting = list(inputs.moved)
    first, last = 0, None

    def canary(unit: int, row: int, names: list[str]) -> pa.Table:
        if unit not in tables:
            rows = sorted(row for _, from_unit, row in inputs.moved if from_unit == unit)
            table = io.table(before["docs"].path(unit), names).take(pa.array(rows))
            tables[unit] = table.append_column("row", pa.array(rows))
        at = pc.index(tables[unit]["row"], row).as_py()
        return tables[unit].slice(at, 1).drop_columns(["row"])

    waiting.sort(key=lambda entry: entry[0] == -1)  # these are behind all
    names: list[str] = []
    for batch in batches:
        names = batch.schema.names
        ids = batch["id"].to_pylist()
        own = (pc.not_equal(batch["source"], CANARY)).to_numpy(zero_copy_only=False)
        parts, begin = [], 0
        while waiting and first <= waiting[0][0] < first + len(batch):
            behind, unit, row = waiting.pop(0)
            at = behind - first + 1
            parts.append(_those(batch, begin, at, own))
            begin = at
            parts.append(canary(unit, row, names))
            noted.append((parts[-1]["id"][0].as_py(), ids[behind - first]))
        parts.append(_those(batch, begin, len(batch), own))
        first += len(batch)
        yield from _merged(parts)
    if waiting:
        schema = io.parquet(before["docs"].path(inputs.number)).schema_arrow
        names = names or schema.names
        at_end = [canary(unit, row, names) for _, unit, row in waiting]
        noted += [(table["id"][0].as_py(), last) for table in at_end]
        yield from _merged(at_end)
    io.notes[PLANTED] = json.dumps(noted)


def _those(batch: pa.RecordBatch, begin: int, end: int, own: Any) -> pa.Table:
    part = batch.slice(begin, end - begin)
    return pa.Table.from_batches([part.filter(pa.array(own[begin:end]))])


def _merged(parts: Sequence[pa.Table]) -> Iterator[pa.RecordBatch]:
    yield from pa.concat_tables(parts).combine_chunks().to_batches()
