"""What a pass leaves of its batches: one class an output, or a set of counts.

A sink is a parameter of `Pass`: small, frozen, and part of the identity of the stage. `open` gives what takes the
batches of one unit; sinks that keep nothing between batches open themselves.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.engine.work.batch import KEPT, Batch
from corpusmill.engine.work.dropped import ChosenTexts, dropped_rows
from corpusmill.engine.work.pass_facts import PassFacts
from corpusmill.engine.work.pass_parts import KeyRequest, write_keys
from corpusmill.engine.work.pass_results import MEASURED, TEXT_GROUPS
from corpusmill.engine.work.passed_batch import PassedBatch
from corpusmill.engine.work.planted import HELD, host_note
from corpusmill.engine.work.scripts import count_scripts
from corpusmill.engine.work.step_chain import StepChain, is_for
from corpusmill.engine.work.text_facts import TextFacts
from corpusmill.engine.work.texts_in_place import IN_PLACE, columns_beside
from corpusmill.steps.keys import Keys, of_some
from corpusmill.steps.markup import is_markup
from corpusmill.store.facts import Facts, add
from corpusmill.store.unit_io import UnitIO

MAX_MARKUP_LOOKS = 256  # documents of a source in a unit that are searched for HTML: all would take a third of the pass


class OpenSink(Protocol):
    """Takes the batches of one unit."""

    def add(self, passed: PassedBatch, io: UnitIO) -> None: ...

    def finish(self, io: UnitIO) -> None: ...


class Sink(Protocol):
    def open(self, chain: StepChain) -> OpenSink: ...


class EachBatch:
    """A sink that keeps nothing between batches."""

    def open(self, chain: StepChain) -> Self:
        return self

    def finish(self, io: UnitIO) -> None:
        pass


@dataclass
class CountedFacts:
    """Counts batches; adds facts and a note in the end."""

    facts: TextFacts | PassFacts
    count: Callable[[PassedBatch], None]

    def add(self, passed: PassedBatch, io: UnitIO) -> None:
        self.count(passed)

    def finish(self, io: UnitIO) -> None:
        io.notes.update([self.facts.finish(io.facts)])


@dataclass(frozen=True)
class StepFlow(EachBatch):
    """Facts: what happened at each step, by source: documents, bytes, tokens in and out; documents by first reason;
    documents in other scripts than Latin.

    with_tokens   whether the recipe counts tokens: documents whose tokens are not known are counted then
    """

    with_tokens: bool

    def add(self, passed: PassedBatch, io: UnitIO) -> None:
        for part, tokens in zip(passed.parts, passed.tokens):
            count_flow(part, passed.chain, tokens if self.with_tokens else None, io.facts)
            count_scripts(part, passed.chain, io.facts)


@dataclass(frozen=True)
class InputTexts:
    """Facts and a note: what the texts are like that come in, see `text_facts`."""

    def open(self, chain: StepChain) -> OpenSink:
        facts = TextFacts("input")

        def count(passed: PassedBatch) -> None:
            for part, texts, measured in zip(passed.parts, passed.first_texts, passed.first_integrity):
                has_text = texts.is_valid()  # not so a page that was dropped before its text was extracted
                facts.add(part.docs["source"].filter(has_text), measured[has_text.to_numpy(zero_copy_only=False)])

        return CountedFacts(facts, count)


@dataclass(frozen=True)
class OutputTexts:
    """Facts and a note: what the texts are like that are kept, see `text_facts`."""

    def open(self, chain: StepChain) -> OpenSink:
        facts = TextFacts("output")
        return CountedFacts(facts, lambda passed: facts.add(passed.kept_docs["source"], passed.kept_integrity))


@dataclass(frozen=True)
class ReportFacts:
    """Facts and a note: what the report says of all documents of the pass, see `pass_facts`."""

    def open(self, chain: StepChain) -> OpenSink:
        facts = PassFacts(chain.labels, chain.sources_of, chain.bounds, chain.measure_dropped)
        return CountedFacts(facts, lambda passed: facts.add(passed.signals))


@dataclass(frozen=True)
class Documents(EachBatch):
    """The output `docs`: the kept documents. A note has the bytes of text in each of its row groups."""

    def add(self, passed: PassedBatch, io: UnitIO) -> None:
        io.write("docs", passed.kept_docs)

    def finish(self, io: UnitIO) -> None:
        io.notes[TEXT_GROUPS] = ",".join(map(str, io.text_groups("docs")))


@dataclass(frozen=True)
class LastTexts:
    """`Documents` where no later pass changes the texts: with the columns IN_PLACE, which say what later stages need of
    texts, so that they do not read them. Facts count how many of the first documents of each source hold HTML."""

    def open(self, chain: StepChain) -> OpenSink:
        return _LastTexts()


class _LastTexts(Documents):
    def __init__(self) -> None:
        self._looked: Counter[str] = Counter()  # source -> documents

    def add(self, passed: PassedBatch, io: UnitIO) -> None:
        docs = passed.kept_docs
        for column, values in zip(IN_PLACE, columns_beside(docs["text"], passed.kept_integrity)):
            docs = docs.append_column(column, values)
        io.write("docs", docs)
        self._count_markup(docs, io.facts)

    def _count_markup(self, docs: pa.RecordBatch, facts: Facts) -> None:
        sources = docs["source"].to_numpy(zero_copy_only=False)
        for source in sorted(set(sources)):
            rows = np.flatnonzero(sources == source)[: MAX_MARKUP_LOOKS - self._looked[source]]
            if len(rows):
                self._looked[source] += len(rows)
                add(facts, "markup", source, "documents", count=len(rows))
                has_markup = is_markup(docs["text"].take(pa.array(rows)))
                add(facts, "markup", source, "markup", count=pc.sum(has_markup).as_py() or 0)


@dataclass(frozen=True)
class SignalRows(EachBatch):
    """The output `signals`: a row for every document of the input, what was measured, which rules it fails, where it
    was dropped."""

    def add(self, passed: PassedBatch, io: UnitIO) -> None:
        io.write("signals", passed.signals)


@dataclass(frozen=True)
class DroppedDocuments:
    """The output `dropped`, and notes: which texts are in it, and how far dropped documents were measured unless it is
    to the end. See `dropped`.

    dropped_text   "all", "none" or "sample", as in `recipe.parts.RunSettings`
    """

    dropped_text: str

    def open(self, chain: StepChain) -> OpenSink:
        return _DroppedDocuments(self.dropped_text, chain.measure_dropped)


class _DroppedDocuments:
    def __init__(self, texts: str, measured: str) -> None:
        self._chosen, self._measured = ChosenTexts(texts), measured

    def add(self, passed: PassedBatch, io: UnitIO) -> None:
        io.write("dropped", dropped_rows(passed.parts, passed.stored, passed.verdicts, self._chosen))

    def finish(self, io: UnitIO) -> None:
        io.notes.update(self._chosen.notes)
        if self._measured != "all":
            io.notes[MEASURED] = self._measured


@dataclass(frozen=True)
class CanaryHosts:
    """A note for the pass that plants canaries: the sources of the kept documents, see `planted`."""

    def open(self, chain: StepChain) -> OpenSink:
        return _CanaryHosts()


class _CanaryHosts:
    def __init__(self) -> None:
        self._sources: list[str] = []

    def add(self, passed: PassedBatch, io: UnitIO) -> None:
        self._sources += passed.kept_docs["source"].to_pylist()

    def finish(self, io: UnitIO) -> None:
        io.notes[HELD] = host_note(self._sources)


@dataclass(frozen=True)
class DedupKeys:
    """The output `keys-LABEL`: the keys of the kept documents for a corpus step that follows."""

    request: KeyRequest

    def open(self, chain: StepChain) -> OpenSink:
        return _DedupKeys(self)

    def keys_of(self, passed: PassedBatch) -> Keys:
        """The keys of the kept documents of a batch."""
        request, batch, docs = self.request, passed.batch, passed.kept_docs
        is_kept = pa.array(passed.is_kept)
        needed = batch.needed(request.label, request.step.needs)
        columns = {name: column.filter(is_kept) for name, column in needed.items()}
        if request.only is None:
            return request.step.keys(docs, columns)
        applies = np.full(len(docs), is_for(request.only, batch.docs))
        if not applies.any():
            docs, columns = docs.slice(0, 0), {name: column.slice(0, 0) for name, column in columns.items()}
        return of_some(request.step.keys(docs, columns), applies)


@dataclass
class _DedupKeys:
    sink: DedupKeys
    batches: list[tuple[Keys, int]] = field(default_factory=list)

    def add(self, passed: PassedBatch, io: UnitIO) -> None:
        passed.feeder.before(self.sink.request.label)
        self.batches.append((self.sink.keys_of(passed), len(passed.kept_docs)))

    def finish(self, io: UnitIO) -> None:
        write_keys(io, self.sink.request, self.batches)


def count_flow(batch: Batch, chain: StepChain, tokens: pa.Array | None, facts: Facts) -> None:
    """Count what happened to a batch at each step.

    tokens   (documents,) of each document, null where not known; None if nothing counts tokens
    """
    counts = pa.nulls(len(batch.docs), pa.int64()) if tokens is None else tokens
    counted = batch.tokens_at_steps(counts)
    unknown = counts.is_null().to_numpy(zero_copy_only=False) & (tokens is not None)
    sources = batch.docs["source"].to_numpy(zero_copy_only=False)
    reasons = dict(batch.reasons)
    for source in sorted(set(sources)):
        of_source = sources == source
        for index, label in enumerate(chain.labels):
            reached = of_source & ((batch.dropped == KEPT) | (batch.dropped >= index))
            dropped = of_source & (batch.dropped == index)
            passed = reached & ~dropped
            for name, value in (
                ("documents_in", int(reached.sum())),
                ("documents_out", int(passed.sum())),
                ("bytes_in", int(batch.sizes[index][reached].sum())),
                ("bytes_out", int(batch.sizes[index + 1][passed].sum())),
                ("tokens_in", int(counted[index][reached].sum())),
                ("tokens_out", int(counted[index + 1][passed].sum())),
            ):
                add(facts, "steps", label, source, name, count=value)
            if source not in chain.sources_of.get(label, (source,)):
                add(facts, "steps", label, source, "passed_through", count=int(reached.sum()))
            for name, rows in (("uncounted_in", reached & unknown), ("uncounted_out", passed & unknown)):
                if rows.any():
                    add(facts, "steps", label, source, name, count=int(rows.sum()))
            if dropped.any():
                failed = Counter(reasons[label].filter(pa.array(dropped)).to_pylist())
                for reason, count in failed.items():
                    add(facts, "reasons", label, source, reason.partition(",")[0], count=count)
