"""What a step that sees the whole corpus is given: keys of documents, never the documents."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.units import Commit

FORMAT = 1  # changes when a step makes other keys of the same text: keys of another format cannot be compared


@dataclass(frozen=True)
class Keys:
    """The keys of a batch of documents.

    bands      (records, bands) uint64: records that share a key of a band are brought together
    arrays     by name, (documents, …): what is needed to judge documents then
    documents  (records,) the row of each record's document, rising, where a document has more records than one or none;
               None where row and record are the same
    riders     by name, (records,): what travels with each key
    """

    bands: NDArray[np.uint64]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    documents: NDArray[np.int64] | None = None
    riders: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class KeyFile:
    """Keys of documents that were kept by an earlier run.

    keys    absolute path of a file as `Signed` describes it
    docs    absolute path of the documents that the keys belong to, row by row
    kept    absolute path of those of them that stayed to the end of that run; None: all
    rows    documents in `docs`
    """

    keys: str
    docs: str
    kept: str | None
    rows: int


@dataclass(frozen=True)
class Signed:
    """Where the keys of a step are, for the step to plan its stages.

    stage         the pass that wrote them
    label         the step's label; the keys are the pass's output `keys-<label>`: arrays `offsets`, (partitions + 1,);
                  `keys`, `row` and riders (records,), partition by partition; and what is by document. `slices` says
                  into how many partitions a band is cut, `riders` which of the arrays are riders
    fingerprint   of the step and of everything upstream
    slices        partitions a band, a power of two
    excluded      the verdict stages of corpus steps before this one on the same keys: what they drop is not there
    earlier       what earlier runs kept: documents that come before all of this run, and stay
    sources       the names of all sources of the recipe, in order
    around        tokens that begin and end each document, beside those of its text
    """

    stage: str
    label: str
    fingerprint: str
    slices: int
    excluded: tuple[str, ...]
    earlier: tuple[KeyFile, ...] = ()
    sources: tuple[str, ...] = ()
    around: int = 1

    @property
    def output(self) -> str:
        return f"keys-{self.label}"


# The table of verdicts: `document` and `reason` of every step; the others become signals of the step.
VERDICT = pa.schema(
    [
        ("document", pa.int64()),  # its number: units in order, rows within them
        ("reason", pa.string()),  # null: it stays
    ]
)
TWINS = pa.schema(
    [
        *VERDICT,
        ("twin_id", pa.string()),  # the document that stays instead of it
        ("similarity", pa.float64()),  # exact Jaccard, 1.0 for exact copies
        ("cluster_id", pa.string()),  # the document that stays, of it and of those that go for it
        ("cluster_size", pa.int64()),  # it and all that go for it
    ]
)
CUTS = pa.schema(
    [
        ("document", pa.int64()),
        ("start", pa.int64()),  # bytes of its text [start, stop) that go; in order, without overlap
        ("stop", pa.int64()),
    ]
)


def bases(commits: list[Commit], output: str) -> NDArray[np.int64]:
    """The number of each unit's first document, and in the end how many there are: (units + 1,)."""
    return np.cumsum([0] + [commit.outputs[output].rows for commit in commits], dtype=np.int64)


ADDRESS = ("id", "file", "position")  # what tells documents apart: an input may give an id twice


def stayed(documents: pa.Table, kept: pa.Table) -> NDArray[np.bool_]:
    """(documents,) which of them are among the kept; both have the columns of ADDRESS."""
    columns = [[table[name].cast(pa.string()) for name in ADDRESS] for table in (documents, kept)]
    joined = [pc.binary_join_element_wise(*parts, "\0", null_handling="replace") for parts in columns]
    found: NDArray[np.bool_] = pc.is_in(joined[0], joined[1].combine_chunks()).to_numpy()
    return found
