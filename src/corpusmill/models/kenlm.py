"""Language models in KenLM's own files, read by its library (the extra `kenlm`)."""

import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.assets.extras import KENLM
from corpusmill.errors import AssetError
from corpusmill.models.model_file import wrong_value
from corpusmill.models.ngram import SentenceScores

SUFFIXES = (".arpa", ".arpa.gz", ".klm", ".binary")
ARPA = re.compile(rb"\s*\\data\\\s*\n")
COUNT = re.compile(rb"ngram\s+(\d{1,9})\s*=\s*(\d{1,20})\s*\n")
LONGEST_COUNTS = 1 << 16  # bytes of an ARPA file in which its counts end
LEAST_LINE = 5  # bytes of an n-gram: a probability, a tab, a word, a line feed
MAX_ORDER = 6  # of the library, as it is distributed
# The library's own format: a mark, numbers that tell one machine from another, the header, the numbers of n-grams.
BINARY = b"mmap lm http://kheafield.com/code format version"
HEADER, HEADER_AT = Struct("<B3xfI?3xI"), 88  # order, buckets per n-gram, kind, has words, version
HASHED = 2  # kinds below have hash tables
LEAST_HASHED, LEAST_PACKED = 64, 2  # bits of an n-gram, for each bucket or at all
MOST_PACKED = 1032  # bytes that a byte of gzip data can hold


@dataclass(frozen=True)
class KenLM:
    """A model that scores as `ngram.NgramModel` does."""

    library: Any

    @classmethod
    def load(cls, path: Path) -> "KenLM":
        """Raises MissingExtraError without the library, AssetError if it cannot read the file."""
        check_file(path)
        try:
            import kenlm
        except ImportError:
            raise KENLM.error(f"the language model {path.name}") from None
        try:
            return cls(kenlm.Model(str(path)))
        except (OSError, RuntimeError) as error:
            raise AssetError(f"{path}: KenLM cannot read it: {error}") from error

    def score(self, folded: pa.LargeStringArray) -> SentenceScores:
        texts = folded.to_pylist()
        words = [text.split() for text in texts]
        return SentenceScores(
            np.array([self.library.score(text, bos=True, eos=True) for text in texts], np.float64),
            np.array([sum(map(self._alone, (*text_words, "</s>"))) for text_words in words], np.float64),
            np.array([len(text_words) for text_words in words], np.int64),
        )

    def _alone(self, word: str) -> float:
        """log10 of the probability of a word without those before it."""
        import kenlm

        before, after = kenlm.State(), kenlm.State()
        self.library.NullContextWrite(before)
        return float(self.library.BaseScore(before, word, after))


def check_file(path: Path) -> None:
    """Raise AssetError if a file says that it has more n-grams than are in one of its length, or an order that no model
    has: the library makes room for an ARPA file before it reads it, and ends the process where the header of its own
    format has an order of 0, or a size of tables that is no number."""
    with path.open("rb") as file:
        head = file.read(LONGEST_COUNTS)
    room = path.stat().st_size
    if head.startswith(BINARY):
        _check_binary(path, head, room)
        return
    if head.startswith(b"\x1f\x8b"):
        try:
            head, room = zlib.decompressobj(31).decompress(head, LONGEST_COUNTS), room * MOST_PACKED
        except zlib.error as error:
            raise AssetError(f"{path}: the gzip data is damaged: {error}. Get the file again.") from error
    if not (start := ARPA.match(head)):
        return
    at, most = start.end(), room // LEAST_LINE
    while count := COUNT.match(head, at):
        order, grams = int(count[1]), int(count[2])
        if not 1 <= order <= MAX_ORDER:
            raise wrong_value(path, "the order of n-grams", order, f"from 1 to {MAX_ORDER}")
        most = _subtract(path, order, grams, most)
        at = count.end()


def _check_binary(path: Path, head: bytes, room: int) -> None:
    if len(head) < HEADER_AT + HEADER.size:
        raise wrong_value(path, "the length of its header", len(head), f"{HEADER_AT + HEADER.size} or more")
    order, buckets, kind, _, _ = HEADER.unpack_from(head, HEADER_AT)
    if not 2 <= order <= MAX_ORDER:
        raise wrong_value(path, "the order of n-grams", order, f"from 2 to {MAX_ORDER}")
    if not 1 <= buckets < np.inf:
        raise wrong_value(path, "the number of buckets for an n-gram", buckets, "a number from 1")
    counts = Struct(f"<{order}Q")
    if len(head) < HEADER_AT + HEADER.size + counts.size:
        raise wrong_value(path, "the number of bytes", len(head), "that of its header at least")
    most = int(8 * room / (LEAST_HASHED * buckets if kind < HASHED else LEAST_PACKED))
    for size, grams in enumerate(counts.unpack_from(head, HEADER_AT + HEADER.size), 1):
        most = _subtract(path, size, grams, most)


def _subtract(path: Path, order: int, grams: int, most: int) -> int:
    """How many n-grams there may be besides these."""
    if grams > most:
        raise wrong_value(path, f"the number of {order}-grams", f"{grams:,}", f"at most {most:,}")
    return most - grams
