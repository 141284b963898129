"""Packed rows for LitData (the extra `litdata`)."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from corpusmill import system
from corpusmill.assets.extras import LITDATA, Extra
from corpusmill.errors import RecipeError, ShardError
from corpusmill.write import PackedRows, WriteFacts
from corpusmill.write._rows import in_groups

TOKENS_READ = 1 << 20  # tokens read at a time
MAX_TOKENS_PER_SHARD = 1 << 29  # tokens: offsets within a file have 32 bits, and a token takes up to 4 bytes


@dataclass(frozen=True, kw_only=True)
class LitdataWriter:
    """Packed rows as LitData and LitGPT read them, one .bin file per shard and an index.json of all.

    `StreamingDataset(folder, item_loader=TokensLoader(block_size=…))` gives the rows, if the block size is the length
    of a row; it leaves out a last row that is not full, so let `pack/concat` fill it. Ids are uint16 if every id of the
    vocabulary fits, else int32. Only EOS marks where documents end. Written by the library itself, not compressed; a
    worker takes 1.2 GB with 100 M tokens in a file, 0.7 GB with 32 M.
    """

    extras: ClassVar[tuple[Extra, ...]] = (LITDATA,)
    suffixes: ClassVar = (".bin",)

    tokens_per_shard: int = 100_000_000  # rounded down to whole rows

    def __post_init__(self) -> None:
        if not 1 <= self.tokens_per_shard <= MAX_TOKENS_PER_SHARD:
            raise RecipeError(f"need tokens_per_shard in 1 to {MAX_TOKENS_PER_SHARD}, got {self.tokens_per_shard}")

    def write_rows(self, packed: PackedRows, files: Mapping[str, Path]) -> WriteFacts:
        """Write the rows of one shard. Raises MissingExtraError if the library is not installed."""
        path = files[".bin"]
        writer_of, loader_of, tensor = _library()
        ids = "uint16" if packed.dtype.itemsize == 2 else "int32"  # PyTorch hardly supports uint32
        with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
            writer = writer_of(folder, chunk_size=packed.size, item_loader=loader_of(packed.row))
            number = 0
            for group in in_groups(packed, max(1, TOKENS_READ // packed.row)):
                tokens = tensor(group.tokens.astype(ids))
                for low, high in zip(group.edges[:-1].tolist(), group.edges[1:].tolist()):
                    writer.add_item(number, tokens[low:high])
                    number += 1
            writer.done()
            index_record = json.loads(next(Path(folder).glob("*index.json")).read_bytes())
            if len(index_record["chunks"]) != 1:
                raise ShardError(
                    f"{path}: LitData made {len(index_record['chunks'])} files of one shard; please report this."
                )
            entry = {"chunk": index_record["chunks"][0], "config": index_record["config"]}
            system.replace(Path(folder) / entry["chunk"]["filename"], path)
        return WriteFacts(number, path.stat().st_size, entry)

    def index(self, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, bytes]:
        """The library's index.json of all files; none of no files, as the library opens no such index.

        `updated_at`, by which a reader's cache sees that it is stale, is a hash of the content and not the time.
        """
        if not entries:
            return {}
        chunks = [entry["chunk"] | {"filename": name} for name, entry in entries.items()]
        sizes = {entry["config"]["chunk_size"] for entry in entries.values()}
        config = next(iter(entries.values()))["config"] | {"chunk_size": max(sizes)}
        content = json.dumps([chunks, config], sort_keys=True)
        record = {"chunks": chunks, "config": config, "updated_at": hashlib.sha256(content.encode()).hexdigest()[:16]}
        return {"index.json": json.dumps(record, sort_keys=True).encode()}


def _library() -> tuple[Any, Any, Any]:
    """The classes of the writer and the token loader, and a function that makes a tensor."""
    try:
        from litdata.streaming.item_loader import TokensLoader
        from litdata.streaming.writer import BinaryWriter
        from torch import from_numpy
    except ImportError as error:
        raise LITDATA.error("write/litdata") from error
    return BinaryWriter, TokensLoader, from_numpy


Litdata = LitdataWriter  # its name before 1.0
