"""Tokenizers as their files define them: a Hugging Face `tokenizer.json`, a SentencePiece `.model`, or tiktoken's
ranks."""

import hashlib
import json
import zlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from corpusmill import assets
from corpusmill.errors import AssetError
from corpusmill.models import sentencepiece_file, tiktoken_file
from corpusmill.models.model_file import DAMAGE, wrong_value
from corpusmill.models.sentencepiece_file import BYTE, CONTROL, USER_DEFINED
from corpusmill.models.tiktoken_file import BYTE_CHARACTERS
from corpusmill.text.array_types import Int64s

EOS_NAMES = ("<|endoftext|>", "</s>", "<|end_of_text|>", "<eos>")  # in order of preference
FILES = ("tokenizer.json", "tokenizer.model")  # in a folder, in order of preference
ID_LIMIT = 2**32  # ids are 32 bits wide
# Tokens are counted in a table up to the highest id: so many ids there may be that have no token.
MAX_GAPS, IDS_PER_TOKEN = 1 << 20, 16
MAX_UNPACKED = 512 << 20  # bytes of a file that is compressed; the largest vocabularies in use take 40 million
# What in a model makes the reference draw at random: BPE's dropout (Provilkov et al. 2020, arXiv:1910.13267), and the
# sampling of Unigram (Kudo 2018, arXiv:1804.10959), which tokenizers 0.23 neither writes nor reads.
AT_RANDOM = ("dropout", "alpha", "nbest_size")
UTF8_BYTES = (*range(0xC0), *range(0xC2, 0xF5))  # those that a text can have
BYTE_OF_CHARACTER = {character: byte for byte, character in enumerate(BYTE_CHARACTERS)}


