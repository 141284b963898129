"""Token ids of documents, and of those that a mix draws more than once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.engine.work.documents import ROWS, copies_of_kept
from corpusmill.engine.work.pass_documents import BYTES, CHARS, ROW, WORDS, PassDocuments
from corpusmill.engine.work.pass_results import UnitOfPass
from corpusmill.engine.work.token_files import IDS, ids_of
from corpusmill.engine.work.token_ids import TokenIds, read_tokens
from corpusmill.errors import RecipeError
from corpusmill.models.tokenizer import Tokenizer
from corpusmill.steps import Tokenize
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.work import PlannedUnit
from corpusmill.tokens.breaks import SplitAt, of_documents
from corpusmill.tokens.counts import count_ids

EPOCHS = "epochs"  # the stage of RepeatDocuments
IDENTITY = ["id", "source", "file", "position", "url"]  # what a shard's table says of a document
SAME = ("fingerprint", "vocab_size", "eos_id", "bos_id")  # of the tokenizers of all stages of training
STATISTICS = {"words": WORDS, "characters": CHARS, "bytes": BYTES}  # of each document, and where the pass has them


@dataclass(frozen=True)
class CountTokens:
    """Which token ids are those of a unit's documents, and what is known of them.

    before   the documents; the ids are beside their texts

    Writes for each document `lengths`, its tokens, and what statistics need: `words` (as `text.word_counts` has them),
    `characters` and `bytes`; how often each id of the vocabulary is in the texts, as `counts`; and if the pass has
    dropped documents of those that are beside the ids, `chosen`: which are left. Notes say how many tokens there are,
    and how many the longest document has.
    """

    step: Tokenize
    before: PassDocuments

    def units(self, upstream: Upstream) -> Iterator[PlannedUnit]:
        ids = upstream.results(self.before.texts)[IDS]
        for i in range(len(ids)):
            yield PlannedUnit(UnitOfPass(i), (*self.before.content(upstream, i), ids.checksum(i)))

    def run(self, inputs: UnitOfPass, io: UnitIO) -> None:
        texts = io.results(self.before.texts)
        id_arrays = io.arrays(texts[IDS].path(inputs.number))
        lengths_table = io.table(texts["docs"].path(inputs.number), [BYTES, CHARS, WORDS])
        arrays: dict[str, NDArray[np.int64]] = {}
        if self.before.texts != self.before.stage:
            docs = io.results(self.before.stage)["docs"].path(inputs.number)
            rows = io.table(docs, [ROW])[ROW].to_numpy()
            if len(rows) < len(lengths_table):
                arrays["chosen"], lengths_table = rows, lengths_table.take(pa.array(rows))
        ids, lengths = id_arrays["ids"], id_arrays["lengths"]
        if "chosen" in arrays:
            ids, lengths = ids_of(ids, lengths, arrays["chosen"]), lengths[arrays["chosen"]]
        tokenizer: Tokenizer = self.step.open()
        counts = np.zeros(tokenizer.vocab_size, np.int64)
        count_ids(np.asarray(ids), counts)
        special = [tokenizer.eos_id] + ([tokenizer.bos_id] if tokenizer.bos_id is not None else [])
        controls = {"eos": int(counts[tokenizer.eos_id])}
        if tokenizer.bos_id is not None:
            controls["bos"] = int(counts[tokenizer.bos_id])
        io.facts["controls"] = {"documents": len(lengths), **controls}
        counts[special] -= len(lengths)
        arrays |= {"lengths": lengths, "counts": counts}
        arrays |= {name: lengths_table[column].to_numpy() for name, column in STATISTICS.items()}
        note_tokens(io, lengths)
        io.write_arrays("tokens", len(lengths), **arrays)


def note_tokens(io: UnitIO, lengths: NDArray[np.int64]) -> None:
    """What planners of shards need to know of a unit's tokens."""
    io.facts |= {"documents": len(lengths), "tokens": int(lengths.sum())}
    io.notes |= {"tokens": int(lengths.sum()), "longest": int(lengths.max(initial=0))}


