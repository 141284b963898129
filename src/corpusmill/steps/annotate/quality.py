"""How does a classifier rate the quality of a document?"""

from dataclasses import dataclass

import pyarrow as pa

from corpusmill.models.quality import QUALITY_EN, Scorer
from corpusmill.steps import Columns


@dataclass(frozen=True, kw_only=True)
class Quality:
    """Score each document with a quality classifier: how likely it is one of the good examples of its training.

    Signal: `score`, 0 to 1, None for a text without words. By it, `filter/top` keeps the best share of the corpus,
    `filter/pareto` samples documents, and `filter/keep_where` keeps those above a threshold. The model that ships,
    `quality-en`, is a small one for English; `corpusmill train quality` makes one from your examples.

    Source: after Joulin et al. 2016, arXiv:1607.01759; as used by Li et al. 2024 (DCLM), arXiv:2406.11794, section 4.4
    """

    model: str = (
        QUALITY_EN  # an asset's name, or the path of a model made by `train quality`, or of a fastText .bin or .ftz
    )
    good: str | None = None  # the label of a fastText model that means good

    def __post_init__(self) -> None:
        self._scorer()

    def signals(self, docs: pa.RecordBatch) -> Columns:
        return {"score": self._scorer().scores(docs["text"])}

    @property
    def assets(self) -> tuple[str, ...]:
        return (self.model,)

    def _scorer(self) -> Scorer:
        return Scorer(model=self.model, good=self.good)
