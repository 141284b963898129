"""Which documents are in which file of text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from corpusmill.engine.work.pass_documents import PassDocuments
from corpusmill.engine.work.pass_results import TEXT_GROUPS
from corpusmill.engine.work.token_files import IDS
from corpusmill.store.units import Results
from corpusmill.write import MB_PER_FILE, DocumentWriter, SizesFiles

MB = 1_000_000  # bytes
UNLIMITED = 1 << 60  # megabytes


@dataclass(frozen=True)
class UnitPart:
    """What a file of text takes from one unit of the last pass: the row groups [first, stop) of its documents."""

    unit: int
    first: int
    stop: int


@dataclass(frozen=True)
class TextFile:
    """A file of text, by the parts that it is made of.

    name   that it gets, for writers that write it into their files
    """

    parts: tuple[UnitPart, ...]
    name: str = ""


class TextFilePart(NamedTuple):
    """A part of a file of text as files: of documents, of their texts (the same file, or another one), and of their
    signals.

    measured   the signals of every pass, in order, where they are written too
    tokens     the files of their tokens and of the ids that these are chosen from, where they are written too
    """

    docs: str
    texts: str
    signals: str
    first: int
    stop: int
    measured: tuple[str, ...] = ()
    tokens: tuple[str, str] | None = None


def megabytes_of(writer: DocumentWriter) -> int:
    """Of text in a file, as the writer's `mb_per_file` and `single_file` say."""
    if isinstance(writer, SizesFiles):
        return UNLIMITED if writer.single_file else writer.mb_per_file
    return MB_PER_FILE


def text_files(megabytes: int, results: Results, note: str = TEXT_GROUPS) -> Iterator[TextFile]:
    """The files of text that are made of the results of a pass, of so many megabytes of text each.

    note   that has the bytes of text in each row group

    A file ends with the row group that brings its text to them; a row group has up to 32 MiB of text.
    """
    waiting: list[UnitPart] = []
    size = 0
    has_file = False
    for unit, noted in enumerate(results.notes[note] if len(results) else ()):
        groups = [int(text) for text in noted.split(",") if text]
        first = 0
        for group, text in enumerate(groups, 1):
            size += text
            if size >= megabytes * MB:
                yield TextFile((*waiting, UnitPart(unit, first, group)))
                has_file, waiting, size, first = True, [], 0, group
        if first < len(groups) or not groups:
            waiting.append(UnitPart(unit, first, len(groups)))
    if any(part.stop for part in waiting) or not has_file:  # units without documents make no file of their own
        yield TextFile(tuple(waiting))


def part_files(
    file: TextFile, results: Mapping[str, Results], before: PassDocuments, passes: Sequence[str] = ()
) -> list[TextFilePart]:
    """The files of a file's parts.

    results   of the stages that `before` names, of `passes`, and of `tokens` if token ids are written
    before    the documents
    passes    whose signals are written
    """
    docs, signals = results[before.stage]["docs"], results[before.stage]["signals"]
    texts = results[before.texts]["docs"]
    measured = [results[stage]["signals"] for stage in passes]
    tokens = (results["tokens"]["tokens"], results[before.texts][IDS]) if "tokens" in results else None
    return [
        TextFilePart(
            docs.path(part.unit),
            texts.path(part.unit),
            signals.path(part.unit),
            part.first,
            part.stop,
            tuple(files.path(part.unit) for files in measured),
            (tokens[0].path(part.unit), tokens[1].path(part.unit)) if tokens else None,
        )
        for part in file.parts
    ]
