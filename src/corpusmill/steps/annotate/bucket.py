"""Into which part of the corpus does a document fall by one or several scores?"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.keys import VERDICT, Keys, KeyStage
from corpusmill.steps import Columns
from corpusmill.steps.corpus import Everything, after, dropped_documents, key_files, keys_content
from corpusmill.steps.verdict_tables import VerdictWriter
from corpusmill.unit_io import UnitIO, Upstream
from corpusmill.units import Planned, Stage

ROWS = 1 << 16  # verdicts that are made ready at a time
MOST = 1000  # buckets

Edges = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """Put documents into buckets by one or several scores, the best in the highest; nothing is dropped.

    Each signal of `by` is replaced by its quantile among the step's input documents, of these the highest counts, and
    the buckets are equal parts of the documents in the order of that: so a document that one classifier finds good is
    in a high bucket, whatever scale its scores have. Signals of `lowest` are best where they are lowest, as perplexity
    is. The signals must be of steps of the same pass, which a classifier in ONNX begins: write it before the others.

    Signal: `bucket`, 0 to `buckets` - 1. A missing score is passed over, and a document without any has none. Equal
    documents are in the same bucket, so buckets are unequal where many scores are equal. A document is in a bucket from
    k on exactly if one of its signals reaches an edge: these are among the facts of the run (`edges`). Given as `edges`
    they put other data into the same buckets, without quantiles: {quality.score: [0.2, 0.6, 0.9]} has one for each
    bucket but the lowest, rising (of `lowest`: falling).

    Source: the highest of several classifiers, in 20 buckets: Su et al. 2024 (Nemotron-CC), arXiv:2412.02595, section
    2.3, where it is the highest of the buckets, which are unequal then; parts of equal size by one classifier: Dolma 3
    """

    verdict: ClassVar[pa.Schema] = pa.schema([*VERDICT, ("bucket", pa.int32())])
    default_signals: ClassVar[Mapping[str, Any]] = {}
    reads_text: ClassVar[bool] = False
    cuts: ClassVar[bool] = False
    keys_per_document: ClassVar[int] = 1
    key_parameters: ClassVar[tuple[str, ...]] = ("by",)

    by: tuple[str, ...] = ("quality.score",)  # signals of earlier steps of the same pass
    buckets: int = 20
    lowest: tuple[str, ...] = ()  # those of `by` that are best where they are lowest
    edges: tuple[tuple[str, tuple[float, ...]], ...] = ()  # of every signal, instead of quantiles

    def __post_init__(self) -> None:
        if not self.by or len(set(self.by)) < len(self.by):
            raise RecipeError(f"by must name one signal or several, each once, got {list(self.by)}")
        for signal in self.by:
            if "." not in signal:
                raise RecipeError(f'by has signals of earlier steps, as in "quality.score", got "{signal}"')
        if not 2 <= self.buckets <= MOST:
            raise RecipeError(f"need 2 <= buckets <= {MOST}, got {self.buckets}")
        if unknown := [signal for signal in self.lowest if signal not in self.by]:
            raise RecipeError(f'lowest has "{unknown[0]}", which is not in by')
        self._check_edges()

    def _check_edges(self) -> None:
        given = dict(self.edges)
        object.__setattr__(self, "edges", tuple(sorted(given.items())))
        if given and set(given) != set(self.by):
            missing = sorted(set(given) ^ set(self.by))[0]
            raise RecipeError(
                f'edges must be of all signals in by and of no other: "{missing}" is in one of them alone'
            )
        for signal, edges in given.items():
            if len(edges) != self.buckets - 1:
                raise RecipeError(
                    f"edges of {signal}: {self.buckets} buckets have {self.buckets - 1} edges between them, "
                    f"got {len(edges)}"
                )
            if list(edges) != sorted(edges, reverse=signal in self.lowest):
                raise RecipeError(f"edges of {signal} must be {'falling' if signal in self.lowest else 'rising'}")

    @property
    def needs(self) -> tuple[str, ...]:
        return self.by

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        values = {
            f"value{number}": pc.cast(signals[name], pa.float64()).to_numpy(zero_copy_only=False)
            for number, name in enumerate(self.by)
        }
        return Keys(np.empty((len(docs), 0), np.uint64), values)

    def stages(self, keys: KeyStage) -> list[Stage]:
        work = BucketVerdicts(keys, self.by, self.buckets, self.lowest, self.edges)
        return [Stage(f"{keys.label}-verdicts", work, after(keys), partial(one_unit, keys))]


def one_unit(keys: KeyStage, upstream: Upstream) -> list[Planned]:
    return [Planned(Everything(), keys_content(keys, upstream))]


@dataclass(frozen=True)
class BucketVerdicts:
    keys: KeyStage
    by: tuple[str, ...]
    buckets: int
    lowest: tuple[str, ...]
    edges: tuple[tuple[str, tuple[float, ...]], ...]

    def run(self, inputs: Everything, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        parts = [io.arrays(path) for path in files.keys]
        present = np.ones(files.documents, bool)
        for number, start in enumerate(files.starts[:-1].tolist()):
            present[dropped_documents(files, io, number) + start] = False
        documents = np.flatnonzero(present)
        signs = [-1.0 if name in self.lowest else 1.0 for name in self.by]
        # Highest is best from here on.
        scores = [
            sign * np.concatenate([part[f"value{number}"] for part in parts])[documents]
            for number, sign in enumerate(signs)
        ]
        given = dict(self.edges)
        edges = (
            [sign * np.array(given[name]) for name, sign in zip(self.by, signs)]
            if given
            else edges_of(scores, self.buckets)
        )
        bucket = buckets_of(scores, edges)
        io.facts["edges"] = {
            name: {str(k + 1): float(sign * edge) for k, edge in enumerate(each) if np.isfinite(edge)}
            for name, sign, each in zip(self.by, signs, edges)
        }
        io.facts["buckets"] = {str(k): int((bucket == k).sum()) for k in range(self.buckets)}
        verdicts = VerdictWriter(io, files.own_starts, Bucket.verdict)
        for start in range(0, len(documents), ROWS):
            here = bucket[start : start + ROWS]
            kept = pa.nulls(len(here), pa.string())
            verdicts.write(documents[start : start + ROWS], [kept, pa.array(here.astype(np.int32), mask=here < 0)])
        verdicts.close()


def edges_of(scores: list[NDArray[np.float64]], buckets: int) -> list[Edges]:
    """For each score the (buckets - 1,) values from which on a document is in the bucket 1, 2, … or a higher one;
    infinite where no value is enough.

    scores   one (documents,) each, NaN where there is none

    The quantile of a value is the share of documents with a score that is lower, and half of those with the same. The
    highest of the quantiles of a document is its rank; bucket k begins where the quantile of the rank is k / buckets.
    """
    quantiles = [quantile(score) for score in scores]
    rank = np.full(len(scores[0]), np.nan)
    for each in quantiles:
        rank = np.fmax(rank, each)
    final = quantile(rank)
    edges = []
    ranked = np.sort(rank[~np.isnan(rank)])
    ends = np.sort(final[~np.isnan(final)])
    for score, each in zip(scores, quantiles):
        order = np.argsort(each, kind="stable")[: int((~np.isnan(each)).sum())]
        own = np.full(buckets - 1, np.inf)
        for k in range(1, buckets):
            first = int(np.searchsorted(ends, k / buckets))
            if first < len(ranked):
                at = int(np.searchsorted(each[order], ranked[first]))
                if at < len(order):
                    own[k - 1] = score[order[at]]
        edges.append(own)
    return edges


def quantile(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(documents,) the share of the values that are lower, and half of those that are equal; NaN of NaN.

    >>> quantile(np.array([3.0, 1.0, np.nan, 1.0, 7.0]))
    array([0.625, 0.25 ,   nan, 0.25 , 0.875])
    """
    there = ~np.isnan(values)
    _, place, count = np.unique(values[there], return_inverse=True, return_counts=True)
    share = np.full(len(values), np.nan)
    share[there] = ((np.cumsum(count) - count / 2) / max(int(there.sum()), 1))[place]
    return share


def buckets_of(scores: list[NDArray[np.float64]], edges: list[Edges]) -> NDArray[np.int64]:
    """(documents,) the highest bucket that one of the scores reaches; -1 without scores."""
    best = np.full(len(scores[0]), -1)
    for score, each in zip(scores, edges):
        there = ~np.isnan(score)
        best[there] = np.maximum(best[there], np.searchsorted(each, score[there], "right"))
    return best
