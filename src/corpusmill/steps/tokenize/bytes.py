from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.models.tokenizer import Tokenizer, load, slow


@dataclass(frozen=True, kw_only=True)
class Bytes:
    """Take the bytes of a document as its tokens, and end it with one EOS token.

    The id of a byte of UTF-8 is its value, and 256 ends a document (Xue et al. 2022, arXiv:2105.13626; Pagnoni et al.
    2024, arXiv:2412.09871). The definition is a `tokenizer.json` without merges, which every library can decode with.
    """

    tokenizer: ClassVar[str] = "bytes"

    @property
    def assets(self) -> tuple[str, ...]:
        return (self.tokenizer,)

    @property
    def remarks(self) -> tuple[str, ...]:
        return (why,) if (why := slow()) else ()

    def open(self) -> Tokenizer:
        """The tokenizer, loaded once per process."""
        return load(self.tokenizer)

    def count(self, texts: pa.Array) -> NDArray[np.int64]:
        """(documents,) bytes of each text, without EOS."""
        return self.open().count(texts)

    def encode(self, texts: pa.Array) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """ids (tokens,) of all documents, each with its EOS; lengths (documents,), each >= 1."""
        return self.open().encode_documents(texts)
