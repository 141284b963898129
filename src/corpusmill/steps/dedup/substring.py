from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.dedup._substring import PASSAGES, Cutting, substring_stages
from corpusmill.steps.keys import Keys, KeyStage
from corpusmill.store.work import Stage
from corpusmill.text.passages import LONGEST_WINDOW, super_kmers


@dataclass(frozen=True, kw_only=True)
class Substring:
    """Cut out passages of at least `min_tokens` tokens that also occur elsewhere, in this document or another one.

    A token is a run of letters, digits and combining marks; a single character of a script without spaces (Han, kana,
    Thai, Lao, Khmer, Myanmar); or any other single character. White space is not compared.

    A token is cut if it is part of `min_tokens` tokens in a row that occurred before, in an earlier document or in the
    same one, even where both overlap. With `keep_first=False` the first occurrence is cut, too, as in the program of
    Lee et al. 2021 (arXiv:2107.06499, section 4.1; theirs are 50 tokens of byte pairs). Passages are compared by 122
    bits of hash.

    With a passage the white space on one side of it is cut. A document of which nothing is left is dropped as empty;
    one that keeps a smaller share of its tokens than `min_left` as min_left. With `against`, passages of what earlier
    runs kept are cut. With `mark` nothing is. Signals: cut_tokens, cut_share, passages.
    """

    key_parameters: ClassVar[tuple[str, ...]] = ("min_tokens",)
    verdict: ClassVar[pa.Schema] = PASSAGES
    default_signals: ClassVar[Mapping[str, Any]] = {"cut_tokens": 0, "cut_share": 0.0, "passages": 0}
    needs: ClassVar[tuple[str, ...]] = ()
    reads_text: ClassVar[bool] = True
    cuts: ClassVar[bool] = True
    keys_per_document: ClassVar[int] = 32

    min_tokens: int = 50  # the shortest repeated passage that is cut
    keep_first: bool = True  # keep the first copy; false cuts all
    min_left: float | None = None  # share of the document's tokens
    against: str | tuple[str, ...] = ()  # folders of earlier runs, or of indexes
    mark: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.min_tokens <= LONGEST_WINDOW:
            raise RecipeError(f"need 2 <= min_tokens <= {LONGEST_WINDOW:,}, got {self.min_tokens}")
        if self.min_left is not None and not 0 < self.min_left <= 1:
            raise RecipeError(f"min_left is a share: need 0 < min_left <= 1, got {self.min_left}")

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        seeds = super_kmers(docs["text"], self.min_tokens, self._gram)
        payload: dict[str, NDArray[Any]] = {
            "whole": seeds.whole,
            "start": seeds.start,
            "windows": seeds.windows,
            "times": seeds.times,
        }
        return Keys(seeds.key[:, None], documents=seeds.document, payload=payload)

    def stages(self, keys: KeyStage) -> list[Stage]:
        return substring_stages(keys, Cutting(self.min_tokens, self.keep_first, self.min_left, self.mark))

    @property
    def _gram(self) -> int:
        """Tokens of a seed: more make more keys, fewer make seeds that meet by chance."""
        return max(self.min_tokens // 2, 1)
