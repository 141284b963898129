"""What the report says of all documents of a pass, as facts of its units: reasons, values of signals, lengths,
languages, personal data, duplicates. The report adds them up and reads no document again.

    facts["rules"][reason]           [first, all, alone]: see `report.rule_counts`; reasons are `step.rule`
    facts["signals"][reason]         bins of `edges_around`: its signal, of the documents that reached its step
    facts["lengths"][unit][side]     {"documents", "total", "bins"}: bins of LENGTHS; unit "tokens" or "bytes";
                                     side "kept" or "dropped", in this pass
    facts["languages"][step]         language -> [kept, dropped]; "" where none was found
    facts["personal"][step][signal]  [documents with it, pieces], of a step that looks for personal data; and
                                     "documents": those that it has looked at
    facts["duplicates"][step]        {"documents_in", "documents", "dropped", "bytes", "both": {other step: documents}}:
                                     see `report.figures.duplicates`; of the other steps of this pass
    facts["similarities"][step]      bins of SIMILARITIES
    facts["losses"][step]            of its duplicates, those that lose nothing, up to 2 %, up to 10 %, more

All are whole numbers, so neither the order in which units are added nor the cuts of batches make a difference. The
shortest and the longest cannot be summed: they are the note `lengths` of each unit, least and most of tokens kept,
tokens dropped, bytes kept, bytes dropped; -1 for none.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.engine.work.bins import SIMILARITIES, closed_side, count, edges_around
from corpusmill.engine.work.text_facts import LENGTHS
from corpusmill.schema import OWN
from corpusmill.steps.verdict import Bound
from corpusmill.store.facts import Facts, merge

MANY = 1 << 14  # documents that are counted at a time: a call a signal costs as much as counting a thousand values
UNITS, SIDES = ("tokens", "bytes"), ("kept", "dropped")
NOTE = "lengths"
LOSSES = (0.0, 0.02, 0.1)
FLAGGED = ("duplicate_of", "repeats", "passages")  # a signal that says that a dedup step found something
Bools = NDArray[np.bool_]


class PassFacts:
    """Counts the documents of a unit of a pass.

    labels     the steps of the pass, in order
    only       label -> sources, of steps that are for some sources only
    bounds     reason -> its bound, of these steps
    measured   how far dropped documents are measured: `run.measure_dropped`
    """

    def __init__(
        self,
        labels: Sequence[str],
        only: Mapping[str, tuple[str, ...]],
        bounds: Mapping[str, Bound],
        measured: str = "all",
    ) -> None:
        self._labels, self._only, self._bounds, self._measured = labels, only, bounds, measured
        self._rows: list[pa.RecordBatch] = []
        self._waiting = 0
        self._facts: Facts = {}
        self._ends = np.full((len(UNITS), len(SIDES), 2), -1, np.int64)

    def add(self, signals: pa.RecordBatch) -> None:
        """signals   rows as they are written: see `passes`"""
        if len(signals):
            signals = signals.select([name for name in signals.schema.names if not name.startswith(OWN)])
            self._rows.append(signals)
            self._waiting += len(signals)
        if self._waiting >= MANY:
            self._count()

    def finish(self, facts: Facts) -> tuple[str, str]:
        """Add the counts to the facts of the unit; returns name and value of its note."""
        self._count()
        merge(facts, self._facts)
        return NOTE, ",".join(map(str, self._ends.ravel().tolist()))

    def _count(self) -> None:
        if not self._rows:
            return
        table = pa.Table.from_batches(self._rows).combine_chunks()
        columns = {name: table[name].chunk(0) for name in table.column_names}
        self._rows, self._waiting = [], 0
        merge(self._facts, facts_of(columns, self._labels, self._only, self._bounds, self._measured))
        is_kept = _numpy(columns["dropped_by"].is_null())
        for i, unit in enumerate(UNITS):
            for j, side in enumerate((is_kept, ~is_kept)):
                values = columns[unit].filter(pa.array(side)).drop_null()
                if len(values):
                    ends = pc.min_max(values).as_py()
                    before, maximum = self._ends[i, j]
                    self._ends[i, j] = (
                        ends["min"] if before < 0 else min(before, ends["min"]),
                        max(maximum, ends["max"]),
                    )


def facts_of(
    columns: Mapping[str, pa.Array],
    labels: Sequence[str],
    only: Mapping[str, tuple[str, ...]],
    bounds: Mapping[str, Bound],
    measured: str = "all",
) -> Facts:
    """The facts of rows of signals."""
    # Of a kept document, a number behind all steps: it reached each of them.
    by = columns["dropped_by"]
    dropped = _numpy(pc.fill_null(pc.index_in(by, value_set=pa.array(labels, pa.string())), len(labels)))
    facts: Facts = {"rules": _rules(columns), "lengths": _lengths(columns), "signals": {}}
    for reason, bound in bounds.items():
        if (column := columns.get(bound.signal)) is not None and _is_number(column.type):
            reached = dropped >= labels.index(reason.partition(".")[0])
            edges, _ = edges_around(bound, pa.types.is_integer(column.type))
            facts["signals"][reason] = _trimmed(count(_floats(column)[reached], edges, closed_side(bound)))
    first_measured = {
        "all": 0,
        "none": len(labels),
    }  # what a document must have reached to be measured; else the step itself
    for at, label in enumerate(labels):
        applies = _is_for(only.get(label), columns) & (dropped >= first_measured.get(measured, at))
        if f"{label}.label" in columns and f"{label}.score" in columns:
            facts.setdefault("languages", {})[label] = _languages(
                columns[f"{label}.label"], applies, dropped == len(labels)
            )
        if f"{label}.found" in columns:
            own = {name.partition(".")[2]: column for name, column in columns.items() if name.startswith(f"{label}.")}
            counted = {name: _pieces(column) for name, column in own.items() if pa.types.is_integer(column.type)}
            documents = int((dropped >= first_measured.get(measured, at)).sum())
            facts.setdefault("personal", {})[label] = {**counted, "documents": documents}
        if f"{label}.similarity" in columns:
            values = _floats(columns[f"{label}.similarity"])
            facts.setdefault("similarities", {})[label] = _trimmed(count(values, SIMILARITIES, "left"))
        if f"{label}.lost" in columns:
            lost = _floats(columns[f"{label}.lost"])
            lost = lost[~np.isnan(lost)]
            facts.setdefault("losses", {})[label] = np.bincount(np.searchsorted(LOSSES, lost), minlength=4).tolist()
    flags = {label: flag for label in labels if (flag := flagged(columns, label)) is not None}
    for label, flag in flags.items():
        at = labels.index(label)
        repeated = columns.get(f"{label}.repeated_bytes", columns["bytes"])
        facts.setdefault("duplicates", {})[label] = {
            "documents_in": int((_is_for(only.get(label), columns) & (dropped >= at)).sum()),
            "documents": int(flag.sum()),
            "dropped": int((dropped == at).sum()),
            "bytes": int(_numpy(pc.fill_null(repeated, 0))[flag].sum()),
            "both": {
                other_label: int((flag & own).sum()) for other_label, own in flags.items() if other_label != label
            },
        }
    return facts


def flagged(columns: Mapping[str, pa.Array], label: str) -> Bools | None:
    """(documents,) whether a dedup step found something in each; None if the step is none."""
    for signal in FLAGGED:
        if (column := columns.get(f"{label}.{signal}")) is not None:
            if signal == "duplicate_of":
                return _numpy(column.is_valid())
            return _numpy(pc.fill_null(pc.greater(column, pa.scalar(0, column.type)), False))
    return None


def _rules(columns: Mapping[str, pa.Array]) -> Facts:
    """Documents share combinations of reasons, so each is taken apart once."""
    dropped = columns["dropped_by"].is_valid()
    names = ["by", "why"]
    parts = [columns[name].filter(dropped) for name in ("dropped_by", "reasons")]
    pairs = pa.table(parts, names).group_by(names, use_threads=False).aggregate([([], "count_all")])
    first, total, alone = Counter[str](), Counter[str](), Counter[str]()
    for by, why, times in zip(*(column.to_pylist() for column in pairs.select([*names, "count_all"]))):
        own, step = why.split(","), f"{by}."
        first[own[0]] += times
        if len(own) == 1:
            alone[why] += times
        for reason in own:  # in the order of steps, and no step before has a reason
            if not reason.startswith(step):
                break
            total[reason] += times
    return {reason: [first[reason], total[reason], alone[reason]] for reason in total}


def _lengths(columns: Mapping[str, pa.Array]) -> Facts:
    is_kept = columns["dropped_by"].is_null()
    lengths: Facts = {}
    for unit in UNITS:
        for side, rows in zip(SIDES, (is_kept, pc.invert(is_kept))):
            values = _numpy(columns[unit].filter(rows).drop_null().cast(pa.int64()))
            bins = np.bincount(np.searchsorted(LENGTHS, values, "right") - 1, minlength=1)
            part = {"documents": len(values), "total": int(values.sum()), "bins": _trimmed(bins)}
            lengths.setdefault(unit, {})[side] = part
    return lengths


def _languages(labels: pa.Array, applies: Bools, is_kept: Bools) -> Facts:
    coded = pc.fill_null(labels.cast(pa.string()), "").filter(pa.array(applies)).dictionary_encode()
    codes, size = _numpy(coded.indices), len(coded.dictionary)
    total = np.bincount(codes, minlength=size)
    stay = np.bincount(codes[is_kept[applies]], minlength=size)
    return {name: [int(stay[i]), int(total[i] - stay[i])] for i, name in enumerate(coded.dictionary.to_pylist())}


def _pieces(column: pa.Array) -> list[int]:
    pieces = _numpy(pc.fill_null(column, 0))
    return [int((pieces > 0).sum()), int(pieces.sum())]


def _is_for(only: tuple[str, ...] | None, columns: Mapping[str, pa.Array]) -> Bools:
    source = columns["source"]
    if only is None:
        return np.ones(len(source), np.bool_)
    return _numpy(pc.is_in(source, pa.array(only, source.type)))


def _is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type))


def _trimmed(counts: NDArray[np.int64]) -> list[int]:
    """Without the zeros at the end."""
    filled = np.flatnonzero(counts)
    return [int(times) for times in counts[: filled[-1] + 1]] if len(filled) else []


def _floats(column: pa.Array) -> NDArray[np.float64]:
    """(rows,) with NaN for null and infinity."""
    values = _numpy(pc.fill_null(column.cast(pa.float64()), np.nan))
    return np.where(np.isfinite(values), values, np.nan)


def _numpy(column: pa.Array) -> NDArray[Any]:
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values
