"""Language models in KenLM's own files, read by its library (the extra `kenlm`)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.assets.extras import KENLM
from corpusmill.errors import AssetError
from corpusmill.models.ngram import SentenceScores

SUFFIXES = (".arpa", ".arpa.gz", ".klm", ".binary")


@dataclass(frozen=True)
class KenLM:
    """A model that scores as `ngram.NgramModel` does."""

    library: Any

    @classmethod
    def load(cls, path: Path) -> "KenLM":
        """Raises MissingExtraError without the library, AssetError if it cannot read the file."""
        try:
            import kenlm
        except ImportError:
            raise KENLM.error(f"the language model {path.name}") from None
        try:
            return cls(kenlm.Model(str(path)))
        except (OSError, RuntimeError) as error:
            raise AssetError(f"{path}: KenLM cannot read it: {error}") from error

    def score(self, folded: pa.LargeStringArray) -> SentenceScores:
        texts = folded.to_pylist()
        words = [text.split() for text in texts]
        return SentenceScores(
            np.array([self.library.score(text, bos=True, eos=True) for text in texts], np.float64),
            np.array([sum(map(self._alone, (*text_words, "</s>"))) for text_words in words], np.float64),
            np.array([len(text_words) for text_words in words], np.int64),
        )

    def _alone(self, word: str) -> float:
        """log10 of the probability of a word without those before it."""
        import kenlm

        before, after = kenlm.State(), kenlm.State()
        self.library.NullContextWrite(before)
        return float(self.library.BaseScore(before, word, after))
