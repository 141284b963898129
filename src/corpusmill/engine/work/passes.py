"""A pass over documents: read them, or take them with the verdicts of corpus steps; put them through the steps that
see a batch; write them, beside what was measured, and the keys that the next corpus steps want.

Outputs of a unit:

    docs        the kept documents; where texts stay in the files of the pass before, see `texts_in_place`
    signals     a row for every input document: what was measured, which rules it fails, where it was dropped
    dropped     the dropped documents; which of their texts are in it says `dropped`; none, where `docs` have none
    dead        records that could not be read and documents that a step failed on
    keys-LABEL  one file for every corpus step that follows
    ids         token ids of the kept documents, if their texts are as they will be; see `token_ids`

The `docs` of the pass that writes texts as they will be, the last one or the one before, have columns more, IN_PLACE of
`texts_in_place`: what later passes, statistics and reports must know of texts without reading them. They are in this
file because each file more costs a unit its time to reach the disk.

Its notes say the number of records in each of the key files, the bytes of text in each row group of `docs`, how far
dropped documents were measured unless it is to the end (MEASURED), and which of their texts are stored. The first pass
counts what the texts are like that come in, and the last one those that go out (see `text_facts`). Every pass counts
what the report says of its documents (see `pass_facts`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.engine.work.batch import ABOUT, KEPT, Batch
from corpusmill.engine.work.careful import BatchFeeder, letters, positions_of
from corpusmill.engine.work.dropped import ChosenTexts, dropped_rows, in_order
from corpusmill.engine.work.limited import Limited, Taken
from corpusmill.engine.work.pass_documents import ROW, TEXTS
from corpusmill.engine.work.pass_facts import PassFacts
from corpusmill.engine.work.pass_parts import InputPieces, KeyRequest, VerdictSource, write_keys
from corpusmill.engine.work.pass_results import MEASURED, SPENT, TEXT_GROUPS, UnitOfPass
from corpusmill.engine.work.planted import HELD, UnitWithCanaries, held, put_in
from corpusmill.engine.work.text_facts import TextFacts, measure_again
from corpusmill.engine.work.texts_in_place import IN_PLACE, REFERRING, columns_beside, measured_beside
from corpusmill.engine.work.token_ids import TokenIds
from corpusmill.read import ReadCounts
from corpusmill.schema import COUNTED, DEAD, DOCUMENT, STORED
from corpusmill.steps import Tokenize, UsesCode, keeps_parts
from corpusmill.steps.keys import CUTS, Keys, of_some
from corpusmill.steps.markup import is_markup
from corpusmill.steps.verdict import bounds
from corpusmill.steps.verdict_tables import table_of
from corpusmill.store.facts import Facts, add
from corpusmill.store.unit_io import UnitIO
from corpusmill.store.units import QuarantinedRecord, Results, now
from corpusmill.text.integrity import integrity
from corpusmill.tokens.breaks import SplitAt

LOOKED_AT = 256  # documents of a source in a unit that are searched for HTML: all would take a third of the pass
ROWS = 1024  # documents that a later pass has in memory at a time
ROWS_WITHOUT_TEXT = 16 * ROWS
TOKENS = "tokens"  # what is done after the steps, as a dead letter has it


@dataclass(frozen=True)
class Pass:
    """The work of a pass.

    readers     one for each source, with the source's name, for the first pass; its units have `InputPieces`
    before      the pass before, for a later pass; its units have `UnitOfPass`
    judged      the corpus steps whose verdicts are taken
    steps       label and step, in order
    requests    the corpus steps that follow, whose keys are made
    tokenizer   counts the tokens of each document as it leaves the pass; None where the recipe has none
    only        label and sources of those of the steps that are for some sources only. Batches are of one source then,
                so that a step sees all of a batch or nothing of it
    in_place         this is the last pass, and leaves its texts in the files of the pass before
    next_in_place    the next pass leaves its texts in the files of this one
    another          another pass follows, whether or not there are verdicts between
    encodes          writes the token ids of its documents
    split_at         where packing may cut documents: that is written beside the ids
    room             tokens of a row, where the ids depend on it
    plants           this is the last pass of a recipe with canaries; its units have `UnitWithCanaries`
    next_plants      the next pass is that
    limited          which documents the first pass takes; None for all

    `measure_dropped` and `dropped_text` are those of `recipe.parts.RunSettings`. With "first" and "none", dropped
    documents leave their batch, and tokens of texts that the pass before has not counted are null.
    """

    readers: tuple[tuple[str, Any], ...]
    before: str
    judged: tuple[VerdictSource, ...]
    steps: tuple[tuple[str, Any], ...]
    requests: tuple[KeyRequest, ...]
    tokenizer: Tokenize | None
    only: tuple[tuple[str, tuple[str, ...]], ...] = ()
    in_place: bool = False
    next_in_place: bool = False
    another: bool = False
    encodes: bool = False
    split_at: SplitAt | None = None
    room: int | None = None
    plants: bool = False
    next_plants: bool = False
    limited: Limited | None = None
    measure_dropped: str = "all"
    dropped_text: str = "sample"

    def run(self, inputs: InputPieces | UnitOfPass | UnitWithCanaries, io: UnitIO) -> None:
        keys: dict[str, list[tuple[Keys, int]]] = {request.label: [] for request in self.requests}
        looked: Counter[str] = Counter()
        sources: list[str] = []  # of the kept documents, if the next pass plants canaries
        types: dict[str, pa.DataType] = {}  # of the signals, by the first batch, which is empty
        texts, counted = self._text_facts(), self._pass_facts()
        chosen = ChosenTexts(self.dropped_text)
        ids = TokenIds(self.tokenizer, self.split_at, self.room, io) if self.encodes and self.tokenizer else None
        careful = BatchFeeder(io)
        spent: dict[str, float] = {}
        for batch in self._read(inputs, io, careful):
            self._put_through(batch, types, careful, spent)
            types = types or {name: column.type for name, column in batch.signals.items()}
            self._note_failures(batch, io)
            parts = [batch, *batch.left]
            measured, of_texts, stored, verdicts = [], [], [], []
            careful.before(TOKENS)
            for part in parts:
                tokens = self._count(part, ids)
                self._count_flow(part, tokens, io.facts)
                of_texts.append(self._count_texts(part, texts))
                verdicts.append({"dropped_by": self._dropped_by(part), "reasons": part.all_reasons()})
                measured.append(_signals(part, tokens, verdicts[-1]))
                stored.append(self._stored(part, tokens))
            signals = in_order(measured, [part.rows for part in parts])
            counted.add(signals)
            is_kept = pa.array(batch.dropped == KEPT)
            kept = stored[0] if (batch.dropped == KEPT).all() else stored[0].filter(is_kept)
            io.write("docs", self._with_columns_beside(kept, of_texts[0]))
            io.write("signals", signals)
            io.write("dropped", dropped_rows(parts, stored, verdicts, chosen))
            io.heart.add(len(signals), len(kept), _bytes_at(parts, 0), _bytes_at(parts, -1))
            if self.next_plants:
                sources += kept["source"].to_pylist()
            if self._writes_last:
                _count_markup(kept, looked, io.facts)
            for request in self.requests:
                careful.before(request.label)
                keys[request.label].append((self._keys(request, batch, kept, is_kept), len(kept)))
        for request in self.requests:
            write_keys(io, request, keys[request.label])
        if ids:
            ids.write()
        io.notes[TEXT_GROUPS] = ",".join(map(str, io.text_groups("docs")))
        if self.next_plants:
            io.notes[HELD] = held(sources)
        io.notes.update(side.finish(io.facts) for side in texts.values())
        io.notes.update([counted.finish(io.facts)])
        io.notes.update({f"{SPENT}{label}": round(seconds * 1000) for label, seconds in spent.items()})
        io.notes.update(chosen.notes | ({MEASURED: self.measure_dropped} if self.measure_dropped != "all" else {}))

    def check(self) -> None:
        """Put no documents through the steps, as every unit does first.

        Raises RecipeError if a step asks for what no step before it leaves, or cannot work with it; AssetError if the
        tokenizer lacks the tokens between parts of documents.
        """
        if self.tokenizer is not None and keeps_parts(self.tokenizer):
            self.tokenizer.open()
        batch = self._nothing()
        for request in self.requests:
            self._keys(request, batch, self._stored(batch, self._count(batch)), pa.array([], pa.bool_()))

    def try_on(self, docs: pa.RecordBatch, facts: Facts) -> None:
        """Put some documents through the steps, and count what becomes of them, without their tokens."""
        types = {name: column.type for name, column in self._nothing().signals.items()}
        for same in self._cut(docs):
            batch = Batch(same)
            self._put_through(batch, types, BatchFeeder(), {})
            for part in (batch, *batch.left):
                self._count_flow(part, pa.nulls(len(part.docs), pa.int64()), facts)

    def signal_names(self) -> list[str]:
        """What the steps leave beside the documents. Raises RecipeError as `check` does."""
        return list(self._nothing().signals)

    def _nothing(self) -> Batch:
        """No documents, put through the steps."""
        verdicts = [(judge.step.verdict.empty_table(), CUTS.empty_table()) for judge in self.judged]
        batch = self._judged(pa.RecordBatch.from_pylist([], schema=DOCUMENT), 0, verdicts, self._nothing_beside())
        self._put_through(batch, {}, BatchFeeder(), {})
        return batch

    def _put_through(
        self, batch: Batch, types: Mapping[str, pa.DataType], careful: BatchFeeder, spent: dict[str, float]
    ) -> None:
        """spent   label -> seconds, of steps that call functions of a user's"""
        only = dict(self.only)
        self._let_dropped_leave(batch)
        for index, (label, step) in enumerate(self.steps, len(self.judged)):
            if _is_for(only.get(label), batch.docs):
                careful.before(label)
                started = now()
                batch.apply(index, label, step)
                if isinstance(step, UsesCode):
                    spent[label] = spent.get(label, 0.0) + now() - started
            else:
                batch.pass_by({name: type for name, type in types.items() if name.startswith(f"{label}.")})
            self._let_dropped_leave(batch)
        batch.finish()

    def _let_dropped_leave(self, batch: Batch) -> None:
        if self.measure_dropped != "all":
            corpus_steps = [judge.label for judge in self.judged]
            batch.leave(self._labels(), corpus_steps if self.measure_dropped == "none" else None)

    def _text_facts(self) -> dict[str, TextFacts]:
        """The sides that this pass sees: "input" if it is the first, "output" if it is the last."""
        sides = (("input", bool(self.readers)), ("output", not self.another))
        return {side: TextFacts(side) for side, seen in sides if seen}

    def _pass_facts(self) -> PassFacts:
        named = [*((judge.label, judge.step) for judge in self.judged), *self.steps]
        only = {**dict(self.only), **{judge.label: judge.only for judge in self.judged if judge.only is not None}}
        return PassFacts(self._labels(), only, bounds(named), self.measure_dropped)

    def _labels(self) -> list[str]:
        return [*(judge.label for judge in self.judged), *(label for label, _ in self.steps)]

    def _keys(self, request: KeyRequest, batch: Batch, kept: pa.RecordBatch, is_kept: pa.Array) -> Keys:
        needed = batch.needed(request.label, request.step.needs)
        columns = {name: column.filter(is_kept) for name, column in needed.items()}
        if request.only is None:
            return request.step.keys(kept, columns)
        applies = np.full(len(kept), _is_for(request.only, batch.docs))
        if not applies.any():
            kept, columns = kept.slice(0, 0), {name: column.slice(0, 0) for name, column in columns.items()}
        return of_some(request.step.keys(kept, columns), applies)

    def _read(
        self, inputs: InputPieces | UnitOfPass | UnitWithCanaries, io: UnitIO, careful: BatchFeeder
    ) -> Iterator[Batch]:
        """The unit's documents. The first batch is empty, so that every output has its schema even of nothing."""
        read = self._read_pieces if isinstance(inputs, InputPieces) else self._read_judged
        yield from read(inputs, io, careful)  # type: ignore[arg-type]

    def _read_pieces(self, inputs: InputPieces, io: UnitIO, careful: BatchFeeder) -> Iterator[Batch]:
        io.write("dead", pa.RecordBatch.from_pylist([], schema=DEAD))
        yield Batch(pa.RecordBatch.from_pylist([], schema=DOCUMENT))
        pieces = [(part.source, piece) for part in inputs.sources for piece in part.pieces]
        size, done = sum(piece.size for _, piece in pieces), 0
        taken = Taken(self.limited)
        for part, (index, piece) in enumerate(pieces):
            io.heart.at(done, size)
            done += piece.size
            if not taken.left(index):
                continue
            source, reader = self.readers[index]
            counts = ReadCounts()
            for docs in taken.of(index, careful.read(part, reader, piece, source, counts), counts):
                at = positions_of(docs)
                gone = careful.left_out(part, at)
                add(io.facts, "read", source, "documents", count=len(docs) - len(gone))
                _write_dead(io, source, counts.drain())
                _write_dead(io, source, letters(docs, gone))
                row = 0
                for same in self._cut(docs):
                    for start, stop in careful.cut(part, same, at[row : row + len(same)]):
                        yield Batch(same.slice(start, stop - start))
                    row += len(same)
            _write_dead(io, source, counts.drain())
            for kind, count in sorted(counts.skipped.items()):
                add(io.facts, "read", source, "skipped", kind, count=count)
            add(io.facts, "read", source, "records", count=counts.records)
            add(io.facts, "read", source, "bytes", count=piece.size)

    def _read_judged(self, inputs: UnitOfPass | UnitWithCanaries, io: UnitIO, careful: BatchFeeder) -> Iterator[Batch]:
        io.write("dead", pa.RecordBatch.from_pylist([], schema=DEAD))
        verdicts = [_verdicts_on(inputs.number, judge, io.results(judge.stage), io) for judge in self.judged]
        yield self._judged(pa.RecordBatch.from_pylist([], schema=DOCUMENT), 0, verdicts, self._nothing_beside())
        begin = 0
        file = io.parquet(io.results(self.before)["docs"].path(inputs.number))
        reads_texts = bool(self.steps) or not self.in_place
        names = [name for name in COUNTED.names if reads_texts or name not in ("text", "metadata")]
        names += IN_PLACE.names if self.in_place else []
        rows = ROWS if reads_texts else ROWS_WITHOUT_TEXT
        batches = file.iter_batches(rows, columns=names, use_threads=False)
        if isinstance(inputs, UnitWithCanaries):
            batches = put_in(batches, inputs, io.results(self.before), io)
        for stored in batches:
            absent = [field for field in DOCUMENT if field.name not in stored.schema.names]
            docs = stored
            io.heart.at(begin, file.metadata.num_rows)
            for field in absent:
                docs = docs.append_column(field, pa.nulls(len(docs), field.type))
            docs = docs.select(DOCUMENT.names).cast(DOCUMENT)
            at = np.arange(begin, begin + len(docs))
            self._note_left_out(docs, careful.left_out(0, at), io)
            row = 0
            for same in self._cut(docs):
                for start, stop in careful.cut(0, same, at[row : row + len(same)]):
                    here, first = stored.slice(row + start, stop - start), begin + row + start
                    beside = None
                    if self.in_place:
                        numbers = pa.array(np.arange(first, first + len(here)))
                        beside = here.select(IN_PLACE.names).append_column(ROW, numbers)
                    batch = self._judged(same.slice(start, stop - start), first, verdicts, beside)
                    batch.tokens = here["tokens"]
                    yield batch
                row += len(same)
            begin += len(docs)
            if careful.passed:
                return

    def _note_left_out(self, docs: pa.RecordBatch, gone: Sequence[tuple[int, QuarantinedRecord]], io: UnitIO) -> None:
        """Documents that came from another pass and were set aside have failed at the step that was at work."""
        if not gone:
            return
        io.write("dead", letters(docs, gone))
        for row, aside in gone:
            label = aside.at.step if aside.at.step in self._labels() else self._labels()[-1]
            add(io.facts, "failed", label, docs["source"][row].as_py())

    def _cut(self, docs: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The documents in batches of one source each, if there are steps for some sources only."""
        corpus = (*(judge.only for judge in self.judged), *(request.only for request in self.requests))
        if not self.only and all(only is None for only in corpus):
            yield docs
            return
        source = docs["source"].dictionary_encode().indices.to_numpy(zero_copy_only=False)
        edges = [0, *(np.flatnonzero(np.diff(source)) + 1).tolist(), len(docs)]
        for start, stop in pairwise(edges):
            yield docs.slice(start, stop - start)

    def _nothing_beside(self) -> pa.RecordBatch | None:
        schema = pa.schema([*IN_PLACE, REFERRING.field(ROW)])
        return pa.RecordBatch.from_pylist([], schema=schema) if self.in_place else None

    def _judged(
        self,
        docs: pa.RecordBatch,
        first: int,
        tables: list[tuple[pa.Table, pa.Table]],
        beside: pa.RecordBatch | None = None,
    ) -> Batch:
        """A batch with the verdicts on its documents, of which `first` is the first, and without what is cut."""
        batch = Batch(docs, beside=beside)
        for index, (judge, (verdicts, cuts)) in enumerate(zip(self.judged, tables)):
            label, step = judge.label, judge.step
            if not _is_for(judge.only, docs):
                batch.pass_by(judge.signals)
                continue
            place = verdicts["document"].to_numpy() - first
            here = np.flatnonzero((place >= 0) & (place < len(docs)))
            # Row i of the batch has verdict at[i] of the table; null, where it has none, takes a null.
            at = np.full(len(docs), -1, np.int64)
            at[place[here]] = here
            taken = verdicts.take(pa.array(at, mask=at < 0)).combine_chunks()
            columns = {name: _one(taken[name]) for name in step.verdict.names if name != "document"}
            for name, value in step.default_signals.items():
                columns[name] = pc.fill_null(columns[name], value)
            reasons = columns.pop("reason")
            if step.cuts:
                batch.cut(index, label, _within(cuts, first, len(docs)), reasons)
            else:
                batch.drop(index, label, reasons)
            batch.signals.update({f"{label}.{name}": column for name, column in columns.items()})
        return batch

    @property
    def _writes_last(self) -> bool:
        """Whether no later pass changes the texts, and this one writes them."""
        return self.next_in_place or (not self.another and not self.in_place)

    def _count(self, batch: Batch, ids: TokenIds | None = None) -> pa.Array:
        """(documents,) tokens of `counted_texts`. Those that are as the pass before left them were counted there.

        ids   takes the kept documents, which are counted by it
        """
        if self.tokenizer is None:
            return pa.nulls(len(batch.docs), pa.int64())
        if batch.beside is not None and batch.tokens is not None:
            return batch.tokens
        kept = batch.dropped == KEPT
        has_left = self.measure_dropped != "all" and not kept.all()
        if batch.tokens is None:
            return pa.nulls(len(kept), pa.int64()) if has_left else self._count_all(batch, ids)
        texts = batch.dropped_texts(np.arange(len(kept))) if has_left else batch.counted_texts()
        changed = pc.fill_null(pc.not_equal(texts, batch.first_texts()), False)
        tokens, unknown = batch.tokens, changed.to_numpy(zero_copy_only=False)
        if has_left:
            return pc.if_else(changed, pa.scalar(None, pa.int64()), tokens)
        if ids is not None:
            tokens = _replaced(tokens, kept, ids.add(texts.filter(pa.array(kept)), batch.docs.filter(pa.array(kept))))
            unknown = unknown & ~kept
        if unknown.any():
            tokens = _replaced(tokens, unknown, self.tokenizer.count(texts.filter(pa.array(unknown))))
        return tokens

    def _count_all(self, batch: Batch, ids: TokenIds | None) -> pa.Array:
        """The same of a batch of which nothing was counted before."""
        assert self.tokenizer
        kept = batch.dropped == KEPT
        docs = batch.docs.select(["id", "url", "text"])
        docs = docs if kept.all() else docs.filter(pa.array(kept))
        tokens = np.zeros(len(kept), np.int64)
        tokens[kept] = ids.add(docs["text"], docs) if ids is not None else self.tokenizer.count(docs["text"])
        for rows, dropped in batch.texts_of_dropped():
            tokens[rows] = self.tokenizer.count(dropped)
        return pa.array(tokens)

    def _count_flow(self, batch: Batch, tokens: pa.Array, facts: Facts) -> None:
        """What happened at each step, by source: documents, bytes, tokens in and out; documents by first reason."""
        counted = batch.tokens_at_steps(tokens)
        unknown = tokens.is_null().to_numpy(zero_copy_only=False) & (self.tokenizer is not None)
        sources = batch.docs["source"].to_numpy(zero_copy_only=False)
        reasons = dict(batch.reasons)
        only = {**dict(self.only), **{judge.label: judge.only for judge in self.judged if judge.only is not None}}
        for source in sorted(set(sources)):
            here = sources == source
            for index, label in enumerate(self._labels()):
                came = here & ((batch.dropped == KEPT) | (batch.dropped >= index))
                dropped = here & (batch.dropped == index)
                kept = came & ~dropped
                for name, value in (
                    ("documents_in", int(came.sum())),
                    ("documents_out", int(kept.sum())),
                    ("bytes_in", int(batch.sizes[index][came].sum())),
                    ("bytes_out", int(batch.sizes[index + 1][kept].sum())),
                    ("tokens_in", int(counted[index][came].sum())),
                    ("tokens_out", int(counted[index + 1][kept].sum())),
                ):
                    add(facts, "steps", label, source, name, count=value)
                if source not in only.get(label, (source,)):
                    add(facts, "steps", label, source, "passed_through", count=int(came.sum()))
                for name, rows in (("uncounted_in", came & unknown), ("uncounted_out", kept & unknown)):
                    if rows.any():
                        add(facts, "steps", label, source, name, count=int(rows.sum()))
                if dropped.any():
                    why = Counter(reasons[label].filter(pa.array(dropped)).to_pylist())
                    for reason, count in why.items():
                        add(facts, "reasons", label, source, reason.partition(",")[0], count=count)

    def _stored(self, batch: Batch, tokens: pa.Array) -> pa.RecordBatch:
        """The documents as they are stored."""
        columns = {**{name: batch.docs[name] for name in STORED.names}, "tokens": tokens}
        if batch.beside is None:
            return pa.RecordBatch.from_pydict(columns, schema=COUNTED)
        columns |= {name: batch.beside[name] for name in batch.beside.schema.names}
        schema = REFERRING.with_metadata({TEXTS: self.before.encode()})
        return pa.RecordBatch.from_pydict({name: columns[name] for name in schema.names}, schema=schema)

    def _count_texts(self, batch: Batch, texts: Mapping[str, TextFacts]) -> NDArray[np.void] | None:
        """What the texts of a batch are like, as they came and, of those that are kept, as they are now.

        Returns what was measured of the kept; None if no one asks for it.
        """
        sources, kept, came, measured = batch.docs["source"], batch.dropped == KEPT, None, None
        is_kept = pa.array(kept)
        if "input" in texts:
            came = batch.first_texts()
            measured = integrity(came)
            has_text = came.is_valid()  # not so a page that was dropped before its text was extracted
            texts["input"].add(sources.filter(has_text), measured[has_text.to_numpy(zero_copy_only=False)])
        if "output" not in texts and not self.next_in_place:
            return None
        if batch.beside is not None:
            again = measured_beside(batch.beside.filter(is_kept))
        else:
            now = batch.docs["text"].filter(is_kept)
            if came is None or measured is None:
                again = integrity(now)
            else:
                again = measure_again(came.filter(is_kept), now, measured[kept])
        if "output" in texts:
            texts["output"].add(sources.filter(is_kept), again)
        return again

    def _with_columns_beside(self, kept: pa.RecordBatch, measured: NDArray[np.void] | None) -> pa.RecordBatch:
        """The documents, with what later stages must know of texts without reading them."""
        if self._writes_last and measured is not None:
            for field, column in zip(IN_PLACE, columns_beside(kept["text"], measured)):
                kept = kept.append_column(field, column)
        return kept

    def _note_failures(self, batch: Batch, io: UnitIO) -> None:
        for failed in sorted(batch.failed, key=lambda failed: failed.row):
            row = {
                **failed.document,
                "step": failed.step,
                "kind": "step_failed",
                "reason": failed.reason,
                "expected": False,
            }
            io.write("dead", pa.RecordBatch.from_pylist([row], schema=DEAD))
            add(io.facts, "failed", failed.step, failed.document["source"])

    def _dropped_by(self, batch: Batch) -> pa.Array:
        """(documents,) the label of the step that dropped each; null for the kept."""
        labels = self._labels()
        names = pa.array([*labels, None], pa.string())
        return names.take(pa.array(np.where(batch.dropped == KEPT, len(labels), batch.dropped)))


def _bytes_at(parts: Sequence[Batch], step: int) -> int:
    """Bytes of some documents before a step; after all, for -1."""
    return sum(int(part.sizes[step].sum()) for part in parts if part.sizes)


def _replaced(numbers: pa.Array, mask: NDArray[np.bool_], values: NDArray[np.int64]) -> pa.Array:
    return pc.replace_with_mask(numbers, pa.array(mask), pa.array(values, pa.int64()))


def _is_for(only: tuple[str, ...] | None, docs: pa.RecordBatch) -> bool:
    """Whether a step for these sources is for a batch of one source; of an empty batch it is asked what it leaves."""
    return only is None or not len(docs) or docs["source"][0].as_py() in only


def _signals(batch: Batch, tokens: pa.Array, verdicts: dict[str, pa.Array]) -> pa.RecordBatch:
    columns = {name: batch.docs[name] for name in ABOUT}
    columns |= {"bytes": pa.array(batch.sizes[-1]), "tokens": tokens, **verdicts, **batch.signals}
    return pa.RecordBatch.from_pydict(columns)


def _count_markup(kept: pa.RecordBatch, looked: Counter[str], facts: Facts) -> None:
    """How many of the first LOOKED_AT documents of each source in the unit hold HTML.

    looked   source -> documents looked at in earlier batches; counted on here
    """
    sources = kept["source"].to_numpy(zero_copy_only=False)
    for source in sorted(set(sources)):
        rows = np.flatnonzero(sources == source)[: LOOKED_AT - looked[source]]
        if len(rows):
            looked[source] += len(rows)
            add(facts, "markup", source, "documents", count=len(rows))
            holds = is_markup(kept["text"].take(pa.array(rows)))
            add(facts, "markup", source, "markup", count=pc.sum(holds).as_py() or 0)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _within(cuts: pa.Table, number: int, documents: int) -> NDArray[np.int64]:
    """(cuts, 3) of the documents from this row of the unit on: row in the batch, first byte, end."""
    columns = [cuts[name].to_numpy() for name in CUTS.names]
    first, stop = np.searchsorted(columns[0], [number, number + documents])
    return np.stack([columns[0][first:stop] - number, columns[1][first:stop], columns[2][first:stop]], axis=1)


def _write_dead(io: UnitIO, source: str, dead: pa.RecordBatch) -> None:
    """Dead letters of records that are no documents of this pass."""
    if len(dead):
        io.write("dead", dead)
        for kind, expected in zip(dead["kind"].to_pylist(), dead["expected"].to_pylist()):
            add(io.facts, "read", source, "expected" if expected else "dead", kind)


def _verdicts_on(number: int, judge: VerdictSource, results: Results, io: UnitIO) -> tuple[pa.Table, pa.Table]:
    """The verdicts and cuts of a step on the documents of a unit."""
    if "slices" in results.outputs:  # one table for some neighbouring units
        table, place = table_of(results, number)
        start, stop = io.arrays(results["slices"].path(table))["offsets"][place : place + 2].tolist()
        return io.rows(results["verdicts"].path(table), start, stop).combine_chunks(), CUTS.empty_table()
    cuts = io.table(results["cuts"].path(number)).combine_chunks() if judge.step.cuts else CUTS.empty_table()
    return io.table(results["verdicts"].path(number)).combine_chunks(), cuts
