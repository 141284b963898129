"""The stages that find the lines or paragraphs that repeat, and say what to cut out of the documents.

group     a unit is a few partitions: how often each piece occurs, which occurrences are cut, and the most repeated of
          all
verdicts  a unit is a file of documents: what that makes of each document, and which bytes are cut

A piece is known by its document and its number there. Where it stands is found again in the text, which the second
stage reads, so no more than 28 bytes a piece travel: hash, document, number, size.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.corpus import (
    RECORDS,
    DocumentFile,
    Partition,
    PartitionRange,
    after,
    digest,
    key_files,
    partitions,
    ranges,
)
from corpusmill.steps.keys import CUTS, VERDICT, Keys, KeyStage
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.work import PlannedUnit, Stage
from corpusmill.text.buckets import shared
from corpusmill.text.pieces import TextPieces, occurrences, piece_hashes, pieces, spans_without

MAX_REPORTED = 100  # pieces: those that occur most often
MAX_CHARACTERS = 2000  # that are reported of each

REPEATS = pa.schema(
    [
        *VERDICT,
        ("repeats", pa.int64()),  # pieces of the document that are cut, or would be but for `mark`
        ("repeated_bytes", pa.int64()),
        ("repeated_share", pa.float64()),  # of the bytes of all its pieces
    ]
)
REPEATED = pa.schema(  # the table `repeated`: of each of the most repeated pieces, by the unit of its first occurrence
    [
        ("text", pa.string()),  # as it is there, its first MAX_CHARACTERS characters
        ("occurrences", pa.int64()),
        ("documents", pa.int64()),
        ("bytes", pa.int64()),  # of all occurrences
        ("id", pa.string()),  # of the document
    ]
)


@dataclass(frozen=True, kw_only=True)
class CutsRepeats:
    """What `dedup/line` and `dedup/paragraph` have in common: all but the kind of piece."""

    kind: ClassVar[Literal["lines", "paragraphs"]]
    key_parameters: ClassVar[tuple[str, ...]] = ("match", "min_characters")
    needs: ClassVar[tuple[str, ...]] = ()
    verdict: ClassVar[pa.Schema] = REPEATS
    default_signals: ClassVar[Mapping[str, Any]] = {"repeats": 0, "repeated_bytes": 0, "repeated_share": 0.0}
    reads_text: ClassVar[bool] = True
    cuts: ClassVar[bool] = True

    match: Literal["text", "folded"] = "folded"  # without case, punctuation, accents …, or as it is
    min_characters: int = 30  # shorter ones are never removed
    max_count: int = 1  # how many copies are kept in the whole corpus
    keep_first: bool = True  # keep these copies; false removes all copies
    min_left: float | None = None  # share of the bytes of all lines or paragraphs
    mark: bool = False

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

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        parts = pieces(docs["text"], self.kind)
        hashes, long = piece_hashes(docs["text"], parts, self.match == "folded", self.min_characters)
        chosen = np.flatnonzero(long)
        document, number = document_and_number(parts)
        payload = {
            "low": hashes[chosen, 1],
            "number": number[chosen].astype(np.uint32),
            "bytes": (parts.end - parts.start)[chosen].astype(np.uint32),
        }
        return Keys(hashes[chosen, :1], documents=document[chosen], payload=payload)

    def stages(self, keys: KeyStage) -> list[Stage]:
        group = f"{keys.label}-group"

        def by_partitions(upstream: Upstream) -> list[PlannedUnit]:
            records = int(upstream.results(keys.stage).numbers(keys.output).sum())
            per_partition = records // keys.partitions_per_band + 1
            return ranges(keys, upstream, keys.partitions_per_band, RECORDS // per_partition)

        def by_documents(upstream: Upstream) -> list[PlannedUnit]:
            docs = upstream.results(keys.stage)["docs"]
            counted = [digest(upstream.results(group)[name]) for name in ("repeats", "most")]
            starts = docs.starts.tolist()
            return [
                PlannedUnit(DocumentFile(i), (docs.checksum(i), *counted, f"{starts[i]}:{starts[i + 1]}"))
                for i in range(len(docs))
            ]

        return [
            Stage(group, RepeatGroups(keys, self), after(keys), by_partitions),
            Stage(f"{keys.label}-verdicts", RepeatVerdicts(keys, self), after(keys, group), by_documents),
        ]


def document_and_number(parts: TextPieces) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(pieces,) the document of each, and its number there."""
    document = np.repeat(np.arange(len(parts.offsets) - 1), np.diff(parts.offsets))
    return document, np.arange(len(document)) - parts.offsets[document]


