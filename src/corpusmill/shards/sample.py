"""A thousand fixed texts by whose ids a tokenizer is known: equal ids of all of them are taken for the same tokenizer.

The hash of a tokenizer's file says nothing to a training job that has the tokenizer in another form: a folder of
transformers, a tiktoken encoding, a SentencePiece model. The ids that it gives can be compared with anything that
encodes. The texts are made here and never change: words of many scripts, numbers, punctuation, white space, code.

Needs NumPy and the standard library only, as the loader does.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from corpusmill.errors import ShardError

TEXT_COUNT = 1000
Encode = Callable[[str], Sequence[int]]

WORDS = (
    *"the of and to in river stone winter garden letter window market silver morning captain forest bridge".split(),
    *"I'll we've don't o'clock IT'S Unicode tokenizer internationalisation antidisestablishmentarianism".split(),
    *"schön Straße Übermut façade naïve coração señor žluťoučký kůň łódź győr İstanbul ğ ø å æ þ".split(),
    *"река зима вікно прозорец ελληνικά θάλασσα შავი ზღვა գիրք".split(),
    *"مرحبا بالعالم שלום עולם हिन्दी भाषा বাংলা தமிழ் ภาษาไทย ខ្មែរ".split(),
    *"日本語のテキスト 中文沒有空格 简体中文 한국어 カタカナ".split(),
    *"👩\u200d👩\u200d👧 🏳️ 🇫🇷 ☃\ufe0f \U0001d518\U0001d52b\U0001d526 ½ ² Ⅷ e\u0301 \u00a0 \u3000 \ufb01 \u200b".split(
        " "
    ),
    *"3.14159 12,345,678 0x1F 2024-02-29 1e-9 +49 $5 100% #7 @x user@example.org".split(),
    *"https://example.org/a?b=c&d=%20#e __init__ CamelCaseWord snake_case def return".split(),
    *"{'a': [1, 2]}; != => // /* */".split(),
)
JOINTS = (*[" "] * 4, ", ", ". ", "\n", "\n\n", "  ", "\t", "", "-", "/", "...", " (", ") ", '" ', "    ", "\r\n")


@cache
def texts() -> tuple[str, ...]:
    """The texts, of 1 to 40 words each; the first is empty.

    >>> len(texts()), texts()[0], sum(map(len, texts())) > 100_000
    (1000, '', True)
    """
    state = 1
    samples = []
    for number in range(TEXT_COUNT):
        parts: list[str] = []
        for _ in range(0 if number == 0 else 1 + number % 40):
            # Knuth's linear congruential generator (MMIX): the same on every machine and in every version.
            state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            parts += [WORDS[(state >> 33) % len(WORDS)], JOINTS[(state >> 24) % len(JOINTS)]]
        samples.append("".join(parts))
    return tuple(samples)


class SampleIds(NamedTuple):
    """What a tokenizer gives for the texts: how many ids, and the SHA-256 of their number and value, text by text, as
    little-endian uint32."""

    tokens: int
    sha256: str

    @staticmethod
    def from_ids(ids: Iterable[Sequence[int]]) -> "SampleIds":
        digest, tokens = hashlib.sha256(), 0
        for text_ids in ids:
            digest.update(np.array([len(text_ids), *text_ids], "<u4").tobytes())
            tokens += len(text_ids)
        return SampleIds(tokens, digest.hexdigest())


def ids_of(tokenizer: Any) -> SampleIds:
    """The same for the tokenizer of a training job: one of `tokenizers`, `transformers`, `tiktoken` or `sentencepiece`,
    or a function from a text to its ids, without tokens at its beginning and end.

    Raises ShardError for anything else.
    """
    encode = _encode(tokenizer)
    try:
        return SampleIds.from_ids(map(encode, texts()))
    except (TypeError, ValueError, OverflowError) as error:
        raise ShardError(
            f"the tokenizer {type(tokenizer).__name__} does not give a list of ids for a text ({error}). Give a "
            "function from a text to its ids."
        ) from error


def _encode(tokenizer: Any) -> Encode:
    if hasattr(tokenizer, "encode_ordinary"):  # tiktoken, in which text never becomes a control token
        ordinary: Encode = tokenizer.encode_ordinary
        return ordinary
    if hasattr(tokenizer, "id_to_piece"):  # sentencepiece
        pieces: Encode = tokenizer.encode
        return pieces
    if hasattr(tokenizer, "encode"):

        def encode(text: str) -> Sequence[int]:
            encoding = tokenizer.encode(text, add_special_tokens=False)
            return list(getattr(encoding, "ids", encoding))

        return encode
    if callable(tokenizer):
        return lambda text: list(tokenizer(text))
    raise ShardError(
        "tokenizer must be one of tokenizers, transformers, tiktoken or sentencepiece, or a function from a text to "
        f"its ids, got {type(tokenizer).__name__}."
    )
