"""What a run writes in the end: clean documents, token ids, packed rows; and where people find them."""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from corpusmill.errors import AssetError
from corpusmill.facts import add
from corpusmill.models.token_breaks import token_breaks
from corpusmill.models.tokenizer import Tokenizer
from corpusmill.recipe.text_files import Part
from corpusmill.recipe.write_tokens import WriteTokens
from corpusmill.shards.layout import INDEX, Entry, table_name
from corpusmill.shards.pack import UnitTokens, pack
from corpusmill.shards.plan import Plan as ShardsPlan
from corpusmill.shards.plan import ShardPlan, plan_shards
from corpusmill.shards.writer import make_index, write_documents
from corpusmill.steps import Pack, Tokenize
from corpusmill.storage import write_atomic
from corpusmill.sums import sha256, write_sums
from corpusmill.text.word_counts import word_counts
from corpusmill.tokens.breaks import SplitAt, of_documents
from corpusmill.tokens.counts import count_ids
from corpusmill.units import Commit, Unit, UnitIO, map_arrays
from corpusmill.write import DocumentWriter, Indexed, RowWriter
from corpusmill.write.shards import Shards

if TYPE_CHECKING:
    from corpusmill.recipe.lower import Plan

ROWS = 2048  # documents that are in memory at a time
EPOCHS = "epochs"  # the stage of RepeatDocuments
IDENTITY = ["id", "source", "file", "position", "url"]  # what a shard's table says of a document
SAMPLE = 16  # documents a unit on which the fast tokenizer is compared with the reference


@dataclass(frozen=True)
class WriteDocuments:
    """Documents as one file, by a writer of documents. Unit inputs: parts of files of documents, see `text_files`.

    copies   the signal that says how often each document is drawn: the writer gets it as a column `copies`
    """

    writer: DocumentWriter
    copies: str | None = None

    def run(self, unit: Unit, io: UnitIO) -> None:
        parts = [Part(*part) for part in unit.inputs]
        rows = sum(_rows(io.parquet(part.docs), range(part.first, part.stop)) for part in parts)
        path = io.path("text", self.writer.suffix, rows)
        self.writer.write(chain.from_iterable(documents_of(part, self.copies, io) for part in parts), path)
        io.facts["sha256"] = {f"{unit.number:05d}{self.writer.suffix}": sha256(path)}


def documents_of(part: Part, copies: str | None, io: UnitIO) -> Iterator[pa.RecordBatch]:
    """The documents of a part, with how often each is drawn as `copies` if a signal of that name is given."""
    file = io.parquet(part.docs)
    drawn = copies_of_kept(io.table(part.signals, ["dropped_by", copies]), copies) if copies else None
    row = _rows(file, range(part.first))
    groups = list(range(part.first, part.stop))
    for batch in file.iter_batches(ROWS, row_groups=groups, use_threads=False):
        if drawn is None:
            yield batch
        else:
            yield batch.append_column("copies", pa.array(drawn[row : row + len(batch)]))
        row += len(batch)


def _rows(file: pq.ParquetFile, groups: range) -> int:
    return sum(file.metadata.row_group(group).num_rows for group in groups)


