"""Engines apply a vocabulary to text. Input and output are flat arrays, without a Python object per token.

    tokenizers      the Hugging Face library; the reference for a tokenizer.json and for tiktoken's ranks
    sentencepiece   the reference for SentencePiece models (the extra `sentencepiece`)
    gigatoken       fast, for both (the extra `fast`): 290 MB/s on one core, against 2.6 of tokenizers, on web text with
                    GPT-2's vocabulary
    tiktoken        for byte-level BPE (the extra `tiktoken`)

None turns text into a control token or adds a token at either end. All run on the calling thread: workers are processes
that share the cores.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa

from corpusmill.assets.extras import FAST, TIKTOKEN
from corpusmill.errors import AssetError
from corpusmill.models import sentencepiece_file
from corpusmill.models.tiktoken_file import GPT2
from corpusmill.models.tokenizer_file import Definition, pre_tokenizers
from corpusmill.text.array_types import Int64s, UInt32s

EngineName = Literal["auto", "gigatoken", "tokenizers", "tiktoken", "sentencepiece"]
Encoded = tuple[UInt32s, Int64s]
METASPACE = "\u2581"  # stands for a space, and is put before a text that begins with none


class Engine(Protocol):
    """Encodes a batch.

    texts     (documents,) large_string without nulls
    returns   ids (tokens,) of all the documents, and offsets (documents + 1,) into them
    """

    @property
    def name(self) -> str: ...

    def encode(self, texts: pa.LargeStringArray) -> Encoded: ...


class Reference(Engine, Protocol):
    """An engine that also knows which characters of a text each token stands for."""

    def spans(self, text: str) -> tuple[UInt32s, Int64s, Int64s]:
        """The ids of one text; the first character of each token, and its end."""


class HuggingFace:
    """The `tokenizers` library."""

    name = "tokenizers"

    def __init__(self, definition: str, path: Path) -> None:
        self._native = native(definition, path)

    def encode(self, texts: pa.LargeStringArray) -> Encoded:
        # One text per call: batch calls start a thread pool, which workers must not have (3.1 MB/s against 2.6).
        return _flat(self._native.encode(t, add_special_tokens=False).ids for t in texts.to_pylist())

    def spans(self, text: str) -> tuple[UInt32s, Int64s, Int64s]:
        encoding = self._native.encode(text, add_special_tokens=False)
        return _columns(encoding.ids, encoding.offsets)

    def lacks(self, character: str) -> bool:
        """Whether a BPE has no token for a character, by itself or for its bytes."""
        native = self._native
        text = native.normalizer.normalize_str(character) if native.normalizer else character
        pieces = [piece for piece, _ in native.pre_tokenizer.pre_tokenize_str(text)] if native.pre_tokenizer else [text]
        model, has = native.model, native.token_to_id
        before, after = model.continuing_subword_prefix or "", model.end_of_word_suffix or ""
        forms = [(c, before + c, c + after) for c in "".join(pieces) if c != METASPACE or character == c]
        if not forms:
            return True
        bytes_of = "".join(form for form, *_ in forms).encode()
        return any(all(has(form) is None for form in of_one) for of_one in forms) and not (
            model.byte_fallback and all(has(f"<0x{byte:02X}>") is not None for byte in bytes_of)
        )


class SentencePiece:
    """The `sentencepiece` library."""

    name = "sentencepiece"

    def __init__(self, model: bytes, path: Path) -> None:
        self._native = sentencepiece_file.load(model, path)

    def encode(self, texts: pa.LargeStringArray) -> Encoded:
        return _flat(self._native.encode_as_ids(t) for t in texts.to_pylist())

    def spans(self, text: str) -> tuple[UInt32s, Int64s, Int64s]:
        mapping = self._native.encode_as_offset_mapping(text)
        return _columns(mapping["ids"], mapping["offsets"])


class Gigatoken:
    """The gigatoken library."""

    name = "gigatoken"

    def __init__(self, native: Any) -> None:
        import awkward  # type: ignore[import-untyped]

        self._native = native
        self._awkward = awkward

    def encode(self, texts: pa.LargeStringArray) -> Encoded:
        encoded = self._native.encode_batch(self._view(texts), parallel=False).layout
        return np.asarray(encoded.content.data, np.uint32), np.asarray(encoded.offsets.data, np.int64)

    def _view(self, texts: pa.LargeStringArray) -> Any:
        """The Arrow buffers as the library's own array type, without a copy."""
        ak = self._awkward
        _, offsets, data = texts.buffers()
        count = len(texts) + 1
        starts = np.frombuffer(offsets, np.int64, count, texts.offset * 8) if offsets else np.zeros(1, np.int64)
        text = np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)
        characters = ak.contents.NumpyArray(text, parameters={"__array__": "char"})
        strings = ak.contents.ListOffsetArray(ak.index.Index64(starts), characters, parameters={"__array__": "string"})
        return ak.Array(strings)


