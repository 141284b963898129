"""What a run writes in the end: clean documents, token ids, packed rows; and where people find them."""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corpusmill.errors import AssetError
from corpusmill.facts import add
from corpusmill.models.tokenizer import Tokenizer
from corpusmill.shards.layout import INDEX, Entry, table_name
from corpusmill.shards.pack import UnitTokens, pack
from corpusmill.shards.plan import Plan as ShardsPlan
from corpusmill.shards.plan import ShardPlan, plan_shards
from corpusmill.shards.writer import make_index, write_documents
from corpusmill.steps import Pack, Tokenize
from corpusmill.storage import write_atomic
from corpusmill.units import Commit, Unit, UnitIO, map_arrays
from corpusmill.write import DocumentWriter, RowWriter
from corpusmill.write.shards import Shards

if TYPE_CHECKING:
    from corpusmill.recipe.lower import Plan

ROWS = 2048  # documents that are in memory at a time
SAMPLE = 16  # documents a unit on which the fast tokenizer is compared with the reference


@dataclass(frozen=True)
class WriteDocuments:
    """A unit's documents, by a writer of documents. Unit inputs: a file of documents."""

    writer: DocumentWriter

    def run(self, unit: Unit, io: UnitIO) -> None:
        file = io.parquet(unit.inputs[0])
        path = io.path("text", self.writer.suffix, file.metadata.num_rows)
        self.writer.write(file.iter_batches(ROWS, use_threads=False), path)


@dataclass(frozen=True)
class TokenizeDocuments:
    """The token ids of a unit's documents. Unit inputs: a file of documents.

    The first documents of the unit are encoded by the reference tokenizer too; the facts say how many were compared.
    Raises AssetError if an id differs.
    """

    step: Tokenize

    def run(self, unit: Unit, io: UnitIO) -> None:
        tokenizer: Tokenizer = self.step.open()
        ids, lengths = [np.empty(0, tokenizer.dtype)], [np.empty(0, np.int64)]
        for number, batch in enumerate(
            io.parquet(unit.inputs[0]).iter_batches(ROWS, columns=["text"], use_threads=False)
        ):
            found, sizes = self.step.encode(batch["text"])
            ids.append(found)
            lengths.append(sizes)
            if number == 0:
                checked = tokenizer.check(batch["text"].slice(0, SAMPLE))
                if checked.differing:
                    raise AssetError(
                        f"{tokenizer.spec}: the engine {tokenizer.engine.name} gives other ids than the reference for "
                        f"{checked.differing} of {checked.documents} documents of {unit.inputs[0]}. Use the reference: "
                        f"tokenize/bpe: {{engine: tokenizers}}."
                    )
                add(io.facts, "checked", "documents", count=checked.documents)
                add(io.facts, "checked", "differing", count=checked.differing)
        all_lengths = np.concatenate(lengths)
        io.facts["documents"] = len(all_lengths)
        io.facts["tokens"] = int(all_lengths.sum())
        io.write_arrays("tokens", len(all_lengths), ids=np.concatenate(ids), lengths=all_lengths)


@dataclass(frozen=True)
class PackRows:
    """One training shard, by a writer of rows. Unit inputs: its plan, then, for the units that it takes from, the
    files of their tokens and of their documents, by number of the unit."""

    pack: Pack
    tokenize: Tokenize
    writer: RowWriter

    def plan(self, tokens: list[Commit], root: Path) -> ShardsPlan:
        """All shards, from the token counts of all documents."""
        lengths = [map_arrays(root / commit.outputs["tokens"].path)["lengths"] for commit in tokens]
        return plan_shards(
            lengths, self.pack.method, self.pack.length, self.writer.tokens_per_shard, self.pack.remainder
        )

    def units(self, documents: list[Commit], tokens: list[Commit], root: Path) -> list[Unit]:
        units = []
        for shard in self.plan(tokens, root).shards:
            numbers = [extent.unit for extent in shard.extents]
            token_files = {n: tokens[n].outputs["tokens"].path for n in numbers}
            document_files = {n: documents[n].outputs["docs"].path for n in numbers}
            units.append(Unit(shard.number, (shard, token_files, document_files)))
        return units

    def run(self, unit: Unit, io: UnitIO) -> None:
        plan, token_files, document_files = unit.inputs
        units = {}
        for number, path in token_files.items():
            arrays = io.arrays(path)
            units[number] = UnitTokens(arrays["ids"], arrays["lengths"])
        packed = pack(plan, units, self.tokenize.open().eos_id)
        io.facts |= {name: getattr(packed.report, name) for name in packed.report.__dataclass_fields__}
        files = {suffix: io.path(f"rows{suffix}", suffix, packed.report.rows) for suffix in self.writer.suffixes}
        written = self.writer.write_rows(packed, files)
        if isinstance(written, Entry):  # the native format: which documents these are stands beside the tokens
            table = io.path("documents", ".parquet", plan.documents)
            sha256 = write_documents(_documents(plan, document_files, io), plan.first_document, packed.lengths, table)
            io.facts["entries"] = {str(plan.number): asdict(written) | {"table_sha256": sha256}}


def _documents(plan: ShardPlan, files: dict[int, str], io: UnitIO) -> Iterator[pa.RecordBatch]:
    """The documents that start in a shard, without their text."""
    columns = ["id", "source", "file", "position", "url"]
    for extent in plan.extents:
        row = 0
        for batch in io.parquet(files[extent.unit]).iter_batches(ROWS, columns=columns, use_threads=False):
            first, stop = max(extent.first_document, row), min(extent.stop_document, row + len(batch))
            if first < stop:
                yield batch.slice(first - row, stop - first)
            row += len(batch)


def publish(root: Path, plan: "Plan", committed: Mapping[str, list[Commit]]) -> None:
    """Give what the writers wrote its lasting names, in output/NAME/ of the run's folder; indexes come last."""
    output = root / "output"
    shutil.rmtree(output, ignore_errors=True)
    for stage in plan.stages:
        commits = committed[stage.name]
        folder = output / stage.name
        if isinstance(stage.work, WriteDocuments):
            for commit in commits:
                _link(root / commit.outputs["text"].path, folder / f"{commit.unit:05d}{stage.work.writer.suffix}")
        elif isinstance(stage.work, PackRows):
            for commit in commits:
                for suffix in stage.work.writer.suffixes:
                    _link(root / commit.outputs[f"rows{suffix}"].path, folder / f"{commit.unit:05d}{suffix}")
            if isinstance(stage.work.writer, Shards):
                _publish_index(root, folder, stage.work, commits, committed["tokens"])


def _publish_index(root: Path, folder: Path, work: PackRows, shards: list[Commit], tokens: list[Commit]) -> None:
    tokenizer: Tokenizer = work.tokenize.open()
    for commit in shards:
        _link(root / commit.outputs["documents"].path, folder / table_name(commit.unit))
    entries = [Entry(**commit.facts["entries"][str(commit.unit)]) for commit in shards]
    folder.mkdir(parents=True, exist_ok=True)
    index = make_index(work.plan(tokens, root), tokenizer, tokenizer.eos_id, entries)
    write_atomic(str(folder / INDEX), index.to_bytes())


def _link(file: Path, name: Path) -> None:
    """A second name for a file; a copy where the file system has no hard links."""
    name.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file, name)
    except OSError:
        shutil.copyfile(file, name)
