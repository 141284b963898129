"""Tokenizers: from text to token ids, by a fast engine that is checked against the reference.

A tokenizer is defined by its file (`tokenizer_file`): a Hugging Face `tokenizer.json`, a SentencePiece `.model`, or
tiktoken's ranks. `token_engines` has the engines. The fast engine and the reference give the same ids for every Unicode
character; if a tokenizer normalizes to NFC, they can differ on runs of combining marks that are newer than the Unicode
version of the reference, so a run also compares a sample (`check`).

Text never becomes a control token: `<|endoftext|>` in a document is encoded as ordinary characters. No engine adds
tokens at the start or the end, and the tokenizer's own post-processor is not used; `encode_documents` appends one
end-of-document token (EOS) to each document and, if asked for, prepends one beginning-of-document token (BOS). So each
occurs once per document, and nowhere else.
"""

import hashlib
import json
import platform
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.assets.extras import FAST, command
from corpusmill.errors import AssetError, MissingExtraError
from corpusmill.models import sentencepiece_file, token_engines
from corpusmill.models.table_cache import Tables, cached_tables
from corpusmill.models.token_engines import Engine, EngineName, Reference
from corpusmill.models.tokenizer_file import Definition
from corpusmill.models.tokenizer_name import asset_of
from corpusmill.text.array_types import Int64s, UInt32s
from corpusmill.text.compile import fingerprint
from corpusmill.tokens.counts import lay_out

# Strings on which engines have disagreed: white space around a word, contractions, digits, combining marks without a
# base, characters outside the basic plane, control characters, Unicode spaces, and long runs without a split.
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


# Every byte of UTF-8, and characters of all kinds that no vocabulary has as tokens.
EVERY_BYTE = "".join(map(chr, (*range(0x801), *range(0x1000, 0x10000, 0x1000), *range(0x10000, 0x110000, 0x10000))))
PROBE_TOKENS = 2000  # tokens of the vocabulary that are used as probe strings, too


CACHED_TOKENIZERS = 16  # tokenizers, and engines, of a process: those of files that have changed go
LoadArguments = tuple[str, EngineName, str | None, str | None, tuple[str, ...]]  # the arguments of `load`


class CrossCheck(NamedTuple):
    """Result of comparing the engine in use with the reference."""

    documents: int
    differing: int


