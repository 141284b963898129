from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.keys import Keys, Signed
from corpusmill.steps import Columns
from corpusmill.steps.dedup._substring import PASSAGES, Cutting, substring_stages
from corpusmill.text.passages import LONGEST_WINDOW, super_kmers
from corpusmill.units import Stage


@dataclass(frozen=True, kw_only=True)
class Substring:
    """Cut out passages of at least `min_tokens` tokens that stand elsewhere, too, in this document or another one.

    A token is a run of letters, digits and combining marks; a single character of a script without spaces between words
    (Han, kana, Thai, Lao, Khmer, Myanmar); or any other single character. White space separates and is not compared;
    all else is compared byte for byte.

    A token is cut if it stands in `min_tokens` tokens in a row that began before: in an earlier document, or earlier in
    the same one, even where both overlap, so that of "a b a b a b …" one "a b" stays. Every token that is cut has an
    equal one that stays. Documents come in the order of sources in the recipe, files by name, position. With
    `keep_first: false` the first occurrence goes, too: what is cut is what a suffix array shows to be repeated, as in
    the program of Lee et al. 2021 (arXiv:2107.06499, section 4.1; theirs are 50 tokens of byte pairs). Passages are
    compared by 122 bits of hash, and not verified against the texts.

    With a passage goes the white space on one side of it; the side with more line breaks keeps its own. What has nothing
    left is dropped as empty; a document that keeps a smaller share of its tokens than `min_left` goes, too, for the
    reason min_left, and with it what it was the first to have. With `against`, passages of what earlier runs kept are cut. `mark` cuts nothing, and only notes. The signals
    are cut_tokens, cut_share (of the document's tokens) and passages (how many).
    """

    keyed_by: ClassVar[tuple[str, ...]] = ("min_tokens",)
    verdict: ClassVar[pa.Schema] = PASSAGES
    otherwise: ClassVar[Mapping[str, Any]] = {"cut_tokens": 0, "cut_share": 0.0, "passages": 0}
    needs: ClassVar[tuple[str, ...]] = ()
    cuts: ClassVar[bool] = True
    records: ClassVar[int] = 32

    min_tokens: int = 50
    keep_first: bool = True
    min_left: float | None = None  # share of the document's tokens
    against: str | tuple[str, ...] = ()  # folders of earlier runs, or of indexes
    mark: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.min_tokens <= LONGEST_WINDOW:
            raise RecipeError(f"need 2 <= min_tokens <= {LONGEST_WINDOW:,}, got {self.min_tokens}")
        if self.min_left is not None and not 0 < self.min_left <= 1:
            raise RecipeError(f"min_left is a share: need 0 < min_left <= 1, got {self.min_left}")

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        found = super_kmers(docs["text"], self.min_tokens, self._gram)
        riders: dict[str, NDArray[Any]] = {
            "whole": found.whole,
            "start": found.start,
            "windows": found.windows,
            "times": found.times,
        }
        return Keys(found.key[:, None], documents=found.document, riders=riders)

    def stages(self, signed: Signed) -> list[Stage]:
        return substring_stages(signed, Cutting(self.min_tokens, self.keep_first, self.min_left, self.mark))

    @property
    def _gram(self) -> int:
        """Tokens of a seed: more make more keys, fewer make seeds that meet by chance."""
        return max(self.min_tokens // 2, 1)
