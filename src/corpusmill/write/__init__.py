"""The output of a run, one format per file; the file's name is the format's name in a recipe.

Document writers (`parquet`, `jsonl`) write text, `dolma`, `redpajama` and `dclm` in the layouts of these. Row writers
(`shards`, `parquet_tokens`, `mds`, `litdata`) write packed rows, one shard at a time, and token writers (`megatron`,
`olmo`) the token ids of whole documents. `tokenized` writes documents with their token ids. A writer decides what is in
a file, not where the file is: it is given paths, and the bytes depend on the documents alone, not on how they are
batched. In Python, `from corpusmill.write import JsonlWriter`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.assets.registry import Registry
from corpusmill.schema import OWN
from corpusmill.shards.layout import FILE_NAME

if TYPE_CHECKING:
    from corpusmill.shards.layout import DocumentSpans, ShardEntry
    from corpusmill.write._columns import ColumnSelection

PUBLIC = ("DocumentWriter", "RowWriter", "TokenWriter", "WriteFacts", "find", "names")
COLUMNS = ("id", "text", "source", "url", "date", "metadata")  # of a written document
MB_PER_FILE = 128  # of text: a file is as much as one unit of a large run
UNLIMITED = 1 << 60  # tokens
SIGNALS = "signals"  # the column that holds all signals that a writer is asked to write
NOT_PLAIN = re.compile(r"[*?[]")  # what is not itself in a pattern
COUNT_COLUMNS = ("token_count", "copies")  # columns that are written if they are known


@dataclass(frozen=True)
class WriteFacts:
    """What was written to a file.

    entry   its entry in an index of the whole folder, as JSON, for writers that make one: see `Indexed`
    counts  what else is worth a line in the report, as name -> number; summed over all files
    """

    rows: int
    bytes: int
    entry: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


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
    def spans(self) -> "DocumentSpans": ...

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


@runtime_checkable
class DocumentWriter(Protocol):
    """Writes documents to one file.

    suffix    of the file: ".parquet", ".jsonl.zst"
    batches   documents in order, with at least COLUMNS and, if tokens were counted, `token_count`; give an empty
              batch if there are no documents, so that the columns are known

    The parameters `mb_per_file` and `single_file`, if the writer has them (`SizesFiles`), divide the documents into
    files.
    """

    @property
    def suffix(self) -> str: ...

    def write(self, batches: Iterable[pa.RecordBatch], path: Path) -> WriteFacts: ...


@runtime_checkable
class WritesBeside(Protocol):
    """A writer of documents that writes several files of one name, in folders of their own; its `write` writes the
    documents alone.

    places    of the files, that of the documents first: "documents/{}.json.gz", where {} stands for the name
    files     place -> the file to write
    name      that the files get
    """

    @property
    def places(self) -> tuple[str, ...]: ...

    def write_files(self, batches: Iterable[pa.RecordBatch], files: Mapping[str, Path], name: str) -> WriteFacts: ...


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
class NamesFiles(Protocol):
    """A writer that says how its files are named.

    stem   the name without its ending, with {:05d} for the number of the file; None: the number alone
    """

    @property
    def stem(self) -> str | None: ...


@runtime_checkable
class AddsSignals(Protocol):
    """A writer of documents that writes what the steps measured, too.

    selection   its `wanted_signals` are patterns of signals (`language.*`): the batches have these as columns
    """

    @property
    def selection(self) -> "ColumnSelection": ...


@runtime_checkable
class WritesOwnColumns(Protocol):
    """A writer of documents that writes the columns of the input that these keep, where `columns` names no others.

    columns, signals   its parameters
    """

    writes_own_columns: bool
    columns: Any
    signals: tuple[str, ...]


@runtime_checkable
class AddsTokens(Protocol):
    """A writer of documents that writes their token ids, too: the batches have a column `input_ids`, lists of uint16 or
    uint32 with EOS at their ends."""

    adds_tokens: bool


@runtime_checkable
class RowWriter(Protocol):
    """Writes the rows of one shard.

    tokens_per_shard   at which the stream is cut, for `corpusmill.shards.plan.plan_shards`
    suffixes           of the files of a shard: (".bin", ".idx")
    files              a path for each suffix
    needs_rows         if the writer has it, and it is False: the stream of documents can be written without packing,
                       as one row for each shard
    single_file        if the writer has it, and it is True: the stream is not cut
    returns            for the native format, the shard's entry in the index; else the facts
    """

    @property
    def tokens_per_shard(self) -> int: ...

    @property
    def suffixes(self) -> tuple[str, ...]: ...

    def write_rows(self, packed: PackedRows, files: Mapping[str, Path]) -> "ShardEntry | WriteFacts": ...


@runtime_checkable
class NeedsFullRows(Protocol):
    """A row writer for whose files a last row that is not full may be an error.

    full_rows   whether it is
    """

    @property
    def full_rows(self) -> bool: ...


def tokens_per_file(writer: "RowWriter | TokenWriter") -> int:
    """At how many tokens the stream is cut for a writer."""
    return UNLIMITED if getattr(writer, "single_file", False) else writer.tokens_per_shard


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


def file_name(writer: Any, number: int, suffix: str) -> str:
    """The name of one of the files that a writer makes.

    suffix   its ending, or its place with {} for the name

    >>> file_name(None, 7, ".parquet"), file_name(None, 7, "documents/{}.json.gz")
    ('00007.parquet', 'documents/00007.json.gz')
    """
    pattern = writer.stem if isinstance(writer, NamesFiles) else None
    name = (pattern or FILE_NAME).format(number)
    return suffix.format(name) if "{}" in suffix else f"{name}{suffix}"


def matching(patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names that one of the patterns fits, in their own order.

    >>> matching(["url.*", "language.score"], ["language.label", "language.score", "url.domain"])
    ['language.score', 'url.domain']
    """
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]


def own_and_ours(own: pa.Schema, ours: Sequence[str], plain: bool = False) -> tuple[tuple[str, str], ...]:
    """What is written of documents that keep columns of the input: these, and the columns of ours whose names none of
    them has. Of the same name the one of the input is written, but for the text.

    own       those of the input, that of the text of type null, see `corpusmill.read.ColumnTypes`
    plain     columns are names, not patterns of names
    returns   column -> its name, as the parameter `columns` has it
    """

    def column(name: str) -> str:
        return f"{OWN}{name if plain else NOT_PLAIN.sub(lambda found: f'[{found[0]}]', name)}"

    pairs = [("text" if pa.types.is_null(field.type) else column(field.name), field.name) for field in own]
    return (*pairs, *((name, name) for name in ours if name not in own.names))


# Formats that `export` makes of a finished run -> what the run must have written.
EXPORTED = {"nanogpt": "shards", "llmc": "shards", "nanochat": "", "argilla": "", "label_studio": ""}
ADVICE = {
    name: f"{f'Write {needs}, and when' if needs else 'When'} the run is finished: corpusmill export RUN {name} FOLDER"
    for name, needs in EXPORTED.items()
}
REGISTRY = Registry(__name__, "writer", "Writer", advice=ADVICE)
names, find = REGISTRY.names, REGISTRY.find


def __dir__() -> list[str]:
    return sorted([*REGISTRY.classes, *PUBLIC])


if TYPE_CHECKING:
    from corpusmill.write._exported import *  # noqa: F403
else:  # a type checker would take any name for granted
    __getattr__ = REGISTRY.importer()
