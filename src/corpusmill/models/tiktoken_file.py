r"""tiktoken's files of ranks: one token per line, in base 64, and its rank, which is its id.

The file does not define how text is split before it is encoded, nor the special tokens; both follow from the name of
the encoding (`ENCODINGS`, from tiktoken's own table). They are converted to an equivalent tokenizer.json, so that every
engine can be compared with every other.
"""

import base64
import binascii
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from corpusmill.errors import AssetError, did_you_mean

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_SHORT}|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_SHORT}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LONGEST = 1024  # characters of a token in base 64: the time for its merges grows by the square; those in use have 172
END_OF_TEXT = "<|endoftext|>"
ENCODINGS: dict[str, tuple[str, dict[str, int]]] = {
    "r50k_base": (GPT2, {END_OF_TEXT: 50256}),
    "p50k_base": (GPT2, {END_OF_TEXT: 50256}),
    "cl100k_base": (
        CL100K,
        {
            END_OF_TEXT: 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
    "o200k_base": (O200K, {END_OF_TEXT: 199999, "<|endofprompt|>": 200018}),
}

# The character that byte-level BPE writes for each byte: a printable one for itself, others from 256 on.
_VISIBLE = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_HIDDEN = {byte: 256 + i for i, byte in enumerate(b for b in range(256) if b not in _VISIBLE)}
BYTE_CHARACTERS = tuple(chr(_HIDDEN.get(byte, byte)) for byte in range(256))

_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n")


def is_one(data: bytes) -> bool:
    """Whether data begins like a file of ranks."""
    return _LINE.match(data) is not None


def as_json(data: bytes, path: Path) -> dict[str, Any]:
    """The equivalent tokenizer.json. Raises AssetError for an unknown encoding or a damaged file.

    tiktoken merges the neighbours whose concatenation has the lowest rank; BPE merges by a list of pairs. The pair for
    a token is the result of all merges of lower rank on its bytes.
    """
    name = path.name.removesuffix(".gz").removesuffix(".tiktoken")
    if name not in ENCODINGS:
        raise AssetError(
            f"{path}: a file of ranks does not define how text is split, so its name must: NAME.tiktoken, with a name "
            f"of: "
            f"{', '.join(ENCODINGS)}{did_you_mean(name, ENCODINGS) or '.'} For another encoding, give a tokenizer.json."
        )
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        try:
            token, rank = line.split()
            if len(token) > LONGEST:
                raise ValueError(f"a token of {len(token)} characters, and {LONGEST} are the most")
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        except (ValueError, binascii.Error) as error:
            raise AssetError(f"{path}:{number}: not a token and its rank ({error}). Copy the file again.") from error
    if missing := [byte for byte in range(256) if bytes([byte]) not in ranks]:
        raise AssetError(f"{path}: has no token for the byte {missing[0]}: it was truncated. Copy the file again.")
    if len(set(ranks.values())) != len(ranks):
        raise AssetError(f"{path}: two tokens have the same rank: the file is damaged. Copy it again.")
    pattern, special = ENCODINGS[name]
    ordered = sorted(ranks, key=lambda token: ranks[token])
    merges = [[to_characters(part) for part in pair] for token in ordered if (pair := _pair(token, ranks))]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    # The pattern of GPT-2 is the default of ByteLevel, and some engines support it only in that form.
    own = pattern == GPT2
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": own}
    return {
        "version": "1.0",
        "added_tokens": [{"id": i, "content": content, "special": True, **flags} for content, i in special.items()],
        "normalizer": None,
        "pre_tokenizer": byte_level if own else {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "vocab": {to_characters(token): rank for token, rank in ranks.items()},
            "merges": merges,
            "ignore_merges": True,  # a word that is a token is that token, as in tiktoken
        },
    }


def to_characters(token: bytes) -> str:
    """Bytes in the characters of byte-level BPE."""
    return "".join(BYTE_CHARACTERS[byte] for byte in token)


def _pair(token: bytes, ranks: dict[bytes, int]) -> tuple[bytes, bytes] | None:
    """The two tokens whose merge is this one; None for a single byte, and for a token that no merge produces."""
    parts = [bytes([byte]) for byte in token]
    rank = ranks[token]
    while len(parts) > 2:
        pairs = [ranks.get(a + b, rank) for a, b in pairwise(parts)]
        lowest = min(pairs)
        if lowest >= rank:
            return None
        at = pairs.index(lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return (parts[0], parts[1]) if len(parts) == 2 else None
