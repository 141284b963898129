"""Fill in the middle: documents whose middle comes last, so that a model learns to write what is between two texts.

A text is cut at two characters into prefix, middle and suffix, and written with the tokenizer's own sentinels, in one
of two orders (Bavarian et al. 2022, arXiv:2207.14255, sections 3 and 3.1):

    PSM   <prefix> prefix <suffix> suffix <middle> middle
    SPM   <prefix> <suffix> suffix <middle> prefix middle

In SPM prefix and middle are one text for the tokenizer, as in Code Llama (Rozière et al. 2023, arXiv:2308.12950,
section 2.3). Everything that is drawn is a hash of the document's id and of the place in it.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.errors import AssetError, RecipeError
from corpusmill.models.tokenizer import Tokenizer
from corpusmill.models.tokenizer_file import Definition
from corpusmill.text.array_types import Bools, Float64s, Int64s, UInt32s, UInt64s
from corpusmill.text.splitmix64 import GOLDEN, mix64
from corpusmill.tokens.sampling import sampling_hash

# prefix, suffix, middle, as tokenizers of code models name them
SENTINEL_FAMILIES = (
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),  # StarCoder, SmolLM
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),  # Qwen, cl100k
    ("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),  # SantaCoder
    ("▁<PRE>", "▁<SUF>", "▁<MID>"),  # Code Llama
    ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),  # DeepSeek Coder  # noqa: RUF001
    ("[PREFIX]", "[SUFFIX]", "[MIDDLE]"),  # Codestral
)


@dataclass(frozen=True, kw_only=True)
class Fim:
    """Which documents are filled in, and how.

    rate       share of documents
    spm        share of these, or of their parts, in the order SPM; the others are in PSM
    unit       "file": the files of a document, each by itself; "repository": the document as a whole
    separator  the text with which each file of a document ends, if a document holds several
    sentinels  the tokens before prefix, suffix and middle; null: the first of SENTINEL_FAMILIES that the tokenizer has
    seed       another one draws other documents and cuts
    """

    rate: float = 0.5
    spm: float = 0.5
    unit: Literal["file", "repository"] = "file"
    separator: str | None = None
    sentinels: tuple[str, str, str] | None = None
    seed: int = 0

    def check(self) -> None:
        """Raises RecipeError for what cannot be. The step asks, as a recipe says its message only of a step."""
        for name in ("rate", "spm"):
            if not 0 <= getattr(self, name) <= 1:
                raise RecipeError(f"fim: {name} is a share from 0 to 1, got {getattr(self, name)}")
        if self.unit not in ("file", "repository"):
            raise RecipeError(f'fim: unit is "file" or "repository", got "{self.unit}"')
        if self.separator is not None and (not self.separator or self.unit == "repository"):
            raise RecipeError("fim: separator is the text after each file of a document, for unit: file")
        if self.sentinels is not None and len(set(self.sentinels)) != 3:
            raise RecipeError(f"fim: sentinels are three different tokens, got {', '.join(self.sentinels)}")

    def names(self, definition: Definition) -> tuple[str, str, str]:
        """The sentinels in a tokenizer. Raises AssetError if it lacks them."""
        for family in (self.sentinels,) if self.sentinels else SENTINEL_FAMILIES:
            if all(name in definition.added for name in family):
                return family
        if self.sentinels:
            missing = ", ".join(name for name in self.sentinels if name not in definition.added)
            problem = f"there is no token {missing}"
        else:
            problem = f"it has none of the usual ones ({'; '.join(' '.join(family) for family in SENTINEL_FAMILIES)})"
        raise AssetError(
            f"{definition.path}: fim needs three tokens of the tokenizer, before prefix, suffix and middle; {problem}. "
            f"Name them, fim: {{sentinels: [PREFIX, SUFFIX, MIDDLE]}}; or take a tokenizer that has them: `corpusmill "
            f'train tokenizer --special "<|endoftext|>" --special "<fim_prefix>" --special "<fim_suffix>" --special '
            f'"<fim_middle>"` makes one.'
        )

    def hashes(self, ids: pa.Array) -> UInt64s:
        """(documents,) by their ids; see `chosen`."""
        return sampling_hash(ids, self.seed, "fim")

    def chosen(self, hashes: UInt64s) -> Bools:
        """(documents,) which are filled in."""
        return _share(hashes) < self.rate

    def files(self, text: str) -> list[str]:
        """The parts of a document that are filled in by themselves; put together they are the document."""
        if self.separator is None or self.separator not in text:
            return [text]
        parts = text.split(self.separator)
        files = [part + self.separator for part in parts[:-1]]
        return files + parts[-1:] if parts[-1] else files

    def cut(self, text: str, key: int) -> tuple[str, str, str, bool]:
        """Prefix, middle and suffix of a text, and whether they are in the order SPM.

        key   64 bits on which it depends alone
        """
        steps = np.arange(1, 4, dtype=np.uint64) * np.uint64(GOLDEN)
        drawn = _share(mix64(np.uint64(key) + steps))
        first, second = sorted(int(share * (len(text) + 1)) for share in drawn[:2])
        return text[:first], text[first:second], text[second:], bool(drawn[2] < self.spm)


def _share(hashes: UInt64s) -> Float64s:
    """Numbers in [0, 1)."""
    return (hashes >> np.uint64(11)).astype(np.float64) / 2.0**53


class Sentinels(NamedTuple):
    """Their ids."""

    prefix: int
    suffix: int
    middle: int


def sentinel_ids(tokenizer: Tokenizer, fim: Fim) -> Sentinels:
    definition = tokenizer.definition
    return Sentinels(*(definition.ids[name] for name in fim.names(definition)))


class _Part(NamedTuple):
    document: int
    start: int  # its first character in the document
    text: str


def fill_in(
    tokenizer: Tokenizer, fim: Fim, texts: list[str], hashes: UInt64s, limits: Int64s | None = None
) -> list[list[UInt32s]]:
    """The ids of documents that are filled in, without BOS and EOS: of each document its parts, in order.

    hashes   (documents,) from `Fim.hashes`
    limits   (documents,) the most tokens of a part, sentinels counted: a longer one is divided into parts of about
             equal numbers of characters until all of them fit; None: no limit
    """
    marks = sentinel_ids(tokenizer, fim)
    results: list[dict[int, UInt32s]] = [{} for _ in texts]
    waiting = []
    for document, text in enumerate(texts):
        start = 0
        for file in fim.files(text):
            waiting.append(_Part(document, start, file))
            start += len(file)
    while waiting:
        strings: list[str] = []
        spm = []
        for part in waiting:
            prefix, middle, suffix, suffix_first = fim.cut(part.text, _key(hashes[part.document], part.start))
            strings += ["", suffix, prefix + middle] if suffix_first else [prefix, suffix, middle]
            spm.append(suffix_first)
        ids, offsets = tokenizer.encode(pa.array(strings, pa.large_string()))
        longer = []
        for number, part in enumerate(waiting):
            edges = offsets[3 * number : 3 * number + 4].tolist()
            size = 3 + edges[3] - edges[0]
            if limits is not None and size > limits[part.document] and len(part.text) > 1:
                longer += _divided(part, size, int(limits[part.document]))
                continue
            filled = np.empty(size, np.uint32)
            filled[[0, 1 + edges[1] - edges[0], 2 + edges[2] - edges[0]]] = marks
            for i in range(3):
                filled[edges[i] - edges[0] + 1 + i : edges[i + 1] - edges[0] + 1 + i] = ids[edges[i] : edges[i + 1]]
            results[part.document][part.start] = filled
        waiting = longer
    return [[parts[start] for start in sorted(parts)] for parts in results]


def _divided(part: _Part, size: int, limit: int) -> list[_Part]:
    count = min(len(part.text), max(2, -(-size // max(limit, 1))))
    edges = [len(part.text) * i // count for i in range(count + 1)]
    return [_Part(part.document, part.start + a, part.text[a:b]) for a, b in pairwise(edges)]


def _key(document: np.uint64, start: int) -> int:
    return int(mix64(np.array([document], np.uint64) ^ np.uint64((start + 1) * GOLDEN % 2**64))[0])


def restore(tokenizer: Tokenizer, ids: NDArray[np.integer], fim: Fim) -> str:
    """The text of a document as it was, from its ids with or without BOS and EOS.

    Equal to the text byte for byte if the tokenizer is without loss, as every byte-level BPE is. Raises ValueError if
    sentinels are not in one of the two orders.
    """
    marks = sentinel_ids(tokenizer, fim)
    ends = {tokenizer.eos_id, tokenizer.bos_id}
    body = [int(i) for i in ids if int(i) not in ends]
    begins = [at for at, i in enumerate(body) if i == marks.prefix]
    out = [tokenizer.decode(body[: begins[0]] if begins else body)]
    for begin, stop in zip(begins, [*begins[1:], len(body)]):
        part = body[begin + 1 : stop]
        if (
            part.count(marks.suffix) != 1
            or part.count(marks.middle) != 1
            or part.index(marks.suffix) > part.index(marks.middle)
        ):
            raise ValueError(f"half of a text that is filled in: sentinels {marks} are each once, in this order")
        suffix, middle = part.index(marks.suffix), part.index(marks.middle)
        out += [
            tokenizer.decode(part_ids) for part_ids in (part[:suffix], part[middle + 1 :], part[suffix + 1 : middle])
        ]
    return "".join(out)
