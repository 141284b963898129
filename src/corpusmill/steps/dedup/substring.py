from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.keys import Keys, Signed
from corpusmill.steps import Columns
from corpusmill.steps.dedup._substring import PASSAGES, Cutting, substring_stages
from corpusmill.text.passages import LONGEST_WINDOW, stretches
from corpusmill.units import Stage


@dataclass(frozen=True, kw_only=True)
class Substring:
    """Cut out passages of at least `min_tokens` tokens that stand elsewhere, too, in this document or another one.

    A token is a run of letters, digits and combining marks; a single character of a script without spaces between words
    (Han, kana, Thai, Lao, Khmer, Myanmar); or any other single character. White space separates and is not compared;
    all else is compared byte for byte.

    A token is cut if it stands in `min_tokens` tokens in a row that began before, in an earlier document or earlier in
    the same one, even if both overlap: of "a b a b a b …" one "a b" stays. So every token that is cut has an equal one
    that stays, in equal surroundings; sources come in recipe order, files by name, documents by position. With
    `keep_first: false` a token is cut wherever it stands in a passage that occurs twice, the first time, too, as in
    Lee et al. 2021 (arXiv:2107.06499, section 4.1), who find the same passages of byte pair tokens with a suffix array.
    Windows are compared by 122 bits of hash; texts are not read again to verify.

    With a span goes the white space on one side, so that the stronger break stays. What has nothing left is dropped as
    empty; with `min_left`, what has fewer tokens left, too (and then a first occurrence may go with it). With `against`,
    passages that are in what earlier runs kept are cut, too. `mark` cuts nothing, and only notes. The signals are
    cut_tokens, cut_share (of the document's tokens) and passages (spans).
    """

    keyed_by: ClassVar[tuple[str, ...]] = ("min_tokens",)
    verdict: ClassVar[pa.Schema] = PASSAGES
    otherwise: ClassVar[Mapping[str, Any]] = {"cut_tokens": 0, "cut_share": 0.0, "passages": 0}
    needs: ClassVar[tuple[str, ...]] = ()
    cuts: ClassVar[bool] = True
    records: ClassVar[int] = 32

    min_tokens: int = 50
    keep_first: bool = True
    min_left: int = 0  # tokens
    against: str | tuple[str, ...] = ()  # folders of earlier runs, or of indexes
    mark: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.min_tokens <= LONGEST_WINDOW:
            raise RecipeError(f"need 2 <= min_tokens <= {LONGEST_WINDOW:,}, got {self.min_tokens}")
        if self.min_left < 0:
            raise RecipeError(f"need min_left >= 0, got {self.min_left}")

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        found = stretches(docs["text"], self.min_tokens, self._gram)
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