@dataclass(frozen=True, eq=False)
class Definition:
    """A tokenizer as its file defines it.

    json      the tokenizer.json; for tiktoken's ranks, an equivalent one; empty for a SentencePiece model
    model     the bytes of a SentencePiece model; empty for all others
    added     the tokens outside the model, by content: a dict of `id`, `special` and so on
    ids       every token, added ones included, as the reference numbers them
    unknown   the id of the unknown token, if there is one
    """

    path: Path
    fingerprint: str  # SHA-256 of the file, uncompressed
    json: dict[str, Any]
    model: bytes
    added: dict[str, dict[str, Any]]
    ids: dict[str, int]
    unknown: int | None
    eos: str | None  # the end-of-sequence token of a SentencePiece model; others have it in a file beside them
    expresses_all: bool  # whether there is a token for every byte, so that no text is lost or unknown
    ids_in_file: dict[str, Any] = field(default_factory=dict)  # of added tokens to which the reference gives other ids

    @classmethod
    def read(cls, path: Path) -> "Definition":
        """Read a file, plain or gzip.

        Raises AssetError, or MissingExtraError for a SentencePiece model without its library.
        """
        try:
            data = path.read_bytes()
            data = _unpacked(data) if data[:2] == b"\x1f\x8b" else data
            if tiktoken_file.is_one(data):
                definition = _of_json(path, tiktoken_file.as_json(data, path))
            elif path.name.removesuffix(".gz").endswith(".model"):
                definition = _of_model(path, data)
            else:
                parsed = json.loads(data)
                definition = _of_json(path, _renumbered(parsed))
                in_file = {token["content"]: token["id"] for token in parsed.get("added_tokens") or []}
                changed = {content: i for content, i in in_file.items() if i != definition.ids[content]}
                definition = replace(definition, ids_in_file=changed)
        except (*DAMAGE, EOFError, zlib.error) as error:
            raise AssetError(_no_json(path, error)) from error
        ids = definition.ids
        wrong = [token for token, i in ids.items() if type(i) is not int or not 0 <= i < ID_LIMIT]
        if wrong or not ids:
            problem = f"the id of {wrong[0]!r} is {ids[wrong[0]]!r}" if wrong else "it has no tokens"
            raise AssetError(f"{path}: {problem}; ids are integers from 0 of at most 32 bits. The file is damaged.")
        last, most = max(ids, key=lambda token: ids[token]), MAX_GAPS + IDS_PER_TOKEN * len(ids)
        if ids[last] > most:
            raise wrong_value(path, f"the id of {last!r}", ids[last], f"at most {most} with {len(ids)} tokens")
        return replace(definition, fingerprint=hashlib.sha256(data).hexdigest())

    @property
    def default_eos(self) -> str | None:
        """The end-of-sequence token of the model, or of the tokenizer_config.json beside a tokenizer.json."""
        config = config_of(self.path)
        return assets.load(str(config), _configured_eos) if config else self.eos

    def find_eos(self, eos: str | None) -> str:
        """The token that ends a document: `eos`, else the configured one, else the first of EOS_NAMES."""
        for name in (eos,) if eos is not None else (self.default_eos, *EOS_NAMES):
            if name in self.added:
                return name
        problem = f'"{eos}" is not one' if eos is not None else f"none of {', '.join(EOS_NAMES)} is one"
        raise AssetError(
            f"{self.path}: which token ends a document? {problem}. Its special tokens are: {self._specials()}. "
            "Set `eos` to one of them."
        )

    def find_bos(self, bos: str, eos: str) -> str:
        """The token that begins a document. Raises AssetError if there is no token of this name, or it is EOS."""
        if bos == eos:
            raise AssetError(
                f'{self.path}: "{bos}" ends every document, so every next one already begins after it. Leave out `bos`.'
            )
        if bos not in self.added:
            raise AssetError(
                f'{self.path}: there is no token "{bos}" to begin documents with. Its special tokens are: '
                f"{self._specials()}. Set `bos` to one of them, or leave it out."
            )
        return bos

    def _specials(self) -> str:
        special = [content for content, token in self.added.items() if token.get("special")]
        return ", ".join(special[:20]) + (", …" if len(special) > 20 else "") if special else "none"

    def controls(self, *ends: str) -> dict[str, int]:
        """The tokens that text must never become, with their ids: special ones, and those that begin and end
        documents."""
        return {c: token["id"] for c, token in self.added.items() if token.get("special") or c in ends}

    def plain(self, *ends: str) -> str:
        """The same tokenizer as JSON, in which text that looks like a control token is ordinary text.

        Control tokens are no longer added tokens, which are matched in raw text first. In the vocabulary they get a
        leading space: pre-tokenizers and normalizers leave no space inside a piece (byte-level BPE writes it Ġ,
        SentencePiece ▁), so no text can match them there, and every id is unchanged. Nothing is added at either end of
        a text. Nothing is drawn at random: a text has one sequence of ids.
        """
        controls = self.controls(*ends)
        model = {name: value for name, value in self.json["model"].items() if name not in AT_RANDOM}
        names = {token: f" {token}" if token in controls else token for token in self.ids}
        if isinstance(model["vocab"], list):
            size = len(model["vocab"])
            by_id = sorted(self.ids, key=lambda token: self.ids[token])
            model["vocab"] = [[names[token], score] for token, score in model["vocab"]]
            model["vocab"] += [[names[token], 0.0] for token in by_id if self.ids[token] >= size]
        else:
            model["vocab"] = {names[token]: i for token, i in self.ids.items()}
        if model.get("unk_token") in names:
            model["unk_token"] = names[model["unk_token"]]
        keep = [token for content, token in self.added.items() if content not in controls]
        changed = {"model": model, "added_tokens": keep, "post_processor": None, "truncation": None, "padding": None}
        return json.dumps(self.json | changed, ensure_ascii=False)

    @property
    def leaves_out(self) -> bool:
        """Whether text is lost without a trace: a BPE that has neither all bytes nor an unknown token."""
        is_bpe = bool(self.json) and self.json["model"].get("type", "BPE") == "BPE"
        return is_bpe and self.unknown is None and not self.expresses_all

    @property
    def at_random(self) -> dict[str, float]:
        """What the file says of draws at random, which are switched off here: `{"dropout": 0.1}`."""
        return {name: value for name in AT_RANDOM if (value := self.json.get("model", {}).get(name))}

    @cached_property
    def byte_level(self) -> bool:
        """Whether this is a byte-level BPE."""
        steps = pre_tokenizers(self.json.get("pre_tokenizer"))
        of_bytes = any(step.get("type") == "ByteLevel" for step in steps)
        return bool(self.json) and self.json["model"].get("type", "BPE") == "BPE" and of_bytes

    @cached_property
    def token_bytes(self) -> dict[str, bytes] | None:
        """The bytes of each token of a byte-level BPE; None for other tokenizers.

        A token with a character that stands for no byte is left out: no text can become it.
        """
        if not self.byte_level:
            return None
        return {token: data for token in self.ids if (data := self._bytes(token)) is not None}

    def _bytes(self, token: str) -> bytes | None:
        if token in self.added:
            return token.encode()
        try:
            return bytes(map(BYTE_OF_CHARACTER.__getitem__, token))
        except KeyError:
            return None

    def look(self, token: str) -> str:
        """The text of a token; U+FFFD for incomplete characters."""
        if self.byte_level:
            data = self._bytes(token)
            return token if data is None else data.decode(errors="replace")
        return token.replace("\u2581", " ")

    def sample(self, limit: int) -> list[str]:
        """The texts of at most `limit` tokens, evenly spread over the vocabulary."""
        tokens = sorted(self.ids.keys() - self.added.keys(), key=lambda token: self.ids[token])
        return [self.look(token) for token in tokens[:: -(-len(tokens) // limit) or 1]]

    @cached_property
    def sizes(self) -> Int64s | None:
        """(vocabulary,) bytes of each token of a byte-level BPE; None for other tokenizers."""
        if self.token_bytes is None:
            return None
        sizes = np.zeros(max(self.ids.values()) + 1, np.int64)
        for token, data in self.token_bytes.items():
            sizes[self.ids[token]] = len(data)
        return sizes


def _unpacked(data: bytes) -> bytes:
    member = zlib.decompressobj(31)
    content = member.decompress(data, MAX_UNPACKED)
    if not member.eof:
        raise ValueError(f"its gzip data is cut off, or holds more than {MAX_UNPACKED >> 20} MiB")
    return content


def _of_json(file: Path, parsed: dict[str, Any]) -> Definition:
    model = parsed["model"]
    vocab = model["vocab"]
    # A Unigram vocabulary is a list of (piece, score) in the order of ids; the others are maps to the id.
    ids = {piece: i for i, (piece, _) in enumerate(vocab)} if isinstance(vocab, list) else dict(vocab)
    added = {token["content"]: token for token in parsed.get("added_tokens") or []}
    ids |= {content: token["id"] for content, token in added.items()}
    unknown = model.get("unk_id", ids.get(model.get("unk_token") or ""))
    if other := next((token for token in ids if not isinstance(token, str)), None):
        raise ValueError(f"the token {other!r} is not a string")
    if not all(isinstance(step, dict) for step in pre_tokenizers(parsed.get("pre_tokenizer"))):
        raise ValueError("pre_tokenizer is not an object")
    of_bytes = any(step.get("type") == "ByteLevel" for step in pre_tokenizers(parsed.get("pre_tokenizer")))
    has_bytes = of_bytes and all(BYTE_CHARACTERS[byte] in ids for byte in UTF8_BYTES)
    falls_back = model.get("byte_fallback") and all(f"<0x{byte:02X}>" in ids for byte in UTF8_BYTES)
    # The others take words whole, and have none for most.
    expresses_all = model.get("type", "BPE") in ("BPE", "Unigram") and bool(has_bytes or falls_back)
    return Definition(file, "", parsed, b"", added, ids, unknown, None, expresses_all)


def _renumbered(parsed: dict[str, Any]) -> dict[str, Any]:
    """A tokenizer.json whose added tokens have the ids that the reference gives them.

    The reference takes the id of a token that the vocabulary has from there, and numbers the others on from its end. It
    is asked only where the file says otherwise; what it cannot load is left as it is, and refused later.
    """
    vocab, added = parsed["model"]["vocab"], parsed.get("added_tokens") or []
    ids = {piece: i for i, (piece, _) in enumerate(vocab)} if isinstance(vocab, list) else vocab
    expected, highest = list[int](), -1
    for token in added:
        expected.append(ids.get(token["content"], max(len(ids), highest + 1)))
        highest = max(highest, expected[-1])
    if [token["id"] for token in added] == expected:
        return parsed
    from tokenizers import Tokenizer as Native

    try:
        native = Native.from_str(json.dumps(parsed))
    except Exception:  # the library raises bare Exception
        return parsed
    numbers = [native.token_to_id(token["content"]) for token in added]
    return parsed | {"added_tokens": [token | {"id": number} for token, number in zip(added, numbers)]}


def _of_model(file: Path, data: bytes) -> Definition:
    library = sentencepiece_file.load(data, file)
    pieces = sentencepiece_file.pieces(data)
    special = {CONTROL: True, USER_DEFINED: False}
    added = {p: {"id": i, "special": special[kind]} for i, (p, kind) in enumerate(pieces) if kind in special}
    ids = {piece: i for i, (piece, _) in enumerate(pieces)}
    eos = pieces[library.eos_id()][0] if library.eos_id() >= 0 else None
    expresses_all = sum(kind == BYTE for _, kind in pieces) == 256
    return Definition(file, "", {}, data, added, ids, library.unk_id(), eos, expresses_all)


def pre_tokenizers(definition: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The pre-tokenizers of a tokenizer.json, a sequence flattened."""
    if not definition:
        return []
    if not isinstance(definition, dict) or "pretokenizers" not in definition:
        return [definition]
    return [step for part in definition["pretokenizers"] for step in pre_tokenizers(part)]


def _no_json(file: Path, error: Exception) -> str:
    return (
        f"{file}: not a tokenizer.json ({type(error).__name__}: {error}). Give the tokenizer.json of a "
        'Hugging Face tokenizer, a SentencePiece .model, a .tiktoken file, the folder that holds one, or "gpt2", '
        "which ships."
    )


def config_of(tokenizer: Path) -> Path | None:
    """The tokenizer_config.json beside a tokenizer.json, if there is one: it names the token that ends a document."""
    config = tokenizer.with_name("tokenizer_config.json")
    says_itself = tokenizer.name.removesuffix(".gz").endswith((".model", ".tiktoken"))
    return config if not says_itself and config.is_file() else None


def _configured_eos(file: Path) -> str | None:
    """`eos_token` of a tokenizer_config.json, or None."""
    try:
        token = json.loads(file.read_text("utf-8")).get("eos_token")
    except (ValueError, AttributeError):
        return None
    token = token.get("content") if isinstance(token, dict) else token
    return token if isinstance(token, str) else None
