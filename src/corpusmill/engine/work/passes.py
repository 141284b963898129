"""A pass: read documents, or load those of the pass before and apply the verdicts of corpus steps; put them through the
steps that see a batch; write documents, signals and dedup keys.

    source  ->  chain of steps  ->  tokens  ->  sinks, in order

Outputs of a unit:

    docs        the kept documents; where texts stay in the files of the pass before, see `texts_in_place`
    signals     a row for every input document: what was measured, which rules it fails, where it was dropped
    dropped     the dropped documents; `dropped` says which of their texts are in it; none, where `docs` have none
    dead        records that could not be read and documents that a step failed on
    keys-LABEL  one file for every corpus step that follows
    ids         token ids of the kept documents, if no later pass changes their texts; see `token_ids`

Each output, and each set of counts for the report, is a class in `sinks`; a recipe that does not need one has a pass
without it. What is in the notes of a unit, the classes say.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corpusmill.engine.work.batch import Batch
from corpusmill.engine.work.careful import BatchFeeder, positions_of
from corpusmill.engine.work.pass_parts import KeyRequest
from corpusmill.engine.work.passed_batch import PassedBatch
from corpusmill.engine.work.scripts import count_scripts
from corpusmill.engine.work.sinks import DedupKeys, Sink, count_flow
from corpusmill.engine.work.sources import BringsColumns, OwnSchema, PassSource
from corpusmill.engine.work.step_chain import ChainRun, StepChain
from corpusmill.engine.work.token_counts import TokenCounter, Tokens
from corpusmill.schema import DEAD
from corpusmill.steps import AsksModel
from corpusmill.store.facts import Facts, add
from corpusmill.store.run_folder import ANSWERS, RunFolder
from corpusmill.store.unit_io import UnitIO

TOKENS = "tokens"  # what is done after the steps, as dead letters name it


@dataclass(frozen=True)
class Pass:
    """The work of a pass; `engine.plan.lower` puts it together."""

    source: PassSource
    chain: StepChain
    tokens: Tokens
    sinks: tuple[Sink, ...]

    def run(self, inputs: Any, io: UnitIO) -> None:
        with keeping_answers(self.chain.steps, io.run):
            self._run(inputs, io)

    def _run(self, inputs: Any, io: UnitIO) -> None:
        feeder = self._feeder(io)
        chain = ChainRun(self.chain, feeder)
        tokens = self.tokens.open(io)
        sinks = [sink.open(self.chain) for sink in self.sinks]
        for batch in self.source.read(inputs, io, feeder, self.chain):
            chain.apply(batch)
            note_failures(batch, io)
            feeder.before(TOKENS)
            passed = PassedBatch(batch, self.chain, feeder, tokens.count)
            for sink in sinks:
                sink.add(passed, io)
            io.heart.add(len(passed.signals), len(passed.kept_docs), passed.bytes_before(0), passed.bytes_before(-1))
        for sink in sinks:
            sink.finish(io)
        tokens.finish()
        io.notes.update(chain.notes)

    def check(self) -> None:
        """Put no documents through the steps, as every unit does first.

        Raises RecipeError if a step asks for what no step before it leaves, or cannot work with it; AssetError if the
        tokenizer lacks the tokens between parts of documents.
        """
        self.tokens.check()
        nothing = PassedBatch(self._nothing(), self.chain, BatchFeeder(), TokenCounter({}).count)
        for sink in self.sinks:
            if isinstance(sink, DedupKeys):
                sink.keys_of(nothing)

    def try_on(self, docs: pa.RecordBatch, facts: Facts) -> None:
        """Put some documents through the steps, and count what becomes of them, without their tokens."""
        own = self.own_columns
        whole = self.chain.whole_chain
        chain = ChainRun(whole)
        for start, stop in [(0, 0), *self._feeder().cut(0, docs, positions_of(docs))]:
            batch = own.batch(docs.slice(start, stop - start))
            chain.apply(batch)
            for part in (batch, *batch.evicted):
                count_flow(part, whole, None, facts)
                count_scripts(part, whole, facts)

    @property
    def own_columns(self) -> OwnSchema:
        """Those of the input that documents bring into the pass; a pass that does not read brings none."""
        return self.source.own if isinstance(self.source, BringsColumns) else OwnSchema()

    def signal_names(self) -> list[str]:
        """What the steps leave beside the documents. Raises RecipeError as `check` does."""
        return list(self._nothing().signals)

    @property
    def requests(self) -> tuple[KeyRequest, ...]:
        """The corpus steps that follow, whose keys are made."""
        return tuple(sink.request for sink in self.sinks if isinstance(sink, DedupKeys))

    def _nothing(self) -> Batch:
        """No documents, put through the steps."""
        batch = self.source.nothing(self.chain)
        ChainRun(self.chain).apply(batch)
        return batch

    def _feeder(self, io: UnitIO | None = None) -> BatchFeeder:
        """Cuts batches by source if there are steps for some sources only."""
        corpus = (*(judge.only for judge in self.chain.judged), *(request.only for request in self.requests))
        return BatchFeeder(io, by_source=bool(self.chain.only) or any(only is not None for only in corpus))


def keeping_answers(steps: Sequence[tuple[str, Any]], run: RunFolder) -> AbstractContextManager[None]:
    """Meanwhile answers of models to these steps are kept in the run's folder, or in that of their server."""
    if not any(isinstance(step, AsksModel) for _, step in steps):
        return nullcontext()
    from corpusmill.inference.kept_answers import answers_in

    return answers_in(str(run.path / ANSWERS) if run.is_local else "")


def note_failures(batch: Batch, io: UnitIO) -> None:
    """A dead letter for each document that a step failed on."""
    for failed in sorted(batch.failed, key=lambda failed: failed.row):
        about = {"step": failed.step, "kind": "step_failed", "reason": failed.reason, "expected": False}
        io.write("dead", pa.RecordBatch.from_pylist([failed.document | about], schema=DEAD))
        add(io.facts, "failed", failed.step, failed.document["source"])
