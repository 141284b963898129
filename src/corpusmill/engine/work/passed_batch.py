"""A batch behind the last step of a pass, as the outputs of the pass see it."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.engine.work.batch import ABOUT, KEPT, Batch
from corpusmill.engine.work.careful import BatchFeeder
from corpusmill.engine.work.dropped import in_order
from corpusmill.engine.work.pass_documents import TEXTS
from corpusmill.engine.work.step_chain import StepChain
from corpusmill.engine.work.text_facts import measure_again
from corpusmill.engine.work.texts_in_place import REFERRING, measured_beside
from corpusmill.schema import COUNTED, STORED
from corpusmill.text.integrity import integrity

TokensOf = Callable[[Batch, bool], pa.Array]


class PassedBatch:
    """The documents that are still in the batch, and those that were dropped and evicted on the way. What several
    outputs need is computed once, when the first of them asks.

    parts    the batch, and what was evicted from it
    tokens   one (documents,) int64 a part: tokens of each document; null where they were not counted
    """

    def __init__(self, batch: Batch, chain: StepChain, feeder: BatchFeeder, count: TokensOf) -> None:
        self.batch, self.chain, self.feeder = batch, chain, feeder
        self.parts = [batch, *batch.evicted]
        self.tokens = [count(part, index > 0) for index, part in enumerate(self.parts)]

    @cached_property
    def verdicts(self) -> list[dict[str, pa.Array]]:
        """One a part: `dropped_by`, the label of the step that dropped each document, and `reasons`; null for the
        kept."""
        labels = self.chain.labels
        names = pa.array([*labels, None], pa.string())
        return [
            {
                "dropped_by": names.take(pa.array(np.where(part.dropped == KEPT, len(labels), part.dropped))),
                "reasons": part.all_reasons(),
            }
            for part in self.parts
        ]

    @cached_property
    def stored(self) -> list[pa.RecordBatch]:
        """One a part: the documents as they are stored."""
        return [_stored(part, tokens) for part, tokens in zip(self.parts, self.tokens)]

    @cached_property
    def signals(self) -> pa.RecordBatch:
        """A row for every document, in the order of the unit."""
        rows = [_signals(*columns) for columns in zip(self.parts, self.tokens, self.verdicts)]
        return in_order(rows, [part.rows for part in self.parts])

    @cached_property
    def is_kept(self) -> NDArray[np.bool_]:
        """(documents,) of the batch."""
        is_kept: NDArray[np.bool_] = self.batch.dropped == KEPT
        return is_kept

    @cached_property
    def kept_docs(self) -> pa.RecordBatch:
        """The kept documents as they are stored."""
        return self.stored[0] if self.is_kept.all() else self.stored[0].filter(pa.array(self.is_kept))

    @cached_property
    def first_texts(self) -> list[pa.Array]:
        """One a part: (documents,) the texts as they came, see `Batch.first_texts`."""
        return [part.first_texts() for part in self.parts]

    @cached_property
    def first_integrity(self) -> list[NDArray[np.void]]:
        """One a part: (documents,) measures of these texts, see `text.integrity`."""
        return [integrity(texts) for texts in self.first_texts]

    @cached_property
    def kept_integrity(self) -> NDArray[np.void]:
        """(kept documents,) the same of the texts as they are now."""
        is_kept = pa.array(self.is_kept)
        if self.batch.beside is not None:
            return measured_beside(self.batch.beside.filter(is_kept))
        texts = self.batch.docs["text"].filter(is_kept)
        if "first_integrity" not in self.__dict__:  # a later pass, in which nobody else wants it
            return integrity(texts)
        return measure_again(self.first_texts[0].filter(is_kept), texts, self.first_integrity[0][self.is_kept])

    def bytes_before(self, step: int) -> int:
        """Bytes of all documents before a step; after the last one for -1."""
        return sum(int(part.sizes[step].sum()) for part in self.parts if part.sizes)


def _stored(batch: Batch, tokens: pa.Array) -> pa.RecordBatch:
    columns = {**{name: batch.docs[name] for name in STORED.names}, "tokens": tokens}
    if batch.beside is None:
        return pa.RecordBatch.from_pydict(columns, schema=COUNTED)
    columns |= {name: batch.beside[name] for name in batch.beside.schema.names}
    schema = REFERRING.with_metadata({TEXTS: batch.texts_stage.encode()})
    return pa.RecordBatch.from_pydict({name: columns[name] for name in schema.names}, schema=schema)


def _signals(batch: Batch, tokens: pa.Array, verdicts: dict[str, pa.Array]) -> pa.RecordBatch:
    columns = {name: batch.docs[name] for name in ABOUT}
    columns |= {"bytes": pa.array(batch.sizes[-1]), "tokens": tokens, **verdicts, **batch.signals}
    return pa.RecordBatch.from_pydict(columns)
