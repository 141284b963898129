"""The chain of steps of a pass: verdicts of corpus steps first, then the steps that see a batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.engine.work.batch import Batch
from corpusmill.engine.work.careful import BatchFeeder
from corpusmill.engine.work.pass_documents import unchunked
from corpusmill.engine.work.pass_parts import VerdictSource
from corpusmill.engine.work.pass_results import SPENT
from corpusmill.schema import DOCUMENT
from corpusmill.steps import UsesCode
from corpusmill.steps.keys import CUTS
from corpusmill.steps.verdict import Bound, bounds
from corpusmill.store.units import now

Verdicts = tuple[pa.Table, pa.Table]  # verdicts and cuts of a corpus step on the documents of a unit


@dataclass(frozen=True)
class StepChain:
    """The steps of a pass, in order.

    judged            the corpus steps whose verdicts come with the documents
    steps             label and step of those that see a batch
    begun             the same of those that batches have been through when they come, see `half_way`
    only              label and sources of those of the steps that are for some sources only. Batches are of one source
                      then, so that a step sees all of a batch or nothing of it
    measure_dropped   that of `recipe.parts.RunSettings`. With "first" and "none", dropped documents are evicted from
                      their batch, and tokens of texts that the pass before has not counted are null
    """

    judged: tuple[VerdictSource, ...] = ()
    steps: tuple[tuple[str, Any], ...] = ()
    only: tuple[tuple[str, tuple[str, ...]], ...] = ()
    measure_dropped: str = "all"
    begun: tuple[tuple[str, Any], ...] = ()

    @cached_property
    def labels(self) -> list[str]:
        """Those of all steps; `Batch.dropped` has places among them."""
        return [*(judge.label for judge in self.judged), *(label for label, _ in (*self.begun, *self.steps))]

    @property
    def begun_chain(self) -> "StepChain":
        """The steps that batches have been through when they come, as a chain."""
        labels = {label for label, _ in self.begun}
        only = tuple((label, sources) for label, sources in self.only if label in labels)
        return StepChain((), self.begun, only, self.measure_dropped)

    @property
    def whole_chain(self) -> "StepChain":
        """The chain for batches that have not been through any step."""
        return replace(self, steps=(*self.begun, *self.steps), begun=())

    @cached_property
    def sources_of(self) -> dict[str, tuple[str, ...]]:
        """label -> sources, of the steps that are for some sources only."""
        return dict(self.only) | {judge.label: judge.only for judge in self.judged if judge.only is not None}

    @property
    def bounds(self) -> Mapping[str, Bound]:
        """reason -> its bound."""
        return bounds([*((judge.label, judge.step) for judge in self.judged), *self.begun, *self.steps])

    @cached_property
    def word_steps(self) -> list[int]:
        """Places of the steps that have rules on words."""
        rules = [reason.partition(".") for reason in self.bounds]
        labels = {label for label, _, rule in rules if "word" in rule}
        return [index for index, label in enumerate(self.labels) if label in labels]

    def judge(
        self, docs: pa.RecordBatch, first: int, tables: Sequence[Verdicts], extra: pa.RecordBatch | None = None
    ) -> Batch:
        """A batch with the verdicts on its documents, of which `first` is the first, and without what is cut."""
        batch = Batch(docs, beside=extra)
        for index, (judge, (verdicts, cuts)) in enumerate(zip(self.judged, tables)):
            label, step = judge.label, judge.step
            if not is_for(judge.only, docs):
                batch.skip_step(judge.signals)
                continue
            rows = verdicts["document"].to_numpy() - first
            inside = np.flatnonzero((rows >= 0) & (rows < len(docs)))
            # Row i of the batch has verdict verdict_of[i] of the table; null, where it has none, takes a null.
            verdict_of = np.full(len(docs), -1, np.int64)
            verdict_of[rows[inside]] = inside
            table = verdicts.take(pa.array(verdict_of, mask=verdict_of < 0)).combine_chunks()
            columns = {name: unchunked(table[name]) for name in step.verdict.names if name != "document"}
            for name, value in step.default_signals.items():
                columns[name] = pc.fill_null(columns[name], value)
            reasons = columns.pop("reason")
            if step.cuts:
                batch.cut(index, label, _cuts_within(cuts, first, len(docs)), reasons)
            else:
                batch.drop(index, label, reasons)
            batch.signals.update({f"{label}.{name}": column for name, column in columns.items()})
        return batch

    def nothing(self, extra: pa.RecordBatch | None = None) -> Batch:
        """No documents, with the verdicts on them."""
        tables = [(judge.step.verdict.empty_table(), CUTS.empty_table()) for judge in self.judged]
        return self.judge(pa.RecordBatch.from_pylist([], schema=DOCUMENT), 0, tables, extra)


@dataclass
class ChainRun:
    """Puts the batches of a unit through the steps.

    types     the signals of a batch, by the first one, which is empty
    seconds   label -> seconds, of steps that call functions of a user's
    """

    chain: StepChain
    feeder: BatchFeeder = field(default_factory=BatchFeeder)
    types: dict[str, pa.DataType] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def apply(self, batch: Batch) -> None:
        """Put a batch through all steps."""
        sources_of = self.chain.sources_of
        self._evict_dropped(batch)
        first = len(self.chain.judged) + len(self.chain.begun)
        for index, (label, step) in enumerate(self.chain.steps, first):
            if is_for(sources_of.get(label), batch.docs):
                self.feeder.before(label)
                started = now()
                batch.apply(index, label, step)
                if isinstance(step, UsesCode):
                    self.seconds[label] = self.seconds.get(label, 0.0) + now() - started
            else:
                batch.skip_step({name: type for name, type in self.types.items() if name.startswith(f"{label}.")})
            self._evict_dropped(batch)
        batch.finish()
        self.types = self.types or {name: column.type for name, column in batch.signals.items()}

    @property
    def notes(self) -> dict[str, int]:
        """Milliseconds in functions of a user's."""
        return {f"{SPENT}{label}": round(seconds * 1000) for label, seconds in self.seconds.items()}

    def _evict_dropped(self, batch: Batch) -> None:
        how_far = self.chain.measure_dropped
        if how_far != "all":
            corpus_steps = [judge.label for judge in self.chain.judged]
            batch.evict_dropped(self.chain.labels, corpus_steps if how_far == "none" else None)


def is_for(sources: tuple[str, ...] | None, docs: pa.RecordBatch) -> bool:
    """Whether a step for these sources, all for None, is for a batch of one source. It is for an empty batch, which
    tells the columns that the step leaves."""
    return sources is None or not len(docs) or docs["source"][0].as_py() in sources


def _cuts_within(cuts: pa.Table, first: int, documents: int) -> NDArray[np.int64]:
    """(cuts, 3) of the documents from row `first` of the unit on: row in the batch, first byte, end."""
    columns = [cuts[name].to_numpy() for name in CUTS.names]
    start, stop = np.searchsorted(columns[0], [first, first + documents])
    return np.stack([columns[0][start:stop] - first, columns[1][start:stop], columns[2][start:stop]], axis=1)
