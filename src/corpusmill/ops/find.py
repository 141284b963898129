"""Find passages in the texts that a run kept: how often, in which documents, and when training sees them.

The index is made at the first question, in RUN/find, and again only of what has changed in the run.
"""

import bisect
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpusmill import execute
from corpusmill.engine.drive.carry_out import carry_out
from corpusmill.engine.drive.listener import ProgressListener, Silent
from corpusmill.engine.drive.session import Session
from corpusmill.errors import InputError
from corpusmill.execute import cpus
from corpusmill.loader import Served, TokenLoader
from corpusmill.loader.stages import StageLoader
from corpusmill.ops.kernels import preloaded, warm_kernels
from corpusmill.ops.text_index import DOCUMENTS, INDEX, ORIGIN_COLUMNS, STAGE, index_plan
from corpusmill.recipe.canaries import SOURCE
from corpusmill.report.run_files import RunFiles
from corpusmill.storage import make_dir
from corpusmill.store.arrays import map_arrays
from corpusmill.store.locks import only_driver
from corpusmill.store.run_folder import CANARIES_RECORD, TRAINING_RECORD, RunFolder
from corpusmill.store.tables import read_table
from corpusmill.text import suffixes
from corpusmill.text.suffixes import DEPTH, ENTRY_KINDS, LETTER, Suffixes

INDEX_FOLDER = "find"
CONTEXT_BYTES = 60  # bytes on each side of a passage that are shown
ALL_OCCURRENCES = 1 << 40  # occurrences: all of them
MIN_SPAN_WORDS = 8  # of a span that is worth telling, at least


@dataclass(frozen=True)
class Occurrence:
    """A place where a passage is.

    id, source, url, file, position   of the document
    offset                            of the passage in its text, in bytes of UTF-8
    before, after                     up to CONTEXT_BYTES bytes of text around it
    """

    id: str
    source: str
    url: str | None
    file: str
    position: int
    offset: int
    before: str
    after: str


@dataclass(frozen=True)
class PassageMatch:
    """A passage in the texts of a run.

    count         how often it occurs; occurrences may overlap
    documents     how many have it
    occurrences   the first ones, in the order of the run
    """

    passage: str
    count: int
    documents: int
    occurrences: tuple[Occurrence, ...]


@dataclass(frozen=True)
class CopiedSpan:
    """A part of a longer text that occurs in a run, and that no longer part of the text at this place does.

    start, stop   in the text, in characters
    """

    start: int
    stop: int
    text: str
    count: int


class _IndexUnit(NamedTuple):
    """A unit of the index. `start` is where each of its documents begins in the text."""

    suffixes: Suffixes
    start: NDArray[np.int64]
    documents: Path


