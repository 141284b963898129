"""The stages that find the lines or paragraphs that repeat, and say what to cut out of the documents.

group     a unit a few partitions: how often each piece occurs, which occurrences go, and the most repeated of all
verdicts  a unit a unit of documents: what that makes of each document, and which bytes go

A piece is known by its document and its number there. Where it stands is found again in the text, which the second
stage reads, so no more than 28 bytes a piece travel: hash, document, number, size.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.keys import CUTS, VERDICT, Keys, Signed
from corpusmill.steps.dedup._records import RECORDS, Partition, after, files_of, fingerprint, partitions
from corpusmill.text.buckets import shared
from corpusmill.text.pieces import Pieces, occurrences, piece_hashes, pieces, spans_without
from corpusmill.units import Committed, Stage, Unit, UnitIO, map_arrays

MOST = 100  # of the pieces, those that occur most often are reported
SHOWN = 2000  # characters of each

REPEATS = pa.schema(
    [
        *VERDICT,
        ("repeats", pa.int64()),  # pieces of the document that go, or would but for `mark`
        ("repeated_bytes", pa.int64()),
        ("repeated_share", pa.float64()),  # of the bytes of all its pieces
    ]
)
NONE = {"repeats": 0, "repeated_bytes": 0, "repeated_share": 0.0}
REPEATED = pa.schema(  # the table `repeated`: of each of the most repeated pieces, by the unit of its first occurrence
    [
        ("text", pa.string()),  # as it is there, its first SHOWN characters
        ("occurrences", pa.int64()),
        ("documents", pa.int64()),
        ("bytes", pa.int64()),  # of all occurrences
        ("id", pa.string()),  # of the document
    ]
)


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """What `dedup/line` and `dedup/paragraph` do, with their parameters."""

    of: Literal["lines", "paragraphs"]
    match: str
    min_characters: int
    max_count: int
    keep_first: bool
    min_left: float | None
    mark: bool

    def __post_init__(self) -> None:
        if self.match not in ("text", "folded"):
            raise RecipeError(f'match is "text" or "folded", got "{self.match}"')
        if self.min_characters < 1 or self.max_count < 1:
            raise RecipeError(
                f"need min_characters >= 1 and max_count >= 1, got {self.min_characters} and {self.max_count}; "
                f"`keep_first: false` leaves nothing of what repeats"
            )
        if self.min_left is not None and not 0 < self.min_left <= 1:
            raise RecipeError(f"min_left is a share: need 0 < min_left <= 1, got {self.min_left}")

    def keys(self, texts: pa.LargeStringArray) -> Keys:
        found = pieces(texts, self.of)
        hashes, long = piece_hashes(texts, found, self.match == "folded", self.min_characters)
        chosen = np.flatnonzero(long)
        document, number = numbered(found)
        riders = {
            "low": hashes[chosen, 1],
            "number": number[chosen].astype(np.uint32),
            "bytes": (found.end - found.start)[chosen].astype(np.uint32),
        }
        return Keys(hashes[chosen, :1], documents=document[chosen], riders=riders)

    def stages(self, signed: Signed) -> list[Stage]:
        group, decide = f"{signed.label}-group", f"{signed.label}-verdicts"

        def by_partitions(done: Committed, root: Path) -> list[Unit]:
            files = files_of(signed, done)
            each = sum(len(map_arrays(root / path)["keys"]) for path in files.keys) // signed.slices + 1
            starts = range(0, signed.slices, max(RECORDS // each, 1))
            return [Unit(i, (start, min(start + starts.step, signed.slices), files)) for i, start in enumerate(starts)]

        def by_documents(done: Committed, root: Path) -> list[Unit]:
            files = files_of(signed, done)
            repeats, most = (tuple(c.outputs[name].path for c in done[group]) for name in ("repeats", "most"))
            return [Unit(i, (docs, *files.bases[i : i + 2], repeats, most)) for i, docs in enumerate(files.docs)]

        return [
            Stage(group, fingerprint(signed, "group"), Group(self), after(signed), by_partitions),
            Stage(decide, fingerprint(signed, "decide"), Decide(self), after(signed, group), by_documents),
        ]


def numbered(found: Pieces) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(pieces,) the document of each, and its number there."""
    document = np.repeat(np.arange(len(found.offsets) - 1), np.diff(found.offsets))
    return document, np.arange(len(document)) - found.offsets[document]


@dataclass(frozen=True)
class Group:
    """Unit inputs: first and last + 1 partition, files.

    Output `repeats` has the document and number of every piece that goes, in order; `most` what MOST says.
    """

    repeats: Repeats

    def run(self, unit: Unit, io: UnitIO) -> None:
        parts = partitions(unit, io, ("low", "number", "bytes"))
        gone, most, compared = zip(*((*self.count(part), len(part.keys)) for part in parts))
        documents, number = (np.concatenate(column) for column in zip(*gone))
        order = np.lexsort((number, documents))
        io.write_arrays("repeats", len(order), documents=documents[order], number=number[order])
        io.write_arrays("most", 0, **first_of(most))
        io.facts["compared"] = sum(compared)

    def count(self, part: Partition) -> tuple[tuple[NDArray[np.int64], NDArray[np.uint32]], dict[str, NDArray[Any]]]:
        """(document, number) of the pieces of a partition that go; the most repeated of them."""
        low, number, size = (part.riders[name] for name in ("low", "number", "bytes"))
        low = low.astype(np.uint64)
        bucket, buckets = shared(part.keys ^ low * np.uint64(0x9E3779B97F4A7C15))
        rows = np.flatnonzero(bucket >= 0)
        head = np.zeros(buckets, np.int64)
        head[bucket[rows[::-1]]] = rows[::-1]  # the first, which is assigned last
        same = (part.keys[rows] == part.keys[head[bucket[rows]]]) & (low[rows] == low[head[bucket[rows]]])
        rows = rows[same]
        documents, bucket = part.documents[rows], bucket[rows]
        before, many, different, total = occurrences(bucket, buckets, documents, size[rows].astype(np.int64))
        goes = (many[bucket] > self.repeats.max_count) & (
            (before >= self.repeats.max_count) if self.repeats.keep_first else True
        )
        most = {
            "occurrences": many,
            "bytes": total,
            "high": part.keys[head],
            "low": low[head],
            "different": different,
            "documents": part.documents[head],
            "number": number[head].astype(np.int64),
        }
        return (documents[goes], number[rows][goes].astype(np.uint32)), first_of([most])


