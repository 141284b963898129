"""Histograms of a run: the lengths of its documents, the signals that rules judge, the similarities of duplicates."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill.report.bins import Histogram, around, closed_side, count, octaves
from corpusmill.report.rules import Bound
from corpusmill.report.tables import RunTables, identifier


def lengths(tables: RunTables, unit: str) -> Histogram | None:
    """Documents by length, `kept` and `dropped`. None if nothing was measured, as tokens without a tokenizer.

    unit   "tokens" or "bytes", of the text as it left the last pass that the document reached; tokens of a dropped one
           of the text that was dropped. One whose tokens were not counted is left out
    """
    edges = octaves()
    counts = {name: np.zeros(len(edges) - 1, np.int64) for name in ("kept", "dropped")}
    most = 0.0
    for number in range(len(tables.passes)):
        last = number == len(tables.passes) - 1
        for batch in tables.batches("signals", number, [unit, "dropped_by"]):
            values, kept = _floats(batch[unit]), _numpy(batch["dropped_by"].is_null())
            counts["dropped"] += count(values[~kept], edges, "left")
            if last:  # the others are counted in the pass that drops them, or in the last one
                counts["kept"] += count(values[kept], edges, "left")
            most = max([most, *values[~np.isnan(values)].max(initial=0.0, keepdims=True).tolist()])
    histogram = Histogram(edges, {name: tuple(c.tolist()) for name, c in counts.items()}, True, most)
    return histogram.trimmed() if histogram.total else None


def signals(tables: RunTables, wanted: Iterable[str] | None = None) -> dict[str, Histogram]:
    """reason -> the values of its signal among the documents that reached its step: those that `pass` the bound, and
    those that `fail` it. Nothing of a pass that has saved no signals of those that it dropped.

    wanted   reasons that have a bound; all of them if not given
    """
    chosen = {reason: tables.bounds[reason] for reason in (tables.bounds if wanted is None else wanted)}
    histograms: dict[str, Histogram] = {}
    for number, (_, labels) in enumerate(tables.passes):
        columns = tables.columns(number)
        here = {
            reason: bound
            for reason, bound in chosen.items()
            if reason.partition(".")[0] in labels and bound.signal in columns
        }
        if here and tables.files.measure_dropped(number) != "none":
            histograms |= _signals_of_pass(tables, number, here, columns)
    return {reason: histograms[reason] for reason in chosen if reason in histograms}


def similarities(tables: RunTables, step: str) -> Histogram | None:
    """The documents that a corpus step drops or marks, by their similarity with the duplicate that is kept, 0 to 1.
    None if the step has no similarities, or found no duplicates."""
    column = f"{step}.similarity"
    for number in range(len(tables.passes)):
        if column in tables.columns(number):
            values = [_floats(batch[column].drop_null()) for batch in tables.batches("signals", number, [column])]
            edges = tuple(i / 50 for i in range(51))
            counts = count(np.concatenate([np.empty(0), *values]), edges, "left")
            histogram = Histogram(edges, {"dropped": tuple(counts.tolist())}, False, 1.0)
            return histogram.trimmed() if histogram.total else None
    return None


def _signals_of_pass(
    tables: RunTables, number: int, here: Mapping[str, Bound], types: Mapping[str, pa.DataType]
) -> dict[str, Histogram]:
    labels = tables.passes[number][1]
    names = sorted({bound.signal for bound in here.values()})
    low, high = _extremes(tables, number, names, types)
    edges = {
        reason: around(bound, low[bound.signal], high[bound.signal], pa.types.is_integer(types[bound.signal]))
        for reason, bound in here.items()
        if bound.signal in low
    }
    counts = {reason: np.zeros(len(edge) - 1, np.int64) for reason, (edge, _) in edges.items()}
    for batch in tables.batches("signals", number, [*names, "dropped_by"]):
        values = {name: _floats(batch[name]) for name in names}
        steps = dict.fromkeys(reason.partition(".")[0] for reason in edges)
        reached = {step: _reached(batch["dropped_by"], labels[labels.index(step) :]) for step in steps}
        for reason, (edge, _) in edges.items():
            own = values[here[reason].signal][reached[reason.partition(".")[0]]]
            counts[reason] += count(own, edge, closed_side(here[reason]))
    return {
        reason: _split(here[reason], edge, log, counts[reason], high[here[reason].signal])
        for reason, (edge, log) in edges.items()
    }


def _extremes(
    tables: RunTables, number: int, names: Sequence[str], types: Mapping[str, pa.DataType]
) -> tuple[dict[str, float], dict[str, float]]:
    """The least and the largest finite value of each signal that has one."""
    ends = _written_extremes(tables.files.paths("signals", number), names)
    if unsure := [name for name in names if name not in ends or not all(map(math.isfinite, ends[name]))]:
        asked = ", ".join(f"min({_finite(name, types)}), max({_finite(name, types)})" for name in unsure)
        row = tables.tuples(f"SELECT {asked} FROM ({tables.table('signals', number)})")[0]
        ends |= {name: row[2 * i : 2 * i + 2] for i, name in enumerate(unsure)}
    known = {name: pair for name, pair in ends.items() if pair[0] is not None}
    return {name: float(pair[0]) for name, pair in known.items()}, {
        name: float(pair[1]) for name, pair in known.items()
    }


def _written_extremes(paths: Iterable[str], names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """column -> its least and largest value, infinite ones too, as the footers of Parquet files have them: of a column
    of which a row group does not say them, nothing."""
    ends: dict[str, tuple[float, float]] = {}
    silent: set[str] = set()
    for path in paths:
        metadata = pq.read_metadata(path)
        columns = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            for name in names:
                said = group.column(columns[name]).statistics
                if said is not None and said.has_min_max:
                    low, high = ends.get(name, (said.min, said.max))
                    ends[name] = min(low, said.min), max(high, said.max)
                elif said is None or said.null_count < group.num_rows:
                    silent.add(name)
    return {name: pair for name, pair in ends.items() if name not in silent}


def _reached(dropped_by: pa.Array, from_here_on: Sequence[str]) -> NDArray[np.bool_]:
    """(documents,) which of them reached a step: those that it or a later step of the pass dropped, and the kept."""
    later = pc.is_in(dropped_by, pa.array(from_here_on, pa.string()))
    return _numpy(pc.or_(dropped_by.is_null(), later))


def _split(bound: Bound, edges: tuple[float, ...], log: bool, counts: NDArray[np.int64], most: float) -> Histogram:
    """The counts on either side of a bound as two series."""
    at = int(np.argmin(np.abs(np.array(edges) - bound.threshold)))
    below, above = counts.copy(), counts.copy()
    below[at:], above[:at] = 0, 0
    failing, passing = (below, above) if bound.drops in ("<", "<=") else (above, below)
    series = {"pass": tuple(passing.tolist()), "fail": tuple(failing.tolist())}
    return Histogram(edges, series, log, most)


def _finite(name: str, types: Mapping[str, pa.DataType]) -> str:
    """A column as SQL, null where it is NaN or infinite."""
    column = identifier(name)
    return f"CASE WHEN isfinite({column}) THEN {column} END" if pa.types.is_floating(types[name]) else column


def _floats(column: pa.Array) -> NDArray[np.float64]:
    """(rows,) with NaN for null and infinity."""
    values = _numpy(pc.fill_null(column.cast(pa.float64()), math.nan))
    return np.where(np.isfinite(values), values, math.nan)


def _numpy(column: pa.Array) -> NDArray[Any]:
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values
