"""Which language is a document written in?"""

from dataclasses import dataclass

import pyarrow as pa

from corpusmill.models.language import Identifier
from corpusmill.models.wide import LID_WIDE
from corpusmill.steps import Columns


@dataclass(frozen=True, kw_only=True)
class AnnotateLanguage:
    """Identify the language of each document, and the runner-up, with the model's scores.

    Signals: `label` and `runner_up`, ISO 639-1 codes where there are, else 639-3 ("en", "zh", "ceb"), None for a text
    without words; `score` and `runner_up_score`, 0 to 1. Of a document longer than `windows` times `window_chars`
    characters, only as many windows are read.

    lid.wide, the default, names 227 languages. Its score is calibrated: of labels with score 0.8, eight of ten are
    right. A text that fits none is "unknown", with score 0. `model: lid.176.ftz` is fastText's, with 176 languages and
    no "unknown"; CCNet and FineWeb were made with it. Any supervised fastText model can be given by its path.

    Source: Lui and Baldwin 2011, ACL I11-1062; Joulin et al. 2016, arXiv:1612.03651
    """

    model: str = LID_WIDE  # an asset's name, or the path of a .bin or .ftz
    windows: int = 3  # how many parts of a longer document are read
    window_chars: int | None = None  # characters of each part; null: 200 for lid.wide, 1,000 for fastText models
    offset: float = 0.0  # share of a longer document before the first window: 0.25 leaves out headers and menus

    def __post_init__(self) -> None:
        self._identifier()

    def signals(self, docs: pa.RecordBatch) -> Columns:
        return self._identifier().columns(docs["text"])

    @property
    def assets(self) -> tuple[str, ...]:
        return self._identifier().assets()

    def _identifier(self) -> Identifier:
        return Identifier(model=self.model, windows=self.windows, window_chars=self.window_chars, offset=self.offset)
