"""A pass over documents: read them, or take them with the verdicts of corpus steps; put them through the steps that
see a batch; write them, beside what was measured, and the keys that the next corpus steps want.

Outputs of a unit:

    docs        the documents that stay
    signals     a row for every document that came in: what was measured, which rules it fails, where it was dropped
    dropped     the documents that go, with their text
    dead        records that could not be read and documents that a step failed on
    verdicts    for passes after a corpus step: the documents that it drops, with their twins
    keys-LABEL  one file for every corpus step that follows
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.facts import Facts, add
from corpusmill.keys import CUTS, Keys
from corpusmill.read import ReadCounts
from corpusmill.recipe.batch import ABOUT, KEPT, Batch
from corpusmill.schema import DEAD, DOCUMENT, STORED
from corpusmill.steps import CorpusStep
from corpusmill.text.buckets import scatter
from corpusmill.units import Unit, UnitIO

COUNTED = STORED.append(pa.field("tokens", pa.int64()))  # documents as they are stored between passes


@dataclass(frozen=True)
class Sign:
    """A corpus step that follows the pass: its label, and the slices that each band of its keys is cut into."""

    label: str
    step: CorpusStep
    slices: int


@dataclass(frozen=True)
class Pass:
    """The work of a pass.

    readers     one a source, with the source's name, for the first pass; a unit's inputs are (source index, piece)
    judged      label and step of the corpus steps whose verdicts come in, for a later pass; a unit's inputs are its
                file of documents, the number of its first document, and of each of those steps the file of verdicts,
                and of cuts, None where it makes none
    steps       label and step, in order
    signs       the corpus steps that follow
    tokenizer   counts the tokens of each document as it leaves the pass; None where the recipe has none
    """

    readers: tuple[tuple[str, Any], ...]
    judged: tuple[tuple[str, CorpusStep], ...]
    steps: tuple[tuple[str, Any], ...]
    signs: tuple[Sign, ...]
    tokenizer: Any

    def run(self, unit: Unit, io: UnitIO) -> None:
        keys: dict[str, list[tuple[Keys, int]]] = {sign.label: [] for sign in self.signs}
        for batch in self._read(unit, io):
            self._put_through(batch)
            self._note_failures(batch, io)
            tokens = self._count(batch)
            self._tell(batch, tokens, io.facts)
            stays = pa.array(batch.dropped == KEPT)
            stored = _stored(batch.docs, tokens)
            kept = stored.filter(stays)
            verdicts = {"dropped_by": self._dropped_by(batch), "reasons": batch.all_reasons()}
            io.write("docs", kept)
            io.write("signals", _signals(batch, tokens, verdicts))
            io.write("dropped", _dropped(batch, stored, verdicts))
            for sign in self.signs:
                keys[sign.label].append((self._keys(sign, batch, kept, stays), len(kept)))
        for sign in self.signs:
            _write_keys(io, sign, keys[sign.label])

    def check(self) -> None:
        """Put no documents through the steps, as every unit does first.

        Raises RecipeError if a step asks for what no step before it leaves, or cannot work with it.
        """
        verdicts = [(judge.verdict.empty_table(), CUTS.empty_table()) for _, judge in self.judged]
        batch = self._judged(pa.RecordBatch.from_pylist([], schema=DOCUMENT), 0, verdicts)
        self._put_through(batch)
        for sign in self.signs:
            self._keys(sign, batch, _stored(batch.docs, self._count(batch)), pa.array([], pa.bool_()))

    def _put_through(self, batch: Batch) -> None:
        for index, (label, step) in enumerate(self.steps, len(self.judged)):
            batch.apply(index, label, step)
        batch.finish()

    def _labels(self) -> list[str]:
        return [label for label, _ in (*self.judged, *self.steps)]

    def _keys(self, sign: Sign, batch: Batch, kept: pa.RecordBatch, stays: pa.Array) -> Keys:
        needed = batch.needed(sign.label, sign.step.needs)
        return sign.step.keys(kept, {name: column.filter(stays) for name, column in needed.items()})

    def _read(self, unit: Unit, io: UnitIO) -> Iterator[Batch]:
        """The unit's documents. The first batch is empty, so that every output has its schema even of nothing."""
        yield from self._read_pieces(unit, io) if self.readers else self._read_judged(unit, io)

    def _read_pieces(self, unit: Unit, io: UnitIO) -> Iterator[Batch]:
        io.write("dead", pa.RecordBatch.from_pylist([], schema=DEAD))
        yield Batch(pa.RecordBatch.from_pylist([], schema=DOCUMENT))
        for index, piece in unit.inputs:
            source, reader = self.readers[index]
            tally = ReadCounts()
            for docs in reader.read(piece, source, tally):
                add(io.facts, "read", source, "documents", count=len(docs))
                _write_dead(io, source, tally)
                yield Batch(docs)
            _write_dead(io, source, tally)
            for kind, count in sorted(tally.skipped.items()):
                add(io.facts, "read", source, "skipped", kind, count=count)
            add(io.facts, "read", source, "records", count=tally.records)
            add(io.facts, "read", source, "bytes", count=piece.size)

    def _read_judged(self, unit: Unit, io: UnitIO) -> Iterator[Batch]:
        path, number, files = unit.inputs
        file = io.parquet(path)
        stop = number + file.metadata.num_rows

        def here(table: str) -> pa.Table:
            return io.table(table, filters=[("document", ">=", number), ("document", "<", stop)]).combine_chunks()

        io.write("dead", pa.RecordBatch.from_pylist([], schema=DEAD))
        found = [(here(verdicts), here(cuts) if cuts else CUTS.empty_table()) for verdicts, cuts in files]
        yield self._judged(pa.RecordBatch.from_pylist([], schema=DOCUMENT), number, found)
        first = number
        for stored in file.iter_batches(1024, use_threads=False):
            docs = stored.select(STORED.names)
            for name in ("raw", "charset"):
                docs = docs.append_column(DOCUMENT.field(name), pa.nulls(len(docs), DOCUMENT.field(name).type))
            yield self._judged(docs.select(DOCUMENT.names).cast(DOCUMENT), first, found)
            first += len(docs)

    def _judged(self, docs: pa.RecordBatch, number: int, found: list[tuple[pa.Table, pa.Table]]) -> Batch:
        """A batch with the verdicts on its documents, the first of which has this number, and without what is cut."""
        batch = Batch(docs)
        for index, ((label, step), (verdicts, cuts)) in enumerate(zip(self.judged, found)):
            place = verdicts["document"].to_numpy() - number
            here = np.flatnonzero((place >= 0) & (place < len(docs)))
            # Row i of the batch has verdict at[i] of the table; null, where it has none, takes a null.
            at = np.full(len(docs), -1, np.int64)
            at[place[here]] = here
            taken = verdicts.take(pa.array(at, mask=at < 0)).combine_chunks()
            columns = {name: _one(taken[name]) for name in step.verdict.names if name != "document"}
            for name, value in step.otherwise.items():
                columns[name] = pc.fill_null(columns[name], value)
            reasons = columns.pop("reason")
            if getattr(step, "cuts", False):
                batch.cut(index, label, _within(cuts, number, len(docs)), reasons)
            else:
                batch.drop(index, label, reasons)
            batch.signals.update({f"{label}.{name}": column for name, column in columns.items()})
        return batch

    def _count(self, batch: Batch) -> pa.Array:
        if self.tokenizer is None:
            return pa.nulls(len(batch.docs), pa.int64())
        return pa.array(self.tokenizer.count(batch.docs["text"]), pa.int64())

    def _tell(self, batch: Batch, tokens: pa.Array, facts: Facts) -> None:
        """What happened at each step, by source: documents, bytes, tokens in and out; documents by first reason."""
        counted = pc.fill_null(tokens, 0).to_numpy(zero_copy_only=False)
        sources = batch.docs["source"].to_numpy(zero_copy_only=False)
        reasons = dict(batch.reasons)
        for source in sorted(set(sources)):
            here = sources == source
            for index, label in enumerate(self._labels()):
                comes = here & ((batch.dropped == KEPT) | (batch.dropped >= index))
                goes = here & (batch.dropped == index)
                stays = comes & ~goes
                for name, value in (
                    ("documents_in", int(comes.sum())),
                    ("documents_out", int(stays.sum())),
                    ("bytes_in", int(batch.sizes[index][comes].sum())),
                    ("bytes_out", int(batch.sizes[index + 1][stays].sum())),
                    ("tokens_in", int(counted[comes].sum())),
                    ("tokens_out", int(counted[stays].sum())),
                ):
                    add(facts, "steps", label, source, name, count=value)
                if goes.any():
                    why = Counter(reasons[label].filter(pa.array(goes)).to_pylist())
                    for reason, count in why.items():
                        add(facts, "reasons", label, source, reason.partition(",")[0], count=count)

    def _note_failures(self, batch: Batch, io: UnitIO) -> None:
        for failed in batch.failed:
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


