"""Training shards: packed rows, and documents of tokens.

All documents in the order of units make one stream of tokens, which is cut into shards. Which units a shard takes from
follows from how many tokens each unit has, which the results of `tokens` note; which of their documents, the shard's
own unit finds out.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.engine.work.outputs import check_writer, link_all, publish_files
from corpusmill.engine.work.streams import TokenStream
from corpusmill.errors import RecipeError
from corpusmill.shards.entries import index_files
from corpusmill.shards.layout import ShardEntry, table_name
from corpusmill.shards.loss import LossRule
from corpusmill.shards.pack import UnitTokens, pack
from corpusmill.shards.plan import ShardCuts, ShardPlan, ShardRange
from corpusmill.shards.writer import TokenizerFacts, make_index, write_documents
from corpusmill.steps import Pack, Tokenize
from corpusmill.store.output import OutputFolder
from corpusmill.store.sums import sha256
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.units import Results
from corpusmill.store.work import PlannedUnit
from corpusmill.write import DocumentTokens, NeedsFullRows, RowWriter, TokenWriter, tokens_per_file
from corpusmill.write.shards import ShardsWriter


@dataclass(frozen=True)
class PackRows:
    """One training shard, by a writer of rows.

    pack   None: no step packs, and the stream is written as it is. For the packer, a shard is one row then
    """

    pack: Pack | None
    tokenize: Tokenize
    writer: RowWriter
    stream: TokenStream

    def cuts(self) -> ShardCuts:
        pack, tokens = self.pack, tokens_per_file(self.writer)
        if pack is None:
            return ShardCuts("concat", tokens, tokens)
        shortest = getattr(pack, "shortest", 1)
        return ShardCuts(pack.method, pack.length, tokens, pack.remainder, pack.split_at, shortest)

    def units(self, upstream: Upstream) -> Iterator[PlannedUnit]:
        return _shard_units(self.cuts(), self.stream, upstream)

    def run(self, inputs: ShardRange, io: UnitIO) -> None:
        units = {number: self.stream.tokens_of(io, number) for number in range(inputs.first_unit, inputs.stop_unit)}
        plan = self.cuts().plan(inputs, [unit.lengths for unit in units.values()])
        packed = pack(plan, units, self.tokenize.open().eos_id)
        report = packed.report
        if self.pack is None:
            io.facts["written"] = {"files": 1, "documents": plan.documents, "tokens": report.tokens}
        else:
            io.facts |= {name: getattr(report, name) for name in report.__dataclass_fields__}
        files = {suffix: io.path(f"rows{suffix}", suffix, report.rows) for suffix in self.writer.suffixes}
        result = self.writer.write_rows(packed, files)
        if isinstance(result, ShardEntry):  # the native format: which documents these are is beside the tokens
            table = io.path("documents", ".parquet", plan.documents)
            batches = _documents(plan, self.stream, io)
            checksum = write_documents(batches, plan.first_document, packed.lengths, table)
            rows = result.rows if self.pack else 0
            io.notes["entry"] = json.dumps(asdict(replace(result, rows=rows, table_xxh3_128=checksum)))
            if loss := self._loss():
                io.notes["loss"] = json.dumps(loss.to_json())
            io.notes["tokenizer"] = json.dumps(TokenizerFacts.from_tokenizer(self.tokenize.open()))
            return
        for suffix, path in files.items():
            io.notes[f"sha256{suffix}"] = sha256(path)
        if result.entry:
            io.notes["entry"] = json.dumps(dict(result.entry))

    def publish(self, name: str, output: OutputFolder, results: dict[str, Results]) -> None:
        files = {f"rows{suffix}": suffix for suffix in self.writer.suffixes}
        shards = results[name]
        if not isinstance(self.writer, ShardsWriter):
            publish_files(output, name, shards, files, self.writer)
            return
        link_all(output, name, shards, files, self.writer)
        for unit in range(len(shards)):
            output.publish(shards["documents"].path(unit), name, table_name(unit, self.writer.stem))
        entries = [ShardEntry(**json.loads(entry)) for entry in shards.notes.get("entry", ())]
        # The driver need not load the tokenizer for what its workers know: that takes half a second.
        recorded = shards.notes.get("tokenizer")
        tokenizer = (
            TokenizerFacts(*json.loads(recorded[0]))
            if recorded
            else TokenizerFacts.from_tokenizer(self.tokenize.open())
        )
        totals = [results[stage] for stage in self.stream.counted]
        documents = sum(int(part["tokens"].rows.sum()) for part in totals if len(part))
        tokens = sum(int(part.numbers("tokens").sum()) for part in totals if len(part))
        index = make_index(
            self.cuts(),
            documents,
            tokens,
            tokenizer,
            tokenizer.eos_id,
            entries,
            name=self.writer.stem,
            has_rows=self.pack is not None,
            loss=LossRule.from_json(json.loads(shards.notes["loss"][0])) if "loss" in shards.notes else None,
        )
        for file, content in index_files(index).items():
            output.write(name, file, content)

    def _loss(self) -> LossRule | None:
        """Which tokens have no loss: by what made them, and by the writer."""
        loss: LossRule = getattr(self.tokenize, "loss", None) or LossRule()
        goldfish = getattr(self.writer, "goldfish", None)
        loss = replace(loss, k=goldfish.k, h=goldfish.h) if goldfish else loss
        return loss if loss != LossRule() else None

    def check(self) -> None:
        check_writer(self.writer)
        strict = isinstance(self.writer, NeedsFullRows) and self.writer.full_rows
        if strict and self.pack and self.pack.method == "concat" and self.pack.remainder == "keep":
            raise RecipeError(
                "parquet_tokens: columns without documents, lengths and offsets need full rows, and remainder: keep "
                "leaves a short last row; pack with remainder: pad or drop"
            )

    def describe_plan(self, inputs: Sequence[ShardRange]) -> list[str]:
        """Says that there are no rows, as a step that packs may have been forgotten."""
        if self.pack is not None:
            return []
        files = f"{len(inputs):,} file{'s' * (len(inputs) != 1)}"
        return [f"no step packs: {files} of one stream, EOS after each document; the loader makes rows of it"]


def _documents(plan: ShardPlan, stream: TokenStream, io: UnitIO) -> Iterator[pa.RecordBatch]:
    """The documents that start in a shard, without their text."""
    for extent in plan.extents:
        row = 0
        for batch in stream.about(io, extent.unit):
            first, stop = max(extent.first_document, row), min(extent.stop_document, row + len(batch))
            if first < stop:
                yield batch.slice(first - row, stop - first)
            row += len(batch)


@dataclass(frozen=True)
class WriteTokens:
    """The documents of one shard, by a writer of tokens."""

    writer: TokenWriter
    stream: TokenStream

    def cuts(self) -> ShardCuts:
        # Rows of one token keep documents whole where they start, and need no padding.
        return ShardCuts("best_fit", 1, tokens_per_file(self.writer))

    def units(self, upstream: Upstream) -> Iterator[PlannedUnit]:
        return _shard_units(self.cuts(), self.stream, upstream)

    def run(self, inputs: ShardRange, io: UnitIO) -> None:
        units = {unit: self.stream.tokens_of(io, unit) for unit in range(inputs.first_unit, inputs.stop_unit)}
        plan = self.cuts().plan(inputs, [tokens.lengths for tokens in units.values()])
        files = {suffix: io.path(f"tokens{suffix}", suffix) for suffix in self.writer.suffixes}
        result = self.writer.write_tokens(_parts(plan, units), files)
        io.facts["documents"] = result.rows
        for suffix, path in files.items():
            io.notes[f"sha256{suffix}"] = sha256(path)
        if result.entry:
            io.notes["entry"] = json.dumps(dict(result.entry))

    def publish(self, name: str, output: OutputFolder, results: dict[str, Results]) -> None:
        files = {f"tokens{suffix}": suffix for suffix in self.writer.suffixes}
        publish_files(output, name, results[name], files, self.writer)

    def check(self) -> None:
        check_writer(self.writer)


def _parts(plan: ShardPlan, units: Mapping[int, UnitTokens]) -> Iterator[DocumentTokens]:
    for extent in plan.extents:
        tokens = units[extent.unit]
        ids = tokens.ids[extent.first_token : extent.stop_token]
        yield DocumentTokens(ids, tokens.lengths[extent.first_document : extent.stop_document])


def _shard_units(cuts: ShardCuts, stream: TokenStream, upstream: Upstream) -> Iterator[PlannedUnit]:
    """A unit for each shard."""

    def lengths(unit: int) -> NDArray[np.int64]:
        return stream.lengths(upstream, unit)

    for shard in cuts.ranges(stream.totals(upstream), lengths):
        content = (stream.content(upstream, unit) for unit in range(shard.first_unit, shard.stop_unit))
        yield PlannedUnit(shard, (repr(shard), *content))
