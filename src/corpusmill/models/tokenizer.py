"""Tokenizers: from text to token ids, by a fast engine that proves itself against the reference.

A tokenizer is what a Hugging Face `tokenizer.json` defines. The reference engine is the `tokenizers` library; the fast
one is gigatoken (on one core 290 MB/s against 2.6, on web text with the GPT-2 vocabulary). Both give the same ids for
every Unicode character; where a tokenizer normalizes to NFC, they can differ on runs of combining marks that came after
the Unicode version that the reference knows, which is why a run also compares a sample (`check`).

What a document says never becomes a control token: text that looks like `<|endoftext|>` is encoded as the ordinary
characters that it is. No engine adds tokens at the start or the end; `encode_documents` puts one end-of-document token
(EOS) after each document, so that EOS stands there and nowhere else.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.errors import AssetError

EngineName = Literal["auto", "gigatoken", "tokenizers"]
EOS_NAMES = ("<|endoftext|>", "</s>", "<|end_of_text|>", "<eos>")  # in the order in which they are looked for

# What engines have disagreed on: white space at both ends of a word, contractions, digits, combining marks without a
# base, characters outside the basic plane, control characters, Unicode spaces, and a run without a place to cut.
PROBE = (
    "",
    " ",
    "Hello world! This is GPT-2.",
    "  two  spaces \t and\r\n\r\nlines \n",
    "I'll we've IT'S don’t o'clock'",
    "3.14159 12,345,678 0x1F ½ ² ٣٤٥ Ⅷ",
    "\u0301\u0301lone marks e\u0301 é \u200d\u200b",
    "日本語のテキスト、中文沒有空格。한국어 ภาษาไทย हिन्दी العربية עברית",
    "👩‍👩‍👧‍👦 🏳️‍🌈 🇫🇷 ☃\ufe0f 𝔘𝔫𝔦",
    "\x00\x01\x1b[0m\x7f\x85\ufeff\ufffd",
    "a\u00a0b\u2003c\u3000d\u2028e\u2029f",
    "def f(x):\n\treturn {'a': [1, 2]}  # ok\n\n\n\n",
    "https://example.org/a?b=c&d=%20#e __init__ CamelCaseWord",
    "x" * 300 + " " * 60 + "=" * 80 + "ab" * 100,
)


class Engine(Protocol):
    """Encodes a batch; takes and gives flat arrays, so no Python object is made for a token.

    texts     (documents,) large_string without nulls
    returns   ids (tokens,) of all the documents, and offsets (documents + 1,) into them
    """

    @property
    def name(self) -> str: ...

    def encode(self, texts: pa.LargeStringArray) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...


class CrossCheck(NamedTuple):
    """What the comparison of the engine in use with the reference found."""

    documents: int
    differing: int


@dataclass(frozen=True)
class Tokenizer:
    """A vocabulary, the engine that applies it, and the token that ends a document. Made by `load`."""

    spec: str  # as given: a name that ships, or a path
    fingerprint: str  # SHA-256 of the tokenizer.json, uncompressed
    vocab_size: int  # the largest id, and one
    eos: str
    eos_id: int
    engine: Engine
    fallback: str | None  # why "auto" did not choose the fast engine; None if it did, or was not asked
    asked: tuple[str, EngineName, str | None]  # the arguments of `load`

    def __reduce__(self) -> tuple[Any, ...]:
        return load, self.asked

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest type that shards store ids in: uint16 where every id fits, else uint32."""
        return np.dtype(np.uint16 if self.vocab_size <= 65_536 else np.uint32)

    def encode(self, texts: pa.Array) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The ids of each document's text, no token added: ids (tokens,) and offsets (documents + 1,).

        A null, and a string that is not UTF-8, has no tokens.
        """
        return self.engine.encode(_clean(texts))

    def encode_documents(self, texts: pa.Array) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The ids of each document with EOS after it: ids (tokens,) of `dtype`, and lengths (documents,), each >= 1."""
        ids, offsets = self.encode(texts)
        lengths = np.diff(offsets) + 1
        ends = np.cumsum(lengths)
        text = np.ones(len(ids) + len(lengths), bool)
        text[ends - 1] = False
        out = np.full(len(text), self.eos_id, self.dtype)
        out[text] = ids
        return out, lengths

    def count(self, texts: pa.Array) -> NDArray[np.int64]:
        """(documents,) tokens of each document's text, EOS not counted."""
        counts: NDArray[np.int64] = np.diff(self.encode(texts)[1])
        return counts

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, control tokens written by name; bytes that are no UTF-8 become U+FFFD."""
        original = _original(assets.load(self.spec, Definition.read))
        text: str = original.decode(list(map(int, ids)), skip_special_tokens=False)
        return text

    def check(self, texts: pa.Array) -> CrossCheck:
        """Compare the engine in use with the reference on these documents. Costs 0.4 s of CPU for a megabyte."""
        clean = _clean(texts)
        reference = _reference(assets.load(self.spec, Definition.read), self.eos)
        return CrossCheck(len(clean), len(_differing(self.engine, reference, clean)))


@dataclass(frozen=True, eq=False)
class Definition:
    """A parsed tokenizer.json."""

    path: Path
    fingerprint: str
    json: dict[str, Any]
    added: dict[str, dict[str, Any]]  # the added tokens by what they look like
    ids: dict[str, int]  # every token, added ones too, as it is written in the file
    default_eos: str | None  # what tokenizer_config.json beside it calls the end-of-sequence token

    @classmethod
    def read(cls, path: Path) -> "Definition":
        """Read a tokenizer.json, plain or gzip, or the folder that holds one. Raises AssetError."""
        file = path / "tokenizer.json" if path.is_dir() else path
        try:
            data = file.read_bytes()
            data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
            found = json.loads(data)
            vocab = found["model"]["vocab"]
            # A Unigram vocabulary is a list of (piece, score), the id its place; the others are maps to the id.
            ids = {piece: i for i, (piece, _) in enumerate(vocab)} if isinstance(vocab, list) else dict(vocab)
            added = {token["content"]: token for token in found.get("added_tokens") or []}
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
            raise AssetError(
                f"{file}: not a tokenizer.json ({type(error).__name__}: {error}). Give the tokenizer.json of a "
                'Hugging Face tokenizer, the folder that holds one, or "gpt2", which ships.'
            ) from error
        ids |= {content: token["id"] for content, token in added.items()}
        return cls(file, hashlib.sha256(data).hexdigest(), found, added, ids, _configured_eos(file))

    def find_eos(self, wanted: str | None) -> str:
        """The token that ends a document: the one asked for, else the configured one, else the first usual one."""
        for name in (wanted,) if wanted is not None else (self.default_eos, *EOS_NAMES):
            if name in self.added:
                return name
        special = [content for content, token in self.added.items() if token.get("special")]
        have = ", ".join(special[:20]) + (", …" if len(special) > 20 else "") if special else "none"
        asked = f'"{wanted}" is not one' if wanted is not None else f"none of {', '.join(EOS_NAMES)} is one"
        raise AssetError(
            f"{self.path}: which token ends a document? {asked}. Its special tokens are: {have}. Give one as `eos`."
        )

    def controls(self, eos: str) -> dict[str, int]:
        """The tokens that no text may become, with their ids: the special ones, and EOS."""
        return {c: token["id"] for c, token in self.added.items() if token.get("special") or c == eos}

    def plain(self, eos: str) -> str:
        """The same tokenizer as JSON, in which text that looks like a control token is ordinary text.

        Control tokens are no longer added tokens, which are found in raw text first. In the vocabulary they get a
        space in front: pre-tokenizers and normalizers leave no space inside a piece (byte-level BPE writes it Ġ,
        SentencePiece ▁), so no text can match them there, and every id stays where it was. Nothing is put at either
        end of a text.
        """
        controls = self.controls(eos)
        model = dict(self.json["model"])
        names = {token: f" {token}" if token in controls else token for token in self.ids}
        if isinstance(model["vocab"], list):
            scores = dict(model["vocab"])
            by_id = sorted(self.ids, key=lambda token: self.ids[token])
            model["vocab"] = [[names[token], scores.get(token, 0.0)] for token in by_id]
        else:
            model["vocab"] = {names[token]: i for token, i in self.ids.items()}
        if model.get("unk_token") in names:
            model["unk_token"] = names[model["unk_token"]]
        keep = [token for content, token in self.added.items() if content not in controls]
        changed = {"model": model, "added_tokens": keep, "post_processor": None, "truncation": None, "padding": None}
        return json.dumps(self.json | changed, ensure_ascii=False)


def load(spec: str | Path, engine: EngineName = "auto", eos: str | None = None) -> Tokenizer:
    """The tokenizer of this name or path, loaded once a process.

    spec     "gpt2", which ships, or the path of a tokenizer.json (or .json.gz), or of the folder that holds one
    engine   "gigatoken", "tokenizers" (the reference), or "auto": gigatoken where it can load this tokenizer and
             encodes the probe strings as the reference does
    eos      the special token that ends a document; looked for among the usual names if not given

    Raises AssetError if the tokenizer cannot be read, EOS is not clear, the engine asked for does not agree with the
    reference, or text can become a control token.
    """
    return _load(str(spec), engine, eos)


@cache
def _load(spec: str, engine: EngineName, eos: str | None) -> Tokenizer:
    definition = assets.load(spec, Definition.read)
    end = definition.find_eos(eos)
    reference = _reference(definition, end)
    chosen, fallback = _choose(engine, definition, end, reference)
    return Tokenizer(
        spec=spec,
        fingerprint=definition.fingerprint,
        vocab_size=max(definition.ids.values()) + 1,
        eos=end,
        eos_id=definition.ids[end],
        engine=chosen,
        fallback=fallback,
        asked=(spec, engine, eos),
    )


def _choose(name: EngineName, definition: Definition, eos: str, reference: Engine) -> tuple[Engine, str | None]:
    controls = definition.controls(eos)
    # Three places where control tokens have been found by engines that should not look for them.
    lookalikes = [text for c in controls for text in (c, f"a{c}b", f"a {c} {c}\n")]
    _refuse_controls(reference, definition, controls, lookalikes)
    if name == "tokenizers":
        return reference, None
    try:
        fast = _fast(definition, eos)
        differing = _differing(fast, reference, pa.array([*PROBE, *lookalikes], pa.large_string()))
        problem = f"differs from the reference on {len(differing)} probe strings" if len(differing) else None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in the engine's Rust code is not an Exception
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        problem = f"cannot use this tokenizer ({reason})"
    if problem is None:
        return fast, None
    if name == "gigatoken":
        raise AssetError(f'{definition.path}: gigatoken {problem}. Use engine "tokenizers", or "auto".')
    return reference, f"gigatoken {problem}"


def _refuse_controls(engine: Engine, definition: Definition, controls: dict[str, int], lookalikes: list[str]) -> None:
    ids, _ = engine.encode(pa.array(lookalikes, pa.large_string()))
    model = definition.json["model"]
    unknown = model.get("unk_id", definition.ids.get(model.get("unk_token") or ""))
    became = set(ids.tolist()) & (set(controls.values()) - {unknown})
    if became:
        names = ", ".join(c for c, i in controls.items() if i in became)
        raise AssetError(
            f"{definition.path}: text that looks like the control tokens {names} becomes them even where they are not "
            "looked for, so documents could forge them. Use another tokenizer."
        )


@cache
def _reference(definition: Definition, eos: str) -> "HuggingFace":
    return HuggingFace(definition.plain(eos), definition.path)


@cache
def _fast(definition: Definition, eos: str) -> "Gigatoken":
    return Gigatoken(definition.plain(eos))


@cache
def _original(definition: Definition) -> Any:
    from tokenizers import Tokenizer as Native

    return Native.from_str(json.dumps(definition.json, ensure_ascii=False))


class HuggingFace:
    """The `tokenizers` library, the reference."""

    name = "tokenizers"

    def __init__(self, definition: str, path: Path) -> None:
        from tokenizers import Tokenizer as Native

        try:
            self._native = Native.from_str(definition)
        except Exception as error:  # the library raises bare Exception
            raise AssetError(f"{path}: the tokenizers library cannot load it: {error}") from error

    def encode(self, texts: pa.LargeStringArray) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        # One text a call: the batch calls start a thread pool, which must not be in a worker (3.1 MB/s against 2.6).
        each = [np.array(self._native.encode(t, add_special_tokens=False).ids, np.uint32) for t in texts.to_pylist()]
        offsets = np.zeros(len(each) + 1, np.int64)
        np.cumsum([len(ids) for ids in each], out=offsets[1:])
        return (np.concatenate(each) if each else np.empty(0, np.uint32)), offsets


class Gigatoken:
    """The gigatoken library. Always on the calling thread: workers are processes, and share the cores among them."""

    name = "gigatoken"

    def __init__(self, definition: str) -> None:
        import awkward  # type: ignore[import-untyped]
        import gigatoken

        self._native = gigatoken.Tokenizer.from_json(definition)
        self._awkward = awkward

    def encode(self, texts: pa.LargeStringArray) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        found = self._native.encode_batch(self._view(texts), parallel=False).layout
        return np.asarray(found.content.data, np.uint32), np.asarray(found.offsets.data, np.int64)

    def _view(self, texts: pa.LargeStringArray) -> Any:
        """The Arrow buffers as the library's own array type, not copied."""
        ak = self._awkward
        _, offsets, data = texts.buffers()
        count = len(texts) + 1
        starts = np.frombuffer(offsets, np.int64, count, texts.offset * 8) if offsets else np.zeros(1, np.int64)
        text = np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)
        characters = ak.contents.NumpyArray(text, parameters={"__array__": "char"})
        strings = ak.contents.ListOffsetArray(ak.index.Index64(starts), characters, parameters={"__array__": "string"})
        return ak.Array(strings)


