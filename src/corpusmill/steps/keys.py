"""What a step that sees the whole corpus is given: keys of documents, never the documents."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

FORMAT = 4  # changes with the files of keys, and with the keys that a step makes of a text: others cannot be compared
ROW_BITS = 24  # of a record of 64, for the row of its document; the others are the top bits of its key
MOST_ROWS = 1 << ROW_BITS


@dataclass(frozen=True)
class Keys:
    """The keys of a batch of documents.

    bands      (records, bands) uint64: records that share a key of a band are brought together
    arrays     by name, (documents, …): what is needed to judge documents then
    documents  (records,) the row of each record's document, rising, where a document has more records than one or none;
               None where row and record are the same
    payload    by name, (records,): what accompanies each key
    short      whether the top 40 bits of a key suffice: those who share them are compared by other means
    """

    bands: NDArray[np.uint64]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    documents: NDArray[np.int64] | None = None
    payload: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    short: bool = False


def laid_out(
    keys: NDArray[np.uint64], rows: NDArray[np.uint32], short: bool, documents: int
) -> dict[str, NDArray[Any]]:
    """The arrays in which a file of so many documents has its keys and their rows, see `KeyStage`."""
    if not short:
        return {"keys": keys, "row": rows}
    if documents > MOST_ROWS:
        return {"keys": without_row(keys), "row": rows}
    return {"records": records(keys, rows)}


def keyed(arrays: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    """The names of these in a file."""
    return ("records",) if "records" in arrays else ("keys", "row")


def keys_and_rows(
    arrays: Mapping[str, NDArray[Any]], read: Callable[[str], NDArray[Any]]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """(records,) uint64 and uint32, of what is read of the arrays of a file."""
    if "records" not in arrays:
        return read("keys"), read("row")
    packed = read("records")
    return without_row(packed), row_of(packed)


def records(keys: NDArray[np.uint64], rows: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """(records,) a key without its last ROW_BITS bits and a row of as many, in 64 bits."""
    return without_row(keys) | rows


def without_row(records: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """(records,) keys of which the last ROW_BITS bits are 0."""
    return records & np.uint64(2**64 - (1 << ROW_BITS))


def row_of(records: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """(records,) the row of each."""
    return (records & np.uint64((1 << ROW_BITS) - 1)).astype(np.uint32)


APPLIES = "applies"  # an array by document of a step for some sources: false for documents of the others


def of_some(keys: Keys, applies: NDArray[np.bool_]) -> Keys:
    """The keys of those documents of a batch that a step is for, as keys of the batch: the others have no records, and
    zeros in the arrays.

    applies   (documents,) of the batch; `keys` are of those where it is true, in their order
    """
    rows = np.flatnonzero(applies)
    documents = np.arange(len(rows)) if keys.documents is None else keys.documents
    arrays: dict[str, NDArray[Any]] = {APPLIES: applies}
    for name, values in keys.arrays.items():
        arrays[name] = np.zeros((len(applies), *values.shape[1:]), values.dtype)
        arrays[name][rows] = values
    return Keys(keys.bands, arrays, rows[documents], keys.payload, keys.short)


@dataclass(frozen=True)
class KeyFile:
    """Keys of documents that were kept by an earlier run.

    keys    full name of a file as `KeyStage` describes it
    docs    full name of the file of documents that the keys belong to, row by row
    kept    full name of the file of those of them that were kept to the end of that run; None: all
    rows    documents in `docs`
    """

    keys: str
    docs: str
    kept: str | None
    rows: int


@dataclass(frozen=True)
class EarlierKeys:
    """What earlier runs kept: documents that precede all of this run, and are never dropped.

    content   of all that the files hold, as a fingerprint: where they are does not count
    """

    files: tuple[KeyFile, ...] = ()
    content: str = ""

    def __bool__(self) -> bool:
        return bool(self.files)

    @property
    def filtered(self) -> bool:
        """Whether the files have documents that were not kept to the end."""
        return any(file.kept for file in self.files)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def identity(self) -> str:
        return self.content


@dataclass(frozen=True)
class KeyStage:
    """Where the keys of a corpus step are, for the step to plan its stages.

    stage      the pass that wrote them
    label      the step's label; the keys are the pass's output `keys-<label>`: arrays `offsets`, (partitions + 1,);
               `keys`, `row` and payload, (records,), partition by partition; and what is by document. In place of
               `keys` and `row` short keys are in `records` with the row, 8 bytes instead of 12, if their documents are
               not too many for that (`ROW_BITS`). `partitions` says
               into how many partitions each band is cut, `payload` which of the arrays are payload. The pass notes how
               many records each unit has under the same name
    partitions_per_band
               a power of two. The files of some units may be cut otherwise: those of earlier runs, and those that were
               made when the corpus was smaller
    excluded   the verdict stages of corpus steps before this one on the same keys: what they drop is not looked at
    earlier    what earlier runs kept
    sources    the names of all sources of the recipe, in order
    special_tokens_per_document
               tokens that begin and end each document, beside those of its text
    """

    stage: str
    label: str
    partitions_per_band: int
    excluded: tuple[str, ...]
    earlier: EarlierKeys = field(default_factory=EarlierKeys)
    sources: tuple[str, ...] = ()
    special_tokens_per_document: int = 1

    @property
    def output(self) -> str:
        return f"keys-{self.label}"


# The table of verdicts: `document` and `reason` of every step; the others become signals of the step.
VERDICT = pa.schema(
    [
        ("document", pa.int64()),  # its row in the documents of its unit, rising
        ("reason", pa.string()),  # null: it is kept
    ]
)
DUPLICATES = pa.schema(
    [
        *VERDICT,
        ("duplicate_of", pa.string()),  # the id of the document that is kept instead of it
        ("similarity", pa.float64()),  # exact Jaccard, 1.0 for exact copies
        ("cluster_id", pa.string()),  # the kept document of the cluster
        ("cluster_size", pa.int64()),  # the kept document and its duplicates
    ]
)
NEAR_DUPLICATES = pa.schema(
    [
        *DUPLICATES,
        ("lost", pa.float64()),  # share of its n-grams that the document which is kept instead lacks
    ]
)
CUTS = pa.schema(
    [
        ("document", pa.int64()),  # as in VERDICT
        ("start", pa.int64()),  # bytes [start, stop) of its text are cut; in order, without overlap
        ("stop", pa.int64()),
    ]
)


ADDRESS = ("id", "file", "position")  # what tells documents apart: an input may give an id twice


def were_kept(documents: pa.Table, remaining: pa.Table) -> NDArray[np.bool_]:
    """(documents,) which of them are among the kept; both have the columns of ADDRESS."""
    columns = [[table[name].cast(pa.string()) for name in ADDRESS] for table in (documents, remaining)]
    joined = [pc.binary_join_element_wise(*parts, "\0", null_handling="replace") for parts in columns]
    among: NDArray[np.bool_] = pc.is_in(joined[0], joined[1].combine_chunks()).to_numpy()
    return among
