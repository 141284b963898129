"""The output of a run, one format per file; the file's name is the format's name in a recipe.

Document writers (`parquet`, `jsonl`) write text. Row writers (`shards`, `parquet_tokens`, `mds`, `litdata`) write
packed rows, one shard at a time, and token writers (`megatron`) the token ids of whole documents. A writer decides what
is in a file, not where the file is: it is given paths, and the bytes depend on the documents alone, not on how they are
batched.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill import registry
from corpusmill.errors import RecipeError

if TYPE_CHECKING:
    from corpusmill.shards.layout import Entry, Spans

COLUMNS = ("id", "text", "source", "url", "date", "metadata")  # of a written document
MB_PER_FILE = 128  # of text: a file is as much as one unit of a large run
COUNTS = ("tokens", "copies")  # columns that are written if they are known


@dataclass(frozen=True)
class WriteFacts:
    """What was written to a file.

    entry   its entry in an index of the whole folder, as JSON, for writers that make one: see `Indexed`
    """

    rows: int
    bytes: int
    entry: Mapping[str, Any] = field(default_factory=dict)


class PackedRows(Protocol):
    """The rows of one shard: laid out from documents (`shards.pack.Packed`), or read back
    (`shards.token_range.TokenRange`).

    row      tokens in a row; only the last row may be short
    size     tokens in all rows, padding included
    spans    the document of each token
    dtype    uint16 or uint32
    chunks   all tokens in order, `rows` rows at a time
    """

    @property
    def row(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def spans(self) -> "Spans": ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def chunks(self, rows: int) -> Iterator[NDArray[Any]]: ...


class DocumentTokens(NamedTuple):
    """The token ids of some documents, concatenated, each with EOS at its end.

    ids       (tokens,) uint16 or uint32; may be memory-mapped
    lengths   (documents,) tokens of each
    """

    ids: NDArray[Any]
    lengths: NDArray[np.int64]


def check_files(mb_per_file: int) -> None:
    """Raises RecipeError if this parameter of a document writer is invalid."""
    if mb_per_file < 1:
        raise RecipeError(f"need mb_per_file >= 1, got {mb_per_file}")


@runtime_checkable
class DocumentWriter(Protocol):
    """Writes documents to one file.

    suffix    of the file: ".parquet", ".jsonl.zst"
    batches   documents in order, with at least COLUMNS and, if they were counted, `tokens`; give an empty batch if
              there are no documents, so that the columns are known

    The parameters `mb_per_file` and `single_file`, if the writer has them (`SizesFiles`), divide the documents into
    files.
    """

    @property
    def suffix(self) -> str: ...

    def write(self, batches: Iterable[pa.RecordBatch], path: Path) -> WriteFacts: ...


@runtime_checkable
class SizesFiles(Protocol):
    """A writer of documents that says how large its files are; else they have MB_PER_FILE.

    mb_per_file   megabytes of text in a file, roughly
    single_file   all in one file
    """

    @property
    def mb_per_file(self) -> int: ...

    @property
    def single_file(self) -> bool: ...


@runtime_checkable
class RowWriter(Protocol):
    """Writes the rows of one shard.

    tokens_per_shard   at which the stream is cut, for `corpusmill.shards.plan.plan_shards`
    suffixes           of the files of a shard: (".bin", ".idx")
    files              a path for each suffix
    returns            for the native format, the shard's entry in the index; else the facts
    """

    @property
    def tokens_per_shard(self) -> int: ...

    @property
    def suffixes(self) -> tuple[str, ...]: ...

    def write_rows(self, packed: PackedRows, files: Mapping[str, Path]) -> "Entry | WriteFacts": ...


@runtime_checkable
class TokenWriter(Protocol):
    """Writes the token ids of the documents of one shard.

    tokens_per_shard   the stream is cut every so many tokens; a shard has the documents that start in its part, whole
    suffixes, files    as of a RowWriter
    """

    @property
    def tokens_per_shard(self) -> int: ...

    @property
    def suffixes(self) -> tuple[str, ...]: ...

    def write_tokens(self, parts: Iterable[DocumentTokens], files: Mapping[str, Path]) -> WriteFacts: ...


@runtime_checkable
class Indexed(Protocol):
    """A row or token writer whose folder needs an index of all its files.

    entries   file name -> the entry that writing it returned, in order
    returns   file name -> content, of the files to put beside them
    """

    def index(self, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, bytes]: ...


def names() -> list[str]:
    """Every format that ships, as a recipe would write it."""
    return registry.names(__name__)


def find(name: str) -> type[Any]:
    """The class behind a recipe name: `parquet_tokens` is ParquetTokens in parquet_tokens.py, or `my.module:MyWriter`.

    Raises RecipeError if there is none, naming the nearest that exists.
    """
    return registry.find(__name__, name, "writer")
