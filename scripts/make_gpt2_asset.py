"""Make src/corpusmill/data/gpt2.json.gz, the GPT-2 tokenizer as a `tokenizer.json`, and enter it in MANIFEST.json.

    python scripts/make_gpt2_asset.py RANKS

RANKS is p50k_base.tiktoken as OpenAI publishes it (sha256 below), one "base64 rank" a line; the litellm wheel carries
it as litellm/litellm_core_utils/tokenizers/ec7223a39ce59f226a68acc30dc1af2788490e15. Its ranks below 50,256 are
GPT-2's vocabulary; the merges follow from them, because the merge that makes a token joins the two parts into which the
tokens of lower rank leave it. Running this again gives the same bytes.
"""

import argparse
import base64
import gzip
import hashlib
import json
from itertools import pairwise
from pathlib import Path

DATA = Path(__file__).parent.parent / "src" / "corpusmill" / "data"
RANKS_SHA256 = "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"
END_OF_TEXT = 50_256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ranks", type=Path)
    ranks = parser.parse_args().ranks.read_bytes()
    if (digest := hashlib.sha256(ranks).hexdigest()) != RANKS_SHA256:
        raise SystemExit(f"sha256 of the ranks is {digest}, expected {RANKS_SHA256}")
    text = json.dumps(tokenizer(gpt2_ranks(ranks)), ensure_ascii=False, separators=(",", ":"))
    packed = gzip.compress(text.encode(), compresslevel=9, mtime=0)
    (DATA / "gpt2.json.gz").write_bytes(packed)
    enter(
        "gpt2",
        {
            "file": "gpt2.json.gz",
            "sha256": hashlib.sha256(packed).hexdigest(),
            "source": "OpenAI GPT-2, https://github.com/openai/gpt-2",
            "licence": "Modified MIT (OpenAI)",
            "note": "Byte-level BPE, 50,257 tokens, as a tokenizer.json; made by scripts/make_gpt2_asset.py",
        },
    )


def gpt2_ranks(published: bytes) -> dict[bytes, int]:
    """token -> id of the ordinary tokens of GPT-2."""
    pairs = (line.split() for line in published.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in pairs if int(rank) < END_OF_TEXT}


def merges(ranks: dict[bytes, int]) -> list[tuple[bytes, bytes]]:
    """The merge that makes each token of more than one byte, in the order of the tokens."""
    pairs = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts = [token[i : i + 1] for i in range(len(token))]
        while len(parts) > 2:
            joined = [ranks.get(a + b, rank) for a, b in pairwise(parts)]
            at = joined.index(min(joined))
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        if len(parts) == 2:
            pairs.append((parts[0], parts[1]))
    return pairs


def byte_characters() -> dict[int, str]:
    """byte -> the printable character that byte-level BPE writes for it (`bytes_to_unicode` of GPT-2)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}


def tokenizer(ranks: dict[bytes, int]) -> dict[str, object]:
    characters = byte_characters()

    def written(token: bytes) -> str:
        return "".join(characters[byte] for byte in token)

    vocabulary = {written(token): rank for token, rank in sorted(ranks.items(), key=lambda item: item[1])}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": END_OF_TEXT,
                "content": "<|endoftext|>",
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
        ],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocabulary | {"<|endoftext|>": END_OF_TEXT},
            "merges": [f"{written(left)} {written(right)}" for left, right in merges(ranks)],
        },
    }


def enter(name: str, entry: dict[str, str]) -> None:
    """Write one entry of the manifest, leaving the others as they are."""
    path = DATA / "MANIFEST.json"
    entries = json.loads(path.read_text("utf-8"))
    entries[name] = entry
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(entries, indent=2, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
    beside.replace(path)


if __name__ == "__main__":
    main()
