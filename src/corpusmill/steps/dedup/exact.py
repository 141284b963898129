from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.dedup._exact import exact_stages
from corpusmill.steps.dedup._keep import check_keep, needs, ranks
from corpusmill.steps.keys import DUPLICATES, Keys, KeyStage
from corpusmill.store.work import Stage
from corpusmill.text.fold import fold
from corpusmill.text.hashing import hash128


@dataclass(frozen=True, kw_only=True)
class Exact:
    """Drop every document whose text equals that of another one, which is kept.

    Texts are compared by a 128-bit hash. `match: text` compares the text as it is; `folded` ignores case, punctuation,
    accents, white space and the values of numbers. With `against`, duplicates of what earlier runs kept are dropped,
    too; with `mark` nothing is.

    Of each set of duplicates one is kept, by `keep`: the "first" (sources in recipe order, files by name, documents by
    position), "longest", "newest", "oldest", or the one with the highest value of a signal of an earlier step, as in
    `keep: quality.score` ("-perplexity.value": the lowest). Of equals the first is kept. Signals: duplicate_of,
    similarity (1), cluster_id, cluster_size.
    """

    key_parameters: ClassVar[tuple[str, ...]] = ("match", "keep")
    verdict: ClassVar[pa.Schema] = DUPLICATES
    default_signals: ClassVar[Mapping[str, Any]] = {"cluster_size": 1}
    reads_text: ClassVar[bool] = False
    cuts: ClassVar[bool] = False
    keys_per_document: ClassVar[int] = 1

    match: Literal["text", "folded"] = "text"  # as it is, or without case, punctuation, accents …
    keep: str = "first"
    against: str | tuple[str, ...] = ()  # folders of earlier runs, or of indexes
    mark: bool = False

    def __post_init__(self) -> None:
        if self.match not in ("text", "folded"):
            raise RecipeError(f'match is "text" or "folded", got "{self.match}"')
        check_keep(self.keep)

    @property
    def needs(self) -> tuple[str, ...]:
        return needs(self.keep)

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        text = docs["text"] if self.match == "text" else fold(docs["text"])
        hashes = hash128(text)
        low = np.ascontiguousarray(hashes[:, 1])
        return Keys(np.ascontiguousarray(hashes[:, :1]), ranks(self.keep, docs, signals), payload={"low": low})

    def stages(self, keys: KeyStage) -> list[Stage]:
        return exact_stages(keys, "exact_copy", self.keep != "first", self.mark)