def _signals(batch: Batch, tokens: pa.Array, verdicts: dict[str, pa.Array]) -> pa.RecordBatch:
    columns = {name: batch.docs[name] for name in ABOUT}
    columns |= {"bytes": pa.array(batch.sizes[-1]), "tokens": tokens, **verdicts, **batch.signals}
    return pa.RecordBatch.from_pydict(columns)


def _dropped(batch: Batch, stored: pa.RecordBatch, verdicts: dict[str, pa.Array]) -> pa.RecordBatch:
    goes = pa.array(batch.dropped != KEPT)
    gone = stored.filter(goes)
    gone = gone.set_column(gone.schema.get_field_index("text"), COUNTED.field("text"), batch.dropped_texts())
    for name, column in verdicts.items():
        gone = gone.append_column(name, column.filter(goes))
    return gone


def _one(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _within(cuts: pa.Table, number: int, documents: int) -> NDArray[np.int64]:
    """(cuts, 3) of the documents from this number on: row in the batch, first byte, end."""
    columns = [cuts[name].to_numpy() for name in CUTS.names]
    first, stop = np.searchsorted(columns[0], [number, number + documents])
    return np.stack([columns[0][first:stop] - number, columns[1][first:stop], columns[2][first:stop]], axis=1)


def _stored(docs: pa.RecordBatch, tokens: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*(docs[name] for name in STORED.names), tokens], schema=COUNTED)


