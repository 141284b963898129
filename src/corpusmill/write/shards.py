"""Packed rows as training shards, in the native format."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from corpusmill.errors import RecipeError
from corpusmill.shards.layout import Entry
from corpusmill.shards.pack import Packed
from corpusmill.shards.writer import write_shard
from corpusmill.write import PackedRows


@dataclass(frozen=True, kw_only=True)
class Shards:
    """Flat files of token ids that nanoGPT can map, with an index from each token to its document.

    shards/FORMAT.md has the definition. A shard of 100 M tokens is 200 MB if ids fit in 16 bits.
    """

    tokens_per_shard: int = 100_000_000  # rounded down to whole rows

    def __post_init__(self) -> None:
        if self.tokens_per_shard < 1:
            raise RecipeError(f"need tokens_per_shard >= 1, got {self.tokens_per_shard}")

    @property
    def suffixes(self) -> tuple[str, ...]:
        return (".bin", ".idx")

    def write_rows(self, packed: PackedRows, files: Mapping[str, Path]) -> Entry:
        """Write the tokens and spans of one shard, which must be newly packed: the index describes the packing."""
        assert isinstance(packed, Packed)
        with files[".bin"].open("wb") as tokens, files[".idx"].open("wb") as spans:
            return write_shard(packed, tokens, spans)
