"""A look at the first records of a few files of each source: can what is in them be read at all?"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa

from corpusmill.display import setting
from corpusmill.errors import CorpusmillError, InputError, RecipeError, StorageError, raised
from corpusmill.read import FilePiece, ReadCounts, content_of, reader_of_records, readers_by_ending
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
    unread_dates, unread_date   documents with something else where their date should be, and the first of that
    broken_texts   documents with bytes that are not in their charset
    lost       reason -> of these, how many that are faults
    skipped    kind -> of these, how many that could not be documents
    """

    batches: list[pa.RecordBatch] = field(default_factory=list)
    files: int = 0
    records: int = 0
    unread_dates: int = 0
    unread_date: str = ""
    broken_texts: int = 0
    lost: dict[str, int] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def documents(self) -> int:
        return sum(map(len, self.batches))

    @property
    def faults(self) -> int:
        return sum(self.lost.values())


def look(
    source: Source, files: Sequence[FileInfo], budget: float, max_files: int = FILES
) -> tuple[SourceSample, list[str]]:
    """The first documents of a few files of a source, and warnings.

    budget   the error budget of the run

    Raises InputError if a file does not fit the parameters of its reader, or cannot be opened; or if no record is a
    document, and more are faults than the budget allows: then the files are of another kind than was said.
    """
    sample = SourceSample()
    chosen = spread([file for file in files if file.size])[:max_files]
    for file in chosen:
        try:
            _read(source, file, sample)
        except StorageError as error:
            raise InputError(str(error)) from error
        except Exception as error:
            if isinstance(error, CorpusmillError) or is_ours(source.reader):
                raise
            raise RecipeError(
                f"{source.source}: {type(source.reader).__name__} fails on {file.path}: {raised(error)}"
            ) from error
    warnings = []
    if sample.unread_dates:
        shown = _printable(sample.unread_date)
        warnings = [
            f"{source.source}: of the first {sample.documents} documents, {sample.unread_dates} have a date that "
            f'cannot be read, such as "{shown}"; it is null'
        ]
    if sample.broken_texts:
        warnings.append(
            f"{source.source}: of the first {sample.documents} documents, {sample.broken_texts} have bytes that are not"
            " in the charset of the source, UTF-8 unless it names another (charset: cp1252); they become U+FFFD"
        )
    if sample.records and sample.records == sum(sample.skipped.values()):
        reader = reader_of_records(sample.skipped)
        hint = f". `{reader}` reads such files" if reader not in ("", short_name(name_of(source.reader))) else ""
        kinds = ", ".join(f"{kind} {count}" for kind, count in sample.skipped.most_common())
        warnings.append(f"{source.source}: of the first {sample.records} records, none is a document: {kinds}{hint}")
    if not sample.faults:
        return sample, warnings
    reason = _printable(next(iter(sample.lost))).rstrip(".")
    allowed = budget if isinstance(budget, int) else budget * sample.records
    if sample.documents or sample.faults <= allowed:
        many = f"{sample.faults} of the first {sample.records} records"
        which = "the first record" if sample.records == 1 else many
        return sample, [*warnings, f"{source.source}: {which} cannot be read: {reason}"]
    which = chosen[0].path if len(chosen) == 1 else f"{chosen[0].path} and {len(chosen) - 1} more files looked into"
    description, reader = content_of(chosen[0])
    if reason.startswith("the file is "):  # an archive, or what nothing here decompresses: it has no records to skip
        again = reason.removeprefix("the file is ") in description
        raise InputError(f"{which}: not one record can be read: {f'it {description}' if again else reason}.")
    used = short_name(name_of(source.reader))
    hint = f" It {description}." if description and reader != used else ""
    if not description and (others := readers_by_ending(chosen[0].path)) and used not in others:
        hint = f" Its ending is one that `{others[0]}` reads."
    if reason.endswith(" is list, not a string"):
        hint += " Write the text of each record, such as its messages, into a column of its own first."
    if reason.endswith(" is dict, not a string"):
        hint += " Name the field within it that holds the text, as in text: body.text."
    raise InputError(
        f"{which}: not one record can be read: {reason}.{hint} To skip such records, use "
        f"{setting('run.error_budget', 1)}."
    )


def is_ours(reader: Any) -> bool:
    """Whether a reader ships with the package."""
    return type(reader).__module__.startswith("corpusmill.")


def _printable(reason: str) -> str:
    """Without what would garble a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in reason)


def _read(source: Source, file: FileInfo, sample: SourceSample) -> None:
    """Look into a file."""
    source.reader.split([file], max(1, file.size))  # checks its columns
    counts = ReadCounts(batch_rows=RECORDS)
    batches = source.reader.read(FilePiece(file, 0, HEAD, min(file.size, HEAD)), source.source, counts)
    if (batch := next(iter(batches), None)) is not None:
        sample.batches.append(batch)
    sample.files += 1
    sample.records += counts.records
    sample.skipped.update(counts.skipped)
    sample.unread_dates += counts.unread_dates
    sample.broken_texts += counts.broken_texts
    sample.unread_date = sample.unread_date or counts.unread_dates_sample
    for letter in counts.letters:
        if not letter["expected"]:
            sample.lost[letter["reason"]] = sample.lost.get(letter["reason"], 0) + 1


def spread(things: Sequence[T]) -> list[T]:
    """The first, the middle and the last one."""
    return [things[at] for at in sorted({0, len(things) // 2, len(things) - 1})] if things else []