def first_of(tables: Any) -> dict[str, NDArray[Any]]:
    """The MOST pieces that occur most often; of equals those with more bytes, then by hash: in any order they came."""
    joined = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    order = np.lexsort((joined["low"], joined["high"], -joined["bytes"], -joined["occurrences"]))[:MOST]
    return {name: column[order] for name, column in joined.items()}


@dataclass(frozen=True)
class Decide:
    """Unit inputs: a file of documents, the numbers of its first and last + 1 document, files of `repeats` and `most`."""

    repeats: Repeats

    def run(self, unit: Unit, io: UnitIO) -> None:
        path, start, stop, repeats, most = unit.inputs
        gone = [within(io.arrays(file), start, stop) for file in repeats]
        documents, number = (np.concatenate(column) for column in zip(*gone))
        order = np.lexsort((number, documents))
        documents, number = documents[order], number[order]
        shown = first_of([io.arrays(file) for file in most])
        own = (shown["documents"] >= start) & (shown["documents"] < stop)
        shown = {name: column[own] for name, column in shown.items()}
        texts: dict[int, tuple[str, str]] = {}  # place in `shown` -> text, id
        for name, schema in (("verdicts", REPEATS), ("cuts", CUTS)):
            io.write(name, pa.RecordBatch.from_pylist([], schema=schema))
        row = start
        batches = io.parquet(path).iter_batches(1024, columns=["id", "text"], use_threads=False)
        for batch in batches if len(documents) or own.any() else ():
            stops = row + len(batch)
            first, last = np.searchsorted(documents, [row, stops])
            asked = np.flatnonzero((shown["documents"] >= row) & (shown["documents"] < stops))
            wanted = np.unique(np.concatenate([documents[first:last], shown["documents"][asked]]))
            if len(wanted):
                taken = batch.take(pa.array(wanted - row))
                found = pieces(taken["text"], self.repeats.of)
                goes = np.zeros(len(found.start), bool)
                goes[found.offsets[np.searchsorted(wanted, documents[first:last])] + number[first:last]] = True
                self.judge(wanted, taken["text"], found, goes, io)
                for i in asked.tolist():
                    at = int(np.searchsorted(wanted, shown["documents"][i]))
                    texts[i] = piece(taken["text"][at], found, at, int(shown["number"][i])), taken["id"][at].as_py()
            row = stops
        columns = [pa.array([texts[i][0] for i in range(len(texts))], pa.string())]
        columns += [pa.array(shown[name], pa.int64()) for name in ("occurrences", "different", "bytes")]
        columns += [pa.array([texts[i][1] for i in range(len(texts))], pa.string())]
        io.write("repeated", pa.record_batch(columns, schema=REPEATED))
        io.facts["repeats"] = len(documents)

    def judge(
        self,
        documents: NDArray[np.int64],
        texts: pa.LargeStringArray,
        found: Pieces,
        goes: NDArray[np.bool_],
        io: UnitIO,
    ) -> None:
        """Write the verdicts and cuts of some documents, of which some have pieces that go."""
        owner, _ = numbered(found)
        size = found.end - found.start
        whole = np.bincount(owner, size, len(documents)).astype(np.int64)
        repeated = np.bincount(owner[goes], size[goes], len(documents)).astype(np.int64)
        some = np.flatnonzero(repeated)
        io.facts["repeated_bytes"] = io.facts.get("repeated_bytes", 0) + int(repeated.sum())
        # What has nothing left is dropped as empty, when it is cut.
        left = whole - repeated
        poor = (left > 0) & (left < (self.repeats.min_left or 0) * whole) & (not self.repeats.mark)
        columns = {
            "document": documents[some],
            "reason": ["min_left" if few else None for few in poor[some].tolist()],
            "repeats": np.bincount(owner[goes], minlength=len(documents))[some],
            "repeated_bytes": repeated[some],
            "repeated_share": repeated[some] / whole[some],
        }
        io.write("verdicts", pa.RecordBatch.from_pydict(columns, schema=REPEATS))
        if not self.repeats.mark:
            spans = spans_without(texts, found, goes)
            columns = {"document": documents[spans[:, 0]], "start": spans[:, 1], "stop": spans[:, 2]}
            io.write("cuts", pa.RecordBatch.from_pydict(columns, schema=CUTS))


def within(arrays: dict[str, NDArray[Any]], start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The part of a unit's `repeats` that is about documents from start to stop."""
    here = slice(*np.searchsorted(arrays["documents"], [start, stop]))
    return arrays["documents"][here], arrays["number"][here].astype(np.int64)


def piece(text: pa.LargeStringScalar, found: Pieces, document: int, number: int) -> str:
    at = found.offsets[document] + number
    raw: bytes = text.as_py().encode()
    return raw[found.start[at] : found.end[at]].decode().strip()[:SHOWN]
