from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.models.tokenizer import Tokenizer, load


@dataclass(frozen=True, kw_only=True)
class Bpe:
    """Encode documents with a Hugging Face tokenizer, and end each with one end-of-document token.

    tokenizer   "gpt2", which ships with the package, or the path of a tokenizer.json or of the folder that holds one
    engine      "gigatoken" (fast), "tokenizers" (the reference), or "auto": gigatoken where it gives the same ids
    eos         the token that ends a document; found among the usual names if not given

    Text that looks like a special token is encoded as the ordinary characters that it is (Radford et al. 2019 for
    byte-level BPE).
    """

    tokenizer: str = "gpt2"
    engine: Literal["auto", "gigatoken", "tokenizers"] = "auto"
    eos: str | None = None

    @property
    def assets(self) -> tuple[str, ...]:
        return (self.tokenizer,)

    def open(self) -> Tokenizer:
        """The tokenizer, loaded once a process. Raises AssetError if it cannot be used."""
        return load(self.tokenizer, self.engine, self.eos)

    def count(self, texts: pa.Array) -> NDArray[np.int64]:
        """(documents,) tokens of each text, its end-of-document token not counted."""
        return self.open().count(texts)

    def encode(self, texts: pa.Array) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """ids (tokens,) of all documents, each with its end; lengths (documents,), each >= 1."""
        return self.open().encode_documents(texts)
