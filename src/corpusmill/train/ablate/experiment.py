"""One group of documents as an experiment: models of any choice of its documents, and what held-out text costs them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.train.ablate.documents import NO_BUCKET, Cell, DocumentSample, Sides

MAX_EPOCHS = (
    4.0  # text read more often teaches little (Muennighoff et al. 2023, arXiv:2305.16264), as mix/sources has it
)
BLOCKS = 64  # of the documents of an experiment, in the order in which they are drawn
HELD_OUT_LEAST = 2000  # bytes of a target in an experiment, which does without it otherwise
JUDGED_CHARS = 8192  # of a document: its beginning

# (models, parts) how often each model reads each part -> (models, targets) bits of the held-out text, with the end of
# each document.
Costs = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class ModelKind(Protocol):
    """Small language models of one kind."""

    @property
    def about(self) -> str:
        """What they are, in words."""

    @property
    def budget(self) -> int:
        """Bytes that a model reads, if nothing else is said."""

    @property
    def groups_at_once(self) -> int:
        """Experiments that are carried out at a time, each in a thread."""

    def models(self, factors: int) -> int:
        """How many a design of so many factors has: a power of 2, more than twice the factors."""

    def held_out(self, budget: int) -> int:
        """Bytes of held-out text of an experiment; each target has an equal part."""

    def costs(
        self,
        judged: Sequence[pa.LargeStringArray],
        parts: Sequence[pa.LargeStringArray],
        budget: int,
        random: np.random.Generator,
    ) -> Costs:
        """How well models of any mix of parts of a group of documents know the held-out text of each target.

        budget   bytes that a model reads
        random   for initial weights, and the order in which models read
        """


@dataclass(frozen=True)
class Choice:
    """What a model is trained on.

    stages    (stages,) which drop documents
    buckets   (buckets,) which are read
    weights   (sources,) in proportion to the bytes that it reads of each
    rounding  (sources,) from 0 to 1: the last block, which is wanted in part, is read if this part of it is wanted.
              Where it is random, as much is read as is wanted, on average
    """

    stages: NDArray[np.bool_]
    buckets: NDArray[np.bool_]
    weights: NDArray[np.float64]
    rounding: NDArray[np.float64]


@dataclass(frozen=True)
class Experiment:
    """A group of documents, in parts.

    cells     of the documents
    sources, stages   names, in the order of those of a Choice
    cell      (parts,) the cell of each part, and `block` (parts,) its block
    sizes     (parts,) bytes
    held_out  (targets,) bytes of the text that models are judged by
    costs     what it costs models
    """

    cells: Sequence[Cell]
    sources: Sequence[str]
    stages: Sequence[str]
    cell: NDArray[np.int64]
    block: NDArray[np.int64]
    sizes: NDArray[np.float64]
    held_out: NDArray[np.float64]
    costs: Costs

    def available(self, choice: Choice) -> NDArray[np.float64]:
        """(sources, BLOCKS) the bytes of a choice."""
        source = np.array([self.sources.index(cell.source) for cell in self.cells])[self.cell]
        place, read = source * BLOCKS + self.block, self.sizes * self._is_read(choice)
        amounts = np.bincount(place, read, len(self.sources) * BLOCKS).astype(np.float64)
        return amounts.reshape(-1, BLOCKS)

    def _is_read(self, choice: Choice) -> NDArray[np.bool_]:
        """(parts,) which are of a choice."""
        dropping = {name for name, drops in zip(self.stages, choice.stages) if drops}
        read = [
            not (cell.drops & dropping) and (cell.bucket == NO_BUCKET or bool(choice.buckets[cell.bucket]))
            for cell in self.cells
        ]
        return np.array(read)[self.cell]

    def bits_per_byte(
        self, choices: Sequence[Choice], budget: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Train a model of each choice on about `budget` bytes, or fewer if MAX_EPOCHS of its sources have no more.

        returns   (models, targets) what a byte of held-out text costs it, NaN where there is none; (models, sources)
                  the share of each source in what it has read
        """
        source = np.array([self.sources.index(cell.source) for cell in self.cells])[self.cell]
        all_times, shares = [], []
        for choice in choices:
            blocks = self.available(choice)
            wanted = allotted(choice.weights, blocks.sum(axis=1) * MAX_EPOCHS, budget)
            times = np.array([passes(*each) for each in zip(blocks, wanted, choice.rounding)])
            all_times.append(times[source, self.block] * self._is_read(choice))
            drawn = (times * blocks).sum(axis=1)
            shares.append(drawn / max(drawn.sum(), 1.0))
        total = self.costs(np.array(all_times))
        per_byte = np.divide(total, self.held_out, out=np.full(total.shape, np.nan), where=self.held_out > 0)
        return per_byte, np.array(shares)


