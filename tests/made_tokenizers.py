"""Small tokenizers, made for tests."""

import io
import json

import pyarrow as pa

BYTES = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
BYTES += [b for b in range(256) if b not in BYTES]


def texts(*values):
    return pa.array(values, pa.large_string())


def added(content, number, special=True):
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": content, "special": special, **flags}


def write_bpe(path, tokens=("</s>",), ordinary=(), in_vocabulary=True, **model):
    """A byte-level BPE of bytes and no merges, with these tokens after them."""
    characters = [chr(b) for b in BYTES[:188]] + [chr(256 + i) for i in range(68)]
    vocabulary = {character: i for i, character in enumerate(characters)}
    named = [added(t, 256 + i) for i, t in enumerate(tokens)]
    named += [added(t, 256 + len(tokens) + i, special=False) for i, t in enumerate(ordinary)]
    if in_vocabulary:
        vocabulary |= {token["content"]: token["id"] for token in named}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    definition = {
        "version": "1.0",
        "added_tokens": named,
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": [], **model},
    }
    path.write_text(json.dumps(definition))
    return str(path)


LINES = [f"the river runs to the sea, and the sea is deep; naïve café {i} times." for i in range(200)]


def train_sentencepiece(path, kind, **settings):
    import sentencepiece

    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_writer=made,
        vocab_size=330,
        model_type=kind,
        byte_fallback=True,
        hard_vocab_limit=False,
        minloglevel=2,
        **{"user_defined_symbols": ["<sep>"], **settings},
    )
    path.write_bytes(made.getvalue())
    return str(path)
