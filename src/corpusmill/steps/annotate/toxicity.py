"""How much insult, obscenity and hate is in a document, and where?"""

from dataclasses import dataclass

import pyarrow as pa

from corpusmill.models.toxicity import WORDS_EN, Rater
from corpusmill.steps import Columns


@dataclass(frozen=True, kw_only=True)
class AnnotateToxicity:
    """Score insults, obscenity and hate in English; nothing is dropped.

    Signals of a model of words and their order, None for a text without words, and of a list of words, which are also
    recognised as "sh1t", "f u c k", "f*ck", "fuuuck", but never inside other words:

        score         mean over windows of 50 words or more of their worst sentence, 0 to 1
        worst         highest score of a sentence; worst_start, worst_end: its bytes in the text
        bad           share of words in sentences that score `sentence_score` or more
        found         number of words of the list
        share         found / words

    With `spans=True`, `sentences` lists start, end and score of the bad sentences, and `words` start and end of the
    words found, in bytes of the text. A list is a file of words; "#" begins a comment.

    Source: Raffel et al. 2020 (C4), arXiv:1910.10683; Röttger et al. 2021 (HateCheck), arXiv:2012.15606
    """

    lexicon: str = WORDS_EN  # an asset's name, or the path of a list
    sentence_score: float = 0.7  # score from which a sentence counts as bad, 0 to 1
    spans: bool = False

    def __post_init__(self) -> None:
        self._rater()

    def signals(self, docs: pa.RecordBatch) -> Columns:
        return self._rater().columns(docs["text"], self.spans)

    @property
    def assets(self) -> tuple[str, ...]:
        return self._rater().assets

    def _rater(self) -> Rater:
        return Rater(lexicon=self.lexicon, sentence_score=self.sentence_score)