@dataclass(frozen=True)
class TokenizeDocuments:
    """The token ids of a unit's documents. Unit inputs: a file of documents.

    split_at   where packing may cut documents: that is written beside the ids, as `breaks`

    Beside them stands what statistics need: how often each id of the vocabulary is in the texts, as `counts`, and of each
    document `words` (as `text.word_counts` has them), `characters` and `bytes`.

    The first documents of the unit are encoded by the reference tokenizer too; the facts say how many were compared.
    Raises AssetError if an id differs.
    """

    step: Tokenize
    split_at: SplitAt | None = None

    def run(self, unit: Unit, io: UnitIO) -> None:
        tokenizer: Tokenizer = self.step.open()
        ids, base = [np.empty(0, tokenizer.dtype)], 0
        counts = np.zeros(tokenizer.vocab_size, np.int64)
        lengths, words, characters, sizes, breaks = ([np.empty(0, np.int64)] for _ in range(5))
        for number, batch in enumerate(
            io.parquet(unit.inputs[0]).iter_batches(ROWS, columns=["text"], use_threads=False)
        ):
            texts = batch["text"]
            found, tokens = self.step.encode(texts)
            ids.append(found)
            lengths.append(tokens)
            count_ids(found, counts)
            words.append(word_counts(texts.cast(pa.large_string())))
            characters.append(_numbers(pc.utf8_length(texts)))
            sizes.append(_numbers(pc.binary_length(texts)))
            if self.split_at:
                breaks.append(base + token_breaks(tokenizer, texts, found, tokens, self.split_at))
            base += len(found)
            if number == 0:
                self._check(tokenizer, texts.slice(0, SAMPLE), unit, io)
        arrays = {"ids": np.concatenate(ids)}
        named = {"lengths": lengths, "words": words, "characters": characters, "bytes": sizes}
        arrays |= {name: np.concatenate(parts) for name, parts in named.items()}
        if self.split_at:
            arrays["breaks"] = np.concatenate(breaks)
        around = [tokenizer.eos_id] + ([tokenizer.bos_id] if tokenizer.bos_id is not None else [])
        counts[around] -= len(arrays["lengths"])
        io.facts["documents"] = len(arrays["lengths"])
        io.facts["tokens"] = len(arrays["ids"])
        io.write_arrays("tokens", len(arrays["lengths"]), **arrays, counts=counts)

    def _check(self, tokenizer: Tokenizer, texts: pa.Array, unit: Unit, io: UnitIO) -> None:
        """Compare ids with those of the reference, and count what was compared, and which engine was at work."""
        checked = tokenizer.check(texts)
        if checked.differing:
            raise AssetError(
                f"{tokenizer.spec}: the engine {tokenizer.engine.name} gives other ids than the reference for "
                f"{checked.differing} of {checked.documents} documents of {unit.inputs[0]}. Use the reference: "
                f"tokenize/bpe: {{engine: {tokenizer.reference.name}}}."
            )
        add(io.facts, "checked", "documents", count=checked.documents)
        add(io.facts, "checked", "differing", count=checked.differing)
        add(io.facts, "checked", "engines", f"{tokenizer.engine.name} {tokenizer.reference.name}")


def _numbers(column: pa.Array) -> NDArray[np.int64]:
    """A null is 0."""
    found: NDArray[np.int64] = pc.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


@dataclass(frozen=True)
class RepeatDocuments:
    """The documents of a unit that are drawn once more, without their text, and their token ids.

    copies   the signal that says how often each document is drawn

    Unit inputs: a file of documents, of their signals, of their tokens; and how often they have come before.
    """

    copies: str

    def run(self, unit: Unit, io: UnitIO) -> None:
        docs, signals, tokens, time = unit.inputs
        again = copies_of_kept(io.table(signals, ["dropped_by", self.copies]), self.copies) > time
        arrays = io.arrays(tokens)
        about = io.table(docs, IDENTITY).filter(pa.array(again))
        for batch in (pa.RecordBatch.from_pylist([], schema=about.schema), *about.to_batches()):
            io.write("docs", batch)
        lengths = arrays["lengths"][again]
        ids = arrays["ids"][np.repeat(again, arrays["lengths"])]
        io.facts |= {"documents": len(lengths), "tokens": len(ids)}
        kept = {"ids": ids, "lengths": lengths}
        if "breaks" in arrays:
            kept["breaks"] = of_documents(arrays["breaks"], arrays["lengths"], again)
        io.write_arrays("tokens", len(lengths), **kept)