class TextIndex:
    """The texts that a finished run kept, indexed. Files are mapped: memory does not grow with the run.

    run        its folder, on a local disk
    workers    that make the index, if it is not there
    listener   is told how far that is

    Raises InputError if there is no run, or it is not local; ResumeError if it is not finished.
    """

    def __init__(
        self,
        run: str | os.PathLike[str] | RunFolder,
        workers: int | None = None,
        listener: ProgressListener | None = None,
    ) -> None:
        files = RunFiles(run)
        files.must_be_finished()
        self.run = RunFolder(str(files.folder.path.resolve()))
        last = files.passes[-1][0]
        plan = index_plan(files.recipe, self.run, files.stages[last], files.stages[files.texts_of(last)])
        self.folder = RunFolder(str(self.run.path / INDEX_FOLDER))
        make_dir(self.folder.place)
        listener = listener or Silent()
        warm_kernels(listener, (suffixes.__name__,))
        begin = execute.find("processes").start
        with closing(begin(workers or cpus.usable(), preloaded())) as executor, only_driver(self.folder):
            self._results = carry_out(Session(self.folder, plan, executor, listener)).results[STAGE]

    @property
    def documents(self) -> int:
        return int(self._results[INDEX].rows.sum())

    @property
    def text_bytes(self) -> int:
        return sum(int(block.start[-1]) - len(block.start) for block in self._blocks)

    @property
    def index_bytes(self) -> int:
        """How large the index is on disk."""
        return self._results.bytes

    @property
    def cpu_seconds(self) -> float:
        """That making the index took, of all processors together; also if it was made earlier."""
        return float(self._results.cpu.sum())

    def find(self, passage: str, most: int = 10) -> PassageMatch:
        """Where a passage occurs, byte for byte.

        most   occurrences that are returned; all are counted

        Raises InputError if the passage is empty.
        """
        encoded = _encoded(passage)
        count = documents = 0
        first: list[Occurrence] = []
        for block, places in self._places(encoded):
            count += len(places)
            places.sort()
            rows = np.searchsorted(block.start, places, "right") - 1
            documents += len(np.unique(rows))
            if len(first) < most:
                first += _occurrences(block, places[: most - len(first)], rows, len(encoded))
        return PassageMatch(passage, count, documents, tuple(first))

    def count(self, passage: str) -> int:
        """How often a passage occurs; occurrences may overlap."""
        return sum(len(places) for _, places in self._places(_encoded(passage)))

    def ids(self, passage: str) -> list[str]:
        """The ids of all documents that have a passage, in the order of the run."""
        ids: list[str] = []
        for block, places in self._places(_encoded(passage)):
            rows = np.unique(np.searchsorted(block.start, places, "right") - 1)
            ids += read_table(block.documents, columns=["id"])["id"].take(rows).to_pylist()
        return ids

    def spans(self, text: str, words: int = MIN_SPAN_WORDS) -> list[CopiedSpan]:
        """The longest parts of a text that occur in the run, from beginning to end of words: none is within another
        one. They may overlap.

        words   of a span, at least

        Source: Liu et al. 2025 (OLMoTrace), arXiv:2504.07096, section 3: maximal matching spans.
        """
        encoded = text.encode()
        kinds = ENTRY_KINDS[np.frombuffer(encoded, np.uint8)]
        spans: list[CopiedSpan] = []
        reached = 0
        for start in sorted({0, *suffixes.entries_within(encoded)}):
            stop = _whole_words(kinds, start, start + self._shared(encoded[start:]))
            part = encoded[start:stop]
            if stop > reached and len(part.split()) >= words:
                reached = stop
                shown = part.decode()
                begin = len(encoded[:start].decode())
                spans.append(CopiedSpan(begin, begin + len(shown), shown, self.count(shown)))
        return spans

    @cached_property
    def _blocks(self) -> list[_IndexUnit]:
        blocks = []
        for unit in range(len(self._results)):
            arrays = map_arrays(self.folder.file(self._results[INDEX].path(unit)))
            documents = self.folder.file(self._results[DOCUMENTS].path(unit))
            sorted_texts = Suffixes(**{name: arrays[name] for name in Suffixes._fields})
            blocks.append(_IndexUnit(sorted_texts, arrays["start"], documents))
        return blocks

    def _places(self, encoded: bytes) -> Iterator[tuple[_IndexUnit, NDArray[np.int64]]]:
        """Where each block has a passage, in no order."""
        at = suffixes.entries_within(encoded)
        if not at:
            for block in self._blocks:
                yield block, _within_runs(block.suffixes, encoded)
            return
        candidates = {
            offset: [suffixes.matches(block.suffixes, encoded[offset:]) for block in self._blocks] for offset in at[:16]
        }
        best = min(candidates, key=lambda offset: sum(stop - first for first, stop in candidates[offset]))
        for block, (first, stop) in zip(self._blocks, candidates[best]):
            yield block, suffixes.confirmed(block.suffixes, first, stop, encoded, best).astype(np.int64)

    def _shared(self, text: bytes) -> int:
        """How many of the first bytes of a text occur somewhere. The text begins where a word does."""
        shared = max((suffixes.shared(block.suffixes, text) for block in self._blocks), default=0)
        if shared < DEPTH:
            return shared
        # Longer than what is sorted: twice as long, as long as all of it occurs.
        longest = bisect.bisect_left(range(DEPTH, len(text) + 1), True, key=lambda size: not self._has(text[:size]))
        return DEPTH + longest - 1

    def _has(self, part: bytes) -> bool:
        return any(len(places) for _, places in self._places(part))


@dataclass(frozen=True)
class FoundCanary:
    """A string that a run planted, found again in the texts that it kept.

    copies      documents that the recipe asks for; `planted`: those that were put in, by their ids
    found       of these, the documents that have the string
    count       how often it occurs in the run, and
    elsewhere   how often outside of the planted documents: what was in the input before
    offsets     id -> byte of the string in the document
    """

    name: str
    text: str
    copies: int
    source: str | None
    planted: tuple[str, ...]
    found: tuple[str, ...]
    count: int
    elsewhere: int
    offsets: Mapping[str, int]

    @property
    def is_whole(self) -> bool:
        """Whether every copy that the recipe asks for is there."""
        return len(self.found) == self.copies


