"""Documents as JSON Lines."""

import gzip
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, cast

import orjson
import pyarrow as pa
import zstandard

from corpusmill.errors import RecipeError
from corpusmill.write import COLUMNS, COUNTS, MB_PER_FILE, WriteFacts, check_files

SUFFIXES = {"none": ".jsonl", "gz": ".jsonl.gz", "zst": ".jsonl.zst"}
BLOCK = 1 << 20  # bytes


@dataclass(frozen=True, kw_only=True)
class Jsonl:
    """JSON Lines: one object per document, UTF-8, keys in alphabetical order.

    Keys are id, text, source, url, date and metadata, `tokens` if tokens were counted, and `copies` if a mix decides
    how often each document is drawn; a key whose value is unknown is left out. `metadata` is an object.
    """

    compression: Literal["none", "gz", "zst"] = "zst"
    level: int = 3  # of compression, 1 to 9
    mb_per_file: int = MB_PER_FILE  # megabytes of text, roughly
    single_file: bool = False  # one file for all documents, which one worker writes alone

    def __post_init__(self) -> None:
        check_files(self.mb_per_file)
        if self.compression not in SUFFIXES:
            raise RecipeError(f'compression must be one of {", ".join(SUFFIXES)}, got "{self.compression}"')
        if not 1 <= self.level <= 9:
            raise RecipeError(f"level must be in 1 to 9, got {self.level}")

    @property
    def suffix(self) -> str:
        return SUFFIXES[self.compression]

    def write(self, batches: Iterable[pa.RecordBatch], path: Path) -> WriteFacts:
        """Write the documents of one file."""
        rows = 0
        with path.open("wb") as file, self._compressed(file) as out:
            # Compressors may end a block where a call ends, so all calls but the last get the same number of bytes.
            waiting = bytearray()
            for batch in batches:
                names = [name for name in (*COLUMNS, *COUNTS) if name in batch.schema.names]
                for document in batch.select(names).to_pylist():
                    waiting += _line(document)
                    while len(waiting) >= BLOCK:
                        out.write(waiting[:BLOCK])
                        del waiting[:BLOCK]
                rows += len(batch)
            out.write(waiting)
        return WriteFacts(rows, path.stat().st_size)

    @contextmanager
    def _compressed(self, file: BinaryIO) -> Iterator[BinaryIO]:
        if self.compression == "zst":
            with zstandard.ZstdCompressor(self.level, write_checksum=True).stream_writer(file, closefd=False) as out:
                yield cast(BinaryIO, out)
        elif self.compression == "gz":
            # Not ISA-L, which is faster: its output depends on the processor.
            with gzip.GzipFile("", "wb", self.level, cast(io.BytesIO, file), mtime=0) as out:
                yield cast(BinaryIO, out)
        else:
            yield file


def _line(document: dict[str, object]) -> bytes:
    known = {name: value for name, value in document.items() if value is not None}
    if isinstance(metadata := known.get("metadata"), str):
        known["metadata"] = orjson.loads(metadata)
    return orjson.dumps(known, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
