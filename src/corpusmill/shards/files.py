"""The files of a folder of training shards, mapped into memory. Needs NumPy and xxhash only."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from corpusmill.errors import ShardError
from corpusmill.shards.layout import DocumentSpans, ShardEntry, ShardIndex, stored


class ShardFiles:
    """A folder of shards and its index; each file is mapped on first use, and stays mapped until `release`.

    Spans and tables are compared with their checksums when they are first used: they are a hundredth of the data.
    Tokens are not: `check_tokens` does that.
    """

    def __init__(self, folder: Path, index: ShardIndex) -> None:
        self.folder = folder
        self.index = index
        self._tokens: dict[int, NDArray[Any]] = {}
        self._spans: dict[int, DocumentSpans] = {}
        self._sound: set[str] = set()

    def __getstate__(self) -> dict[str, Any]:
        """Without what is mapped: another process maps it itself, instead of being sent all tokens."""
        return {**self.__dict__, "_tokens": {}, "_spans": {}}

    def mapped(self, shard: int) -> NDArray[Any]:
        """`tokens` by the position in the index: an entry is made only for what is not mapped yet."""
        tokens = self._tokens.get(shard)
        return self.tokens(self.index.shards[shard]) if tokens is None else tokens

    def runs(self, shard: int) -> DocumentSpans:
        """`spans` by the position in the index."""
        return self._spans.get(shard) or self.spans(self.index.shards[shard])

    def tokens(self, entry: ShardEntry) -> NDArray[Any]:
        """All tokens of a shard, padding included. Raises ShardError if the file is missing, or has another size than
        the index says."""
        if entry.number not in self._tokens:
            path = self.folder / self.index.tokens_name(entry.number)
            self.check_size(entry.number, entry.tokens)
            if not entry.tokens:  # nothing can be mapped
                return np.empty(0, stored(self.index.dtype))
            try:
                mapped = np.memmap(path, stored(self.index.dtype), "r", 0, (entry.tokens,))
            except (OSError, ValueError) as error:
                raise ShardError(f"{path}: cannot be mapped ({error}). Copy the shards again.") from error
            self._tokens[entry.number] = np.asarray(mapped)
        return self._tokens[entry.number]

    def spans(self, entry: ShardEntry) -> DocumentSpans:
        """Which document each token of a shard belongs to. Raises ShardError if the file is damaged."""
        if entry.number not in self._spans:
            name = self.index.spans_name(entry.number)
            spans = DocumentSpans.map(self.folder / name, entry.tokens)
            self._check(name, entry.spans_xxh3_128)
            self._spans[entry.number] = spans
        return self._spans[entry.number]

    def table(self, entry: ShardEntry) -> Path:
        """The table of documents of a shard that has one. Raises ShardError if it is damaged."""
        assert entry.table_xxh3_128 is not None
        name = self.index.table_name(entry.number)
        self._check(name, entry.table_xxh3_128)
        return self.folder / name

    def check_size(self, shard: int, tokens: int) -> None:
        """Raises ShardError unless the file of a shard is there, and has the size of so many tokens."""
        file, width = self.folder / self.index.tokens_name(shard), stored(self.index.dtype).itemsize
        try:
            size = file.stat().st_size
        except (OSError, ValueError) as error:
            raise _missing(file, error) from error
        if size != tokens * width:
            raise ShardError(
                f"{file}: has {size} bytes, the index says {tokens * width} ({tokens} tokens of {width} bytes). It was "
                "truncated or changed; copy it again."
            )

    def check_there(self) -> None:
        """Raises ShardError at the first file of tokens or spans that the folder lacks. Lists the folder, and asks for
        a single file only where the list does not have it: that takes longer."""
        listed: set[str] = set()
        with suppress(OSError), os.scandir(self.folder) as entries:  # may be a folder to read, not to list
            listed = {entry.name for entry in entries}
        for number in range(len(self.index.shards)):
            for name in (self.index.tokens_name(number), self.index.spans_name(number)):
                if name not in listed:
                    try:
                        (self.folder / name).stat()
                    except (OSError, ValueError) as error:
                        raise _missing(self.folder / name, error) from error

    def check_tokens(self, entry: ShardEntry) -> None:
        """Reads all tokens of a shard. Raises ShardError if they are damaged."""
        self._check(self.index.tokens_name(entry.number), entry.tokens_xxh3_128)

    def _check(self, name: str, promised: str) -> None:
        """Raises ShardError unless a file has the checksum that the index promises. Reads a file once."""
        if name in self._sound:
            return
        path = self.folder / name
        try:
            with path.open("rb") as file:  # not the mapped pages, which would count as memory of the process
                actual = hashlib.file_digest(file, xxhash.xxh3_128).hexdigest()
        except OSError as error:
            raise ShardError(f"{path}: {error.strerror}. The index lists it; copy the shards again.") from error
        if actual != promised:
            raise ShardError(
                f"{path}: XXH3-128 is {actual[:12]}…, was written as {promised[:12]}…: it was changed or damaged"
            )
        self._sound.add(name)

    def release(self) -> None:
        """Unmap all files: pages that were read count as memory of the process. They are mapped again on next use."""
        self._tokens.clear()
        self._spans.clear()


def _missing(file: Path, error: OSError | ValueError) -> ShardError:
    why = getattr(error, "strerror", None) or error
    return ShardError(f"{file}: {why}. The index lists it; copy the shards again.")
