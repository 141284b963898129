"""What a run leaves behind, one format a file; the file's name is its name in a recipe.

Writers of documents (`parquet`, `jsonl`) make one file of each unit. Writers of rows (`shards`, `parquet_tokens`) make
files of each training shard. A writer says what stands in a file, not where the file is: it is given paths, and the
bytes depend on the documents alone, not on the batches in which they came.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import pyarrow as pa

from corpusmill.errors import RecipeError, did_you_mean, own_class

if TYPE_CHECKING:
    from corpusmill.shards.layout import Entry
    from corpusmill.shards.pack import Packed

COLUMNS = ("id", "text", "source", "url", "date", "metadata")  # of a document, as it is written


@dataclass(frozen=True)
class WriteFacts:
    """What stands in a file that was written."""

    rows: int
    bytes: int


@runtime_checkable
class DocumentWriter(Protocol):
    """Writes the documents of one unit to one file.

    suffix    of the file: ".parquet", ".jsonl.zst"
    batches   documents in order, with at least COLUMNS and, if they were counted, `tokens`; give an empty batch where
              there are no documents, so that their columns are known
    """

    @property
    def suffix(self) -> str: ...

    def write(self, batches: Iterable[pa.RecordBatch], path: Path) -> WriteFacts: ...


@runtime_checkable
class RowWriter(Protocol):
    """Writes the rows of one shard.

    tokens_per_shard   where the stream is cut, for `corpusmill.shards.plan.plan_shards`
    suffixes           of the files that a shard makes: (".bin", ".idx")
    files              a path for each suffix
    returns            the shard's entry in an index for a writer of the native format, else the facts
    """

    @property
    def tokens_per_shard(self) -> int: ...

    @property
    def suffixes(self) -> tuple[str, ...]: ...

    def write_rows(self, packed: "Packed", files: Mapping[str, Path]) -> "Entry | WriteFacts": ...


def names() -> list[str]:
    """Every format that ships, as a recipe would write it."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def find(name: str) -> type[Any]:
    """The class behind a recipe name: `parquet_tokens` is ParquetTokens in parquet_tokens.py, or `my.module:MyWriter`.

    Raises RecipeError if there is none, naming the nearest that exists.
    """
    if ":" in name:
        return own_class(name, "writer")
    if name not in names():
        raise RecipeError(
            f'there is no format "{name}" to write{did_you_mean(name, names()) or "."} There are: {", ".join(names())}.'
        )
    found = getattr(importlib.import_module(f"{__name__}.{name}"), "".join(part.title() for part in name.split("_")))
    assert isinstance(found, type)
    return found
