"""The duplicates in a sample of the input, as clusters of the pieces of files that it was taken from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.engine.work.pass_parts import VerdictSource
from corpusmill.read import FilePiece
from corpusmill.steps.verdict_tables import UNITS
from corpusmill.storage import printable
from corpusmill.store.unit_io import Upstream

FEW_PIECES, CUT_TO = 8, 16
PRIOR_DOCUMENTS = 30  # documents with copies that are taken to be as long as others, beside those of the sample


@dataclass(frozen=True)
class SampledCopies:
    """
    documents        that came to the steps, of the sample
    dropped          of these, as duplicates of others of the sample
    local            of these, as duplicates of one in the same piece: more pieces do not make these more frequent
    cluster_sizes    (clusters,) in how many pieces each was found
    length           tokens of a document with copies, about, of those of any; copies are seldom as long as all others
    dropped_tokens   the share of tokens in what was dropped. Both are None without a tokenizer
    """

    documents: int
    dropped: int
    local: int
    cluster_sizes: NDArray[np.int64]
    length: float | None
    dropped_tokens: float | None


def copies(files: Upstream, before: str, judged: Sequence[VerdictSource], pieces: Sequence[FilePiece]) -> SampledCopies:
    """What corpus steps that follow each other found among the documents of the pass `before`.

    pieces   of files, that the sample was taken from
    """
    docs = files.results(before)["docs"]
    columns = ["id", "file", "position", "tokens"]
    table = pa.concat_tables([files.table(docs.path(unit), columns) for unit in range(len(docs))])
    ids = table["id"].cast(pa.string()).combine_chunks()
    kept_instead = np.arange(len(ids))
    starts = docs.starts
    for judge in judged:
        if "duplicate_of" not in judge.step.verdict.names:
            continue
        verdicts = files.results(judge.stage)
        first = np.append(0, np.cumsum(verdicts.numbers(UNITS)))  # unit of the pass of each table
        for part in range(len(verdicts)):
            rows = files.table(verdicts["verdicts"].path(part), ["document", "reason", "duplicate_of"])
            offsets = files.arrays(verdicts["slices"].path(part))["offsets"]
            unit = first[part] + np.searchsorted(offsets, np.arange(len(rows)), "right") - 1
            number = rows["document"].to_numpy() + starts[unit]
            head = pc.index_in(rows["duplicate_of"].combine_chunks(), ids)
            chosen = rows["reason"].is_valid().to_numpy() & head.is_valid().to_numpy(zero_copy_only=False)
            kept_instead[number[chosen]] = pc.fill_null(head, 0).to_numpy(zero_copy_only=False)[chosen]
    while not np.array_equal(deeper := kept_instead[kept_instead], kept_instead):
        kept_instead = deeper
    piece = pieces_of(table["file"].cast(pa.string()).combine_chunks(), table["position"].to_numpy(), pieces)
    pairs = np.unique(kept_instead * (int(piece.max(initial=0)) + 1) + piece)
    cluster_sizes = np.unique(pairs // (int(piece.max(initial=0)) + 1), return_counts=True)[1]
    is_dropped = kept_instead != np.arange(len(ids))
    tokens = pc.fill_null(table["tokens"], 0).to_numpy().astype(np.float64)
    length = dropped_tokens = None
    if tokens.any():
        with_copies = np.bincount(kept_instead, minlength=len(ids))[kept_instead] > 1
        many = float(tokens[with_copies].sum() / tokens.mean())  # as many documents of usual length
        length = (many + PRIOR_DOCUMENTS) / (int(with_copies.sum()) + PRIOR_DOCUMENTS)
        dropped_tokens = float(tokens[is_dropped].sum() / tokens.sum())
    return SampledCopies(len(ids), int(is_dropped.sum()), len(ids) - len(pairs), cluster_sizes, length, dropped_tokens)


def pieces_of(file: pa.Array, position: NDArray[np.int64], pieces: Sequence[FilePiece]) -> NDArray[np.int64]:
    """(documents,) the piece that each was read from, neighbours in the input one after another.

    Pieces of bytes tell it by themselves. Of others (row groups) files are cut at the widest gaps between positions, as
    many as there are pieces. Where there are few, each file is cut into runs of equally many documents instead.
    """
    if len(pieces) >= FEW_PIECES and all(_is_of_bytes(piece) for piece in pieces):
        return _by_bytes(file, position, pieces)
    return _by_gaps(file, position, len(pieces))


def _is_of_bytes(piece: FilePiece) -> bool:
    return min(piece.stop, piece.file.size) - piece.start == piece.size


def _by_bytes(file: pa.Array, position: NDArray[np.int64], pieces: Sequence[FilePiece]) -> NDArray[np.int64]:
    starts: dict[str, list[int]] = {}
    for piece in sorted(pieces, key=lambda piece: (piece.file.path, piece.start)):
        starts.setdefault(printable(piece.file.path), []).append(piece.start)
    number = np.zeros(len(file), np.int64)
    coded = file.dictionary_encode()
    at = dict(zip(coded.dictionary.to_pylist(), range(len(coded.dictionary))))
    codes = coded.indices.to_numpy(zero_copy_only=False)
    before = 0
    for name, begins in starts.items():
        if name in at:
            in_file = codes == at[name]
            number[in_file] = before + np.maximum(np.searchsorted(begins, position[in_file], "right") - 1, 0)
        before += len(begins)
    return number


def _by_gaps(file: pa.Array, position: NDArray[np.int64], pieces: int) -> NDArray[np.int64]:
    names = file.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    order = np.lexsort((position, names))
    sorted_names = names[order]
    first = np.append(True, sorted_names[1:] != sorted_names[:-1])
    if pieces < FEW_PIECES:
        begins = first.copy()
        begins[:: max(1, len(order) // CUT_TO)] = True
    else:
        gaps = np.append(0, np.diff(position[order].astype(np.float64)))
        gaps[first] = np.inf
        begins = first.copy()
        begins[np.argsort(-gaps, kind="stable")[: max(pieces, int(first.sum()))]] = True
    piece = np.empty(len(order), np.int64)
    piece[order] = np.cumsum(begins) - 1
    return piece
