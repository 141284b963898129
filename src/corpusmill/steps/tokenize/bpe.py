from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.assets.extras import Extra
from corpusmill.models.arranged import Arranged, arrange
from corpusmill.models.fill_in import Fim, sentinel_ids
from corpusmill.models.token_engines import EngineName
from corpusmill.models.tokenizer import Tokenizer, load, slow
from corpusmill.models.tokenizer_file import Definition
from corpusmill.models.tokenizer_name import SHIPPED, asset_of, assets_of, extras_of
from corpusmill.models.url_prefix import UrlPrefix, marks
from corpusmill.shards.loss import LossRule
from corpusmill.tokens.breaks import SplitAt


@dataclass(frozen=True, kw_only=True)
class Bpe:
    """Encode documents with a tokenizer, and end each with one EOS token.

    tokenizer   "gpt2" or "bytes", which are built in; the path of a Hugging Face tokenizer.json, a SentencePiece .model
                (Unigram or BPE), a .tiktoken file named for its encoding, or the folder with one of the first two; or a
                repository of the Hugging Face hub, org/name or org/name@revision, from its cache or downloaded; or one
                of these by its name: o200k, llama3, qwen3, gemma3 …
    engine      "gigatoken" (fast; the extra `fast`), "tokenizers" (the reference), "tiktoken", "sentencepiece" (the
                reference for .model); or "auto": gigatoken where it is installed and gives the same ids, else the
                reference
    eos         the token that ends a document; looked up among the usual names if not given
    bos         the token that begins a document; none if not given, even if the tokenizer would add one
    fim         fill in the middle, of a share of documents. The sentinels are tokens of the tokenizer, without loss;
                packing cuts nothing that is filled in
    prefix      "URL: host" and a blank line before a share of the documents whose URL is known, without loss

    Text that looks like a special token is encoded as ordinary characters. BPE dropout is off: a text always has the
    same ids.
    """

    tokenizer: str = "gpt2"  # gpt2, or the path of a tokenizer.json, tiktoken or SentencePiece file
    engine: EngineName = "auto"  # the library that encodes; auto chooses the fastest that gives the same ids
    eos: str | None = None  # the token at the end of each document; null: the tokenizer's own
    bos: str | None = None  # the token at the beginning of each document; null: none
    fim: Fim | None = None  # fill in the middle: rate, spm, unit (file or repository), separator, sentinels, seed
    prefix: UrlPrefix | None = None  # "URL: host" before a share of documents, without loss: share, seed

    def __post_init__(self) -> None:
        for part in (self.fim, self.prefix):
            if part is not None:
                part.check()

    @property
    def assets(self) -> tuple[str, ...]:
        return assets_of(self.tokenizer) if self.eos is None else (asset_of(self.tokenizer),)

    @property
    def extras(self) -> tuple[Extra, ...]:
        return extras_of(self.tokenizer, self.engine)

    @property
    def remarks(self) -> tuple[str, ...]:
        remarks = [why] if self.engine == "auto" and (why := slow()) else []
        if self.tokenizer in SHIPPED:
            return tuple(remarks)
        definition = assets.load(asset_of(self.tokenizer), Definition.read)
        drawn = definition.at_random
        settings = ", ".join(f"{name} {value}" for name, value in drawn.items())
        remarks += [f"{self.tokenizer} draws tokens at random ({settings}); that is switched off"] if drawn else []
        others = ", ".join(
            f"{token} has {number} in the file and {definition.ids[token]} there"
            for token, number in list(definition.ids_in_file.items())[:3]
        )
        if others:
            remarks.append(
                f"{self.tokenizer}: ids of added tokens are those that the tokenizers library gives: {others}"
            )
        return tuple(remarks)

    def open(self) -> Tokenizer:
        """The tokenizer, loaded once per process. Raises AssetError if it cannot be used."""
        return load(self.tokenizer, self.engine, self.eos, self.bos, self._sentinels())

    def count(self, texts: pa.Array) -> NDArray[np.int64]:
        """(documents,) tokens of each text, without BOS and EOS."""
        return self.open().count(texts)

    def encode(self, texts: pa.Array) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """ids (tokens,) of all documents, each with its BOS and EOS; lengths (documents,), each >= 1."""
        return self.open().encode_documents(texts)

    @property
    def keeps_parts(self) -> bool:
        """Whether documents have parts that packing must not cut."""
        return self.fim is not None

    @property
    def loss(self) -> LossRule | None:
        """Which tokens have no loss; None if all have one."""
        if self.fim is None and self.prefix is None:
            return None
        tokenizer = self.open()
        begin, end = marks(tokenizer) if self.prefix else ((), ())
        without = sentinel_ids(tokenizer, self.fim) if self.fim else ()
        return LossRule(without=tuple(without), begin=tuple(map(int, begin)), end=tuple(map(int, end)))

    def arrange(self, docs: pa.RecordBatch, room: int | None, split_at: SplitAt | None) -> Arranged | None:
        """Token ids that depend on more of a document than its text; None if they do not, see `encode`."""
        if self.fim is None and self.prefix is None:
            return None
        return arrange(self.open(), docs, self.fim, self.prefix, room, split_at)

    def _sentinels(self) -> tuple[str, ...]:
        if self.fim is None:
            return ()
        return self.fim.names(assets.load(asset_of(self.tokenizer), Definition.read))