@dataclass(frozen=True)
class RepeatGroups:
    """Output `repeats` has the document and number of every piece that is cut, in order; `most` those that
    occur most often."""

    keys: KeyStage
    step: CutsRepeats

    def run(self, inputs: PartitionRange, io: UnitIO) -> None:
        parts = partitions(inputs, key_files(self.keys, io), io, ("low", "number", "bytes"))
        cut, top, compared = zip(*((*self.count(part), len(part.keys)) for part in parts))
        documents, number = (np.concatenate(column) for column in zip(*cut))
        order = np.lexsort((number, documents))
        io.write_arrays("repeats", len(order), documents=documents[order], number=number[order])
        io.write_arrays("most", 0, **first_of(top))
        io.facts["compared"] = sum(compared)

    def count(self, part: Partition) -> tuple[tuple[NDArray[np.int64], NDArray[np.uint32]], dict[str, NDArray[Any]]]:
        """(document, number) of the pieces of a partition that are cut; the most repeated of them."""
        low, number, size = (part.payload[name] for name in ("low", "number", "bytes"))
        low = low.astype(np.uint64)
        bucket, buckets = shared(part.keys ^ low * np.uint64(0x9E3779B97F4A7C15))
        rows = np.flatnonzero(bucket >= 0)
        head = np.zeros(buckets, np.int64)
        head[bucket[rows[::-1]]] = rows[::-1]  # the first, which is assigned last
        same = (part.keys[rows] == part.keys[head[bucket[rows]]]) & (low[rows] == low[head[bucket[rows]]])
        rows = rows[same]
        documents, bucket = part.documents[rows], bucket[rows]
        before, count, different, total = occurrences(bucket, buckets, documents, size[rows].astype(np.int64))
        cut = (count[bucket] > self.step.max_count) & (
            (before >= self.step.max_count) if self.step.keep_first else True
        )
        statistics = {
            "occurrences": count,
            "bytes": total,
            "high": part.keys[head],
            "low": low[head],
            "different": different,
            "documents": part.documents[head],
            "number": number[head].astype(np.int64),
        }
        return (documents[cut], number[rows][cut].astype(np.uint32)), first_of([statistics])


def first_of(tables: Any) -> dict[str, NDArray[Any]]:
    """The MAX_REPORTED pieces that occur most often; of equals those with more bytes, then by hash."""
    joined = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    order = np.lexsort((joined["low"], joined["high"], -joined["bytes"], -joined["occurrences"]))[:MAX_REPORTED]
    return {name: column[order] for name, column in joined.items()}


