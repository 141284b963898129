"""The documents of a finished run by what may be changed of it: their source, their bucket, the stages that drop them.

A run knows of every document which filters of its pass drop it, the first one and all others; so a document comes back
where all of these are left out. Of later passes it knows nothing then: a document that comes back is not deduplicated.
Its text is the one that came to the step that dropped it. One of which a step leaves no text does not come back.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import InputError
from corpusmill.report.tables import RunTables
from corpusmill.schema import CANARY
from corpusmill.steps.annotate.bucket import Bucket
from corpusmill.text.components import join, roots
from corpusmill.text.hashing import hash64
from corpusmill.text.shingles import Shingling
from corpusmill.text.sketch import EMPTY, band_keys, similarity, sketch
from corpusmill.text.splitmix64 import chance, mix64

GROUPS = 8  # of documents; each is an experiment of its own
HELD_OUT = 0.2  # the share of near-duplicate clusters that no model reads
ROWS = 4096  # documents in memory at a time, beside those that are drawn
MAX_BUCKETS = 10  # groups of neighbouring buckets that are distinguished
SHINGLES = Shingling(5, "words")
LANES, BANDS = 64, 16
NEAR = 0.5  # the share of equal lanes from which on two documents are near-duplicates
SKETCHED = 16 << 20  # bytes of text at a time
MIX_STEPS = "corpusmill.steps.mix."  # they draw documents, which here the design does
NO_BUCKET = -1
EMPTIED = r"\.empty(,|$)"  # among the reasons of a document of which a step leaves no text
DIGITS = 8  # of the bound of ids below which texts of dropped documents are stored


class Cell(NamedTuple):
    """Documents that share a fate.

    source   of the recipe
    bucket   a group of neighbouring buckets; NO_BUCKET for none
    drops    the stages that drop them; none of what the run keeps
    """

    source: str
    bucket: int
    drops: frozenset[str]


@dataclass(frozen=True)
class DocumentSample:
    """A random sample of the documents of a run, or all.

    texts    (documents,)
    cells    of `cell`
    cell     (documents,) the number of a cell; -1: text of the user's to judge models by
    target   (documents,) the number of the text that models are judged by that a document belongs to; -1: none. It is
             the source of what the run keeps, or one of the user's
    targets  their names
    share    of the run's documents that were drawn, about
    buckets  words for each group of buckets
    """

    texts: pa.LargeStringArray
    cells: tuple[Cell, ...]
    cell: NDArray[np.int32]
    target: NDArray[np.int32]
    targets: tuple[str, ...]
    share: float
    buckets: tuple[str, ...]


def draw(
    tables: RunTables, targets: Sequence[str], own: Mapping[str, pa.LargeStringArray], limit: int
) -> DocumentSample:
    """Documents of a finished run, about `limit` bytes of text at most, by a hash of their ids.

    targets   sources by whose text models are judged
    own       name -> text of the user's to judge by

    Raises ResumeError if the run is not finished, InputError if it has no documents.
    """
    files = tables.files
    flow = files.waterfall()
    total = max(flow.rows[0].bytes_in if flow.rows else limit, 1)
    below = files.texts_below  # "" where no texts of dropped documents are stored, and stages cannot be measured
    stored = int(below, 16) / 16**DIGITS if below else 1.0
    share = min(1.0, limit / total)
    mixes = {label for label, step in tables.steps.items() if type(step).__module__.startswith(MIX_STEPS)}
    parts: list[pa.RecordBatch] = []
    for batch in _batches(tables):
        chosen = chance(hash64(batch["id"].cast(pa.large_string()))) < share / max(stored, share)
        if below:  # others have texts for another reason than chance
            chosen &= pc.less(batch["id"], pa.scalar(below, pa.string())).to_numpy(zero_copy_only=False)
        usable = pc.and_(pc.greater(pc.fill_null(pc.binary_length(batch["text"]), 0), 0), _is_corpus(batch))
        chosen &= usable.to_numpy(zero_copy_only=False)
        parts.append(batch.filter(pa.array(chosen)))
    if not any(map(len, parts)):
        raise _nothing_kept(tables)
    drawn = pa.Table.from_batches(parts)
    words, bucket = _buckets(tables, drawn["id"])
    drops = [_drops(why, mixes) for why in drawn["reasons"].to_pylist()]
    cells = [Cell(*each) for each in zip(drawn["source"].to_pylist(), bucket, drops)]
    different = sorted(set(cells), key=lambda cell: (*cell[:2], sorted(cell.drops)))
    if all(cell.drops for cell in different):
        raise _nothing_kept(tables)
    number_of = {cell: number for number, cell in enumerate(different)}
    cell = np.array([number_of[cell] for cell in cells], np.int32)
    targeted = (targets.index(cell.source) if not cell.drops and cell.source in targets else -1 for cell in different)
    target = [np.fromiter(targeted, np.int32)[cell]]
    texts = [part["text"].cast(pa.large_string()) for part in parts]
    for number, text in enumerate(own.values(), len(targets)):
        texts.append(text)
        target.append(np.full(len(text), number, np.int32))
    everything = pa.chunked_array(texts, pa.large_string()).combine_chunks()
    cell = np.append(cell, np.full(len(everything) - len(cell), -1, np.int32))
    return DocumentSample(
        everything, tuple(different), cell, np.concatenate(target), (*targets, *own), min(share, stored), tuple(words)
    )


def _nothing_kept(tables: RunTables) -> InputError:
    return InputError(f"{tables.folder}: the run keeps no documents, so there is nothing to train models on")


def _batches(tables: RunTables) -> Iterator[pa.RecordBatch]:
    """The documents of a run with all that drops them, null for those that are kept."""
    files = tables.files
    columns = ["id", "source", "text"]
    for number in range(len(files.passes)):
        yield from files.documents("dropped", number, [*columns, "reasons"], ROWS)
    for batch in files.documents("docs", len(files.passes) - 1, columns, ROWS):
        yield batch.append_column("reasons", pa.nulls(len(batch), pa.string()))


def _is_corpus(batch: pa.RecordBatch) -> pa.Array:
    """(documents,) which are no canaries, and have not lost their text."""
    emptied = pc.match_substring_regex(pc.fill_null(batch["reasons"], ""), EMPTIED)
    return pc.and_not(pc.not_equal(batch["source"], CANARY), emptied)


def _drops(reasons: str | None, mixes: set[str]) -> frozenset[str]:
    """
    >>> sorted(_drops("c4.curly_bracket,fineweb.max_short_lines,fineweb.min_lines", set()))
    ['c4', 'fineweb']
    """
    labels = {reason.rpartition(".")[0] for reason in (reasons or "").split(",") if reason}
    return frozenset(labels - mixes)


def _buckets(tables: RunTables, ids: pa.ChunkedArray) -> tuple[list[str], list[int]]:
    """Words for each group of neighbouring buckets, and the group of each of these documents. NO_BUCKET without
    annotate/bucket, or if a document did not come to it."""
    steps = ((label, step) for label, step in tables.steps.items() if isinstance(step, Bucket))
    label, step = next(steps, ("", None))
    if step is None:
        return [], [NO_BUCKET] * len(ids)
    name = f"{label}.bucket"
    number = next(i for i in range(len(tables.passes)) if name in tables.columns(i))
    groups = min(step.buckets, MAX_BUCKETS)
    group = np.full(len(ids), NO_BUCKET)
    values = ids.combine_chunks()
    for batch in tables.batches("signals", number, ["id", name]):
        places = pc.index_in(batch["id"], values)
        rows = pc.and_(pc.is_valid(places), pc.is_valid(batch[name]))
        bucket = batch[name].filter(rows).to_numpy(zero_copy_only=False)
        group[places.filter(rows).to_numpy(zero_copy_only=False)] = bucket * groups // step.buckets
    edges = [-(-i * step.buckets // groups) for i in range(groups + 1)]
    ranges = [f"{low}" if high - low == 1 else f"{low} to {high - 1}" for low, high in pairwise(edges)]
    return [f"{label} {each}" for each in ranges], group.tolist()


def near_duplicates(texts: pa.LargeStringArray) -> NDArray[np.uint64]:
    """(documents,) a number that near-duplicates share: the least hash of a text among them.

    Documents are near-duplicates if NEAR of LANES lanes of their MinHash sketches of 5 words are equal, or if both are
    near-duplicates of a third one. A document without words is one of equal texts alone.
    """
    lengths = pc.binary_length(texts).to_numpy()
    edges = np.searchsorted(np.cumsum(lengths), np.arange(SKETCHED, int(lengths.sum()) + SKETCHED, SKETCHED))
    edges = np.unique(np.concatenate([[0], edges, [len(texts)]]))
    slices = [texts.slice(start, stop - start) for start, stop in pairwise(edges)]
    sketches = np.concatenate([sketch(*SHINGLES.hashes(part), LANES) for part in slices])
    parent = np.arange(len(texts), dtype=np.int32)
    with_words = np.flatnonzero(sketches[:, 0] != EMPTY)
    keys = band_keys(sketches[with_words], BANDS)
    for band in range(BANDS):
        order = np.argsort(keys[:, band], kind="stable")
        first = np.flatnonzero(np.append(True, np.diff(keys[order, band]) != 0))
        head = with_words[order[np.repeat(first, np.diff(np.append(first, len(order))))]]
        members = with_words[order]
        pairs = np.flatnonzero(head != members)
        close = pairs[similarity(sketches[head[pairs]], sketches[members[pairs]]) >= NEAR]
        join(parent, head[close], members[close])
    root = roots(parent)
    hashes = hash64(texts)
    least = hashes.copy()
    np.minimum.at(least, root, hashes)
    shared: NDArray[np.uint64] = least[root]
    return shared


@dataclass(frozen=True)
class Sides:
    """Which documents are an experiment's own, and which of these no model reads.

    group      (documents,) of GROUPS, by a hash of the near-duplicates that a document belongs to
    held_out   (documents,) those that models may be judged by
    train      (documents,) those that they may read: no near-duplicates of the others
    order      (documents,) in which they are drawn, a random number; near-duplicates follow each other
    """

    group: NDArray[np.int64]
    held_out: NDArray[np.bool_]
    train: NDArray[np.bool_]
    order: NDArray[np.float64]


def sides(documents: DocumentSample, seed: int) -> Sides:
    keys = near_duplicates(documents.texts)
    group, side, order = (chance(keys ^ mix64(np.array([3 * seed + i], np.uint64))) for i in range(3))
    is_own = documents.cell < 0
    judged = (side < HELD_OUT) | np.isin(keys, keys[is_own], kind="sort")
    held_out = (is_own | judged) & (documents.target >= 0)
    return Sides((group * GROUPS).astype(np.int64), held_out, ~judged, order)


def about(documents: DocumentSample) -> dict[str, Any]:
    """Bytes of text by source and by stage that drops it, of what was drawn."""
    sizes = pc.binary_length(documents.texts).to_numpy()
    amounts = np.bincount(documents.cell[documents.cell >= 0], sizes[documents.cell >= 0], len(documents.cells))
    sources: dict[str, int] = {}
    stages: dict[str, int] = {}
    buckets: dict[int, int] = {}
    for cell, amount in zip(documents.cells, amounts.astype(int).tolist()):
        if not cell.drops:
            sources[cell.source] = sources.get(cell.source, 0) + amount
            buckets[cell.bucket] = buckets.get(cell.bucket, 0) + amount
        for label in sorted(cell.drops):
            stages[label] = stages.get(label, 0) + amount
    return {"sources": sources, "stages": stages, "buckets": buckets}
