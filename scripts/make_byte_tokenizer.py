"""Make src/corpusmill/data/bytes.json.gz, whose tokens are the bytes of UTF-8, and enter it in MANIFEST.json.

    python scripts/make_byte_tokenizer.py

The id of a byte is its value, and 256 is the end of a document. The file is a tokenizer.json without merges, so every
library that reads such files encodes and decodes with it.
"""

import gzip
import hashlib
import json
from pathlib import Path

DATA = Path(__file__).parent.parent / "src/corpusmill/data"
NAME = "bytes.json.gz"
END = "<|endoftext|>"


def letters() -> list[str]:
    """The character that stands for each byte in byte-level vocabularies (Radford et al. 2019): the byte's own where
    that is printed, else the next one from U+0100."""
    printed = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printed else chr(next(others)) for byte in range(256)]


def main() -> None:
    level: dict[str, object] = {"type": "ByteLevel", "add_prefix_space": False}
    level |= {"trim_offsets": False, "use_regex": False}
    end: dict[str, object] = {"id": 256, "content": END, "single_word": False, "lstrip": False, "rstrip": False}
    model: dict[str, object] = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None}
    model |= {"end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    written = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [end | {"normalized": False, "special": True}],
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": None,
        "decoder": level,
        "model": model | {"vocab": {letter: byte for byte, letter in enumerate(letters())}, "merges": []},
    }
    content = gzip.compress(json.dumps(written, ensure_ascii=False).encode(), mtime=0)
    (DATA / NAME).write_bytes(content)
    manifest = DATA / "MANIFEST.json"
    entry = {
        "file": NAME,
        "licence": "Apache-2.0",
        "note": "the 256 bytes and an end of documents, as a tokenizer.json; made by scripts/make_byte_tokenizer.py",
        "sha256": hashlib.sha256(content).hexdigest(),
        "source": "corpusmill",
    }
    entries = json.loads(manifest.read_text("utf-8")) | {"bytes": entry}
    manifest.write_text(json.dumps(entries, indent=2, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