def allotted(weights: NDArray[np.float64], limits: NDArray[np.float64], budget: float) -> NDArray[np.float64]:
    """Divide a budget by weights. What exceeds the limit of one is divided among the others; less than the budget
    if all are at their limits.

    >>> allotted(np.array([3.0, 1.0, 0.0]), np.array([30.0, 100.0, 100.0]), 80.0).tolist()
    [30.0, 50.0, 0.0]
    """
    drawn = np.zeros(len(weights))
    free = (weights > 0) & (limits > 0)
    while free.any():
        left = budget - drawn[~free].sum()
        drawn[free] = weights[free] / weights[free].sum() * left
        over = free & (drawn > limits)
        if not over.any():
            break
        drawn[over] = limits[over]
        free &= ~over
    return drawn


def passes(sizes: NDArray[np.float64], wanted: float, rounding: float) -> NDArray[np.float64]:
    """(blocks,) how often each block of a source is read, whole numbers: the first ones most.

    Parts of blocks would not do: counts of a tenth of ten documents say more than those of one document.

    >>> passes(np.array([10.0, 10.0, 10.0]), 47.0, 0.5).tolist()
    [2.0, 2.0, 1.0]
    """
    total = sizes.sum()
    if not total:
        return np.zeros(len(sizes))
    epochs, left = divmod(wanted, total)
    begun = np.cumsum(sizes) - sizes
    times: NDArray[np.float64] = epochs + (left - begun > rounding * sizes) * (sizes > 0)
    return times


def experiment(
    documents: DocumentSample,
    divided: Sides,
    group: int,
    sources: Sequence[str],
    stages: Sequence[str],
    kind: ModelKind,
    budget: int,
    random: np.random.Generator,
) -> Experiment:
    """One group of documents, with models of a kind."""
    own = divided.group == group
    lengths = pc.binary_length(documents.texts).to_numpy()
    # A target of many has four documents at least, however little text models of the kind are judged by.
    limit = max(kind.held_out(budget) // len(documents.targets), 4 * HELD_OUT_LEAST)
    judged, held_out = [], []
    for target in range(len(documents.targets)):
        rows = _in_order(own & divided.held_out & (documents.target == target), divided.order)
        text = pc.utf8_slice_codeunits(documents.texts.take(pa.array(rows)), 0, min(JUDGED_CHARS, limit // 4))
        sizes = pc.binary_length(text).to_numpy()
        chosen = np.cumsum(sizes) <= limit
        chosen &= sizes[chosen].sum() >= HELD_OUT_LEAST
        judged.append(text.filter(pa.array(chosen)))
        held_out.append(float(sizes[chosen].sum()))
    rows = np.flatnonzero(own & divided.train & (documents.cell >= 0))
    place = documents.cell[rows].astype(np.int64) * BLOCKS + (divided.order[rows] * BLOCKS).astype(np.int64)
    rows = rows[np.argsort(place, kind="stable")]
    places, first = np.unique(np.sort(place), return_index=True)
    by_part = np.split(rows, first[1:]) if len(rows) else []
    return Experiment(
        documents.cells,
        sources,
        stages,
        places // BLOCKS,
        places % BLOCKS,
        np.array([float(lengths[part].sum()) for part in by_part]),
        np.array(held_out),
        kind.costs(judged, [documents.texts.take(pa.array(part)) for part in by_part], budget, random),
    )


def _in_order(rows: NDArray[np.bool_], order: NDArray[np.float64]) -> NDArray[np.int64]:
    numbers = np.flatnonzero(rows)
    return numbers[np.argsort(order[numbers], kind="stable")]
