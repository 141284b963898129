"""The verdicts: what was decided on duplicates, as a table for each unit of the pass.

A unit that decides writes `decided`, in the order of documents, with all that a verdict says. A unit of verdicts reads
its documents out of all of these, so that it holds as much as it writes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.steps.corpus import after, digest, key_files, keys_content
from corpusmill.steps.keys import DUPLICATES, NEAR_DUPLICATES, KeyStage
from corpusmill.steps.verdict_tables import ROWS, UnitRange, VerdictWriter, unit_ranges
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.units import Resources
from corpusmill.store.work import PlannedUnit, Stage

NOT_DROPPED = -1  # `duplicate_of` of a document that is kept


def write_decided(
    io: UnitIO,
    own: int,
    documents: NDArray[np.int64],
    duplicate_of: NDArray[np.int64],
    ids: Callable[[NDArray[np.int64]], NDArray[np.uint8]],
    similarity: NDArray[np.float64] | None = None,
    lost: NDArray[np.float64] | None = None,
) -> None:
    """Write `decided`: the duplicates, and those of this run that are kept instead, with `duplicate_of` NOT_DROPPED.

    own            the number of the first document of this run
    documents      (documents,) the duplicates, rising; all of the duplicates of what they are duplicates of
    duplicate_of   (documents,) what is kept instead
    ids            gives (documents, 16) bytes, the ids of sorted documents
    similarity, lost
                   (documents,) how alike the two are, and the share that is lost; None: the step does not say
    """
    heads, sizes = np.unique(duplicate_of, return_counts=True)
    own_heads = heads[heads >= own]
    rows = np.concatenate([documents, own_heads])
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    to = np.concatenate([duplicate_of, np.full(len(own_heads), NOT_DROPPED)])[order]
    at = np.searchsorted(heads, np.where(to < 0, rows, to))
    columns: dict[str, NDArray[Any]] = {
        name: np.concatenate([values, np.full(len(own_heads), np.nan)])[order]
        for name, values in (("similarity", similarity), ("lost", lost))
        if values is not None
    }
    columns |= {"head": ids(heads)[at], "size": sizes[at] + 1}
    io.write_arrays("decided", len(rows), documents=rows, duplicate_of=to, **columns)


def verdict_stage(work: "DuplicateVerdicts") -> Stage:
    keys = work.keys

    def units(upstream: Upstream) -> list[PlannedUnit]:
        content = (*keys_content(keys, upstream), digest(upstream.results(work.decided)["decided"]))
        rows = upstream.results(keys.stage)[keys.output].rows
        return [
            PlannedUnit(part, (*content, str(part.start), ",".join(map(str, rows[part.first : part.stop].tolist()))))
            for part in unit_ranges(keys, upstream)
        ]

    return Stage(f"{keys.label}-verdicts", work, after(keys, work.decided), units, Resources(grows=True))


@dataclass(frozen=True)
class DuplicateVerdicts:
    """The verdicts on some neighbouring units of the pass.

    decided   the stage that wrote what was decided
    reason    why duplicates are dropped; those of a document of an earlier run are dropped because of `against`
    mark      none is dropped: what they are duplicates of is noted alone
    """

    keys: KeyStage
    decided: str
    reason: str
    mark: bool

    def run(self, inputs: UnitRange, io: UnitIO) -> None:
        self.write(inputs, io)

    def write(self, inputs: UnitRange, io: UnitIO) -> NDArray[np.int64]:
        """Write the verdicts; returns the duplicates, rising."""
        files = key_files(self.keys, io)
        paths = io.results(self.decided)["decided"].paths.to_pylist()
        table = _read_decided(io, paths, inputs.start, inputs.end)
        starts = files.starts[files.earlier + inputs.first : files.earlier + inputs.stop + 1]
        verdicts = VerdictWriter(io, starts, NEAR_DUPLICATES if "lost" in table else DUPLICATES)
        for at in range(0, len(table["documents"]), ROWS):
            rows = {name: values[at : at + ROWS] for name, values in table.items()}
            verdicts.write(rows["documents"], self.columns(rows, files.own))
        verdicts.close()
        return np.asarray(table["documents"][table["duplicate_of"] != NOT_DROPPED])

    def columns(self, rows: dict[str, NDArray[Any]], own: int) -> list[pa.Array]:
        to = rows["duplicate_of"]
        is_kept = to == NOT_DROPPED
        digits = np.ascontiguousarray(rows["head"]).tobytes().hex()
        cluster = pa.array([digits[i : i + 32] for i in range(0, len(digits), 32)], pa.string())
        reasons = pa.array(np.where(to >= own, self.reason, "against").tolist(), pa.string())
        none = pa.scalar(None, pa.string())
        similarity = rows["similarity"] if "lost" in rows else np.ones(len(to))
        return [
            pa.nulls(len(to), pa.string()) if self.mark else pc.if_else(pa.array(is_kept), none, reasons),
            pc.if_else(pa.array(is_kept), none, cluster),
            pa.array(similarity, pa.float64(), mask=is_kept),
            cluster,
            pa.array(rows["size"]),
            *([pa.array(rows["lost"], pa.float64(), mask=is_kept)] if "lost" in rows else []),
        ]


def _read_decided(io: UnitIO, paths: Sequence[str], start: int, end: int) -> dict[str, NDArray[Any]]:
    """What was decided on documents [start, end), in their order."""
    parts: list[dict[str, NDArray[Any]]] = []
    for path in paths:
        arrays = io.arrays(path)
        rows = slice(*np.searchsorted(arrays["documents"], [start, end]))
        # Copies, so that the file is not held; one empty part tells which columns there are.
        if rows.start < rows.stop or not parts:
            parts.append({name: values[rows].copy() for name, values in arrays.items()})
    order = np.argsort(np.concatenate([part["documents"] for part in parts]), kind="stable")
    # A column at a time, so that no two are held twice.
    return {name: np.concatenate([part.pop(name) for part in parts])[order] for name in tuple(parts[0])}
