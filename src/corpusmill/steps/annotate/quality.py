"""How good is a document, in the eyes of a classifier?"""

from dataclasses import dataclass

import pyarrow as pa

from corpusmill.models.quality import QUALITY_EN, Scorer
from corpusmill.steps import Columns


@dataclass(frozen=True, kw_only=True)
class Quality:
    """Score each document by how likely it is one of the good ones that a classifier was trained on.

    Signal: `score`, 0 to 1, null for a text without a word. The whole document is read. `filter/top` keeps the best part
    of the corpus by it, `filter/pareto` by chance and score, `filter/keep_where` what is above a threshold. The model
    that ships, `quality-en`, is a small one for English; `corpusmill train quality` makes one from your own examples.

    Source: after Joulin et al. 2016, arXiv:1607.01759; as used by Li et al. 2024 (DCLM), arXiv:2406.11794, section 4.4
    """

    model: str = QUALITY_EN  # an asset's name, or the path of a model: one of ours, or a fastText .bin or .ftz
    good: str | None = None  # of a fastText model, the label that means good

    def __post_init__(self) -> None:
        self._scorer()

    def signals(self, docs: pa.RecordBatch) -> Columns:
        return {"score": self._scorer().scores(docs["text"])}

    @property
    def assets(self) -> tuple[str, ...]:
        return (self.model,)

    def _scorer(self) -> Scorer:
        return Scorer(model=self.model, good=self.good)