@dataclass(frozen=True)
class RepeatVerdicts:
    keys: KeyStage
    step: CutsRepeats

    def run(self, inputs: DocumentFile, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        path = files.docs[inputs.number]
        start, stop = files.starts[inputs.number : inputs.number + 2].tolist()
        counted = io.results(f"{self.keys.label}-group")
        repeats, top = (counted[name].paths.to_pylist() for name in ("repeats", "most"))
        cut = [cut_pieces(io.arrays(file), start, stop) for file in repeats]
        documents, number = (np.concatenate(column) for column in zip(*cut))
        order = np.lexsort((number, documents))
        documents, number = documents[order], number[order]
        reported = first_of([{name: column.copy() for name, column in io.arrays(file).items()} for file in top])
        own = (reported["documents"] >= start) & (reported["documents"] < stop)
        reported = {name: column[own] for name, column in reported.items()}
        texts: dict[int, tuple[str, str]] = {}  # row of `reported` -> text, id
        for name, schema in (("verdicts", REPEATS), ("cuts", CUTS)):
            io.write(name, pa.RecordBatch.from_pylist([], schema=schema))
        row = start
        batches = io.parquet(path).iter_batches(1024, columns=["id", "text"], use_threads=False)
        for batch in batches if len(documents) or own.any() else ():
            end = row + len(batch)
            first, last = np.searchsorted(documents, [row, end])
            rows = np.flatnonzero((reported["documents"] >= row) & (reported["documents"] < end))
            needed = np.unique(np.concatenate([documents[first:last], reported["documents"][rows]]))
            if len(needed):
                docs = batch.take(pa.array(needed - row))
                parts = pieces(docs["text"], self.step.kind)
                is_cut = np.zeros(len(parts.start), bool)
                is_cut[parts.offsets[np.searchsorted(needed, documents[first:last])] + number[first:last]] = True
                self.judge(needed - start, docs["text"], parts, is_cut, io)
                for i in rows.tolist():
                    at = int(np.searchsorted(needed, reported["documents"][i]))
                    texts[i] = piece(docs["text"][at], parts, at, int(reported["number"][i])), docs["id"][at].as_py()
            row = end
        columns = [pa.array([texts[i][0] for i in range(len(texts))], pa.string())]
        columns += [pa.array(reported[name], pa.int64()) for name in ("occurrences", "different", "bytes")]
        columns += [pa.array([texts[i][1] for i in range(len(texts))], pa.string())]
        io.write("repeated", pa.record_batch(columns, schema=REPEATED))
        io.facts["repeats"] = len(documents)

    def judge(
        self,
        documents: NDArray[np.int64],
        texts: pa.LargeStringArray,
        parts: TextPieces,
        is_cut: NDArray[np.bool_],
        io: UnitIO,
    ) -> None:
        """Write the verdicts and cuts of some documents of the unit, of which some have pieces that are cut."""
        owner, _ = document_and_number(parts)
        size = parts.end - parts.start
        total = np.bincount(owner, size, len(documents)).astype(np.int64)
        repeated = np.bincount(owner[is_cut], size[is_cut], len(documents)).astype(np.int64)
        rows = np.flatnonzero(repeated)
        io.facts["repeated_bytes"] = io.facts.get("repeated_bytes", 0) + int(repeated.sum())
        # A document of which nothing is left is dropped as empty, when it is cut.
        remaining = total - repeated
        short = (remaining > 0) & (remaining < (self.step.min_left or 0) * total) & (not self.step.mark)
        columns = {
            "document": documents[rows],
            "reason": ["min_left" if is_short else None for is_short in short[rows].tolist()],
            "repeats": np.bincount(owner[is_cut], minlength=len(documents))[rows],
            "repeated_bytes": repeated[rows],
            "repeated_share": repeated[rows] / total[rows],
        }
        io.write("verdicts", pa.RecordBatch.from_pydict(columns, schema=REPEATS))
        if not self.step.mark:
            spans = spans_without(texts, parts, is_cut)
            columns = {"document": documents[spans[:, 0]], "start": spans[:, 1], "stop": spans[:, 2]}
            io.write("cuts", pa.RecordBatch.from_pydict(columns, schema=CUTS))


def cut_pieces(
    arrays: Mapping[str, NDArray[Any]], start: int, stop: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The part of a unit's `repeats` that is about documents from start to stop; copied, so that the file is closed."""
    rows = slice(*np.searchsorted(arrays["documents"], [start, stop]))
    return arrays["documents"][rows].copy(), arrays["number"][rows].astype(np.int64)


def piece(text: pa.LargeStringScalar, parts: TextPieces, document: int, number: int) -> str:
    at = parts.offsets[document] + number
    raw: bytes = text.as_py().encode()
    return raw[parts.start[at] : parts.end[at]].decode().strip()[:MAX_CHARACTERS]
