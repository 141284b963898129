"""How input files become units of the first pass.

A unit has at most so many megabytes of text, and half as many at least. They are estimated: bytes of a file times how
much its kind expands, which is measured on a sample. How many follows from the input alone and never from the number of
workers, so that the same input makes the same files: `unit_mb` where there is enough text for LEAST_UNITS of that size,
else a half of it, a quarter, and so on, and never less than SMALLEST.

Units are cut so that one file more or less moves only its neighbourhood: a file of half a unit or more is in no unit
with others, and smaller ones are grouped up to a file whose name's hash says so (content-defined chunking:
Muthitacharoen et al. 2001, "A Low-bandwidth Network File System", section 3.1). What is left between two such ends may
be smaller.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import xxhash

from corpusmill.engine.work.pass_parts import InputPieces, SourcePieces
from corpusmill.errors import InputError
from corpusmill.read import ChoosesFiles, FilePiece, SelectsRecords, dataset_files, expansion, files_at, is_dataset
from corpusmill.recipe.parts import Source
from corpusmill.storage import FileInfo, PassedOver, is_in, is_outside, refuse_alike, selected
from corpusmill.store.work import PlannedUnit

MEGABYTE = 1 << 20
LEAST_UNITS = 24  # of full size, so some 32 as they come, where the text is enough for that many of SMALLEST
SMALLEST = 8 * MEGABYTE  # of text, so none is below 4: there the work around a unit shows
STEP = 2  # from one size of units to the next smaller
SAMPLE = 8  # files of each kind on which expansion is measured
GROUP = 4  # a group of small files ends after one in so many, once it is large enough


@dataclass(frozen=True)
class SourceFiles:
    """The files of a source.

    expands       suffix -> how many bytes of text a byte of such a file gives, to the nearest half power of two
    passed_over   in a sentence, what is in its folders or fits its patterns and is not read; "" if all is
    """

    files: tuple[FileInfo, ...]
    expands: dict[str, float]
    passed_over: str = ""

    def text(self, file: FileInfo) -> float:
        """Bytes of text in a file, about."""
        return file.size * self.expands[suffix(file.name)]

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(file.size for file in self.files)

    @property
    def text_size(self) -> float:
        """Bytes of text in all files, about."""
        return sum(map(self.text, self.files))


NOTHING = SourceFiles((), {})


def find_inputs(sources: Sequence[Source]) -> tuple[SourceFiles, ...]:
    """The files of every source. Raises InputError if one has none, or if two inputs differ in secrets alone."""
    refuse_alike(path for source in sources for path in source.paths)
    return tuple(map(find_source, sources))


def find_source(source: Source) -> SourceFiles:
    """The files of a source. Raises InputError if it has none."""
    passed_over = PassedOver()
    files = files_of(source, passed_over)
    if (expands := getattr(source.reader, "expands", None)) is not None:
        return SourceFiles(files, dict.fromkeys((suffix(file.name) for file in files), expands), str(passed_over))
    return replace(measured(files), passed_over=str(passed_over))


def files_of(source: Source, passed_over: PassedOver | None = None) -> tuple[FileInfo, ...]:
    """The files of a source, in order, of which nothing is read. Raises InputError if it has none.

    passed_over   gets what is there and is not read, but what the source excludes
    """
    passed_over = PassedOver() if passed_over is None else passed_over
    suffixes = source.reader.suffixes if isinstance(source.reader, ChoosesFiles) else ()
    file_at: dict[str, FileInfo] = {}
    selects = isinstance(source.reader, SelectsRecords)  # which finds the files of a data set by their lists
    of_parts = [p for p in source.paths if (is_dataset(p) and not selects) or source.subset or source.split]
    if places := [path for path in source.paths if path not in of_parts]:
        file_at |= {file.path: file for file in selected(files_at(source.reader, places, passed_over), source.root)}
    for path in of_parts:
        file_at |= {file.path: file for file in dataset_files(path, source.subset, source.split, suffixes, passed_over)}
    passed_over.leave(lambda path: path in file_at or any(is_in(path, pattern) for pattern in source.exclude))
    included = selected(sorted(file_at.values(), key=lambda file: file.name), exclude=source.exclude)
    if not included:
        raise InputError(f"exclude leaves out all {len(file_at)} files of {source.source}: {', '.join(source.exclude)}")
    # Whatever is outside of the root comes after what is inside, so that it is no earlier copy of that.
    return tuple(sorted(included, key=lambda file: is_outside(file.name)) if source.root else included)


def measured(files: tuple[FileInfo, ...]) -> SourceFiles:
    kinds: dict[str, list[FileInfo]] = {}
    for file in files:
        kinds.setdefault(suffix(file.name), []).append(file)
    return SourceFiles(files, {kind: _expands(group) for kind, group in kinds.items()})


def suffix(name: str) -> str:
    """The ending of a file's name, with that of its compression: ".warc.gz".

    >>> suffix("CC-MAIN-2024/segment.00012.warc.gz"), suffix("README")
    ('.warc.gz', '')
    """
    parts = name.rpartition("/")[2].split(".")[1:]
    endings = [part for part in parts[-2:] if part.isalnum() and not part.isdigit() and len(part) <= 8]
    return "".join(f".{part}" for part in endings)


def _expands(files: Sequence[FileInfo]) -> float:
    """Measured on the files with the lowest hashes of their names: a file more seldom changes which these are."""
    nonempty = [file for file in files if file.size]
    chosen = sorted(nonempty, key=lambda file: xxhash.xxh3_64_intdigest(file.name.encode("utf-8", "surrogateescape")))
    ratios = [expansion(file) for file in chosen[:SAMPLE]]
    ratio = sum(ratios) / len(ratios) if ratios else 1.0
    return float(2 ** (round(2 * math.log2(max(ratio, 1e-3))) / 2))


def unit_bytes(inputs: Sequence[SourceFiles], unit_mb: int) -> int:
    """Bytes of text in a unit, at most."""
    text = sum(source.text_size for source in inputs)
    size = unit_mb * MEGABYTE
    while size > SMALLEST and text < size * LEAST_UNITS:
        size = max(size // STEP, min(SMALLEST, size))
    return size


def plan_inputs(
    sources: Sequence[Source], inputs: Sequence[SourceFiles], unit_mb: int, whole_sources: bool = False
) -> Iterator[PlannedUnit]:
    """The units of the first pass, in order of sources, files and positions.

    whole_sources   one unit for each source, because it counts documents from its beginning, see `limited`
    """
    target = unit_bytes(inputs, unit_mb)
    pieces = [
        (index, piece, source.expands[suffix(piece.file.name)])
        for index, (reading, source) in enumerate(zip(sources, inputs))
        for piece in split(reading.reader, source, target)
    ]
    groups = _by_source(pieces) if whole_sources else grouped(pieces, target)
    for group in groups:
        yield planned(sources, group)


def _by_source(pieces: Sequence[tuple[int, FilePiece, float]]) -> Iterator[list[tuple[int, FilePiece]]]:
    for _, group in groupby(pieces, key=itemgetter(0)):
        yield [(index, piece) for index, piece, _ in group]


def split(reader: Any, source: SourceFiles, target: int) -> Iterator[FilePiece]:
    """The pieces of a source's files, each of about `target` bytes of text where files can be cut."""
    at = 0
    files = source.files
    while at < len(files):  # neighbours of one kind at a time: a reader looks at the first of its files more closely
        kind = suffix(files[at].name)
        stop = at
        while stop < len(files) and suffix(files[stop].name) == kind:
            stop += 1
        yield from reader.split(files[at:stop], max(1, int(target / source.expands[kind])))
        at = stop


