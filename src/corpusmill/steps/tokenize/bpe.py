from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.models.token_engines import EngineName
from corpusmill.models.tokenizer import Tokenizer, load
from corpusmill.models.tokenizer_name import asset_of


@dataclass(frozen=True, kw_only=True)
class Bpe:
    """Encode documents with a tokenizer, and end each with one EOS token.

    tokenizer   "gpt2", which is built in; or the path of a Hugging Face tokenizer.json, a SentencePiece .model
                (Unigram or BPE), a .tiktoken file named for its encoding, or the folder with one of the first two;
                or the name of a repository of the Hugging Face hub, org/name or org/name@revision, which is read from
                the hub's cache on this machine and, with the extra `hf`, downloaded into it
    engine      "gigatoken" (fast), "tokenizers" (the reference), "tiktoken", "sentencepiece" (the reference for
                .model); or "auto": gigatoken where it gives the same ids, else the reference
    eos         the token that ends a document; looked up among the usual names if not given
    bos         the token that begins a document; none if not given, even if the tokenizer would add one

    Text that looks like a special token is encoded as ordinary characters (Radford et al. 2019 for byte-level BPE).
    """

    tokenizer: str = "gpt2"  # gpt2, or the path of a tokenizer.json, tiktoken or SentencePiece file
    engine: EngineName = "auto"  # the library that encodes; auto chooses the fastest that gives the same ids
    eos: str | None = None  # the token at the end of each document; null: the tokenizer's own
    bos: str | None = None  # the token at the beginning of each document; null: none

    @property
    def assets(self) -> tuple[str, ...]:
        return (asset_of(self.tokenizer),)

    def open(self) -> Tokenizer:
        """The tokenizer, loaded once per process. Raises AssetError if it cannot be used."""
        return load(self.tokenizer, self.engine, self.eos, self.bos)

    def count(self, texts: pa.Array) -> NDArray[np.int64]:
        """(documents,) tokens of each text, without BOS and EOS."""
        return self.open().count(texts)

    def encode(self, texts: pa.Array) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """ids (tokens,) of all documents, each with its BOS and EOS; lengths (documents,), each >= 1."""
        return self.open().encode_documents(texts)
