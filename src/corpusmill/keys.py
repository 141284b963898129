"""What a step that sees the whole corpus is given: keys of documents, never the documents."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.units import Commit


@dataclass(frozen=True)
class Keys:
    """The keys of a batch of documents.

    bands    (documents, bands) uint64: documents that share a key of a band are brought together
    arrays   by name, (documents, …): what is needed to judge them then
    """

    bands: NDArray[np.uint64]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Signed:
    """Where the keys of a step are, for the step to plan its stages.

    stage         the pass that wrote them
    label         the step's label; the keys are the pass's output `keys-<label>`
    fingerprint   of the step and of everything upstream
    slices        partitions a band, a power of two
    excluded      the verdict stages of corpus steps before this one on the same keys: what they drop is not there
    """

    stage: str
    label: str
    fingerprint: str
    slices: int
    excluded: tuple[str, ...]

    @property
    def output(self) -> str:
        return f"keys-{self.label}"


VERDICT = pa.schema(
    [
        ("document", pa.int64()),  # its number: units in order, rows within them
        ("reason", pa.string()),
        ("twin", pa.int64()),  # the document that stays instead of it
        ("twin_id", pa.string()),
        ("similarity", pa.float64()),  # exact Jaccard, 1.0 for exact copies
    ]
)


def bases(commits: list[Commit], output: str) -> NDArray[np.int64]:
    """The number of each unit's first document, and in the end how many there are: (units + 1,)."""
    return np.cumsum([0] + [commit.outputs[output].rows for commit in commits], dtype=np.int64)