class Tiktoken:
    """The `tiktoken` library, for a byte-level BPE in which the order of the merges is the order of the ids.

    Raises ValueError for another tokenizer, MissingExtraError without the library.
    """

    name = "tiktoken"

    def __init__(self, definition: Definition, controls: Collection[str]) -> None:
        try:
            import tiktoken
        except ImportError:
            raise TIKTOKEN.error("the engine tiktoken") from None
        token_bytes = definition.token_bytes
        if token_bytes is None or definition.json.get("normalizer"):
            raise ValueError("it is not a byte-level BPE, or normalizes text before it splits it")
        ranks = _ranks(definition, token_bytes)
        ordinary = {content: t["id"] for content, t in definition.added.items() if content not in controls}
        self._added = set(ordinary)
        self._native = tiktoken.Encoding(
            definition.path.name, pat_str=_pattern(definition), mergeable_ranks=ranks, special_tokens=ordinary
        )

    def encode(self, texts: pa.LargeStringArray) -> Encoded:
        encode, added = self._native.encode_to_numpy, self._added
        return _flat(encode(t, allowed_special=added, disallowed_special=()) for t in texts.to_pylist())


def native(definition: str, path: Path) -> Any:
    """The tokenizer of the `tokenizers` library for a tokenizer.json. Raises AssetError, which names `path`, if it
    cannot load it."""
    from tokenizers import Tokenizer as Native

    try:
        return Native.from_str(definition)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # the library raises bare Exception, and a panic in its Rust code is not one
        raise AssetError(f"{path}: the tokenizers library cannot load it: {error}") from error


def make(name: str, definition: Definition, ends: tuple[str, ...]) -> Engine:
    """The engine of this name for a tokenizer.

    ends   the tokens that begin and end documents

    Raises AssetError, MissingExtraError, or whatever a library raises for a tokenizer that it cannot use.
    """
    if name == "gigatoken":
        if FAST.missing:
            raise FAST.error("the engine gigatoken")
        import gigatoken

        if definition.model:
            # This library recognises control pieces in text; no library recognises unused ones.
            model = sentencepiece_file.unused(definition.model, definition.controls(*ends))
            return Gigatoken(gigatoken.Tokenizer.from_sentencepiece(model))
        return Gigatoken(gigatoken.Tokenizer.from_json(definition.plain(*ends)))
    if name == "tiktoken":
        return Tiktoken(definition, definition.controls(*ends))
    return reference(definition, ends)


def reference(definition: Definition, ends: tuple[str, ...]) -> Reference:
    """The engine that defines the right ids."""
    if definition.model:
        return SentencePiece(sentencepiece_file.unused(definition.model, ends), definition.path)
    return HuggingFace(definition.plain(*ends), definition.path)


def _ranks(definition: Definition, token_bytes: dict[str, bytes]) -> dict[bytes, int]:
    """bytes -> id of the tokens that merges can produce."""
    model = definition.json["model"]
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in model.get("merges", ())]
    merged = ["".join(pair) for pair in pairs]
    order = [definition.ids[token] for token in dict.fromkeys(merged)]
    if order != sorted(order):
        raise ValueError("its merges are not in the order of their ids")
    tokens = (
        token_bytes
        if model.get("ignore_merges")
        else [*merged, *(token for token in token_bytes if len(token_bytes[token]) == 1)]
    )
    ranks = {token_bytes[token]: definition.ids[token] for token in tokens if token not in definition.added}
    if any(bytes([byte]) not in ranks for byte in range(256)):
        raise ValueError("it does not have a token for every byte")
    return ranks


def _pattern(definition: Definition) -> str:
    """The regular expression that splits text."""
    *splits, last = pre_tokenizers(definition.json.get("pre_tokenizer"))
    if last.get("add_prefix_space"):
        raise ValueError("it puts a space before every text")
    if not splits:
        return GPT2 if last.get("use_regex", True) else r"[\s\S]+"
    if len(splits) == 1 and not last.get("use_regex", True) and splits[0].get("type") == "Split":
        split = splits[0]
        if split["behavior"] == "Isolated" and not split.get("invert") and "Regex" in split["pattern"]:
            pattern: str = split["pattern"]["Regex"]
            return pattern
    raise ValueError("it does not split text by one regular expression")


def _flat(documents: Iterable[Any]) -> Encoded:
    arrays = [np.array(ids, np.uint32) for ids in documents]
    offsets = np.zeros(len(arrays) + 1, np.int64)
    np.cumsum([len(ids) for ids in arrays], out=offsets[1:])
    return (np.concatenate(arrays) if arrays else np.empty(0, np.uint32)), offsets


def _columns(ids: list[int], spans: list[tuple[int, int]]) -> tuple[UInt32s, Int64s, Int64s]:
    at = np.array(spans, np.int64).reshape(-1, 2)
    return np.array(ids, np.uint32), at[:, 0], at[:, 1]
