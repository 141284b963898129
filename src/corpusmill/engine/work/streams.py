"""The stream of tokens of a run, and what a stage of training reads of it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.engine.work.documents import ROWS, copies_of_kept
from corpusmill.engine.work.pass_documents import PassDocuments
from corpusmill.engine.work.pass_results import UnitOfPass
from corpusmill.engine.work.signals import signals_of_kept
from corpusmill.engine.work.split import SPLIT, SplitSubset
from corpusmill.engine.work.token_files import IDS, ids_of
from corpusmill.engine.work.token_ids import read_tokens
from corpusmill.engine.work.tokens import IDENTITY, note_tokens, of_sources
from corpusmill.errors import RecipeError
from corpusmill.shards.pack import UnitTokens
from corpusmill.shards.plan import Totals
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.units import OutputFiles
from corpusmill.store.work import PlannedUnit
from corpusmill.tokens.breaks import of_documents

Bounds = tuple[str, float | None, float | None]  # a signal, from and to


@dataclass(frozen=True)
class TokenStream:
    """The stream of tokens of a run: units of documents, then those that a mix draws again.

    before   the documents
    tokens   the stage that has their lengths
    ids      the stage that has their ids
    epochs   the stage of those that are drawn again; None: none are
    chosen   the stage that says which of all these are in the stream; None: all of them
    """

    before: PassDocuments
    tokens: str
    ids: str
    epochs: str | None = None
    chosen: str | None = None

    @property
    def stages(self) -> tuple[str, ...]:
        """Those whose units are the units of the stream."""
        return (self.tokens, *((self.epochs,) if self.epochs else ()))

    @property
    def counted(self) -> tuple[str, ...]:
        """Those that say how many tokens are in its units."""
        return (self.chosen,) if self.chosen else self.stages

    @property
    def after(self) -> tuple[str, ...]:
        """The stages whose files it is in."""
        ids = () if self.ids in (*self.before.after, self.tokens) else (self.ids,)
        return (*self.before.after, *self.stages, *ids, *((self.chosen,) if self.chosen else ()))

    def units(self, upstream: Upstream) -> int:
        return sum(len(upstream.results(stage)) for stage in self.stages)

    def totals(self, upstream: Upstream) -> Totals:
        parts = [upstream.results(stage) for stage in self.counted]
        tokens, longest = (
            np.concatenate([part.numbers(note) if len(part) else np.empty(0, np.int64) for part in parts])
            for note in ("tokens", "longest")
        )
        documents = np.concatenate([part["tokens"].rows if len(part) else np.empty(0, np.int64) for part in parts])
        return Totals(tokens, documents, longest)

    def tokens_of(self, upstream: Upstream, unit: int) -> UnitTokens:
        """The tokens of a unit."""
        rows = self.rows(upstream, unit)
        path, ids = (files.path(number) for files, number in self._token_files(upstream, unit))
        if rows is not None and not len(rows):
            return UnitTokens(upstream.arrays(ids)["ids"][:0], rows, None)
        tokens = read_tokens(upstream, path, ids)
        if rows is None or len(rows) == len(tokens.lengths):
            return tokens
        breaks = None
        if tokens.breaks is not None:
            among = np.zeros(len(tokens.lengths), bool)
            among[rows] = True
            breaks = of_documents(tokens.breaks, tokens.lengths, among)
        return UnitTokens(ids_of(tokens.ids, tokens.lengths, rows), tokens.lengths[rows], breaks)

    def lengths(self, upstream: Upstream, unit: int) -> NDArray[np.int64]:
        """(documents,) tokens of each document of a unit."""
        if self.chosen:
            return upstream.arrays(upstream.results(self.chosen)["tokens"].path(unit))["lengths"]
        (files, number), _ = self._token_files(upstream, unit)
        return upstream.arrays(files.path(number))["lengths"]

    def rows(self, upstream: Upstream, unit: int) -> NDArray[np.int64] | None:
        """Which of a unit's documents are in the stream, rising; None: all."""
        if not self.chosen:
            return None
        return upstream.arrays(upstream.results(self.chosen)["tokens"].path(unit))["among"]

    def about(self, upstream: UnitIO, unit: int) -> Iterator[pa.RecordBatch]:
        """The documents of a unit, without their text."""
        rows = self.rows(upstream, unit)
        file = upstream.parquet(self.documents(upstream, unit))
        start = 0
        for batch in file.iter_batches(ROWS, columns=IDENTITY, use_threads=False):
            if rows is None:
                yield batch
            else:
                first, stop = np.searchsorted(rows, [start, start + len(batch)]).tolist()
                yield batch.take(pa.array(rows[first:stop] - start))
            start += len(batch)

    def documents(self, upstream: Upstream, unit: int) -> str:
        """The path of a unit's file of documents."""
        files, number = self._at(upstream, unit, self.before.stage, "docs")
        return files.path(number)

    def content(self, upstream: Upstream, unit: int) -> str:
        parts = [*self._token_files(upstream, unit), self._at(upstream, unit, self.before.stage, "docs")]
        if self.chosen:
            parts.append((upstream.results(self.chosen)["tokens"], unit))
        return ":".join(files.checksum(number) for files, number in parts)

    def _token_files(self, upstream: Upstream, unit: int) -> tuple[tuple[OutputFiles, int], tuple[OutputFiles, int]]:
        """The file of a unit's tokens, and the one with their ids."""
        return self._at(upstream, unit, self.tokens, "tokens"), self._at(upstream, unit, self.ids, IDS, "tokens")

    def _at(
        self, upstream: Upstream, unit: int, stage: str, output: str, of_epochs: str | None = None
    ) -> tuple[OutputFiles, int]:
        """A unit's file: the output of a stage, or of `epochs`, where it may have another name."""
        first = len(upstream.results(self.tokens))
        if unit < first:
            return upstream.results(stage)[output], unit
        assert self.epochs
        return upstream.results(self.epochs)[of_epochs or output], unit - first