@dataclass(frozen=True)
class Tokenizer:
    """A vocabulary, the engine that applies it, and the tokens around a document. Created by `load`."""

    spec: str  # as given: a name that ships, a path, or a repository of the hub
    fingerprint: str  # SHA-256 of the file, uncompressed
    vocab_size: int  # the largest id + 1
    eos: str
    eos_id: int
    bos: str | None
    bos_id: int | None
    engine: Engine
    fallback: str | None  # why "auto" did not choose the fast engine; None if it did, or the engine was named
    definition: Definition = field(repr=False)
    arguments: LoadArguments

    def __reduce__(self) -> tuple[Any, ...]:
        return _reload, (self.arguments, self.fingerprint)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of ids in shards: uint16 if every id fits, else uint32."""
        return np.dtype(np.uint16 if self.vocab_size <= 65_536 else np.uint32)

    @property
    def reference(self) -> Reference:
        """The engine that defines the right ids; it may be the one in use."""
        return _reference(self.definition, _ends(self.eos, self.bos, self.arguments[-1]))

    def encode(self, texts: pa.Array) -> tuple[UInt32s, Int64s]:
        """The ids of each document's text, without BOS and EOS: ids (tokens,) and offsets (documents + 1,).

        A null, and a string that is not UTF-8, has no tokens.
        """
        return self.engine.encode(clean(texts))

    def encode_documents(self, texts: pa.Array) -> tuple[NDArray[Any], Int64s]:
        """The ids of each document with BOS, if there is one, and EOS: ids (tokens,) of `dtype`, and lengths
        (documents,), each >= 1."""
        ids, offsets = self.encode(texts)
        lengths = np.diff(offsets) + 1 + (self.bos_id is not None)
        out = np.empty(int(lengths.sum()), self.dtype)
        lay_out(ids, offsets, -1 if self.bos_id is None else self.bos_id, self.eos_id, out)
        return out, lengths

    def count(self, texts: pa.Array) -> Int64s:
        """(documents,) tokens of each document's text, without BOS and EOS."""
        counts: Int64s = np.diff(self.encode(texts)[1])
        return counts

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, with control tokens by name; bytes that are not UTF-8 become U+FFFD."""
        id_list, definition = list(map(int, ids)), self.definition
        if definition.model:
            return sentencepiece_file.decode(definition.model, definition.path, id_list)
        text: str = _original(definition).decode(id_list, skip_special_tokens=False)
        return text

    def check(self, texts: pa.Array) -> CrossCheck:
        """Compare the engine in use with the reference on these documents; compares none if it is the reference.

        Costs 0.4 s of CPU per megabyte.
        """
        if self.engine is self.reference:
            return CrossCheck(0, 0)
        texts = clean(texts)
        return CrossCheck(len(texts), len(_differing(self.engine, self.reference, texts)))


def load(
    spec: str | Path,
    engine: EngineName = "auto",
    eos: str | None = None,
    bos: str | None = None,
    controls: tuple[str, ...] = (),
) -> Tokenizer:
    """The tokenizer of this name or path, loaded once per process and content.

    spec     "gpt2", which ships; or the path of a tokenizer.json (or .json.gz), a SentencePiece .model, a .tiktoken
             file named after a known encoding, or a folder with one of the first two; or a repository of the Hugging
             Face hub, "org/name" or "org/name@revision", from its cache or from the hub
    engine   by name, as in `token_engines`; or "auto": gigatoken if it is installed, can load this tokenizer and gives
             the ids of the reference for the probe strings, else the reference
    eos      the special token that ends a document; by default the configured one, or the first with a usual name
    bos      the special token that begins a document; by default none
    controls  more tokens that no text may become, whether or not the file calls them special

    Raises AssetError if the tokenizer cannot be read, EOS is unclear, the named engine cannot be used or does not agree
    with the reference, or text can become a control token; MissingExtraError if a library is not installed.
    """
    definition = assets.load(asset_of(str(spec)), Definition.read)
    end = definition.find_eos(eos)
    begin = definition.find_bos(bos, end) if bos is not None else None
    return _load(definition, end, begin, (str(spec), engine, eos, bos, controls))


@lru_cache(CACHED_TOKENIZERS)
def _load(definition: Definition, end: str, begin: str | None, arguments: LoadArguments) -> Tokenizer:
    spec, engine, _, _, controls = arguments
    chosen, fallback = _choose(engine, definition, _ends(end, begin, controls))
    return Tokenizer(
        spec=spec,
        fingerprint=definition.fingerprint,
        vocab_size=max(definition.ids.values()) + 1,
        eos=end,
        eos_id=definition.ids[end],
        bos=begin,
        bos_id=definition.ids[begin] if begin else None,
        engine=chosen,
        fallback=fallback,
        definition=definition,
        arguments=arguments,
    )


def _reload(arguments: LoadArguments, fingerprint: str) -> Tokenizer:
    """The tokenizer in another process. Raises AssetError if its file has changed."""
    tokenizer = load(*arguments)
    if tokenizer.fingerprint != fingerprint:
        raise AssetError(f"{tokenizer.spec}: the file has changed since the tokenizer was loaded. Load it again.")
    return tokenizer


def _ends(eos: str, bos: str | None, controls: tuple[str, ...]) -> tuple[str, ...]:
    return (eos, *controls) if bos is None else (eos, bos, *controls)


def _choose(name: EngineName, definition: Definition, ends: tuple[str, ...]) -> tuple[Engine, str | None]:
    """The engine in use; and why it is not the fast one, where "auto" could not choose that."""
    reference = "sentencepiece" if definition.model else "tokenizers"
    others = ("gigatoken",) if definition.model else ("gigatoken", "tiktoken")
    if name not in ("auto", reference, *others):
        names = ", ".join(f'"{alternative}"' for alternative in (reference, *others))
        raise AssetError(
            f'{definition.path}: the engine {name} does not read such files. Use engine {names}, or "auto".'
        )
    lacking = name == "auto" and bool(FAST.missing)
    chosen = reference if lacking else "gigatoken" if name == "auto" else name
    problem = _verdict(chosen, definition, ends)
    if problem is None:
        engine = _reference(definition, ends) if chosen == reference else _engine(chosen, definition, ends)
        return engine, slow() if lacking else None
    if name != "auto":
        raise AssetError(f'{definition.path}: {name} {problem}. Use engine "{reference}", or "auto".')
    return _reference(definition, ends), f"{chosen} {problem}"


def slow() -> str | None:
    """What is said where "auto" cannot take the fast engine because it is not installed; None where it is."""
    if not FAST.missing:
        return None
    return f"gigatoken is not installed: the same token ids take up to a hundred times as long. {command(['fast'])}"


LIBRARIES = ("gigatoken", "tokenizers", "tiktoken", "sentencepiece")  # whose versions a verdict is of


def _verdict(chosen: str, definition: Definition, ends: tuple[str, ...]) -> str | None:
    """`_problem_of`, found out once a machine for each definition and version of the libraries.

    Raises AssetError as that does, every time.
    """
    about = [chosen, definition.fingerprint, definition.path.name, ends, platform.machine(), fingerprint(__name__)]
    digest = hashlib.sha256(json.dumps([*about, [installed_version(name) for name in LIBRARIES]]).encode()).hexdigest()

    def judge() -> Tables:
        problem = _problem_of(chosen, definition, ends)
        return {"problem": np.frombuffer(json.dumps(problem).encode(), np.uint8)}

    problem: str | None = json.loads(cached_tables(f"tokenizer-{digest[:16]}", judge)["problem"].tobytes())
    return problem


def installed_version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _problem_of(chosen: str, definition: Definition, ends: tuple[str, ...]) -> str | None:
    """Why an engine cannot be used, or does not give the ids of the reference on the probe strings; None if it does.

    Raises AssetError if text can become a control token.
    """
    reference = _reference(definition, ends)
    controls = definition.controls(*ends)
    # Three contexts in which engines have recognised control tokens in text.
    lookalikes = [text for c in controls for text in (c, f"a{c}b", f"a {c} {c}\n")]
    _refuse_gaps(reference, definition)
    _refuse_controls(reference, definition, controls, lookalikes)
    if chosen == reference.name:
        return None
    # Its own tokens as texts: an engine that splits differently misses those that cross a split.
    added_texts = [f"a{content} b" for content in definition.added if content not in controls]
    probes = [*PROBE, *lookalikes, *added_texts, *definition.sample(PROBE_TOKENS)]
    try:
        engine = _engine(chosen, definition, ends)
        differing = _differing(engine, reference, pa.array(probes, pa.large_string()))
        return f"differs from the reference on {len(differing)} probe strings" if len(differing) else None
    except (KeyboardInterrupt, SystemExit, MissingExtraError):
        raise
    except BaseException as error:  # a panic in the engine's Rust code is not an Exception
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        return f"cannot use this tokenizer ({reason})"


def _refuse_gaps(engine: Engine, definition: Definition) -> None:
    try:
        engine.encode(pa.array([*PROBE, EVERY_BYTE], pa.large_string()))
    except Exception as error:  # the library raises bare Exception
        raise AssetError(
            f"{definition.path}: this tokenizer cannot encode every text ({error}). Its vocabulary needs an unknown "
            "token, or a token for every byte. Add one, or use another tokenizer."
        ) from error


def _refuse_controls(engine: Engine, definition: Definition, controls: dict[str, int], lookalikes: list[str]) -> None:
    try:
        ids, _ = engine.encode(pa.array(lookalikes, pa.large_string()))
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # the library raises bare Exception, and a panic in its Rust code is not one
        raise AssetError(f"{definition.path}: {engine.name} cannot encode text by it: {error}") from error
    became = set(ids.tolist()) & (set(controls.values()) - {definition.unknown})
    if became:
        names = ", ".join(c for c, i in controls.items() if i in became)
        raise AssetError(
            f"{definition.path}: text that looks like the control tokens {names} is encoded as these tokens even when "
            "that is switched off, so documents could forge them. Use another tokenizer."
        )


@lru_cache(CACHED_TOKENIZERS)
def _reference(definition: Definition, ends: tuple[str, ...]) -> Reference:
    return token_engines.reference(definition, ends)


@lru_cache(CACHED_TOKENIZERS)
def _engine(name: str, definition: Definition, ends: tuple[str, ...]) -> Engine:
    return token_engines.make(name, definition, ends)


@lru_cache(CACHED_TOKENIZERS)
def _original(definition: Definition) -> Any:
    from tokenizers import Tokenizer as Native

    return Native.from_str(json.dumps(definition.json, ensure_ascii=False))


def _differing(a: Engine, b: Engine, texts: pa.LargeStringArray) -> list[int]:
    """The documents that two engines encode differently."""
    (ids_a, at_a), (ids_b, at_b) = a.encode(texts), b.encode(texts)
    pairs = zip(np.split(ids_a, at_a[1:-1]), np.split(ids_b, at_b[1:-1])) if len(texts) else ()
    return [i for i, (x, y) in enumerate(pairs) if not np.array_equal(x, y)]


def clean(texts: pa.Array) -> pa.LargeStringArray:
    """Texts as input of engines: a null, and a string that is not UTF-8, becomes empty."""
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