def find_canaries(index: TextIndex) -> list[FoundCanary]:
    """The canaries of a run, as its manifest has them, each found again.

    Raises InputError if the run has planted none.
    """
    record = index.run.read(CANARIES_RECORD)
    if record is None:
        raise InputError(f"{index.run.place}: the run has planted nothing: its recipe has no canary.")
    canaries = []
    for canary in record["canaries"]:
        planted = tuple(document["id"] for document in canary["documents"])
        match = index.find(canary["text"], ALL_OCCURRENCES)
        own = [hit for hit in match.occurrences if hit.id in set(planted) and hit.source == SOURCE]
        offsets = {hit.id: hit.offset for hit in reversed(own)}
        ids = tuple(id for id in planted if id in offsets)
        about = (canary["name"], canary["text"], canary["copies"], canary["source"])
        canaries.append(FoundCanary(*about, planted, ids, match.count, match.count - len(own), offsets))
    return canaries


def served(run: str | os.PathLike[str] | RunFolder, ids: Collection[str], **settings: Any) -> dict[str, list[Served]]:
    """id -> the batches that hold some of the document, in order of steps; none of one that is not in the shards.

    settings   of the TokenLoader; of `epochs`, one if not given. A run with stages of training says itself how they are
               read: of `seed` and `world` alone

    Raises InputError if the run has no shards.
    """
    files = RunFiles(run)
    if files.folder.is_local and files.folder.read(TRAINING_RECORD):
        return StageLoader(files.folder.path, settings.get("seed", 0), 0, settings.get("world", 1)).served(ids)
    if files.shards is None:
        raise InputError(f"{files.folder.place}: the run wrote no training shards, so no training step has served it.")
    epochs = settings.pop("epochs", None)  # to look at: the training goes on after them
    loader = TokenLoader(files.shards, **settings)
    numbers = loader.shards[0].numbers_of(ids)
    return {doc_id: loader.served(numbers.get(doc_id, ()), epochs=epochs) for doc_id in ids}


def _encoded(passage: str) -> bytes:
    try:
        encoded = passage.encode()
    except UnicodeEncodeError:
        raise InputError(f"a passage is valid Unicode text; got {passage!a:.200}") from None
    if not encoded:
        raise InputError("the passage to find is empty.")
    return encoded


def _within_runs(block: Suffixes, encoded: bytes) -> NDArray[np.int64]:
    runs, offsets = suffixes.within_runs(block, encoded)
    first, stop = (block.run_first[runs + end].astype(np.int64) for end in (0, 1))
    sizes = stop - first
    which = np.repeat(first - np.append(0, np.cumsum(sizes)[:-1]), sizes) + np.arange(sizes.sum())
    places: NDArray[np.int64] = block.sorted[which].astype(np.int64) + np.repeat(offsets, sizes)
    return places


def _occurrences(block: _IndexUnit, places: NDArray[np.int64], rows: NDArray[np.int64], size: int) -> list[Occurrence]:
    """Occurrences at places in order; `rows` are their documents, and may be more."""
    doc_rows = rows[: len(places)]
    about = read_table(block.documents, columns=list(ORIGIN_COLUMNS)).take(doc_rows).to_pylist()
    text = block.suffixes.text
    occurrences = []
    for position, row, record in zip(places.tolist(), doc_rows.tolist(), about):
        start, stop = int(block.start[row]), int(block.start[row + 1]) - 1
        before = bytes(text[max(position - CONTEXT_BYTES, start) : position])
        after = bytes(text[position + size : min(position + size + CONTEXT_BYTES, stop)])
        shown = [part.decode("utf-8", "ignore") for part in (before, after)]
        occurrences.append(Occurrence(**record, offset=position - start, before=shown[0], after=shown[1]))
    return occurrences


def _whole_words(kinds: NDArray[np.uint8], start: int, stop: int) -> int:
    """The last end of a word that is not behind `stop`."""
    while start < stop < len(kinds) and kinds[stop] == LETTER and kinds[stop - 1] == LETTER:
        stop -= 1
    return stop
