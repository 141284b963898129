"""Batches that are stored between two steps of a pass, and taken up from there as if nothing had been between.

A row is a document, a dropped one too. Its columns are those of documents, the signals so far, and all else that a
batch knows, under names that no signal has:

    /dropped          the number of the step that dropped it, KEPT if none has
    /reasons/LABEL    every rule that it fails at a step
    /bytes/N          bytes before step N, and behind the last; `/text_bytes/N` of the text alone
    /same/N, /text/N  whether change N of the text has left it as it was; if not, how it was before
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.engine.work.batch import KEPT, Batch
from corpusmill.engine.work.dropped import in_order
from corpusmill.engine.work.step_chain import StepChain
from corpusmill.schema import DOCUMENT
from corpusmill.steps import Transform

STATE = "/"  # begins the names of what is neither of the document nor a signal
DROPPED, REASONS, BYTES, TEXT_BYTES, SAME, TEXT = (
    f"{STATE}{name}" for name in ("dropped", "reasons/", "bytes/", "text_bytes/", "same/", "text/")
)


def rows_of(batch: Batch, chain: StepChain) -> pa.RecordBatch:
    """A batch behind the last step of a chain as rows, in the order in which it began. Pages of documents that have
    left it are not stored, as no step sees them again."""
    tables = [_rows(part, chain, is_evicted=number > 0) for number, part in enumerate((batch, *batch.evicted))]
    return in_order(tables, [part.rows for part in (batch, *batch.evicted)])


def _rows(part: Batch, chain: StepChain, is_evicted: bool) -> pa.RecordBatch:
    *before, text = part.texts_before(_changes(chain))
    columns: dict[str, pa.Array] = {name: part.docs[name] for name in DOCUMENT.names} | {"text": text}
    if is_evicted:
        columns["raw"] = pa.nulls(len(text), pa.large_binary())
    columns[DROPPED] = pa.array(part.dropped)
    reasons = dict(part.reasons)
    for label in chain.labels:
        columns[f"{REASONS}{label}"] = reasons.get(label, pa.nulls(len(text), pa.string())).cast(pa.string())
    for number, (size, text_size) in enumerate(zip(part.sizes, part.text_sizes, strict=True)):
        columns[f"{BYTES}{number}"], columns[f"{TEXT_BYTES}{number}"] = pa.array(size), pa.array(text_size)
    for number, (old, new) in enumerate(pairwise((*before, text))):
        same = _same(old, new)
        columns[f"{SAME}{number}"] = same
        columns[f"{TEXT}{number}"] = pc.if_else(same, pa.scalar(None, pa.large_string()), old)
    return pa.RecordBatch.from_pydict(columns | part.signals)


def resumed(rows: pa.RecordBatch, chain: StepChain) -> Batch:
    """The batch of some rows, which has been through `chain.begun`. Where dropped documents are not measured to the
    end, they have left it."""
    docs = rows.select(DOCUMENT.names).cast(DOCUMENT)
    texts = [docs["text"]]
    steps, changes = len(chain.begun), _changes(chain.begun_chain)
    for number in reversed(range(len(changes))):
        same = rows[f"{SAME}{number}"]
        texts.insert(0, texts[0] if pc.all(same).as_py() else pc.if_else(same, texts[0], rows[f"{TEXT}{number}"]))
    reasons = [(label, rows[f"{REASONS}{label}"]) for label, _ in chain.begun]
    sizes, text_sizes = (
        [rows[f"{name}{number}"].to_numpy() for number in range(steps + 1)] for name in (BYTES, TEXT_BYTES)
    )
    batch = Batch.resumed(
        docs,
        _signals(rows),
        rows[DROPPED].to_numpy().astype(np.int32),
        [(label, column) for label, column in reasons if column.null_count < len(column)],
        sizes[:-1],
        text_sizes[:-1],
        texts,
        np.searchsorted(changes, np.arange(steps)).tolist(),
    )
    if chain.measure_dropped != "all" and (batch.dropped != KEPT).any():
        only = () if chain.measure_dropped == "none" else None
        batch.evict_dropped(chain.labels, only, (sizes[-1], text_sizes[-1]))
    return batch


def _signals(rows: pa.RecordBatch) -> Mapping[str, pa.Array]:
    return {name: rows[name] for name in rows.schema.names if "." in name and not name.startswith(STATE)}


def _changes(chain: StepChain) -> Sequence[int]:
    """The numbers of the steps that change texts."""
    return [number for number, (_, step) in enumerate(chain.steps) if isinstance(step, Transform)]


def _same(old: pa.Array, new: pa.Array) -> pa.Array:
    """(documents,) whether two texts are equal, or both are null."""
    if old is new:
        return pa.array(np.ones(len(old), bool))
    return pc.if_else(pc.or_(old.is_null(), new.is_null()), pc.and_(old.is_null(), new.is_null()), pc.equal(old, new))