def grouped(pieces: Sequence[tuple[int, FilePiece, float]], target: int) -> Iterator[list[tuple[int, FilePiece]]]:
    """Pieces of about `target` bytes of text together. `pieces` are source, piece, and how much its kind expands."""
    waiting: list[tuple[int, FilePiece]] = []
    size = 0.0
    for index, piece, expands in pieces:
        text = piece.size * expands
        large = text >= target / 2
        if waiting and (large or size + text > target):
            yield waiting
            waiting, size = [], 0.0
        waiting.append((index, piece))
        size += text
        if large or (size >= target / 2 and _ends_group(piece)):
            yield waiting
            waiting, size = [], 0.0
    if waiting:
        yield waiting


def _ends_group(piece: FilePiece) -> bool:
    return xxhash.xxh3_64_intdigest(piece.file.name.encode("utf-8", "surrogateescape")) % GROUP == 0


def planned(sources: Sequence[Source], group: Sequence[tuple[int, FilePiece]]) -> PlannedUnit:
    """A unit of the first pass. Its content is that of its files, by size and by date or the store's mark."""
    parts: list[SourcePieces] = []
    for index, piece in group:
        if parts and parts[-1].source == index:
            parts[-1] = SourcePieces(index, (*parts[-1].pieces, piece))
        else:
            parts.append(SourcePieces(index, (piece,)))
    content = [
        f"{sources[index].source}\0{piece.file.path}\0{piece.file.name}\0{piece.file.size}\0{piece.file.fingerprint}"
        f"\0{piece.start}:{piece.stop}"
        for index, piece in group
    ]
    return PlannedUnit(InputPieces(tuple(parts)), tuple(content))
