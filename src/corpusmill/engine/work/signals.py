"""What the steps of all passes measured of the documents that are kept in the end.

Each pass writes a row of signals for every document that comes to it, in the order of its unit, and the next pass takes
the kept ones in that order. So a document is found again by counting, without comparing ids: the rows of a pass that
are not dropped are the rows of the next, but for those on which a step failed there.
"""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.store.unit_io import Upstream
from corpusmill.write import matching

Int64s = NDArray[np.int64]
ADDRESS = ["source", "file", "position"]


def signals_of_kept(paths: Sequence[str], patterns: Sequence[str], files: Upstream) -> pa.Table:
    """The signals that the patterns fit, of the documents of a unit that the last pass keeps, in the order of steps.

    paths   the signals of the unit, one file for each pass
    """
    columns: list[dict[str, pa.ChunkedArray]] = []
    rows = np.empty(0, np.int64)  # of each document in the table of the pass
    after: str | None = None
    for path in reversed(paths):
        columns_read = matching(patterns, _signals_in(files.parquet(path).schema_arrow))
        table = files.table(path, ["dropped_by", *columns_read])
        kept_rows = np.flatnonzero(pc.is_null(table["dropped_by"]).to_numpy())
        if after is None:
            rows = kept_rows
        else:
            places = _places(path, kept_rows, after, files)
            places = np.where(rows < 0, -1, places[rows]) if len(places) else rows
            rows = np.where(places < 0, -1, kept_rows[places]) if len(kept_rows) else np.full(len(rows), -1)
        these = pa.array(rows, mask=rows < 0)
        columns.append({name: table[name].take(these) for name in columns_read})
        after = path
    merged = {name: column for part in reversed(columns) for name, column in part.items()}
    return pa.table(merged) if merged else pa.table({"": pa.nulls(len(rows))}).select([])


def _places(before: str, kept_rows: Int64s, after: str, files: Upstream) -> Int64s:
    """(documents of the later pass,) the place of each among those that the pass before keeps; -1 of those that the
    later pass has made, or planted."""
    own, later = _addresses(before, files).take(pa.array(kept_rows)), _addresses(after, files)
    if own.equals(later):
        return np.arange(len(later))
    # Steps of the later pass failed on some, or made some: what is left is found by its address, in order, so that
    # documents with the same address are not confused either.
    places_of: dict[tuple[Any, ...], list[int]] = {}
    for place, address in reversed(list(enumerate(own.to_pylist()))):
        places_of.setdefault(tuple(address.values()), []).append(place)
    places = np.full(len(later), -1)
    for number, address in enumerate(later.to_pylist()):
        if waiting := places_of.get(tuple(address.values())):
            places[number] = waiting.pop()
    return places


def _addresses(path: str, files: Upstream) -> pa.Array:
    table = files.table(path, ADDRESS)
    arrays = [table[name].combine_chunks() for name in ADDRESS]
    return pa.StructArray.from_arrays(arrays, ADDRESS)


def _signals_in(schema: pa.Schema) -> list[str]:
    return [name for name in schema.names if "." in name]


@runtime_checkable
class LeavesSignals(Protocol):
    """A work that measures documents, and can say before anything runs what."""

    def signal_names(self) -> list[str]: ...


def check_signals(passes: Sequence[LeavesSignals], requests: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Raises RecipeError for a pattern that no signal of the passes fits, naming the nearest signal.

    wanted   writers by their labels, and the patterns of the signals that they write
    """
    names = [name for pass_ in passes for name in pass_.signal_names()]
    for label, patterns in requests:
        for pattern in patterns:
            if not matching((pattern,), names):
                available = f"There are: {', '.join(names)}." if names else "No step measures anything."
                raise RecipeError(
                    f'{label}: no step makes the signal "{pattern}"{did_you_mean(pattern, names) or "."} {available}'
                )
