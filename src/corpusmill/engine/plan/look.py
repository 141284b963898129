"""A look at the first records of a few files of each source: can what is in them be read at all?"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa

from corpusmill.errors import CorpusmillError, InputError, RecipeError, StorageError, raised
from corpusmill.read import FilePiece, ReadCounts, content_of
from corpusmill.recipe.names import name_of, short_name
from corpusmill.recipe.parts import Source
from corpusmill.storage import FileInfo

FILES = 3  # of a source: the first, the middle and the last
MANY = 100  # sources, of which only the first file of each is looked into
RECORDS = 16  # documents of each file, about
HEAD = 1 << 20  # bytes of each file in which they begin
T = TypeVar("T")


@dataclass
class SourceSample:
    """What was seen of a source.

    batches    the first documents of each file
    files      that were looked into
    records    in them
    lost       reason -> of these, how many that are faults
    """

    batches: list[pa.RecordBatch] = field(default_factory=list)
    files: int = 0
    records: int = 0
    lost: dict[str, int] = field(default_factory=dict)

    @property
    def documents(self) -> int:
        return sum(map(len, self.batches))

    @property
    def faults(self) -> int:
        return sum(self.lost.values())


def look(source: Source, files: Sequence[FileInfo], budget: float, most: int = FILES) -> tuple[SourceSample, list[str]]:
    """The first documents of a few files of a source, and warnings.

    budget   the error budget of the run

    Raises InputError if a file does not fit the parameters of its reader, or cannot be opened; or if no record is a
    document, and more are faults than the budget allows: then the files are of another kind than was said.
    """
    seen = SourceSample()
    chosen = spread([file for file in files if file.size])[:most]
    for file in chosen:
        try:
            _read(source, file, seen)
        except StorageError as error:
            raise InputError(str(error)) from error
        except Exception as error:
            if isinstance(error, CorpusmillError) or is_ours(source.reader):
                raise
            raise RecipeError(
                f"{source.source}: {type(source.reader).__name__} fails on {file.path}: {raised(error)}"
            ) from error
    if not seen.faults:
        return seen, []
    reason = _printable(next(iter(seen.lost))).rstrip(".")
    allowed = budget if isinstance(budget, int) else budget * seen.records
    if seen.documents or seen.faults <= allowed:
        some = "it" if seen.records == 1 else f"{seen.faults} of them"
        first = "the first record" if seen.records == 1 else f"the first {seen.records} records"
        return seen, [f"{source.source}: of {first}, {some} cannot be read: {reason}"]
    which = chosen[0].path if len(chosen) == 1 else f"{chosen[0].path} and {len(chosen) - 1} more files looked into"
    what, reader = content_of(chosen[0])
    hint = f" It {what}." if what and reader != short_name(name_of(source.reader)) else ""
    raise InputError(
        f"{which}: not one record can be read: {reason}.{hint} If they are to be passed over, "
        "--set run.error_budget=1 allows it."
    )


def is_ours(reader: Any) -> bool:
    """Whether a reader ships with the package."""
    return type(reader).__module__.startswith("corpusmill.")


def _printable(reason: str) -> str:
    """Without what would garble a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in reason)


def _read(source: Source, file: FileInfo, seen: SourceSample) -> None:
    """Look into a file."""
    source.reader.split([file], max(1, file.size))  # checks its columns
    counts = ReadCounts(batch_rows=RECORDS)
    batches = source.reader.read(FilePiece(file, 0, HEAD, min(file.size, HEAD)), source.source, counts)
    if (batch := next(iter(batches), None)) is not None:
        seen.batches.append(batch)
    seen.files += 1
    seen.records += counts.records
    for letter in counts.letters:
        if not letter["expected"]:
            seen.lost[letter["reason"]] = seen.lost.get(letter["reason"], 0) + 1


def spread(things: Sequence[T]) -> list[T]:
    """The first, the middle and the last one."""
    return [things[at] for at in sorted({0, len(things) // 2, len(things) - 1})] if things else []
