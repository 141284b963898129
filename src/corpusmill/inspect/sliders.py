"""The signals that numeric rules judge by, in 8 bits: what other thresholds keep, counted at once.

A code says between which of up to 254 edges a value is. The edges are the thresholds that a slider can take: quantiles
of the values, so that each step of it passes about as many documents, rounded to three digits, and the run's own. At
an edge a code says exactly on which side a value is. Rules that are not moved have the verdicts of the run.

What a document would meet that an earlier rule dropped is known as far as the run has measured it
(`run.measure_dropped`), and texts that a moved rule would have let on are taken at the tokens that the run counted: so
this is an estimate, and `what_if` counts exactly.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill.errors import InputError, did_you_mean
from corpusmill.inspect.moves import SIGNAL_CODES, moves
from corpusmill.recipe.names import labels
from corpusmill.report.tables import RunTables
from corpusmill.report.what_if.saved import Codes, coded
from corpusmill.steps.verdict import rules_of

MAX_EDGES = 254
NULL_CODE = SIGNAL_CODES - 1  # the code of a null or NaN, which no rule drops
EDGE_DIGITS = 3
EDGE_SAMPLE_UNITS = 32  # units, spread evenly, whose values make the edges


@dataclass(frozen=True)
class Slider:
    """A numeric rule that is on, and what it is set to.

    key         `step.parameter`, as for --set
    signal      the column that it judges by
    drops       how the value of a dropped document compares with the threshold
    whole       whether the threshold is a whole number
    edges       ascending; the threshold is among them
    """

    key: str
    signal: str
    drops: str
    threshold: float
    whole: bool
    edges: NDArray[np.float64]

    def codes(self, values: pa.Array) -> NDArray[np.uint8]:
        """(documents,) how many edges are below each value, and those equal to it where that decides; NONE of null and
        NaN."""
        numbers = pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False)
        side: Literal["left", "right"] = "right" if self.drops in ("<", ">=") else "left"
        codes: NDArray[np.uint8] = np.searchsorted(self.edges, numbers, side).astype(np.uint8)
        codes[np.isnan(numbers)] = NULL_CODE
        return codes

    def dropped(self, threshold: float | None) -> NDArray[np.bool_]:
        """(CODES,) whether documents with this code are dropped, at the edge next to a threshold; at None none are."""
        codes = np.arange(SIGNAL_CODES)
        if threshold is None:
            return np.zeros(SIGNAL_CODES, bool)
        with np.errstate(over="ignore"):  # from one end of what a double can be to the other
            at = int(np.argmin(np.abs(self.edges - threshold)))
        hit = codes <= at if self.drops in ("<", "<=") else codes > at
        hit[NULL_CODE] = False
        return np.asarray(hit)


class Signals:
    """The rules of a pass as sliders.

    stage   of the pass
    """

    def __init__(self, tables: RunTables, number: int) -> None:
        self.stage, _ = tables.passes[number]
        columns = tables.columns(number)
        rules = numeric_rules(tables, number)
        paths = tables.files.paths("signals", number)
        names = list(dict.fromkeys(signal for _, signal, _, _ in rules))
        self.sliders = []
        sample = [pq.ParquetFile(path) for path in paths[:: max(1, len(paths) // EDGE_SAMPLE_UNITS)]]
        for key, signal, drops, at in rules:  # one column at a time: all of them may be a gigabyte
            parts = [file.read([signal], use_threads=False)[signal] for file in sample]
            values = pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)
            edges = _edges(values, float(at), columns[signal])
            self.sliders.append(Slider(key, signal, drops, float(at), isinstance(at, int), edges))
        for file in sample:
            file.close()
        combinations = Codes()
        codes, reasons, tokens = list[NDArray[np.uint8]](), list[NDArray[Any]](), list[NDArray[Any]]()
        for path in paths:
            table = _read([path], [*names, "reasons", "tokens"])
            codes.append(np.stack([slider.codes(table[slider.signal]) for slider in self.sliders], axis=1))
            code, values = coded(table["reasons"])
            reasons.append(np.array([combinations[value] for value in values], np.uint32)[code])
            tokens.append(pc.fill_null(table["tokens"], 0).to_numpy(zero_copy_only=False).astype(np.int32))
        # A document's codes lie together: most documents keep their verdict, and their other codes are not read.
        self._codes = np.concatenate(codes)
        self._reasons, self._tokens = np.concatenate(reasons), np.concatenate(tokens)
        self._combinations = [frozenset(value.split(",")) if value else frozenset() for value in combinations.names]
        is_kept = self._reasons == 0
        self._before = {"documents": int(is_kept.sum()), "tokens": int(self._tokens[is_kept].sum(dtype=np.int64))}
        self._every = [np.bincount(own, minlength=SIGNAL_CODES) for own in self._codes.T]
        self._kept = [np.bincount(own[is_kept], minlength=SIGNAL_CODES) for own in self._codes.T]
        self.estimate = lru_cache(64)(self._estimate)

    def count(self, moved: Mapping[str, float | None]) -> dict[str, Any]:
        """`documents` and `tokens` in, and kept before and after; newly kept and dropped; and for each rule how many
        documents have each code, `every` and those `kept`. Raises InputError if a rule is not one of the sliders."""
        keys = [slider.key for slider in self.sliders]
        for key in moved:
            if key not in keys:
                suggestion = did_you_mean(key, keys) or "."
                raise InputError(f'{self.stage} has no active numeric rule "{key}"{suggestion}')
        return self.estimate(tuple(sorted(moved.items())))

    def _estimate(self, moved: tuple[tuple[str, float | None], ...]) -> dict[str, Any]:
        names = frozenset(key for key, _ in moved)
        others = np.array([bool(combination - names) for combination in self._combinations])
        by_key = {slider.key: (at, slider) for at, slider in enumerate(self.sliders)}
        chosen = np.array([by_key[key][0] for key, _ in moved], np.int64)
        drops = np.array([by_key[key][1].dropped(value) for key, value in moved], np.bool_).reshape(-1, SIGNAL_CODES)
        counts, (gained, lost) = moves(self._codes, self._reasons, self._tokens, others, chosen, drops)
        gains, losses = (dict(zip(("documents", "tokens"), side)) for side in counts.tolist())
        return {
            "documents": len(self._codes),
            "before": self._before,
            "after": {name: count + gains[name] - losses[name] for name, count in self._before.items()},
            "newly_kept": gains,
            "newly_dropped": losses,
            "histograms": {
                slider.key: {
                    "every": documents[:NULL_CODE].tolist(),
                    "kept": (kept_before + gained[at] - lost[at])[:NULL_CODE].tolist(),
                }
                for at, (slider, documents, kept_before) in enumerate(zip(self.sliders, self._every, self._kept))
            },
        }


def numeric_rules(tables: RunTables, number: int) -> list[tuple[str, str, str, int | float]]:
    """`step.parameter`, the signal, how it compares and the threshold of each rule of a pass that a slider can move:
    those that are on, at a finite number, and whose signal the run has saved."""
    steps = dict(zip(labels(tables.files.recipe.steps), tables.files.recipe.steps))
    _, own = tables.passes[number]
    ruled = [(label, rule, getattr(steps[label], rule.parameter)) for label in own for rule in rules_of(steps[label])]
    columns = tables.columns(number) if any(is_threshold(at) for _, _, at in ruled) else {}
    return [
        (f"{label}.{rule.parameter}", f"{label}.{rule.signal}", rule.drops, at)
        for label, rule, at in ruled
        if is_threshold(at) and f"{label}.{rule.signal}" in columns
    ]


def is_threshold(value: Any) -> bool:
    """Whether a value of a parameter is a number that can be drawn and moved."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _read(paths: Sequence[str], names: Sequence[str]) -> dict[str, pa.Array]:
    parts = [pq.ParquetFile(path).read(list(names), use_threads=False) for path in paths]
    table = pa.concat_tables(parts)
    return {name: table[name].combine_chunks() for name in names}


def _edges(values: pa.ChunkedArray, threshold: float, kind: pa.DataType) -> NDArray[np.float64]:
    """At most EDGES: quantiles, and the threshold. Values that occur often are one edge."""
    numbers = pc.cast(values, pa.float64()).to_numpy()
    numbers = np.sort(numbers[np.isfinite(numbers)])
    if not len(numbers):
        return np.array([threshold])
    chosen = numbers[np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))]
    if len(chosen) >= MAX_EDGES:
        chosen = numbers[np.floor(np.linspace(0, 1, MAX_EDGES - 2) * (len(numbers) - 1)).astype(np.int64)]
    rounded = [float(value if pa.types.is_integer(kind) else f"{value:.{EDGE_DIGITS}g}") for value in chosen]
    # One beyond the largest, so that a rule can be moved to where it drops all of them, or none.
    return np.unique([*rounded, threshold])[-MAX_EDGES:]