@dataclass(frozen=True)
class EncodeDocuments:
    """Token ids of a unit's documents by a step of a stage of training, which is not that of the recipe.

    like              the recipe's
    split_at, room    of the step that packs them, see `TokenIds`
    sources           whose documents are encoded: the others have no tokens; None: all

    Writes `ids` as a pass does, and `tokens` with the lengths alone.
    """

    step: Tokenize
    like: Tokenize
    before: PassDocuments
    split_at: SplitAt | None
    room: int | None
    sources: tuple[str, ...] | None

    def units(self, upstream: Upstream) -> Iterator[PlannedUnit]:
        for i in range(len(upstream.results(self.before.stage))):
            yield PlannedUnit(UnitOfPass(i), self.before.content(upstream, i))

    def run(self, inputs: UnitOfPass, io: UnitIO) -> None:
        encoded = TokenIds(self.step, self.split_at, self.room, io)
        among: list[NDArray[np.bool_]] = []
        for batch in self.before.batches(io, inputs.number, ("id", "url", "source", "text"), ROWS):
            among.append(of_sources(batch["source"], self.sources))
            chosen = batch.filter(pa.array(among[-1]))
            if len(chosen):
                encoded.add(chosen["text"].cast(pa.large_string()), chosen)
        lengths = encoded.write(np.concatenate([np.empty(0, bool), *among]))
        note_tokens(io, lengths)
        io.write_arrays("tokens", len(lengths), lengths=lengths)

    def check(self) -> None:
        """Raises RecipeError if a model cannot be trained on the ids of both steps."""
        own, others = (step.open() for step in (self.step, self.like))
        if differs := [name for name in SAME if getattr(own, name) != getattr(others, name)]:
            raise RecipeError(
                f"a stage of training has another tokenizer than the recipe ({differs[0]} is "
                f"{getattr(own, differs[0])}, and {getattr(others, differs[0])} in the recipe): one model cannot be "
                "trained on both; give them the same"
            )


def of_sources(column: pa.Array, sources: tuple[str, ...] | None) -> NDArray[np.bool_]:
    """(documents,) whether a document is of one of these sources; None: all are."""
    if sources is None:
        return np.ones(len(column), bool)
    among = pc.is_in(column.cast(pa.string()), pa.array(sources, pa.string()))
    return np.asarray(among.to_numpy(zero_copy_only=False), bool)


@dataclass(frozen=True)
class Repetition:
    """A unit whose documents are drawn again: its number, and how often they were drawn before."""

    number: int
    time: int


@dataclass(frozen=True)
class RepeatDocuments:
    """The documents of a unit that are drawn once more, without their text, and their token ids.

    before     the documents
    verdicts   the stage that drew them
    copies     the signal that says how often each document is drawn
    tokens     the stage that has their lengths
    ids        the stage that has their ids
    """

    before: PassDocuments
    verdicts: str
    copies: str
    tokens: str
    ids: str

    def units(self, upstream: Upstream) -> Iterator[PlannedUnit]:
        results, tokens = upstream.results(self.before.stage), upstream.results(self.tokens)["tokens"]
        ids = upstream.results(self.ids)[IDS]
        for time in range(1, int(upstream.results(self.verdicts).numbers("epochs").max())):
            for i in range(len(results)):
                read = (results["docs"], results["signals"], tokens, ids)
                yield PlannedUnit(Repetition(i, time), (*(files.checksum(i) for files in read), str(time)))

    def run(self, inputs: Repetition, io: UnitIO) -> None:
        results, tokens = io.results(self.before.stage), io.results(self.tokens)["tokens"]
        ids = io.results(self.ids)[IDS]
        signals = io.table(results["signals"].path(inputs.number), ["dropped_by", self.copies])
        is_repeated = copies_of_kept(signals, self.copies) > inputs.time
        tokens_read = read_tokens(io, tokens.path(inputs.number), ids.path(inputs.number))
        about = io.table(results["docs"].path(inputs.number), IDENTITY).filter(pa.array(is_repeated))
        for batch in (pa.RecordBatch.from_pylist([], schema=about.schema), *about.to_batches()):
            io.write("docs", batch)
        lengths = tokens_read.lengths[is_repeated]
        note_tokens(io, lengths)
        arrays = {"ids": ids_of(tokens_read.ids, tokens_read.lengths, np.flatnonzero(is_repeated)), "lengths": lengths}
        if tokens_read.breaks is not None:
            arrays["breaks"] = of_documents(tokens_read.breaks, tokens_read.lengths, is_repeated)
        io.write_arrays("tokens", len(lengths), **arrays)
