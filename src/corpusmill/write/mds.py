"""Packed rows for MosaicML Streaming (the extra `mds`)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from corpusmill import system
from corpusmill.assets.extras import MDS, Extra
from corpusmill.errors import RecipeError
from corpusmill.write import PackedRows, WriteFacts
from corpusmill.write._rows import in_groups

TOKENS_READ = 1 << 20  # tokens read at a time
MAX_TOKENS_PER_SHARD = 1 << 29  # offsets within a file have 32 bits; a token takes up to 4 bytes, its row some more


@dataclass(frozen=True, kw_only=True)
class MdsWriter:
    """Packed rows as MosaicML Streaming reads them, one .mds file per shard and an index.json of all.

    tokens      ndarray of uint16 or uint32, depending on the vocabulary: the row, padding included
    documents   ndarray:int64, the numbers of the documents in the row, in order
    lengths     ndarray:int32, the number of tokens of each in the row; the rest of the row is padding at its end
    offsets     ndarray:int64, how many tokens of the document come before this piece, in other rows

    LLM Foundry's text datasets read `tokens`. Written by the library itself, not compressed, with SHA-256 in the index;
    a worker takes 1.2 GB with 100 M tokens in a file, 0.7 GB with 32 M: files of 64 MB, which also suit an object store
    better.
    """

    extras: ClassVar[tuple[Extra, ...]] = (MDS,)
    suffixes: ClassVar = (".mds",)

    tokens_per_shard: int = 100_000_000  # rounded down to whole rows

    def __post_init__(self) -> None:
        if not 1 <= self.tokens_per_shard <= MAX_TOKENS_PER_SHARD:
            raise RecipeError(f"need tokens_per_shard in 1 to {MAX_TOKENS_PER_SHARD}, got {self.tokens_per_shard}")

    def write_rows(self, packed: PackedRows, files: Mapping[str, Path]) -> WriteFacts:
        """Write the rows of one shard. Raises MissingExtraError if the library is not installed."""
        path = files[".mds"]
        pieces = {"documents": "ndarray:int64", "lengths": "ndarray:int32", "offsets": "ndarray:int64"}
        columns = {"tokens": f"ndarray:{packed.dtype.name}"} | pieces
        with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
            writer = _library()(columns=columns, out=folder, hashes=["sha256"], size_limit=None)
            for sample in _samples(packed):
                writer.write(sample)
            writer.finish()
            (entry,) = writer.shards
            system.replace(Path(folder) / entry["raw_data"]["basename"], path)
        return WriteFacts(entry["samples"], path.stat().st_size, entry)

    def index(self, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, bytes]:
        """The library's index.json of all files."""
        shards = [dict(entry) | {"raw_data": entry["raw_data"] | {"basename": name}} for name, entry in entries.items()]
        return {"index.json": json.dumps({"version": 2, "shards": shards}, sort_keys=True).encode()}


def _samples(packed: PackedRows) -> Iterator[dict[str, Any]]:
    for group in in_groups(packed, max(1, TOKENS_READ // packed.row)):
        for at in range(len(group.edges) - 1):
            piece = slice(group.pieces[at], group.pieces[at + 1])
            yield {
                "tokens": group.tokens[group.edges[at] : group.edges[at + 1]],
                "documents": group.documents[piece],
                "lengths": group.lengths[piece],
                "offsets": group.offsets[piece],
            }


def _library() -> Any:
    try:
        from streaming import MDSWriter
    except ImportError as error:
        raise MDS.error("write/mds") from error
    return MDSWriter


Mds = MdsWriter  # its name before 1.0