def copies_of_kept(signals: pa.Table, name: str) -> NDArray[np.int64]:
    """(documents,) how often each document that stays is drawn."""
    kept = signals.filter(pc.is_null(signals["dropped_by"]))
    found: NDArray[np.int64] = kept[name].to_numpy()
    return found


@dataclass(frozen=True)
class PackRows:
    """One training shard, by a writer of rows. Unit inputs: its plan, then, for the units that it takes from, the
    files of their tokens and of their documents, by number of the unit."""

    pack: Pack
    tokenize: Tokenize
    writer: RowWriter

    @property
    def split_at(self) -> SplitAt | None:
        return getattr(self.pack, "split_at", None)

    def plan(self, tokens: list[Commit], root: Path) -> ShardsPlan:
        """All shards, from the token counts of all documents."""
        lengths = [map_arrays(root / commit.outputs["tokens"].path)["lengths"] for commit in tokens]
        per_shard = self.writer.tokens_per_shard
        return plan_shards(lengths, self.pack.method, self.pack.length, per_shard, self.pack.remainder, self.split_at)

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
            units[number] = UnitTokens(arrays["ids"], arrays["lengths"], arrays.get("breaks"))
        packed = pack(plan, units, self.tokenize.open().eos_id)
        io.facts |= {name: getattr(packed.report, name) for name in packed.report.__dataclass_fields__}
        files = {suffix: io.path(f"rows{suffix}", suffix, packed.report.rows) for suffix in self.writer.suffixes}
        written = self.writer.write_rows(packed, files)
        if isinstance(written, Entry):  # the native format: which documents these are stands beside the tokens
            table = io.path("documents", ".parquet", plan.documents)
            checksum_of_table = write_documents(
                _documents(plan, document_files, io), plan.first_document, packed.lengths, table
            )
            io.facts["entries"] = {str(plan.number): asdict(written) | {"table_xxh3_128": checksum_of_table}}
            return
        io.facts["sha256"] = {f"{plan.number:05d}{suffix}": sha256(path) for suffix, path in files.items()}
        if written.entry:
            io.facts["entries"] = {str(plan.number): dict(written.entry)}


def _documents(plan: ShardPlan, files: dict[int, str], io: UnitIO) -> Iterator[pa.RecordBatch]:
    """The documents that start in a shard, without their text."""
    for extent in plan.extents:
        row = 0
        for batch in io.parquet(files[extent.unit]).iter_batches(ROWS, columns=IDENTITY, use_threads=False):
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
            _publish_files(root, folder, commits, {"text": stage.work.writer.suffix})
        elif isinstance(stage.work, WriteTokens):
            _publish_files(root, folder, commits, {f"tokens{s}": s for s in stage.work.writer.suffixes})
        elif isinstance(stage.work, PackRows):
            files = {f"rows{suffix}": suffix for suffix in stage.work.writer.suffixes}
            if isinstance(stage.work.writer, Shards):
                _link_all(root, folder, commits, files)
                _publish_index(root, folder, stage.work, commits, [*committed["tokens"], *committed.get(EPOCHS, [])])
            else:
                _publish_files(root, folder, commits, files, stage.work.writer)


def _publish_files(
    root: Path, folder: Path, commits: list[Commit], files: Mapping[str, str], writer: object = None
) -> None:
    """Outputs under lasting names, the writer's index over all of them if it makes one, and their checksums."""
    _link_all(root, folder, commits, files)
    if isinstance(writer, Indexed):
        (suffix,) = files.values()
        entries = {f"{c.unit:05d}{suffix}": c.facts["entries"][str(c.unit)] for c in commits}
        for name, content in writer.index(entries).items():
            write_atomic(str(folder / name), content)
    write_sums(folder, {name: digest for commit in commits for name, digest in commit.facts["sha256"].items()})


def _link_all(root: Path, folder: Path, commits: list[Commit], files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for commit in commits:
        for output, suffix in files.items():
            _link(root / commit.outputs[output].path, folder / f"{commit.unit:05d}{suffix}")


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
