"""Language models in KenLM's own files, read by its library (the extra `kenlm`)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.errors import AssetError, MissingExtraError

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
            raise MissingExtraError(f"the language model {path.name}", "kenlm") from None
        try:
            return cls(kenlm.Model(str(path)))
        except (OSError, RuntimeError) as error:
            raise AssetError(f"{path}: KenLM cannot read it: {error}") from error

    def score(self, folded: pa.LargeStringArray) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """log10 of the probability of each sentence, its end included, and its number of words, without the end."""
        texts = folded.to_pylist()
        logs = np.array([self.library.score(text, bos=True, eos=True) for text in texts], np.float64)
        return logs, np.array([len(text.split()) for text in texts], np.int64)
