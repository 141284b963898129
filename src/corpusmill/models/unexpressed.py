"""What of a text a tokenizer cannot express: characters that it leaves out, and tokens that stand for any text.

A byte-level tokenizer, or one that falls back to bytes, expresses every text. A BPE without an unknown token leaves out
characters that its vocabulary lacks; other tokenizers put the unknown token in their place.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.models.token_engines import HuggingFace
from corpusmill.models.tokenizer import CACHED_TOKENIZERS, Tokenizer, clean
from corpusmill.models.tokenizer_file import Definition
from corpusmill.text.array_types import Int64s

UNSEEN, BLANK, HAS_TOKEN, LOST = range(4)
CODE_POINTS = 0x110000
EXAMPLES, NAMED = 20, 10  # characters that a unit counts one by one, and that are shown


@dataclass(frozen=True)
class Unexpressed:
    """What some documents hold that a tokenizer cannot express.

    documents, with_some   all, and those that hold something of the kind
    characters, lost       all but white space, and those that have no token and are left out
    tokens, unknown        all, without BOS and EOS, and the unknown ones
    examples               the most frequent of the characters that are lost, and how often
    """

    documents: int
    with_some: int
    characters: int
    lost: int
    tokens: int
    unknown: int
    examples: dict[str, int]


def unexpressed(tokenizer: Tokenizer, texts: pa.Array, ids: NDArray[Any], lengths: Int64s) -> Unexpressed | None:
    """None of a tokenizer that expresses every text.

    texts          (documents,) large_string
    ids, lengths   of the documents with their BOS and EOS, as `Tokenizer.encode_documents` gives them
    """
    definition = tokenizer.definition
    if definition.expresses_all:
        return None
    document = np.repeat(np.arange(len(lengths)), lengths)
    ends = [i for i in (tokenizer.eos_id, tokenizer.bos_id) if i is not None]
    is_unknown = np.zeros(len(ids), bool) if definition.unknown is None else np.asarray(ids) == definition.unknown
    unknown = np.bincount(document, is_unknown, len(lengths)).astype(np.int64)
    unknown -= sum(end == definition.unknown for end in ends)
    points, sizes = _code_points(clean(texts))
    reference = tokenizer.reference if definition.leaves_out else None
    kinds = _kinds(definition, reference if isinstance(reference, HuggingFace) else None).look_up(points)
    is_lost = kinds == LOST
    lost = np.bincount(np.repeat(np.arange(len(sizes)), sizes), is_lost, len(sizes)).astype(np.int64)
    values, counts = np.unique(points[is_lost], return_counts=True)
    most = np.argsort(-counts, kind="stable")[:EXAMPLES]
    return Unexpressed(
        len(lengths),
        int(((lost > 0) | (unknown > 0)).sum()),
        int((kinds != BLANK).sum()),
        int(lost.sum()),
        len(ids) - len(lengths) * len(ends),
        int(unknown.sum()),
        {chr(values[i]): int(counts[i]) for i in most.tolist()},
    )


def in_words(measured: Unexpressed) -> str:
    """A sentence without a full stop; "" where all is expressed."""
    parts = []
    if measured.lost:
        examples = sorted(measured.examples, key=lambda character: (-measured.examples[character], character))
        names = " ".join(repr(character)[1:-1] for character in examples[:NAMED])
        lost = _share(measured.lost, measured.characters, "characters")
        more = " …" if len(examples) > NAMED else ""
        parts.append(f"{lost} have no token and are left out: {names}{more}")
    if measured.unknown:
        parts.append(f"{_share(measured.unknown, measured.tokens, 'tokens')} are the unknown one")
    documents = _share(measured.with_some, measured.documents, "documents")
    return f"the tokenizer cannot express all text: {'; '.join(parts)}; in {documents}" if parts else ""


def _share(part: int, whole: int, noun: str) -> str:
    percent = 100 * part / max(whole, 1)
    rounded = f"{percent:.1f}" if percent >= 0.1 else f"{percent:.2g}"
    return f"{part:,} of {whole:,} {noun} ({rounded} %)"


def _code_points(texts: pa.LargeStringArray) -> tuple[NDArray[np.uint32], Int64s]:
    """All code points, and how many each text has."""
    strings = texts.to_pylist()
    sizes = np.array([len(text) for text in strings], np.int64)
    return np.frombuffer("".join(strings).encode("utf-32-le"), np.uint32), sizes


@lru_cache(CACHED_TOKENIZERS)
def _kinds(definition: Definition, bpe: HuggingFace | None) -> "CharacterKinds":
    return CharacterKinds(bpe)


class CharacterKinds:
    """Which characters a tokenizer leaves out, each looked up once.

    bpe   one that leaves out what it lacks; None: nothing is left out
    """

    def __init__(self, bpe: HuggingFace | None) -> None:
        self._bpe = bpe
        self._kind = np.zeros(CODE_POINTS, np.uint8)

    def look_up(self, points: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """(characters,) BLANK, HAS_TOKEN or LOST."""
        for point in np.unique(points[self._kind[points] == UNSEEN]).tolist():
            character = chr(point)
            lost = self._bpe is not None and self._bpe.lacks(character)
            self._kind[point] = BLANK if character.isspace() else LOST if lost else HAS_TOKEN
        kinds: NDArray[np.uint8] = self._kind[points]
        return kinds