def _write_dead(io: UnitIO, source: str, tally: ReadCounts) -> None:
    """The records that a reader could not make documents of, since it was last asked."""
    dead = tally.drain()
    if len(dead):
        io.write("dead", dead)
        for kind, expected in zip(dead["kind"].to_pylist(), dead["expected"].to_pylist()):
            add(io.facts, "read", source, "expected" if expected else "dead", kind)


def _write_keys(io: UnitIO, sign: Sign, batches: list[tuple[Keys, int]]) -> None:
    """`batches` are keys and how many documents they are of."""
    first = np.cumsum([0, *(documents for _, documents in batches)])
    bands = np.concatenate([keys.bands for keys, _ in batches])
    offsets, sorted_keys, row = scatter(bands, sign.slices)
    one, _ = batches[0]
    riders = {name: np.concatenate([keys.riders[name] for keys, _ in batches])[row] for name in one.riders}
    if one.documents is not None:
        rows = [keys.documents + base for (keys, _), base in zip(batches, first) if keys.documents is not None]
        row = np.concatenate(rows).astype(np.uint32)[row]
    arrays = {name: np.concatenate([keys.arrays[name] for keys, _ in batches]) for name in one.arrays}
    about = {"slices": np.array([sign.slices]), "riders": np.frombuffer(",".join(riders).encode(), np.uint8)}
    beside = {**about, "offsets": offsets, "keys": sorted_keys, "row": row, **riders}
    io.write_arrays(f"keys-{sign.label}", int(first[-1]), **beside, **arrays)
