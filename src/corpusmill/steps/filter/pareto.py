"""Sampling by quality: a document with a higher score is more likely to be kept."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.verdict import join_reasons
from corpusmill.tokens.sampling import sampling_hash


@dataclass(frozen=True, kw_only=True)
class Pareto:
    """Keep documents by a quality score and a random draw: nearly all of the good ones, few of the bad ones.

    A document is kept if a draw from a Pareto distribution (shape `alpha`, from 0 on) is above 1 - score: by default 1
    in 512 at a score of 0, 1 in 38 at 0.5, nearly 1 in 2 at 0.92, and all at 1. The draw is a hash of the document's id
    and `seed`. Signal: `draw`, 0 to 1. Documents without a score are dropped.

    Source: Brown et al. 2020 (GPT-3), arXiv:2005.14165, appendix A
    """

    by: str = "quality.score"  # 0 to 1
    alpha: float = 9.0  # the higher, the fewer documents with a low score are kept
    seed: int = 0  # another seed draws other documents

    threshold_parameters: ClassVar[tuple[str, ...]] = ("alpha",)

    def __post_init__(self) -> None:
        if "." not in self.by:
            raise RecipeError(f'by must be a signal of an earlier step, as in "quality.score", got "{self.by}"')
        if not self.alpha > 0:
            raise RecipeError(f"need alpha > 0, got {self.alpha}")

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.by,)

    def signals(self, docs: pa.RecordBatch) -> Columns:
        x = sampling_hash(docs["id"], self.seed)
        return {"draw": pa.array((x >> np.uint64(11)).astype(np.float64) / 2**53)}

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        score = pc.cast(signals[self.by], pa.float64()).to_numpy(zero_copy_only=False)
        draw = (1 - signals["draw"].to_numpy(zero_copy_only=False)) ** (-1 / self.alpha) - 1
        return join_reasons(alpha=pa.array(~(draw > 1 - score)))