def _differing(a: Engine, b: Engine, texts: pa.LargeStringArray) -> list[int]:
    """The documents that two engines encode differently."""
    (ids_a, at_a), (ids_b, at_b) = a.encode(texts), b.encode(texts)
    pairs = zip(np.split(ids_a, at_a[1:-1]), np.split(ids_b, at_b[1:-1])) if len(texts) else ()
    return [i for i, (x, y) in enumerate(pairs) if not np.array_equal(x, y)]


def _clean(texts: pa.Array) -> pa.LargeStringArray:
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    texts = texts.cast(pa.large_string(), safe=False) if texts.type != pa.large_string() else texts
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        texts = pa.array([_decoded(text) for text in texts.cast(pa.large_binary())], pa.large_string())
    return texts.fill_null("") if texts.null_count else texts


def _decoded(text: pa.LargeBinaryScalar) -> str | None:
    try:
        return text.as_py().decode() if text.is_valid else None
    except UnicodeDecodeError:
        return None


def _configured_eos(file: Path) -> str | None:
    """`eos_token` of the tokenizer_config.json beside the file, or None."""
    try:
        named = json.loads((file.parent / "tokenizer_config.json").read_text("utf-8")).get("eos_token")
    except (OSError, ValueError, AttributeError):
        return None
    named = named.get("content") if isinstance(named, dict) else named
    return named if isinstance(named, str) else None
