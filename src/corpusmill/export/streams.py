"""One stream of documents for training and one for validation: nanoGPT's files, and those of llm.c."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count as counting
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import InputError, RecipeError
from corpusmill.report.numbers import plural
from corpusmill.shards import Shards
from corpusmill.shards.documents import DocumentRange, documents
from corpusmill.shards.layout import stored
from corpusmill.text.splitmix64 import GOLDEN, chance, mix64
from corpusmill.tokens.llmc_header import HEADER, LLMC_MAGIC, MAX_IDS

Progress = Callable[[int, int], None]
Split = Literal["train", "val"]


@dataclass(frozen=True, kw_only=True)
class NanoGPT:
    """train.bin and val.bin as nanoGPT maps them: the documents in order, without padding.

    eos   False: without the token that ends each document, as nanoGPT's data/shakespeare/prepare.py has it
    """

    eos: bool = True

    def write(self, shards: Shards, folder: Path, validation: "Validation", progress: Progress) -> tuple[int, int]:
        """Returns how many documents and tokens are in the files."""
        dtype = stored(shards.index.dtype)
        names, whole = ("train", "val") if validation.is_used else ("train",), validation.tokens_of(shards)
        files = {name: (folder / f"{name}.bin").open("wb") for name in names}
        count, tokens = 0, 0
        try:
            for block in validation.parts(shards, self._blocks):
                files[block.split].write(block.ids.astype(dtype, copy=False).tobytes())
                count, tokens = count + block.begun, tokens + len(block.ids)
                progress(block.done, whole)
        finally:
            for file in files.values():
                file.close()
        for file in files.values():
            if not Path(file.name).stat().st_size:  # an empty file cannot be mapped
                if count:
                    validation.refuse_empty(Path(file.name).name, count, "an empty file cannot be mapped")
                Path(file.name).unlink()
        return count, tokens

    def _blocks(self, shards: Shards) -> Iterator[DocumentRange]:
        blocks = documents(shards)
        return blocks if self.eos else (without_ends(block, shards.index.eos_id) for block in blocks)


@dataclass(frozen=True, kw_only=True)
class Llmc:
    """train_000000.bin … and val_000000.bin … as llm.c and modded-nanogpt read them.

    A file has 256 int32 (magic, version, number of tokens, zeros) and then ids: uint16 with magic 20240520, or uint32
    with 20240801, as llm.c has for Llama 3. The stream is cut into files of `tokens_per_shard` tokens, wherever that
    is. The token that divides documents stands before each of them, and not at its end: the tokenizer's BOS where the
    shards have one, else its EOS (GPT-2's 50256 is both).

    Source: llm.c, dev/data/data_common.py and fineweb.py; modded-nanogpt, data/fineweb.py.
    """

    tokens_per_shard: int = 100_000_000

    def __post_init__(self) -> None:
        if not 1 <= self.tokens_per_shard <= MAX_IDS:
            raise RecipeError(f"need tokens_per_shard from 1 to {MAX_IDS:,}, got {self.tokens_per_shard}")

    def write(self, shards: Shards, folder: Path, validation: "Validation", progress: Progress) -> tuple[int, int]:
        """Returns how many documents and tokens are in the files."""
        dtype = stored(shards.index.dtype)
        files = {name: Numbered(folder, name, dtype, self.tokens_per_shard) for name in ("train", "val")}
        count, whole = 0, validation.tokens_of(shards)
        try:
            for block in validation.parts(shards, self._blocks):
                files[block.split].write(block.ids)
                count += block.begun
                progress(min(block.done, whole), whole)
        finally:
            for file in files.values():
                file.close()
        for name in ("train", "val") if validation.is_used else ("train",):
            if count and not files[name].total:
                validation.refuse_empty(f"{name}_000000.bin", count, "a trainer needs both")
        progress(whole, whole)
        return count, sum(file.total for file in files.values())

    def _blocks(self, shards: Shards) -> Iterator[DocumentRange]:
        return (leading(block, shards.index.eos_id, shards.index.bos_id) for block in documents(shards))


class Numbered:
    """Files of `size` ids each, which begin with the header of llm.c."""

    def __init__(self, folder: Path, name: str, dtype: np.dtype[Any], size: int) -> None:
        self.total = 0
        self._paths = (folder / f"{name}_{number:06d}.bin" for number in counting())
        self._dtype, self._size = dtype, size
        self._file: Any = None
        self._held = 0

    def write(self, ids: NDArray[Any]) -> None:
        while len(ids):
            if self._file is None:
                self._file, self._held = next(self._paths).open("wb"), 0
                self._file.write(bytes(4 * HEADER))
            part, ids = ids[: self._size - self._held], ids[self._size - self._held :]
            self._file.write(part.astype(self._dtype, copy=False).tobytes())
            self._held += len(part)
            self.total += len(part)
            if self._held == self._size:
                self.close()

    def close(self) -> None:
        if self._file is None:
            return
        magic, version = LLMC_MAGIC[self._dtype.itemsize]
        self._file.seek(0)
        self._file.write(np.array([magic, version, self._held], "<i4").tobytes())
        self._file.close()
        self._file = None


@dataclass(frozen=True)
class StreamPart:
    """Tokens that go to one of the two.

    begun   documents that begin in it
    done    tokens up to its end
    """

    split: Split
    ids: NDArray[Any]
    begun: int
    done: int


@dataclass(frozen=True)
class Validation:
    """What is kept back for validation.

    fraction   of the documents; chance is a hash of a document's tokens: equal ones are on one side, and a document
               is where it was when others are added
    tokens     or so many first tokens of the stream, wherever that cuts a document, as llm.c has it; then `fraction`
               says nothing
    shards     or what the recipe's split keeps back; then neither says anything
    """

    fraction: float
    tokens: int | None = None
    shards: Shards | None = None

    @property
    def is_used(self) -> bool:
        return self.shards is not None or bool(self.fraction if self.tokens is None else self.tokens)

    def tokens_of(self, shards: Shards) -> int:
        """All that `parts` gives."""
        both = (shards,) if self.shards is None else (shards, self.shards)
        return sum(len(part) - part.index.padding for part in both)

    def parts(self, shards: Shards, blocks: Callable[[Shards], Iterator[DocumentRange]]) -> Iterator[StreamPart]:
        """The documents of shards as `blocks` gives them, in two."""
        if self.shards is None:
            yield from self.split(blocks(shards))
            return
        position = 0
        sides: tuple[tuple[Split, Shards], ...] = (("train", shards), ("val", self.shards))
        for name, side in sides:
            for block in blocks(side):
                position += len(block.ids)
                yield StreamPart(name, block.ids, len(block.lengths), position)

    def split(self, blocks: Iterator[DocumentRange]) -> Iterator[StreamPart]:
        position = 0
        for block in blocks:
            before, position = position, position + len(block.ids)
            if self.tokens is not None:
                cut = min(max(self.tokens - before, 0), len(block.ids))
                starts = np.cumsum(block.lengths) - block.lengths
                begun = int((starts < cut).sum())
                yield StreamPart("val", block.ids[:cut], begun, before + cut)
                yield StreamPart("train", block.ids[cut:], len(block.lengths) - begun, position)
                continue
            kept_back = chance(token_hashes(block)) < self.fraction
            by_token = np.repeat(kept_back, block.lengths)
            yield StreamPart("train", block.ids[~by_token], int((~kept_back).sum()), position)
            if kept_back.any():
                yield StreamPart("val", block.ids[by_token], int(kept_back.sum()), position)

    def refuse_empty(self, name: str, documents: int, why: str) -> None:
        if self.tokens is not None:
            raise InputError(
                f"with val_tokens {self.tokens} nothing is left for {name}, and {why}. Give a lower number."
            )
        total = plural(documents, "document")
        if self.shards is not None:
            raise InputError(
                f"the recipe's split gives none of {total} to {name}, and {why}. Give `split` another share."
            )
        raise InputError(
            f"with val_fraction {self.fraction} none of {total} goes to {name}, and {why}. Give another fraction; 0 "
            "for no validation."
        )


def without_ends(block: DocumentRange, eos: int) -> DocumentRange:
    """The documents without the EOS at their ends. One that lost its end has none."""
    last = np.cumsum(block.lengths) - 1
    ended = block.ids[last] == eos
    keep = np.ones(len(block.ids), np.bool_)
    keep[last[ended]] = False
    return DocumentRange(block.first, block.ids[keep], block.lengths - ended)


def leading(block: DocumentRange, eos: int, bos: int | None) -> DocumentRange:
    """The documents with the token that divides them at their beginning, and not at their end."""
    bare = without_ends(block, eos)
    if bos is not None:  # each has it already
        return bare
    starts = np.cumsum(bare.lengths) - bare.lengths
    return DocumentRange(block.first, np.insert(bare.ids, starts, np.asarray(eos, bare.ids.dtype)), bare.lengths + 1)


def token_hashes(block: DocumentRange) -> NDArray[np.uint64]:
    """(documents,) a hash of the tokens of each document, the one that divides documents among them."""
    ends = np.cumsum(block.lengths)
    places = (np.arange(len(block.ids)) - np.repeat(ends - block.lengths, block.lengths)).astype(np.uint64)
    mixed = mix64(block.ids.astype(np.uint64) + (places + np.uint64(1)) * np.uint64(GOLDEN))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    hashes: NDArray[np.uint64] = sums[ends] - sums[ends - block.lengths]
    return hashes
