"""Token ids of documents, and of those that a mix draws more than once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.engine.documents import ROWS, copies_of_kept
from corpusmill.engine.pass_documents import PassDocuments
from corpusmill.engine.pass_results import UnitOfPass
from corpusmill.errors import AssetError
from corpusmill.facts import add
from corpusmill.models.token_breaks import token_breaks
from corpusmill.models.tokenizer import Tokenizer
from corpusmill.steps import Tokenize
from corpusmill.text.word_counts import word_counts
from corpusmill.tokens.breaks import SplitAt, of_documents
from corpusmill.tokens.counts import count_ids
from corpusmill.unit_io import UnitIO, Upstream
from corpusmill.units import Planned

EPOCHS = "epochs"  # the stage of RepeatDocuments
IDENTITY = ["id", "source", "file", "position", "url"]  # what a shard's table says of a document
SAMPLE = 16  # documents per unit on which the fast tokenizer is compared with the reference


@dataclass(frozen=True)
class TokenizeDocuments:
    """The token ids of a unit's documents.

    before     the documents
    split_at   where packing may cut documents: that is written beside the ids, as `breaks`

    Beside them is what statistics need: how often each id of the vocabulary is in the texts, as `counts`, and of each
    document `words` (as `text.word_counts` has them), `characters` and `bytes`. Notes say how many tokens there are,
    and how many the longest document has.

    The first documents of the unit are encoded by the reference tokenizer too; the facts say how many were compared.
    Raises AssetError if an id differs.
    """

    step: Tokenize
    before: PassDocuments
    split_at: SplitAt | None = None

    def units(self, upstream: Upstream) -> Iterator[Planned]:
        units = range(len(upstream.results(self.before.stage)))
        return (Planned(UnitOfPass(i), self.before.content(upstream, i)) for i in units)

    def run(self, inputs: UnitOfPass, io: UnitIO) -> None:
        path = io.results(self.before.stage)["docs"].path(inputs.number)
        tokenizer: Tokenizer = self.step.open()
        ids, base = [np.empty(0, tokenizer.dtype)], 0
        counts = np.zeros(tokenizer.vocab_size, np.int64)
        lengths, words, characters, sizes, breaks = ([np.empty(0, np.int64)] for _ in range(5))
        unchecked = SAMPLE
        for batch in self.before.batches(io, inputs.number, ["text"], ROWS):
            texts = batch["text"]
            batch_ids, tokens = self.step.encode(texts)
            ids.append(batch_ids)
            lengths.append(tokens)
            count_ids(batch_ids, counts)
            words.append(word_counts(texts.cast(pa.large_string())))
            characters.append(_numbers(pc.utf8_length(texts)))
            sizes.append(_numbers(pc.binary_length(texts)))
            if self.split_at:
                breaks.append(base + token_breaks(tokenizer, texts, batch_ids, tokens, self.split_at))
            base += len(batch_ids)
            if unchecked:
                self._check(tokenizer, texts.slice(0, unchecked), path, io)
                unchecked -= min(unchecked, len(texts))
        arrays = {"ids": np.concatenate(ids)}
        named = {"lengths": lengths, "words": words, "characters": characters, "bytes": sizes}
        arrays |= {name: np.concatenate(parts) for name, parts in named.items()}
        if self.split_at:
            arrays["breaks"] = np.concatenate(breaks)
        special = [tokenizer.eos_id] + ([tokenizer.bos_id] if tokenizer.bos_id is not None else [])
        counts[special] -= len(arrays["lengths"])
        note_tokens(io, arrays["lengths"])
        io.write_arrays("tokens", len(arrays["lengths"]), **arrays, counts=counts)

    def _check(self, tokenizer: Tokenizer, texts: pa.Array, path: str, io: UnitIO) -> None:
        """Compare ids with those of the reference, and count what was compared, and which engine was at work."""
        checked = tokenizer.check(texts)
        if checked.differing:
            raise AssetError(
                f"{tokenizer.spec}: the engine {tokenizer.engine.name} gives other ids than the reference for "
                f"{checked.differing} of {checked.documents} documents of {path}. Use the reference: "
                f"tokenize/bpe: {{engine: {tokenizer.reference.name}}}."
            )
        add(io.facts, "checked", "documents", count=checked.documents)
        add(io.facts, "checked", "differing", count=checked.differing)
        add(io.facts, "checked", "engines", f"{tokenizer.engine.name} {tokenizer.reference.name}")


def _numbers(column: pa.Array) -> NDArray[np.int64]:
    """A null is 0."""
    numbers: NDArray[np.int64] = pc.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


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

    before     the pass whose documents they are
    verdicts   the stage that drew them
    copies     the signal that says how often each document is drawn
    """

    before: str
    verdicts: str
    copies: str

    def units(self, upstream: Upstream) -> Iterator[Planned]:
        results, tokens = upstream.results(self.before), upstream.results("tokens")["tokens"]
        for time in range(1, int(upstream.results(self.verdicts).numbers("epochs")[0])):
            for i in range(len(results)):
                content = (results["docs"].checksum(i), results["signals"].checksum(i), tokens.checksum(i), str(time))
                yield Planned(Repetition(i, time), content)

    def run(self, inputs: Repetition, io: UnitIO) -> None:
        results, tokens = io.results(self.before), io.results("tokens")["tokens"]
        signals = io.table(results["signals"].path(inputs.number), ["dropped_by", self.copies])
        again = copies_of_kept(signals, self.copies) > inputs.time
        arrays = io.arrays(tokens.path(inputs.number))
        about = io.table(results["docs"].path(inputs.number), IDENTITY).filter(pa.array(again))
        for batch in (pa.RecordBatch.from_pylist([], schema=about.schema), *about.to_batches()):
            io.write("docs", batch)
        lengths = arrays["lengths"][again]
        ids = arrays["ids"][np.repeat(again, arrays["lengths"])]
        note_tokens(io, lengths)
        kept = {"ids": ids, "lengths": lengths}
        if "breaks" in arrays:
            kept["breaks"] = of_documents(arrays["breaks"], arrays["lengths"], again)
        io.write_arrays("tokens", len(lengths), **kept)