@dataclass(frozen=True)
class ChooseDocuments:
    """Which documents of a stream are one side of a split, or what a stage of training reads.

    stream   all of them
    source   None: of all sources
    where    signals within bounds, which are included; a document without one of the signals is left out
    passes   whose signals these may be, in order
    copies   the signal that says how often each document is drawn; None: each once
    side     of the split; None: both
    """

    stream: TokenStream
    source: str | None
    where: tuple[Bounds, ...]
    passes: tuple[str, ...]
    copies: str | None
    side: SplitSubset | None = None

    @property
    def after(self) -> tuple[str, ...]:
        """The stages that it reads."""
        split = (SPLIT,) if self.side else ()
        return tuple(dict.fromkeys((*self.stream.after, *self.passes, *split)))

    @property
    def wanted_signals(self) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self.where)

    def units(self, upstream: Upstream) -> Iterator[PlannedUnit]:
        for unit in range(self.stream.units(upstream)):
            content = [self.stream.content(upstream, unit)]
            number = self._first(upstream, unit)
            if self.side:
                content.append(self.side.content(upstream, number))
            if self.where:
                content += [upstream.results(stage)["signals"].checksum(number) for stage in self.passes]
            yield PlannedUnit(UnitOfPass(unit), tuple(content))

    def run(self, inputs: UnitOfPass, io: UnitIO) -> None:
        lengths = self.stream.lengths(io, inputs.number)
        sources = io.table(self.stream.documents(io, inputs.number), ["source"])["source"].combine_chunks()
        chosen = of_sources(sources, None if self.source is None else (self.source,))
        if self.side:
            chosen &= self._drawn(self.side.among(io, self._first(io, inputs.number)), inputs.number, io)
        if self.where:
            chosen &= self._within(inputs.number, io)
        rows = np.flatnonzero(chosen)
        note_tokens(io, lengths[rows])
        io.write_arrays("tokens", len(rows), lengths=lengths[rows], among=rows)

    def _within(self, unit: int, io: UnitIO) -> NDArray[np.bool_]:
        """(documents,) whether all signals are within their bounds."""
        paths = [io.results(stage)["signals"].path(self._first(io, unit)) for stage in self.passes]
        measured = signals_of_kept(paths, self.wanted_signals, io)
        within = np.ones(len(measured), bool)
        for name, low, high in self.where:
            column = measured[name]
            if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
                raise RecipeError(f"the signal {name} is {column.type}, no number; it has no min and max")
            values = column.cast(pa.float64()).to_numpy()  # NaN where there is none, which is within nothing
            within &= (values >= (-np.inf if low is None else low)) & (values <= (np.inf if high is None else high))
        return self._drawn(within, unit, io)

    def _drawn(self, among: NDArray[np.bool_], unit: int, io: UnitIO) -> NDArray[np.bool_]:
        """Of documents of a unit of the passes, what is said of those that are in this unit."""
        repeats = self._repeats(unit, io)
        return among if repeats is None else among[repeats]

    def _first(self, upstream: Upstream, unit: int) -> int:
        """The unit of the passes in which a unit's documents are."""
        return unit % len(upstream.results(self.stream.tokens))

    def _repeats(self, unit: int, io: UnitIO) -> NDArray[np.int64] | None:
        """Which documents of that unit are drawn again in this one; None: it is that unit."""
        time = unit // len(io.results(self.stream.tokens))
        if not time:
            return None
        assert self.copies
        signals = io.results(self.stream.before.stage)["signals"].path(self._first(io, unit))
        drawn = copies_of_kept(io.table(signals, ["dropped_by", self.copies]), self.copies)
        return np.flatnonzero(drawn > time)
