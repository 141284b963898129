"""Which language is a document written in?"""

from dataclasses import dataclass

import pyarrow as pa

from corpusmill.models.language import LID_176, Identifier
from corpusmill.steps import Columns


@dataclass(frozen=True, kw_only=True)
class Language:
    """Identify the language of each document, and the runner-up, with the model's scores.

    Signals: `label` and `runner_up`, as the model calls them (lid.176 has ISO 639 codes: "en", "de", "zh", "ceb"), null
    for a text without words; `score` and `runner_up_score`, 0 to 1. A document of at most `windows` times
    `window_chars` characters is read whole; of a longer one, `windows` windows of `window_chars` are read and their
    scores averaged. A line break counts as a space. Any supervised fastText model can be given by its path; the labels
    are then its own.

    Source: Joulin et al. 2016, arXiv:1612.03651
    """

    model: str = LID_176  # an asset's name, or the path of a .bin or .ftz
    windows: int = 3  # how many parts of a longer document are read
    window_chars: int = 1000  # characters of each part
    offset: float = 0.0  # share of a longer document before the first window: 0.25 leaves out headers and menus

    def __post_init__(self) -> None:
        self._identifier()

    def signals(self, docs: pa.RecordBatch) -> Columns:
        return self._identifier().columns(docs["text"])

    @property
    def assets(self) -> tuple[str, ...]:
        return (self.model,)

    def _identifier(self) -> Identifier:
        return Identifier(model=self.model, windows=self.windows, window_chars=self.window_chars, offset=self.offset)
