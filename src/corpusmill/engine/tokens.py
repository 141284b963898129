"""Token ids of documents, and of those that a mix draws more than once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.engine.documents import copies_of_kept
from corpusmill.engine.pass_documents import BYTES, CHARS, ROW, WORDS, PassDocuments
from corpusmill.engine.pass_results import UnitOfPass
from corpusmill.engine.token_files import IDS, ids_of
from corpusmill.engine.token_ids import read_tokens
from corpusmill.models.tokenizer import Tokenizer
from corpusmill.steps import Tokenize
from corpusmill.tokens.breaks import of_documents
from corpusmill.tokens.counts import count_ids
from corpusmill.unit_io import UnitIO, Upstream
from corpusmill.units import Planned

EPOCHS = "epochs"  # the stage of RepeatDocuments
IDENTITY = ["id", "source", "file", "position", "url"]  # what a shard's table says of a document
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

    def units(self, upstream: Upstream) -> Iterator[Planned]:
        ids = upstream.results(self.before.texts)[IDS]
        for i in range(len(ids)):
            yield Planned(UnitOfPass(i), (*self.before.content(upstream, i), ids.checksum(i)))

    def run(self, inputs: UnitOfPass, io: UnitIO) -> None:
        texts = io.results(self.before.texts)
        made = io.arrays(texts[IDS].path(inputs.number))
        beside = io.table(texts["docs"].path(inputs.number), [BYTES, CHARS, WORDS])
        arrays: dict[str, NDArray[np.int64]] = {}
        if self.before.texts != self.before.stage:
            docs = io.results(self.before.stage)["docs"].path(inputs.number)
            rows = io.table(docs, [ROW])[ROW].to_numpy()
            if len(rows) < len(beside):
                arrays["chosen"], beside = rows, beside.take(pa.array(rows))
        ids, lengths = made["ids"], made["lengths"]
        if "chosen" in arrays:
            ids, lengths = ids_of(ids, lengths, arrays["chosen"]), lengths[arrays["chosen"]]
        tokenizer: Tokenizer = self.step.open()
        counts = np.zeros(tokenizer.vocab_size, np.int64)
        count_ids(np.asarray(ids), counts)
        special = [tokenizer.eos_id] + ([tokenizer.bos_id] if tokenizer.bos_id is not None else [])
        found = {"eos": int(counts[tokenizer.eos_id])}
        if tokenizer.bos_id is not None:
            found["bos"] = int(counts[tokenizer.bos_id])
        io.facts["controls"] = {"documents": len(lengths), **found}
        counts[special] -= len(lengths)
        arrays |= {"lengths": lengths, "counts": counts}
        arrays |= {name: beside[column].to_numpy() for name, column in STATISTICS.items()}
        note_tokens(io, lengths)
        io.write_arrays("tokens", len(lengths), **arrays)


def note_tokens(io: UnitIO, lengths: NDArray[np.int64]) -> None:
    """What planners of shards need to know of a unit's tokens."""
    io.facts |= {"documents": len(lengths), "tokens": int(lengths.sum())}
    io.notes |= {"tokens": int(lengths.sum()), "longest": int(lengths.max(initial=0))}


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
    """

    before: PassDocuments
    verdicts: str
    copies: str

    def units(self, upstream: Upstream) -> Iterator[Planned]:
        results, tokens = upstream.results(self.before.stage), upstream.results("tokens")["tokens"]
        ids = upstream.results(self.before.texts)[IDS]
        for time in range(1, int(upstream.results(self.verdicts).numbers("epochs").max())):
            for i in range(len(results)):
                read = (results["docs"], results["signals"], tokens, ids)
                yield Planned(Repetition(i, time), (*(files.checksum(i) for files in read), str(time)))

    def run(self, inputs: Repetition, io: UnitIO) -> None:
        results, tokens = io.results(self.before.stage), io.results("tokens")["tokens"]
        ids = io.results(self.before.texts)[IDS]
        signals = io.table(results["signals"].path(inputs.number), ["dropped_by", self.copies])
        again = copies_of_kept(signals, self.copies) > inputs.time
        made = read_tokens(io, tokens.path(inputs.number), ids.path(inputs.number))
        about = io.table(results["docs"].path(inputs.number), IDENTITY).filter(pa.array(again))
        for batch in (pa.RecordBatch.from_pylist([], schema=about.schema), *about.to_batches()):
            io.write("docs", batch)
        lengths = made.lengths[again]
        note_tokens(io, lengths)
        kept = {"ids": ids_of(made.ids, made.lengths, np.flatnonzero(again)), "lengths": lengths}
        if made.breaks is not None:
            kept["breaks"] = of_documents(made.breaks, made.lengths, again)
        io.write_arrays("tokens", len(lengths), **kept)
