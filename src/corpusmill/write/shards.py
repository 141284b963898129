"""Packed rows as training shards, in the native format."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from corpusmill.errors import RecipeError
from corpusmill.shards.layout import ShardEntry
from corpusmill.shards.pack import Packed
from corpusmill.shards.writer import write_shard
from corpusmill.write import PackedRows
from corpusmill.write._names import stem
from corpusmill.write._rows import check_shard_size


@dataclass(frozen=True, kw_only=True)
class Goldfish:
    """No loss for one token of `k`, by a hash of the `h` tokens before it (Hans et al. 2024, arXiv:2406.10209)."""

    k: int = 4
    h: int = 13

    def check(self) -> None:
        """Raises RecipeError for what cannot be. The step asks, as a recipe says its message only of a step."""
        if self.k < 2 or self.h < 1:
            raise RecipeError(f"goldfish needs k >= 2 and h >= 1, got k={self.k} and h={self.h}")


@dataclass(frozen=True, kw_only=True)
class ShardsWriter:
    """Flat files of token ids that nanoGPT can map, with an index from each token to its document.

    shards/FORMAT.md has the definition. A shard of 100 M tokens is 200 MB if ids fit in 16 bits. Without a `pack/…`
    step it is one stream: documents in order, EOS after each, cut every `tokens_per_shard` tokens exactly, which the
    loader cuts into rows: loader.open(folder, length=2048). With `goldfish: {k: 4, h: 13}` the loader leaves out the
    loss of one token of k, by a hash of the h before it, so that no passage is learned by heart; nothing is stored for
    it.

    `name: "train_{:05d}"` names the files train_00000.bin …; with `single_file` it needs no number.
    """

    needs_rows: ClassVar[bool] = False
    suffixes: ClassVar = (".bin", ".idx")

    tokens_per_shard: int = 100_000_000  # rounded down to whole rows; exact without packing
    single_file: bool = False  # one file for all tokens, which one worker writes alone
    name: str | None = None  # of the files, {:05d} stands for their number; null: 00000, 00001 …
    goldfish: Goldfish | None = None  # no loss for one token of k, by a hash of the h before

    def __post_init__(self) -> None:
        check_shard_size(self.tokens_per_shard)
        if self.goldfish is not None:
            self.goldfish.check()
        _ = self.stem  # complain now, not in a worker

    @property
    def stem(self) -> str | None:
        return stem(self.name, ".bin", self.single_file)

    def write_rows(self, packed: PackedRows, files: Mapping[str, Path]) -> ShardEntry:
        """Write the tokens and spans of one shard, which must be newly packed: the index describes the packing."""
        assert isinstance(packed, Packed)
        with files[".bin"].open("wb") as tokens, files[".idx"].open("wb") as spans:
            return write_shard(packed, tokens, spans)


Shards = ShardsWriter  # its name before 1.0
